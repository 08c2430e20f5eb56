#include "base/rnd.h"
#include "fake.h"
#include "sim/fleet/dev_sets.h"
#include <errno.h>
#include <string.h>

#define OIDS 40

struct name {
	uint8_t ber[OID_BER_BYTES];
	size_t n;
	struct oid_key key;
};
static struct name name_of(uint32_t i)
{
	struct oid o = {9, {1, 3, 6, 1, 4, 1, 32473, i * 77777, i % 3}};
	struct name name;
	int n = oid_to_ber(&o, name.ber, sizeof(name.ber));
	ck_assert_int_gt(n, 0);
	name.n = (size_t)n;
	oid_to_key(&o, &name.key);
	return name;
}

/* Random changes, several at once and of one OID too, against what should be there. */
START_TEST(changes_add_up)
{
	struct fake f = fake_make();
	struct dev_sets *sets = NULL;
	int64_t model[OIDS];
	uint64_t when[OIDS];
	for (uint32_t i = 0; i < OIDS; i++)
		model[i] = -1;
	for (uint64_t step = 1; step < 2000; step++) {
		struct name names[5];
		struct ber_value values[5];
		struct dev_sets_change changes[5];
		uint32_t n = 1 + rnd_below(1, 1, step, 5);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t oid = rnd_below(2, k, step, OIDS);
			bool gone = rnd_below(3, k, step, 3) == 0;
			names[k] = name_of(oid);
			values[k] = (struct ber_value){
				.tag = BER_INTEGER, .i = (int64_t)(step * 8 + k)};
			changes[k] = (struct dev_sets_change){
				names[k].ber, names[k].n, gone ? NULL : &values[k]};
			model[oid] = gone ? -1 : values[k].i;
			when[oid] = step;
		}
		struct dev_sets *next = NULL;
		ck_assert_int_eq(dev_sets_changed(f.mem, sets, changes, n, step, &next), 0);
		mem_free(f.mem, sets);
		sets = next;
		uint32_t live = 0;
		for (uint32_t i = 0; i < OIDS; i++) {
			struct name name = name_of(i);
			const struct dev_set *s =
				sets ? dev_sets_find(sets, name.key.b, name.key.n) : NULL;
			live += s != NULL;
			ck_assert_int_eq(s != NULL, model[i] >= 0);
			if (!s)
				continue;
			ck_assert_int_eq(dev_set_value(sets, s).i, model[i]);
			ck_assert_uint_eq(s->set_ns, when[i]);
			ck_assert_uint_eq(s->ber_n, name.n);
			ck_assert_mem_eq(dev_sets_bytes(sets) + s->ber_at, name.ber, name.n);
		}
		ck_assert_uint_eq(sets ? sets->n : 0, live);
	}
	mem_free(f.mem, sets);
	fake_done(&f);
}
END_TEST

START_TEST(long_values_and_short_ones)
{
	struct fake f = fake_make();
	static uint8_t bytes[60000];
	memset(bytes, 'x', sizeof(bytes));
	struct dev_sets *sets = NULL;
	struct name a = name_of(1), b = name_of(2);
	struct ber_value big = {.tag = BER_OCTET_STRING, .len = sizeof(bytes), .bytes = bytes},
			 none = {.tag = BER_OCTET_STRING, .len = 0, .bytes = bytes};
	struct dev_sets_change changes[] = {{b.ber, b.n, &none}, {a.ber, a.n, &big}};
	ck_assert_int_eq(dev_sets_changed(f.mem, NULL, changes, 2, 5, &sets), 0);
	struct ber_value v = dev_set_value(sets, dev_sets_find(sets, a.key.b, a.key.n));
	ck_assert_uint_eq(v.len, sizeof(bytes));
	ck_assert_mem_eq(v.bytes, bytes, sizeof(bytes));
	ck_assert_uint_eq(dev_set_value(sets, dev_sets_find(sets, b.key.b, b.key.n)).len, 0);
	mem_free(f.mem, sets);
	fake_done(&f);
}
END_TEST

static int once(struct fake *f, void *arg UNUSED)
{
	struct name a = name_of(1);
	struct ber_value v = {.tag = BER_INTEGER, .i = 5};
	struct dev_sets_change change = {a.ber, a.n, &v};
	struct dev_sets *sets = NULL;
	int r = dev_sets_changed(f->mem, NULL, &change, 1, 5, &sets);
	if (r == 0)
		mem_free(f->mem, sets);
	return r;
}

START_TEST(memory_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, once, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(changes_add_up, long_values_and_short_ones, memory_may_fail)
