#include "base/rnd.h"
#include "fake.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/ifcount.h"
#include <string.h>

#define HOUR_NS (3600 * NS_PER_SEC)
#define BOOT_NS (1772355600 * NS_PER_SEC) /* 2026-03-01T09:00:00Z */
#define PROFILES 11
static const char *const names[PROFILES] = {"core", "edge", "dc_switch", "campus", "firewall",
	"server", "gpu_a100", "gpu_h100", "gpu_h200", "storage", "optical"};

struct lab { /* a device with one interface */
	struct type type;
	struct device_conf conf;
	struct device dev;
	struct type_if port;
};

static void lab_init(struct lab *l, const char *profile, uint64_t seed)
{
	*l = (struct lab){
		.port = {.index = 7, .iana_type = 6, .admin = IF_UP, .oper = IF_UP, .mtu = 1500}};
	l->port.speed_bps = 10000000000;
	l->type.slug = "test";
	l->type.category = "Network Devices";
	l->type.doc_category = "Core";
	l->type.profile = if_profile_find(profile);
	ck_assert_ptr_nonnull(l->type.profile);
	l->conf = (struct device_conf){.type = &l->type, .netmask_len = 16};
	l->dev = (struct device){.addr = addr_from_v4(0x0a2a0000 + (uint32_t)seed),
		.conf = &l->conf,
		.seed = rnd_u64(1, 2, seed),
		.site = (uint32_t)seed / 16,
		.boot_ns = BOOT_NS};
}

static struct ifcount_lane lane_at(const struct lab *l, enum if_direction dir, uint64_t up_ns)
{
	struct ifcount c;
	struct ifcount_lane lane;
	ifcount_init(&c, &l->dev);
	ifcount_lane(&c, &l->port, up_ns, dir, &lane);
	return lane;
}

START_TEST(counters_begin_at_zero)
{
	for (unsigned p = 0; p < PROFILES; p++)
		for (uint64_t seed = 0; seed < 100; seed++) {
			struct lab l;
			struct ifcount c;
			lab_init(&l, names[p], seed);
			ifcount_init(&c, &l.dev);
			for (int col = IF_COL_IN_OCTETS; col <= IF_COL_OUT_NUCAST; col++)
				ck_assert_uint_eq(
					ifcount_get(&c, &l.port, 0, (enum if_column)col), 0);
		}
}
END_TEST

static void check_no_fall(const struct ifcount_lane *a, const struct ifcount_lane *b)
{
	ck_assert_uint_le(a->octets, b->octets);
	ck_assert_uint_le(a->ucast, b->ucast);
	ck_assert_uint_le(a->mcast, b->mcast);
	ck_assert_uint_le(a->bcast, b->bcast);
}

/* The most that may have come in ns, with an octet for the rounding of each end. */
static uint64_t line_octets(uint64_t speed_bps, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)speed_bps * ns / (8 * NS_PER_SEC)) + 2;
}

START_TEST(counters_never_fall_nor_exceed_the_line)
{
	for (unsigned p = 0; p < PROFILES; p++)
		for (uint64_t seed = 0; seed < 60; seed++) {
			struct lab l;
			lab_init(&l, names[p], seed);
			l.port.speed_bps = seed % 3 ? 800000000000 : 64000;
			uint64_t t = 0;
			struct ifcount_lane last = {0};
			for (uint64_t i = 0; i < 400; i++) {
				/* Steps of a nanosecond to hours. */
				uint64_t step = rnd_u64(seed, p, i) >> (21 + i % 43);
				struct ifcount_lane now =
					lane_at(&l, (enum if_direction)(seed & 1), t + step);
				check_no_fall(&last, &now);
				ck_assert_uint_le(now.octets - last.octets,
					line_octets(l.port.speed_bps, step));
				last = now;
				t += step;
			}
		}
}
END_TEST

/* Where pieces of the curves meet, each nanosecond counts. */
START_TEST(counters_are_smooth_across_knots)
{
	struct lab l;
	lab_init(&l, "campus", 5);
	l.port.speed_bps = 10000000000000;
	for (uint64_t minute = 0; minute < 3000; minute++) {
		uint64_t phase = rnd_u64(9, 9, minute) % (60 * NS_PER_SEC);
		uint64_t t = minute * 60 * NS_PER_SEC + (minute % 4 ? phase : 0);
		struct ifcount_lane last = lane_at(&l, IF_IN, t);
		for (uint64_t ns = 1; ns < 6; ns++) {
			struct ifcount_lane now = lane_at(&l, IF_IN, t + ns);
			check_no_fall(&last, &now);
			ck_assert_uint_le(
				now.octets - last.octets, line_octets(l.port.speed_bps, 1));
			last = now;
		}
	}
}
END_TEST

