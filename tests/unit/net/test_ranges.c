#include "base/rnd.h"
#include "fake.h"
#include "net/ranges.h"
#include <errno.h>

static struct addr at(uint32_t i)
{
	return addr_from_v4(0x0a000000 + i);
}

static int add(struct ranges *s, uint32_t first, uint32_t last)
{
	struct addr f = at(first), l = at(last);
	int r = ranges_reserve(s);
	if (r == 0)
		ranges_add(s, &f, &l);
	return r;
}

static void del(struct ranges *s, uint32_t first, uint32_t last)
{
	struct addr f = at(first), l = at(last);
	ranges_del(s, &f, &l);
}

#define SPAN 200
/* Compares every answer with a plain array of depths. */
static bool is_model(const struct ranges *s, const uint32_t depth[static SPAN + 2])
{
	for (uint32_t i = 0; i < SPAN; i++) {
		struct addr from = at(i), f, l;
		uint32_t k = i;
		while (k < SPAN && !depth[k])
			k++;
		bool found = ranges_next(s, &from, &f, &l);
		if (found != (k < SPAN))
			return false;
		if (!found)
			continue;
		uint32_t lo = k, hi = k;
		while (lo > 0 && depth[lo - 1])
			lo--;
		while (depth[hi + 1])
			hi++;
		struct addr end = at(hi), over = at(hi + 1);
		if (addr_v4_u32(&f) != 0x0a000000 + lo || addr_v4_u32(&l) != 0x0a000000 + hi ||
			ranges_have(s, &from, &end) != (k == i) || ranges_have(s, &from, &over))
			return false;
	}
	return true;
}

static void check_joined(
	const struct ranges *s, const uint32_t *depth, uint32_t first, uint32_t last)
{
	uint32_t lo = first, hi = last;
	while (lo > 0 && depth[lo - 1])
		lo--;
	while (depth[hi + 1])
		hi++;
	struct addr f = at(first), l = at(last), jf, jl;
	ranges_joined(s, &f, &l, &jf, &jl);
	ck_assert_uint_eq(addr_v4_u32(&jf), 0x0a000000 + lo);
	ck_assert_uint_eq(addr_v4_u32(&jl), 0x0a000000 + hi);
}

START_TEST(agrees_with_an_array_of_depths)
{
	struct fake f = fake_make();
	for (uint64_t seed = 0; seed < 60; seed++) {
		AUTO(ranges) struct ranges *s = NULL;
		ck_assert_int_eq(ranges_new(f.mem, &s), 0);
		uint32_t depth[SPAN + 2] = {0}, first[40], last[40], n = 0;
		for (uint64_t i = 0; i < 120; i++) {
			if (n < 40 && (n == 0 || rnd_below(seed, 1, i, 100) < 55)) {
				uint32_t a = rnd_below(seed, 2, i, SPAN),
					 b = MIN(SPAN - 1u, a + rnd_below(seed, 3, i, 30));
				check_joined(s, depth, a, b);
				ck_assert_int_eq(add(s, a, b), 0);
				for (uint32_t k = a; k <= b; k++)
					depth[k]++;
				first[n] = a;
				last[n++] = b;
			} else {
				uint32_t k = rnd_below(seed, 4, i, n);
				/* Deleting takes no memory. */
				fake_fail_at(&f, 0);
				del(s, first[k], last[k]);
				ck_assert(!fake_has_failed(&f));
				fake_fail_at(&f, UINT64_MAX);
				for (uint32_t j = first[k]; j <= last[k]; j++)
					depth[j]--;
				first[k] = first[--n];
				last[k] = last[n];
			}
			ck_assert_uint_eq(ranges_count(s), n);
			ck_assert(is_model(s, depth));
		}
	}
	fake_done(&f);
}
END_TEST

START_TEST(nested_ranges_outlive_each_other)
{
	struct fake f = fake_make();
	AUTO(ranges) struct ranges *s = NULL;
	ck_assert_int_eq(ranges_new(f.mem, &s), 0);
	ck_assert_int_eq(add(s, 0, 255), 0);
	ck_assert_int_eq(add(s, 10, 20), 0);
	ck_assert_int_eq(add(s, 10, 20), 0);
	del(s, 0, 255);
	struct addr from = at(0), first, last;
	ck_assert(ranges_next(s, &from, &first, &last));
	ck_assert_uint_eq(addr_v4_u32(&first), 0x0a000000 + 10);
	ck_assert_uint_eq(addr_v4_u32(&last), 0x0a000000 + 20);
	del(s, 10, 20);
	ck_assert(ranges_next(s, &from, &first, &last));
	del(s, 10, 20);
	ck_assert(!ranges_next(s, &from, &first, &last));
	s = ranges_free(s);
	fake_done(&f);
}
END_TEST

static int grow(struct fake *f, void *arg UNUSED)
{
	AUTO(ranges) struct ranges *s = NULL;
	int r = ranges_new(f->mem, &s);
	for (uint32_t i = 0; i < 20 && r == 0; i++)
		r = add(s, 4 * i, 4 * i + 1);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, grow, NULL);
	fake_done(&f);
}
END_TEST

START_TEST(families_do_not_touch)
{
	struct fake f = fake_make();
	AUTO(ranges) struct ranges *s = NULL;
	ck_assert_int_eq(ranges_new(f.mem, &s), 0);
	struct addr a, b, first, last;
	ck_assert_int_eq(addr_parse("2001:db8::10", &a), 0);
	ck_assert_int_eq(addr_parse("2001:db8::ffff:ffff", &b), 0);
	ck_assert_int_eq(ranges_reserve(s), 0);
	ranges_add(s, &a, &b);
	ck_assert_int_eq(add(s, 0, 1), 0);
	struct addr zero = {{0}};
	ck_assert(ranges_next(s, &zero, &first, &last));
	ck_assert(addr_is_v4(&first) && addr_is_v4(&last));
	zero = addr_add(&last, 1);
	ck_assert(ranges_next(s, &zero, &first, &last));
	ck_assert(addr_eq(&first, &a) && addr_eq(&last, &b));
	s = ranges_free(s);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(agrees_with_an_array_of_depths, nested_ranges_outlive_each_other,
	each_allocation_may_fail, families_do_not_touch)
