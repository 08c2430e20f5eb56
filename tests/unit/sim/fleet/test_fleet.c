#include "base/rnd.h"
#include "fleet_fixture.h"
#include "sim/fleet/fleet_index.h"
#include <errno.h>
#include <stdio.h>

START_TEST(rows_are_found_in_order_and_gone_when_deleted)
{
	struct fixture x = fx_make(1);
	struct addr a = fx_addr("10.0.0.1"), b = fx_addr("10.0.255.254"), c = fx_addr("10.1.0.1");
	struct fleet_add add = fx_add(a, 16, 65534);
	struct fleet_added added = fx_create(&x, &add);
	ck_assert_uint_eq(added.created, 65534);
	ck_assert_uint_eq(fleet_count(x.fleet), 65534);
	ck_assert(fx_has(&x, &a) && fx_has(&x, &b) && !fx_has(&x, &c));
	struct addr none = fx_addr("10.0.0.0");
	ck_assert(!fx_has(&x, &none));
	ck_assert_uint_eq(fx_walk(&x), 65534);
	ck_assert_int_eq(fleet_del(x.fleet, &a, NULL), 0);
	ck_assert_int_eq(fleet_del(x.fleet, &a, NULL), -ENOENT);
	ck_assert(!fx_has(&x, &a));
	struct addr first = fx_addr("10.0.1.0"), last = fx_addr("10.0.2.7");
	ck_assert_uint_eq(fleet_del_range(x.fleet, &first, &last, 0, NULL), 264);
	ck_assert_uint_eq(fx_walk(&x), 65534 - 265);
	ck_assert_uint_eq(fleet_del_all(x.fleet, NULL), 65534 - 265);
	ck_assert_uint_eq(fleet_count(x.fleet), 0);
	ck_assert_uint_eq(fx_walk(&x), 0);
	ck_assert_int_eq(fake_type_refs_all(), 0);
	fx_done(&x);
}
END_TEST

START_TEST(rows_carry_what_was_asked_for)
{
	struct fixture x = fx_make(7);
	static const struct type *const types[] = {&fake_types[0], &fake_types[1], &fake_types[2]};
	struct fleet_add add = fx_add(fx_addr("2001:db8::ff"), 64, 5);
	add.types = types;
	add.n_types = 3;
	add.conf.snmp_port = 1161;
	add.batch = 9;
	uint64_t before_ns = fleet_now_ns(x.fleet);
	clk_step_ns(x.f.clk, 5 * NS_PER_SEC);
	struct fleet_added added = {0};
	/* In two slices: types follow the device's number, not the slice's. */
	ck_assert_int_eq(fleet_add_slice(x.fleet, &add, 0, 2, &added), 0);
	ck_assert_int_eq(fleet_add_slice(x.fleet, &add, 2, 3, &added), 0);
	ck_assert_uint_eq(added.created, 5);
	struct addr a = add.start;
	for (unsigned i = 0; i < 5; i++, a = addr_add(&a, 1)) {
		RCU_SCOPE;
		const struct device *d = fleet_find(x.fleet, &a);
		ck_assert_ptr_nonnull(d);
		ck_assert_ptr_eq(d->conf->type, types[i % 3]);
		ck_assert_uint_eq(d->conf->snmp_port, 1161);
		ck_assert_uint_eq(d->conf->netmask_len, 64);
		ck_assert_uint_eq(d->batch, 9);
		ck_assert_uint_eq(d->boot_ns - before_ns, 5 * NS_PER_SEC);
		for (unsigned k = 0; k < 16; k++)
			ck_assert_uint_eq(d->snmp[k], 0);
	}
	fx_done(&x);
}
END_TEST

