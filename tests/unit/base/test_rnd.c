#include "base/attr.h"
#include "base/rnd.h"
#include "fake.h"

/* A seed must give the same fleet in every build, for ever. */
START_TEST(values_are_pinned)
{
	ck_assert_uint_eq(rnd_u64(0, 0, 0), 0x144bed5a7a64dae1ull);
	ck_assert_uint_eq(rnd_u64(1, 2, 3), 0xfc63a2bff610b417ull);
	ck_assert_uint_eq(rnd_u64(UINT64_MAX, 5, UINT64_MAX), 0xb61c22cd1b84dcc8ull);
}
END_TEST

START_TEST(each_argument_flips_half_the_bits)
{
	unsigned flips[3] = {0}, rounds = 0;
	for (uint64_t i = 0; i < 200; i++)
		for (unsigned bit = 0; bit < 64; bit++, rounds++) {
			uint64_t v = rnd_u64(i, i, i), d = 1ull << bit;
			flips[0] += (unsigned)__builtin_popcountll(v ^ rnd_u64(i ^ d, i, i));
			flips[1] += (unsigned)__builtin_popcountll(v ^ rnd_u64(i, i ^ d, i));
			flips[2] += (unsigned)__builtin_popcountll(v ^ rnd_u64(i, i, i ^ d));
		}
	for (unsigned a = 0; a < 3; a++) {
		/* 32 of 64, with a deviation of 4 / sqrt(12,800) = 0.035 */
		double mean = (double)flips[a] / rounds;
		ck_assert_double_gt(mean, 31.8);
		ck_assert_double_lt(mean, 32.2);
	}
}
END_TEST

START_TEST(below_is_uniform_and_bounded)
{
	unsigned seen[10] = {0};
	for (uint64_t i = 0; i < 100000; i++) {
		uint32_t v = rnd_below(7, 1, i, 10);
		ck_assert_uint_lt(v, 10);
		seen[v]++;
	}
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_uint_gt(seen[i], 9500); /* 10,000, deviation 95 */
		ck_assert_uint_lt(seen[i], 10500);
	}
	ck_assert_uint_eq(rnd_below(7, 1, 1, 1), 0);
}
END_TEST

UNIT_MAIN(values_are_pinned, each_argument_flips_half_the_bits, below_is_uniform_and_bounded)
