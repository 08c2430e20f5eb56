/* Readers find and walk while writers add and delete: run it under the thread sanitizer. */
#include "base/rnd.h"
#include "fleet_fixture.h"

enum { READERS = 2, WRITERS = 2, ROUNDS = 60, STAYING = 600, SPAN = 2048 };
struct shared {
	struct fixture x;
	bool stop;
	uint64_t finds, walks;
	struct thread *writer[WRITERS], *reader[READERS];
	unsigned next_writer, next_reader;
};

/* Devices of 10.0.0.0 stay; those of 10.1.0.0 and 2001:db8:: come and go. */
static const char *const staying = "10.0.0.1";

static void check_row(const struct device *d)
{
	ck_assert_ptr_nonnull(d->conf);
	ck_assert_uint_eq(d->conf->snmp_port, 161);
	ck_assert_ptr_eq(d->conf->type, &fake_types[0]);
	ck_assert_uint_ne(d->boot_ns, 0);
	device_count(d, DEV_SNMP_IN_PKTS, 1);
}

static void find_some(struct shared *s, uint64_t seed, uint64_t round, bool kept_stay)
{
	struct addr kept = fx_addr(staying), v4 = fx_addr("10.1.0.1"), v6 = fx_addr("2001:db8::1");
	RCU_SCOPE;
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t r = rnd_u64(seed, round, i);
		struct addr a = addr_add(r % 3 == 0   ? &kept
					 : r % 3 == 1 ? &v4
						      : &v6,
			(r >> 32) % (r % 3 ? SPAN : STAYING));
		fleet_prefetch_slot(s->x.fleet, &a);
		fleet_prefetch_row(s->x.fleet, &a);
		const struct device *d = fleet_find(s->x.fleet, &a);
		if (d) {
			ck_assert(addr_eq(&d->addr, &a));
			check_row(d);
		}
		ck_assert(d || r % 3 || !kept_stay);
	}
}

/* A walk in several sections meets each device that stays exactly once. */
static void walk(struct shared *s)
{
	struct addr at, first = fx_addr(staying), last = addr_add(&first, STAYING - 1);
	uint32_t kept = 0;
	bool more = true;
	for (unsigned n = 0; more; n = 1) {
		RCU_SCOPE;
		const struct device *d = fleet_next(s->x.fleet, n ? &at : NULL);
		for (unsigned k = 0; d && k < 100; k++, d = fleet_next(s->x.fleet, &at)) {
			ck_assert((n == 0 && k == 0) || addr_cmp(&d->addr, &at) > 0);
			at = d->addr;
			check_row(d);
			kept += addr_cmp(&at, &first) >= 0 && addr_cmp(&at, &last) <= 0;
		}
		more = d != NULL;
	}
	ck_assert_uint_eq(kept, STAYING);
}

static void read_on(void *arg)
{
	struct shared *s = arg;
	uint64_t seed = 100 + __atomic_fetch_add(&s->next_reader, 1, __ATOMIC_RELAXED);
	for (uint64_t round = 0; !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE); round++) {
		find_some(s, seed, round, true);
		(void)__atomic_fetch_add(&s->finds, 64, __ATOMIC_RELAXED);
		if (round % 8 == 0) {
			walk(s);
			(void)__atomic_fetch_add(&s->walks, 1, __ATOMIC_RELAXED);
		}
		ck_assert_uint_ge(fleet_count(s->x.fleet), STAYING);
	}
}

static void write_on(void *arg)
{
	struct shared *s = arg;
	unsigned me = __atomic_fetch_add(&s->next_writer, 1, __ATOMIC_RELAXED);
	struct addr home = fx_addr(me ? "2001:db8::1" : "10.1.0.1"), end = addr_add(&home, SPAN);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t r = rnd_u64(me, 1, round);
		struct fleet_add add = fx_add(addr_add(&home, r % SPAN), 32 + 96 * me, 1);
		add.count = (uint32_t)MIN((r >> 16) % 700 + 1, SPAN - r % SPAN);
		/* In small bites at times, so that small pages grow under the readers. */
		uint32_t bite = r >> 40 & 1 ? 3 : 512;
		struct fleet_added added = {0};
		for (uint32_t i = 0; i < add.count; i += bite)
			ck_assert_int_eq(fleet_add_slice(s->x.fleet, &add, i,
						 MIN(bite, add.count - i), &added),
				0);
		struct addr from = addr_add(&home, (r >> 20) % SPAN),
			    to = addr_add(&from, (r >> 8) % 900);
		(void)fleet_del_range(
			s->x.fleet, &from, addr_cmp(&to, &end) < 0 ? &to : &end, 0, NULL);
	}
}

START_TEST(readers_and_writers_at_once)
{
	struct shared s = {.x = fx_make(1)};
	struct fleet_add add = fx_add(fx_addr(staying), 32, STAYING);
	(void)fx_create(&s.x, &add);
	struct thread_conf reader = {.name = "reader", .run = read_on, .arg = &s};
	struct thread_conf writer = {.name = "writer", .run = write_on, .arg = &s};
	for (unsigned i = 0; i < READERS; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &reader, &s.reader[i]), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &writer, &s.writer[i]), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		(void)thread_join(s.writer[i]);
	/* At least one look at what the writers left. */
	uint64_t walks = __atomic_load_n(&s.walks, __ATOMIC_RELAXED);
	uint64_t until_ns = clk_ns(&clk_system) + 60 * NS_PER_SEC;
	while (__atomic_load_n(&s.walks, __ATOMIC_RELAXED) < walks + 2)
		ck_assert_uint_lt(clk_ns(&clk_system), until_ns);
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++)
		(void)thread_join(s.reader[i]);
	ck_assert_uint_gt(s.finds, 0);
	uint64_t left = fx_walk(&s.x);
	ck_assert_uint_eq(left, fleet_count(s.x.fleet));
	ck_assert_uint_eq(fleet_del_all(s.x.fleet, NULL), left);
	fx_done(&s.x);
}
END_TEST

START_TEST(a_delete_of_all_under_readers)
{
	struct shared s = {.x = fx_make(1)};
	struct thread_conf writer = {.name = "writer", .run = write_on, .arg = &s};
	for (unsigned i = 0; i < WRITERS; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &writer, &s.writer[i]), 0);
	for (unsigned i = 0; i < 50; i++) {
		find_some(&s, 7, i, false);
		(void)fleet_del_all(s.x.fleet, NULL);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		(void)thread_join(s.writer[i]);
	(void)fleet_del_all(s.x.fleet, NULL);
	ck_assert_uint_eq(fleet_count(s.x.fleet), 0);
	ck_assert_uint_eq(fx_walk(&s.x), 0);
	fx_done(&s.x);
}
END_TEST

UNIT_MAIN(readers_and_writers_at_once, a_delete_of_all_under_readers)