START_TEST(one_seed_gives_one_fleet)
{
	struct fixture x = fx_make(1), y = fx_make(1), z = fx_make(2);
	struct fleet_add add = fx_add(fx_addr("10.0.0.1"), 16, 1000);
	(void)fx_create(&x, &add);
	add.start = fx_addr("10.0.0.101");
	add.count = 100;
	(void)fx_create(&y, &add);
	(void)fx_create(&z, &add);
	uint64_t seen[100];
	struct addr a = add.start;
	for (unsigned i = 0; i < 100; i++, a = addr_add(&a, 1)) {
		RCU_SCOPE;
		seen[i] = fleet_find(x.fleet, &a)->seed;
		ck_assert_uint_eq(seen[i], fleet_find(y.fleet, &a)->seed);
		ck_assert_uint_ne(seen[i], fleet_find(z.fleet, &a)->seed);
		for (unsigned k = 0; k < i; k++)
			ck_assert_uint_ne(seen[i], seen[k]);
	}
	fx_done(&x);
	fx_done(&y);
	fx_done(&z);
}
END_TEST

START_TEST(existing_and_differing_devices_are_told_apart)
{
	struct fixture x = fx_make(1);
	struct fleet_add add = fx_add(fx_addr("10.0.0.10"), 16, 10);
	(void)fx_create(&x, &add);
	add.start = fx_addr("10.0.0.1");
	add.count = 30;
	struct fleet_added again = fx_create(&x, &add);
	ck_assert_uint_eq(again.created, 20);
	ck_assert_uint_eq(again.existing, 10);
	ck_assert_uint_eq(again.differing, 0);
	add.conf.snmp_port = 1161;
	struct addr hole = fx_addr("10.0.0.5");
	ck_assert_int_eq(fleet_del(x.fleet, &hole, NULL), 0);
	struct fleet_added other = {0};
	for (unsigned i = 0; i < 30; i += 7) /* slices that cut a range in two */
		ck_assert_int_eq(fleet_add_slice(x.fleet, &add, i, MIN(7u, 30 - i), &other), 0);
	ck_assert_uint_eq(other.created, 1);
	ck_assert_uint_eq(other.differing, 29);
	char buf[FLEET_RANGES_TEXT_BYTES];
	ck_assert_str_eq(fleet_ranges_text(&other.differing_ranges, buf),
		"10.0.0.1-10.0.0.4, 10.0.0.6-10.0.0.30");
	rcu_in();
	ck_assert_uint_eq(fleet_find(x.fleet, &add.start)->conf->snmp_port, 161);
	ck_assert_uint_eq(fleet_find(x.fleet, &hole)->conf->snmp_port, 1161);
	rcu_out();
	fx_done(&x);
}
END_TEST

START_TEST(long_lists_of_ranges_are_cut)
{
	struct fixture x = fx_make(1);
	struct fleet_add add = fx_add(fx_addr("2001:db8:1111:2222:3333:4444:5555:6600"), 64, 1);
	struct addr start = add.start;
	for (unsigned i = 0; i < 10; i++) {
		add.start = addr_add(&start, 3 * i);
		add.count = 2;
		(void)fx_create(&x, &add);
	}
	add.start = start;
	add.count = 30;
	add.conf.snmp_port = 1;
	struct fleet_added added = fx_create(&x, &add);
	ck_assert_uint_eq(added.differing, 20);
	ck_assert_uint_eq(added.differing_ranges.n, 10);
	char buf[FLEET_RANGES_TEXT_BYTES];
	const char *text = fleet_ranges_text(&added.differing_ranges, buf);
	ck_assert_ptr_nonnull(strstr(text, "6600-2001:db8:1111:2222:3333:4444:5555:6601, "));
	ck_assert_str_eq(text + strlen(text) - 11, " and 4 more");
	fx_done(&x);
}
END_TEST

struct gone_log {
	uint64_t of[8], calls;
};

static void log_gone(void *arg, uint32_t batch, uint64_t n)
{
	struct gone_log *g = arg;
	g->of[batch] += n;
	g->calls++;
}

