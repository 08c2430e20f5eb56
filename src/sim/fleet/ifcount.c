#include "sim/fleet/ifcount.h"
#include "base/rnd.h"
#include "sim/fleet/ident.h"

#define DAY_NS (86400 * (int64_t)NS_PER_SEC)
#define SLOTS 96
#define SLOT_NS (DAY_NS / SLOTS)
#define BURST_NS (240 * NS_PER_SEC) /* knots of the coarse burst curve */
#define RIPPLE_NS (BURST_NS / 4)    /* and of the fine one */
/* Swing of both around the mean rate, 1/256; together below 1, so that time never runs back. */
#define BURST_SWING 120
#define RIPPLE_SWING 88
_Static_assert(BURST_SWING + RIPPLE_SWING < 256, "bursts could turn a counter back");
#define STREAM_IF 0x6966 /* of rnd_u64 */
#define STREAM_ERRORS 0x6572
#define GOLDEN 0x9e3779b97f4a7c15ull
#define IANA_SOFTWARE_LOOPBACK 24

/* The day curve: how much each quarter of an hour is above or below the mean, 1/256. Quiet before
 * dawn, busy late in the morning and in the evening. Sums to 0. */
static const int16_t day_curve[SLOTS] = {-146, -158, -170, -181, -191, -200, -209, -217, -224, -231,
	-236, -241, -244, -247, -249, -250, -250, -249, -247, -244, -241, -236, -230, -224, -216,
	-208, -198, -187, -175, -161, -146, -129, -111, -90, -68, -45, -21, 4, 27, 49, 69, 87, 101,
	112, 120, 126, 130, 133, 135, 137, 140, 143, 147, 151, 156, 161, 167, 172, 176, 180, 184,
	186, 188, 189, 189, 189, 187, 185, 183, 181, 179, 178, 178, 179, 181, 184, 188, 192, 195,
	195, 191, 183, 170, 151, 129, 103, 75, 46, 17, -10, -36, -59, -80, -98, -115, -130};
/* Sums of the slots before each. */
static const int16_t day_sum[SLOTS] = {0, -146, -304, -474, -655, -846, -1046, -1255, -1472, -1696,
	-1927, -2163, -2404, -2648, -2895, -3144, -3394, -3644, -3893, -4140, -4384, -4625, -4861,
	-5091, -5315, -5531, -5739, -5937, -6124, -6299, -6460, -6606, -6735, -6846, -6936, -7004,
	-7049, -7070, -7066, -7039, -6990, -6921, -6834, -6733, -6621, -6501, -6375, -6245, -6112,
	-5977, -5840, -5700, -5557, -5410, -5259, -5103, -4942, -4775, -4603, -4427, -4247, -4063,
	-3877, -3689, -3500, -3311, -3122, -2935, -2750, -2567, -2386, -2207, -2029, -1851, -1672,
	-1491, -1307, -1119, -927, -732, -537, -346, -163, 7, 158, 287, 390, 465, 511, 528, 518,
	482, 423, 343, 245, 130};

/* Integral of the day curve: mean slope 1, never 0 or less. One rounding, at the end, of an exact
 * function whose slope is above -1: so the sum never falls. */
static uint64_t weigh(uint64_t local_ns, int16_t day)
{
	uint64_t slots = local_ns / SLOT_NS;
	uint32_t slot = (uint32_t)(slots % SLOTS);
	int64_t at = (int64_t)(local_ns - slots * SLOT_NS);
	int64_t area = day_sum[slot] * SLOT_NS + day_curve[slot] * at;
	return local_ns + (uint64_t)((day * area) >> 16);
}

void ifcount_init(struct ifcount *c, const struct device *d)
{
	/* A degree of longitude is four minutes of solar time; a day more keeps it above 0. */
	int64_t shift_ns = DAY_NS + (int64_t)(ident_city(d)->lon * 240.0 * (double)NS_PER_SEC);
	c->profile = d->conf->type->profile;
	c->seed = rnd_u64(d->seed, STREAM_IF, 0);
	c->errors = d->conf->if_errors;
	c->local_ns = d->boot_ns + (uint64_t)shift_ns;
	c->weighed = weigh(c->local_ns, c->profile->day);
}