START_TEST(packets_agree_with_octets)
{
	for (unsigned p = 0; p < PROFILES; p++)
		for (uint64_t seed = 0; seed < 300; seed++) {
			struct lab l;
			lab_init(&l, names[p], seed);
			uint64_t up_ns = rnd_u64(3, p, seed) % (100 * 24 * HOUR_NS);
			struct ifcount_lane n = lane_at(&l, IF_OUT, up_ns);
			uint64_t packets = n.ucast + n.mcast + n.bcast;
			ck_assert_uint_le(packets * 64, n.octets);
			ck_assert_uint_ge(packets * 1500 + 3 * 1500, n.octets);
			if (n.octets > 1u << 30) {
				ck_assert_uint_gt(n.ucast, 0);
				ck_assert_uint_gt(n.mcast, 0);
				ck_assert_uint_gt(n.bcast, 0);
			}
			struct ifcount c;
			ifcount_init(&c, &l.dev);
			ck_assert_uint_eq(ifcount_get(&c, &l.port, up_ns, IF_COL_OUT_NUCAST),
				n.mcast + n.bcast);
			ck_assert_uint_eq(
				ifcount_get(&c, &l.port, up_ns, IF_COL_OUT_OCTETS), n.octets);
			ck_assert_uint_eq(
				ifcount_get(&c, &l.port, up_ns, IF_COL_OUT_UCAST), n.ucast);
		}
}
END_TEST

START_TEST(one_seed_gives_one_fleet)
{
	struct lab a, b;
	uint64_t same = 0;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		lab_init(&a, "core", seed);
		lab_init(&b, "core", seed);
		struct ifcount_lane x = lane_at(&a, IF_IN, 3 * HOUR_NS),
				    y = lane_at(&b, IF_IN, 3 * HOUR_NS);
		ck_assert_int_eq(memcmp(&x, &y, sizeof(x)), 0);
		struct ifcount_lane out = lane_at(&a, IF_OUT, 3 * HOUR_NS);
		lab_init(&b, "core", seed + 1);
		struct ifcount_lane z = lane_at(&b, IF_IN, 3 * HOUR_NS);
		b = a;
		b.port.index = 8;
		struct ifcount_lane next = lane_at(&b, IF_IN, 3 * HOUR_NS);
		same += (x.octets == z.octets) + (x.octets == out.octets) +
			(x.octets == next.octets);
	}
	/* Idle ports may meet by chance. */
	ck_assert_uint_le(same, 2);
}
END_TEST

/* Mean loads of many devices fill their range evenly: no tenth has under half or over twice its
 * share. */
START_TEST(loads_do_not_cluster)
{
	unsigned bucket[10] = {0}, busy = 0;
	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct lab l;
		lab_init(&l, "core", seed);
		const struct if_profile *p = l.type.profile;
		/* Whole days, so that neither the curve nor the place matters. */
		uint64_t octets = lane_at(&l, IF_IN, 30 * 24 * HOUR_NS).octets;
		double load = (double)octets * 8 / (30 * 86400.0 * 1e10) * 65536;
		if (load < 100)
			continue; /* idle */
		busy++;
		double at = (load - p->util_min) / (p->util_max - p->util_min) * 10;
		bucket[at < 0 ? 0 : at >= 10 ? 9 : (unsigned)at]++;
	}
	ck_assert_uint_gt(busy, 3700);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_uint_gt(bucket[i], busy / 20);
		ck_assert_uint_lt(bucket[i], busy / 5);
	}
}
END_TEST

START_TEST(traffic_follows_the_local_day)
{
	/* Averages over many devices of each hour of local time. */
	double sum[24] = {0};
	for (uint64_t seed = 0; seed < 64; seed++) {
		struct lab l;
		lab_init(&l, "campus", seed * 16);
		double lon = ident_city(&l.dev)->lon;
		uint64_t local_ns = (uint64_t)((lon + 360) * 240 * 1e9);
		uint64_t to_midnight = 24 * HOUR_NS - (BOOT_NS + local_ns) % (24 * HOUR_NS);
		for (unsigned h = 0; h < 24; h++) {
			uint64_t from = lane_at(&l, IF_IN, to_midnight + h * HOUR_NS).octets;
			uint64_t to = lane_at(&l, IF_IN, to_midnight + (h + 1) * HOUR_NS).octets;
			sum[h] += (double)(to - from);
		}
	}
	ck_assert_double_gt(sum[11], 2 * sum[4]);
	ck_assert_double_gt(sum[19], 2 * sum[4]);
	ck_assert_double_gt(sum[19], sum[14]);
}
END_TEST