START_TEST(deletes_tell_whose_devices_went)
{
	struct fixture x = fx_make(1);
	struct fleet_add add = fx_add(fx_addr("10.0.0.1"), 16, 1000);
	(void)fx_create(&x, &add);
	add.batch = 2;
	add.count = 3000; /* brings 2000 */
	(void)fx_create(&x, &add);
	struct gone_log log = {{0}, 0};
	struct fleet_gone gone = {log_gone, &log};
	struct addr first = fx_addr("10.0.0.1"), last = fx_addr("10.0.255.255");
	ck_assert_uint_eq(fleet_del_range(x.fleet, &first, &last, 7, &gone), 0);
	ck_assert_int_eq(fleet_del(x.fleet, &first, &gone), 0);
	ck_assert_uint_eq(log.of[1], 1);
	ck_assert_uint_eq(fleet_del_range(x.fleet, &first, &last, 2, &gone), 2000);
	ck_assert_uint_eq(log.of[2], 2000);
	ck_assert_uint_eq(log.of[1], 1);
	ck_assert_uint_eq(fleet_del_all(x.fleet, &gone), 999);
	ck_assert_uint_eq(log.of[1], 1000);
	ck_assert_uint_lt(log.calls, 10);
	fx_done(&x);
}
END_TEST

/* The model: a sorted array of booleans over a small space of addresses, in both families. */
#define SPACE 2048
static struct addr space_addr(unsigned i)
{
	static const char *const bases[] = {
		"10.0.0.0", "10.7.3.0", "2001:db8::", "2001:db8:1::f00"};
	struct addr base = fx_addr(bases[i % 4]);
	return addr_add(&base, i / 4);
}

static void model_check(struct fixture *x, const bool *there)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < SPACE; i++) {
		struct addr a = space_addr(i);
		ck_assert_msg(fx_has(x, &a) == there[i], "address %u", i);
		n += there[i];
	}
	ck_assert_uint_eq(fleet_count(x->fleet), n);
	ck_assert_uint_eq(fx_walk(x), n);
}

START_TEST(a_random_history_agrees_with_a_model)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct fixture x = fx_make(seed);
		bool there[SPACE] = {false};
		for (uint64_t step = 0; step < 300; step++) {
			uint64_t r = rnd_u64(seed, 1, step);
			unsigned i = (unsigned)(r % SPACE);
			/* Small and large ranges, so that pages of all sizes come and go. */
			unsigned len = 1u << (r >> 32) % 9, end = i + 4 * len;
			struct addr a = space_addr(i), last = addr_add(&a, len - 1);
			struct fleet_add add = fx_add(a, 32 + 96 * !addr_is_v4(&a), len);
			if (end > SPACE)
				continue;
			uint32_t want = 0;
			bool del = (r >> 40) % 2;
			for (unsigned k = i; k < end; k += 4)
				want += there[k] == del;
			if (del)
				ck_assert_uint_eq(
					fleet_del_range(x.fleet, &a, &last, 0, NULL), want);
			else
				ck_assert_uint_eq(fx_create(&x, &add).created, want);
			for (unsigned k = i; k < end; k += 4)
				there[k] = !del;
			if (step % 10 == 0)
				model_check(&x, there);
		}
		model_check(&x, there);
		if (seed % 2)
			(void)fleet_del_all(x.fleet, NULL);
		fx_done(&x);
	}
}
END_TEST

START_TEST(many_pages_alone_in_their_network)
{
	struct fixture x = fx_make(3);
	enum { N = 6000 };
	/* In no order, so that spans split in the middle. */
	for (uint32_t i = 0; i < N; i++) {
		uint32_t at = i * 7919 % N;
		struct fleet_add add = fx_add(addr_from_v4(0x0a000001 + (at << 8)), 24, 1);
		ck_assert_uint_eq(fx_create(&x, &add).created, 1);
	}
	ck_assert_uint_eq(fx_walk(&x), N);
	/* A page of 256 slots each would be 2 KiB a device. */
	ck_assert_uint_lt(fleet_bytes(x.fleet), N * 320u + (4u << 20));
	for (uint32_t i = 0; i < N; i += 2) {
		struct addr a = addr_from_v4(0x0a000001 + (i << 8));
		ck_assert_int_eq(fleet_del(x.fleet, &a, NULL), 0);
	}
	ck_assert_uint_eq(fx_walk(&x), N / 2);
	for (uint32_t i = 0; i < N; i++) {
		struct addr a = addr_from_v4(0x0a000001 + (i << 8));
		ck_assert(fx_has(&x, &a) == (i % 2 == 1));
	}
	fx_done(&x);
}
END_TEST

