#include "base/clk.h"
#include "fake.h"
#include <time.h>

START_TEST(system_clock)
{
	uint64_t a = clk_ns(&clk_system), b = clk_ns(&clk_system);
	ck_assert_uint_ge(b, a);
	uint64_t before = (uint64_t)time(NULL), wall = clk_wall_ns(&clk_system) / NS_PER_SEC;
	uint64_t after = (uint64_t)time(NULL);
	/* time(2) may lag the clock by a tick. */
	ck_assert_uint_ge(wall, before);
	ck_assert_uint_le(wall, after + 1);
}
END_TEST

UNIT_MAIN(system_clock)