/* Height of the burst curves at x: piecewise linear between hashed knots. */
static int64_t bursts(uint64_t lane, uint64_t x)
{
	uint64_t group = x / BURST_NS;
	int64_t at = (int64_t)(x - group * BURST_NS);
	unsigned ripple = (unsigned)((uint64_t)at / RIPPLE_NS);
	int64_t ripple_at = at - ripple * (int64_t)RIPPLE_NS;
	uint64_t here = rnd_mix(lane + group * GOLDEN), next = rnd_mix(lane + (group + 1) * GOLDEN);
	int64_t k0 = here >> 56, k1 = next >> 56;
	int64_t r0 = here >> 8 * ripple & 0xff;
	int64_t r1 = (ripple == 3 ? next : here >> 8 * (ripple + 1)) & 0xff;
	int64_t burst = k0 * (int64_t)BURST_NS + (k1 - k0) * at;
	int64_t rip = r0 * (int64_t)RIPPLE_NS + (r1 - r0) * ripple_at;
	return (BURST_SWING * burst + RIPPLE_SWING * rip) >> 16;
}

/* Time as the lane feels it: faster in a burst, slower after it; 0 at boot. */
static uint64_t warp(uint64_t lane, uint64_t up_ns)
{
	uint64_t phase = (lane >> 40) * BURST_NS >> 24;
	return up_ns + (uint64_t)(bursts(lane, up_ns + phase) - bursts(lane, phase));
}

static uint64_t mul_shift(uint64_t a, uint64_t b, unsigned shift)
{
	return (uint64_t)((unsigned __int128)a * b >> shift);
}

/* 16 bits of the hash scaled to min..max. */
static uint64_t pick(uint64_t hash, unsigned at, uint64_t min, uint64_t max)
{
	return min + ((hash >> at & 0xffff) * (max - min + 1) >> 16);
}

/* Octets per ns, 1/2^40: speed * util / 65536 / 8e9 * 2^40. */
static uint64_t rate(uint64_t speed_bps, uint64_t util)
{
	return (speed_bps * util >> 16) * 137438 / 1000;
}

/* One direction of an interface: what is drawn for it once and for all. */
struct lane {
	uint64_t hash;
	bool idle; /* keepalives only; both directions alike */
};

static bool is_loopback(const struct type_if *i)
{
	return i->iana_type == IANA_SOFTWARE_LOOPBACK;
}

static struct lane draw(const struct ifcount *c, const struct type_if *i, enum if_direction dir)
{
	uint64_t n = c->seed + 2 * (uint64_t)i->index * GOLDEN;
	uint64_t in = rnd_mix(n), out = rnd_mix(n + GOLDEN);
	return (struct lane){
		.hash = dir == IF_OUT && !is_loopback(i) ? out : in, /* a loopback hears itself */
		.idle = i->load == IF_LOAD_PROFILE && (in & 0xff) < c->profile->idle};
}

static uint64_t octets_of(
	const struct ifcount *c, const struct type_if *i, struct lane l, uint64_t up_ns)
{
	const struct if_profile *p = c->profile;
	if (up_ns == 0 || i->load == IF_LOAD_NONE)
		return 0;
	uint64_t octets_q40 = rate(i->speed_bps, pick(l.hash, 40, p->util_min, p->util_max));
	if (l.idle) /* 60 to 400 octets a second */
		octets_q40 = MIN(octets_q40, pick(l.hash, 32, 60, 400) * 1099);
	if (i->load == IF_LOAD_LIGHT)
		octets_q40 >>= 7;
	uint64_t ns = weigh(c->local_ns + warp(l.hash, up_ns), p->day) - c->weighed;
	return mul_shift(ns, octets_q40, 40);
}

struct mix { /* packets an octet, 1/2^32 */
	uint64_t ucast, mcast, bcast;
};