static int churn(struct fake *f, void *arg UNUSED)
{
	struct stats *stats = NULL;
	struct fleet *fleet = NULL;
	int r = stats_new(f->mem, &stats);
	struct fleet_env env = {f->mem, f->clk, stats};
	struct fleet_conf conf = {1};
	if (r == 0)
		r = fleet_new(&env, &conf, &fleet);
	struct fleet_add add = fx_add(fx_addr("10.0.0.1"), 16, 700);
	static const struct type *const types[] = {&fake_types[0], &fake_types[1]};
	add.types = types;
	add.n_types = 2;
	uint64_t had = 0;
	for (unsigned step = 0; r == 0 && step < 6; step++) {
		struct fleet_added added = {0};
		add.start = addr_from_v4(0x0a000001 + step * 0x10064);
		had = fleet_count(fleet);
		r = fleet_add_slice(fleet, &add, 0, step % 2 ? 1 : 700, &added);
		ck_assert_uint_eq(fleet_count(fleet), had + added.created);
		/* Deleting needs no memory; and what failed left nothing behind. */
		struct addr last = addr_add(&add.start, step == 2 ? 5 : 100);
		uint64_t gone = fleet_del_range(fleet, &add.start, &last, 0, NULL);
		ck_assert(gone > 0 || r < 0);
	}
	if (fleet) {
		had = fleet_count(fleet);
		ck_assert_uint_eq(fleet_del_all(fleet, NULL), had);
		ck_assert_uint_eq(fleet_count(fleet), 0);
		ck_assert_int_eq(fake_type_refs_all(), 0);
	}
	(void)fleet_free(fleet);
	(void)stats_free(stats);
	return r;
}

START_TEST(every_allocation_may_fail)
{
	struct fake f = fake_make();
	rcu_thread_init();
	fake_fail_each(&f, churn, NULL);
	rcu_thread_done();
	ck_assert_int_eq(fake_type_refs_all(), 0);
	fake_done(&f);
}
END_TEST

START_TEST(a_delete_without_memory_leaves_usable_pages)
{
	for (uint64_t n = 0; n < 4; n++) {
		struct fixture x = fx_make(1);
		struct fleet_add add = fx_add(fx_addr("10.0.0.0"), 32, 3000);
		(void)fx_create(&x, &add);
		struct addr first = fx_addr("10.0.1.0"), last = fx_addr("10.0.3.255");
		fake_fail_at(&x.f, n);
		ck_assert_uint_eq(fleet_del_range(x.fleet, &first, &last, 0, NULL), 768);
		fake_fail_at(&x.f, UINT64_MAX);
		ck_assert_uint_eq(fx_walk(&x), 3000 - 768);
		ck_assert(!fx_has(&x, &first) && !fx_has(&x, &last));
		ck_assert_uint_eq(fx_create(&x, &add).created, 768);
		ck_assert_uint_eq(fx_walk(&x), 3000);
		fake_fail_at(&x.f, n);
		ck_assert_uint_eq(fleet_del_all(x.fleet, NULL), 3000);
		fake_fail_at(&x.f, UINT64_MAX);
		ck_assert_uint_eq(fx_walk(&x), 0);
		ck_assert_uint_eq(fx_create(&x, &add).created, 3000);
		fx_done(&x);
	}
}
END_TEST

/* Bases of IPv6 pages that the index keeps under one key. */
static struct addr page_like(const struct addr *a, uint64_t hi)
{
	uint64_t hi_a, lo_a;
	memcpy(&hi_a, a->b, 8);
	memcpy(&lo_a, a->b + 8, 8);
	uint64_t lo = __builtin_bswap64(lo_a) ^ (rnd_mix(hi_a) ^ rnd_mix(hi)) << 8;
	struct addr b;
	memcpy(b.b, &hi, 8);
	lo = __builtin_bswap64(lo);
	memcpy(b.b + 8, &lo, 8);
	return b;
}