START_TEST(traffic_comes_in_bursts)
{
	struct lab l;
	lab_init(&l, "core", 77);
	uint64_t least = UINT64_MAX, most = 0;
	for (unsigned i = 0; i < 120; i++) {
		uint64_t t = HOUR_NS + i * 30 * NS_PER_SEC;
		uint64_t n = lane_at(&l, IF_IN, t + 30 * NS_PER_SEC).octets -
			     lane_at(&l, IF_IN, t).octets;
		least = MIN(least, n);
		most = MAX(most, n);
	}
	ck_assert_uint_gt(most, least + least / 2);
}
END_TEST

START_TEST(errors_are_within_their_bands)
{
	static const struct {
		enum if_errors errors;
		double errors_min, errors_max, discards_min, discards_max; /* parts in a million */
	} bands[] = {{IF_ERRORS_TYPICAL, 10, 100, 20, 200},
		{IF_ERRORS_DEGRADED, 1000, 10000, 2000, 20000},
		{IF_ERRORS_FAILING, 10000, 100000, 20000, 200000}};
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct lab l;
		lab_init(&l, "core", seed);
		struct ifcount_lane clean = lane_at(&l, IF_IN, 100 * HOUR_NS);
		ck_assert(clean.errors == 0 && clean.discards == 0);
		for (unsigned i = 0; i < ARRAY_SIZE(bands); i++) {
			l.conf.if_errors = (uint8_t)bands[i].errors;
			struct ifcount_lane in = lane_at(&l, IF_IN, 100 * HOUR_NS),
					    out = lane_at(&l, IF_OUT, 100 * HOUR_NS),
					    before = lane_at(&l, IF_IN, 99 * HOUR_NS);
			double packets = (double)(in.ucast + in.mcast + in.bcast) / 1e6;
			/* Fewer than a packet is none. */
			ck_assert(in.errors + 1 >= bands[i].errors_min * packets &&
				  in.errors <= bands[i].errors_max * packets);
			ck_assert(in.discards + 1 >= bands[i].discards_min * packets &&
				  in.discards <= bands[i].discards_max * packets);
			ck_assert(in.errors >= before.errors && in.discards >= before.discards);
			ck_assert(in.octets == clean.octets && out.errors != in.errors);
		}
	}
}
END_TEST

START_TEST(what_has_no_load_counts_nothing)
{
	struct lab l;
	lab_init(&l, "core", 1);
	ck_assert_uint_gt(lane_at(&l, IF_IN, HOUR_NS).octets, 0);
	ck_assert_uint_eq(lane_at(&l, IF_IN, 0).octets, 0);
	l.port.load = IF_LOAD_NONE;
	ck_assert_uint_eq(lane_at(&l, IF_OUT, HOUR_NS).ucast, 0);
	l.port.load = IF_LOAD_LIGHT;
	ck_assert_uint_gt(lane_at(&l, IF_OUT, HOUR_NS).ucast, 0);
	l.port.load = IF_LOAD_PROFILE;
	l.port.speed_bps = 0;
	ck_assert_uint_eq(lane_at(&l, IF_OUT, HOUR_NS).octets, 0);
}
END_TEST

/* util_max at the peak of the day, 195/256 or by night 250/256 of the swing, and of both bursts,
 * 208/256 above the mean, is the whole line at most. */
START_TEST(profiles_leave_room_for_peaks)
{
	for (unsigned p = 0; p < PROFILES; p++) {
		const struct if_profile *f = if_profile_find(names[p]);
		double day = f->day > 0 ? f->day * 195 / 65536.0 : -f->day * 250 / 65536.0;
		ck_assert_double_le(f->util_max / 65536.0 * (1 + day) * (1 + 208 / 256.0), 1.0);
		ck_assert_uint_lt(f->util_min, f->util_max);
		ck_assert_uint_lt(f->packets_min_q32, f->packets_max_q32);
		ck_assert_uint_lt(f->packets_max_q32, UINT32_MAX / 64);
	}
	ck_assert_ptr_null(if_profile_find("quiet"));
}
END_TEST

START_TEST(a_loopback_hears_itself)
{
	struct lab l;
	lab_init(&l, "server", 3);
	l.port.iana_type = 24;
	struct ifcount_lane in = lane_at(&l, IF_IN, HOUR_NS), out = lane_at(&l, IF_OUT, HOUR_NS);
	ck_assert_int_eq(memcmp(&in, &out, sizeof(in)), 0);
	ck_assert_uint_gt(in.ucast, 0);
	ck_assert_uint_eq(in.mcast + in.bcast, 0);
}
END_TEST

UNIT_MAIN(counters_begin_at_zero, counters_never_fall_nor_exceed_the_line,
	counters_are_smooth_across_knots, packets_agree_with_octets, one_seed_gives_one_fleet,
	loads_do_not_cluster, traffic_follows_the_local_day, traffic_comes_in_bursts,
	profiles_leave_room_for_peaks, what_has_no_load_counts_nothing,
	errors_are_within_their_bands, a_loopback_hears_itself)