static struct mix mix_of(const struct ifcount *c, const struct type_if *i, struct lane l)
{
	const struct if_profile *p = c->profile;
	if (l.idle) { /* neighbours' hellos, mostly */
		uint64_t all = pick(l.hash, 8, PACKETS_Q32(180), PACKETS_Q32(70));
		uint64_t mcast = all * 45000 >> 16, bcast = all * 3000 >> 16;
		return (struct mix){all - mcast - bcast, mcast, bcast};
	}
	uint64_t all = pick(l.hash, 8, p->packets_min_q32, p->packets_max_q32);
	if (is_loopback(i))
		return (struct mix){all, 0, 0};
	uint64_t mcast = all * pick(l.hash, 16, 130, 3900) >> 16;
	uint64_t bcast = all * pick(l.hash, 24, 30, 1000) >> 16;
	return (struct mix){all - mcast - bcast, mcast, bcast};
}

/* Parts in a million of the packets, between these. */
struct band {
	uint32_t errors_min, errors_max, discards_min, discards_max;
};
static const struct band bands[] = {
	[IF_ERRORS_CLEAN] = {0, 0, 0, 0},
	[IF_ERRORS_TYPICAL] = {10, 100, 20, 200},
	[IF_ERRORS_DEGRADED] = {1000, 10000, 2000, 20000},
	[IF_ERRORS_FAILING] = {10000, 100000, 20000, 200000},
};

/* A part of the packets is as monotone as they are. */
static uint64_t errors_of(const struct ifcount *c, struct lane l, uint64_t packets)
{
	const struct band *b = &bands[c->errors];
	uint64_t ppm = pick(rnd_mix(l.hash + STREAM_ERRORS), 0, b->errors_min, b->errors_max);
	return (uint64_t)((unsigned __int128)packets * ppm / 1000000);
}

static uint64_t discards_of(const struct ifcount *c, struct lane l, uint64_t packets)
{
	const struct band *b = &bands[c->errors];
	uint64_t ppm = pick(rnd_mix(l.hash + STREAM_ERRORS), 16, b->discards_min, b->discards_max);
	return (uint64_t)((unsigned __int128)packets * ppm / 1000000);
}

static uint64_t faults_get(
	const struct ifcount *c, struct lane l, struct mix mix, uint64_t octets, enum if_column col)
{
	if (c->errors == IF_ERRORS_CLEAN)
		return 0;
	uint64_t packets = mul_shift(octets, mix.ucast, 32) + mul_shift(octets, mix.mcast, 32) +
			   mul_shift(octets, mix.bcast, 32);
	return col >= IF_COL_IN_ERRORS ? errors_of(c, l, packets) : discards_of(c, l, packets);
}

void ifcount_lane(const struct ifcount *c, const struct type_if *i, uint64_t up_ns,
	enum if_direction dir, struct ifcount_lane *ret_lane)
{
	struct lane l = draw(c, i, dir);
	struct mix mix = mix_of(c, i, l);
	uint64_t octets = octets_of(c, i, l, up_ns);
	*ret_lane = (struct ifcount_lane){octets, mul_shift(octets, mix.ucast, 32),
		mul_shift(octets, mix.mcast, 32), mul_shift(octets, mix.bcast, 32),
		faults_get(c, l, mix, octets, IF_COL_IN_ERRORS),
		faults_get(c, l, mix, octets, IF_COL_IN_DISCARDS)};
}

uint64_t ifcount_get(
	const struct ifcount *c, const struct type_if *i, uint64_t up_ns, enum if_column col)
{
	struct lane l = draw(c, i, (col - IF_COL_IN_DISCARDS) % 2 ? IF_OUT : IF_IN);
	uint64_t octets = octets_of(c, i, l, up_ns);
	if (col == IF_COL_IN_OCTETS || col == IF_COL_OUT_OCTETS)
		return octets;
	struct mix mix = mix_of(c, i, l);
	if (col < IF_COL_IN_OCTETS)
		return faults_get(c, l, mix, octets, col);
	switch (col) {
	case IF_COL_IN_UCAST:
	case IF_COL_OUT_UCAST:
		return mul_shift(octets, mix.ucast, 32);
	case IF_COL_IN_MCAST:
	case IF_COL_OUT_MCAST:
		return mul_shift(octets, mix.mcast, 32);
	case IF_COL_IN_BCAST:
	case IF_COL_OUT_BCAST:
		return mul_shift(octets, mix.bcast, 32);
	default: /* the sum of the two, not a product of sums: they must agree */
		return mul_shift(octets, mix.mcast, 32) + mul_shift(octets, mix.bcast, 32);
	}
}