START_TEST(pages_with_one_key_are_kept_apart)
{
	struct fixture x = fx_make(1);
	struct addr page[3] = {fx_addr("2001:db8:1:2:3:4:5:600")};
	unsigned n = 1;
	for (uint64_t hi = 0x20; n < 3; hi += 0x100) {
		page[n] = page_like(&page[0], hi);
		n += fleet_page_key(&page[n]) == fleet_page_key(&page[0]);
	}
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3; i++) {
			struct fleet_add add = fx_add(page[i], 128, 2 + 40 * i);
			ck_assert_uint_eq(fx_create(&x, &add).created, add.count);
		}
		for (unsigned i = 0; i < 3; i++)
			for (unsigned k = 0; k < 256; k++) {
				struct addr a = addr_add(&page[i], k);
				ck_assert(fx_has(&x, &a) == (k < 2 + 40 * i));
			}
		ck_assert_uint_eq(fx_walk(&x), 126);
		/* The middle one goes; those behind it are still found. */
		for (unsigned i = 1; i < 4; i++) {
			struct addr last = addr_add(&page[i % 3], 255);
			ck_assert_uint_eq(fleet_del_range(x.fleet, &page[i % 3], &last, 0, NULL),
				2 + 40 * (i % 3));
			ck_assert(i > 1 || (fx_has(&x, &page[0]) && fx_has(&x, &page[2])));
		}
		ck_assert_uint_eq(fx_walk(&x), 0);
	}
	fx_done(&x);
}
END_TEST

static uint64_t gauge_bytes;
static void find_gauge(void *arg, const struct counter *c, const char *name UNUSED, uint64_t v)
{
	if (strcmp(c->owner, "fleet") == 0 && strcmp(c->field, arg) == 0)
		gauge_bytes = v;
}

/* Anonymous mappings that pools named "nl6:fleet..." hold, from the kernel's books. */
static uint64_t mapped_fleet_bytes(bool *ret_named)
{
	FILE *f = fopen("/proc/self/maps", "re");
	ck_assert_ptr_nonnull(f);
	char line[512];
	uint64_t bytes = 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;
		if (strstr(line, "[anon:nl6:fleet") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			bytes += to - from;
	}
	(void)fclose(f);
	*ret_named = bytes > 0;
	return bytes;
}

START_TEST(memory_is_accounted_for)
{
	struct fixture x = fx_make(1);
	struct fleet_add add = fx_add(fx_addr("10.0.0.1"), 8, 200000);
	for (uint32_t i = 0; i < add.count; i += 4096) {
		struct fleet_added added = {0};
		ck_assert_int_eq(
			fleet_add_slice(x.fleet, &add, i, MIN(4096u, add.count - i), &added), 0);
	}
	uint64_t bytes = fleet_bytes(x.fleet);
	ck_assert_uint_ge(bytes, 200000 * 200ull);
	ck_assert_uint_le(bytes, 200000 * 220ull);
	ck_assert_uint_le(bytes, fleet_bytes_needed(200000));
	bool named;
	uint64_t mapped = mapped_fleet_bytes(&named);
	if (named) { /* kernels without names for anonymous memory show none */
		ck_assert_uint_le(mapped, bytes);
		ck_assert_uint_ge(mapped, bytes * 98 / 100);
	}
	stats_each(x.stats, find_gauge, (void *)"memory_bytes");
	ck_assert_uint_eq(gauge_bytes, bytes);
	(void)fleet_del_all(x.fleet, NULL);
	ck_assert_uint_lt(fleet_bytes(x.fleet), 1 << 20);
	fx_done(&x);
}
END_TEST

START_TEST(fleet_time_never_steps)
{
	struct fixture x = fx_make(1);
	uint64_t t = fleet_now_ns(x.fleet);
	ck_assert_uint_eq(t, clk_wall_ns(x.f.clk));
	clk_step_ns(x.f.clk, 1500);
	ck_assert_uint_eq(fleet_now_ns(x.fleet), t + 1500);
	fx_done(&x);
}
END_TEST

UNIT_MAIN(rows_are_found_in_order_and_gone_when_deleted, rows_carry_what_was_asked_for,
	one_seed_gives_one_fleet, existing_and_differing_devices_are_told_apart,
	long_lists_of_ranges_are_cut, deletes_tell_whose_devices_went,
	a_random_history_agrees_with_a_model, many_pages_alone_in_their_network,
	every_allocation_may_fail, a_delete_without_memory_leaves_usable_pages,
	pages_with_one_key_are_kept_apart, memory_is_accounted_for, fleet_time_never_steps)
