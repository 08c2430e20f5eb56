#include "fake.h"
#include "sim/fleet/engine.h"
#include "sim/fleet/fleet_fixture.h"
#include <string.h>

static const struct device *find(struct fixture *x, const char *address)
{
	struct addr a = fx_addr(address);
	return fleet_find(x->fleet, &a);
}

static struct engine_time clock_of(struct fixture *x)
{
	RCU_SCOPE;
	const struct device *d = find(x, "10.0.0.1");
	ck_assert_ptr_nonnull(d);
	return engine_time(d, fleet_now_ns(x->fleet));
}

static void make(struct fixture *x)
{
	struct fleet_add add = fx_add(fx_addr("10.0.0.1"), 8, 2);
	struct fleet_added added = {0};
	ck_assert_int_eq(fleet_add_slice(x->fleet, &add, 0, 2, &added), 0);
}

static void step(struct fixture *x, uint64_t seconds)
{
	clk_step_ns(x->f.clk, seconds * NS_PER_SEC);
}

START_TEST(boots_are_the_fleets_and_time_is_the_devices)
{
	struct fixture x = fx_make(1);
	fleet_set_boots(x.fleet, 77);
	ck_assert_uint_eq(fleet_boots(x.fleet), 77);
	step(&x, 500);
	make(&x);
	struct engine_time t = clock_of(&x);
	ck_assert_uint_eq(t.boots, 77);
	ck_assert_uint_eq(t.time_s, 0);
	step(&x, 3);
	ck_assert_uint_eq(clock_of(&x).time_s, 3);
	fx_done(&x);
}
END_TEST

/* At whatever moments it goes and comes: never less than before in (boots, time). */
START_TEST(a_device_made_again_never_goes_back)
{
	static const uint32_t waits[] = {
		0, 1, 58, 0, 1, 1, 60, 59, 2, 0, 200, 30, 29, 1, 3600, 0, 7};
	struct fixture x = fx_make(1);
	struct addr a = fx_addr("10.0.0.1");
	struct engine_time before = {0, 0};
	uint64_t start_ns = fleet_now_ns(x.fleet);
	fleet_set_boots(x.fleet, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
		make(&x);
		for (unsigned j = 0; j < 3; j++) {
			struct engine_time now = clock_of(&x);
			ck_assert(now.boots > before.boots ||
				  (now.boots == before.boots && now.time_s >= before.time_s));
			before = now;
			step(&x, waits[(i + j) % ARRAY_SIZE(waits)]);
		}
		ck_assert_int_eq(fleet_del(x.fleet, &a, NULL), 0);
		step(&x, waits[i]);
	}
	/* Nor is it beyond what the next start has by the clock. */
	uint64_t minutes = (fleet_now_ns(x.fleet) - start_ns) / (60 * NS_PER_SEC);
	ck_assert_uint_gt(before.boots, 100);
	ck_assert_uint_le(before.boots - 100, minutes);
	fx_done(&x);
}
END_TEST

UNIT_MAIN(boots_are_the_fleets_and_time_is_the_devices, a_device_made_again_never_goes_back)
