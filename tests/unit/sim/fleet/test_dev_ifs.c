#include "base/rnd.h"
#include "fake.h"
#include "sim/fleet/dev_ifs.h"
#include <errno.h>

#define IFS 20
#define BOOT 1000u

struct lab {
	struct type_if ifs[IFS];
	struct type type;
	struct device_conf conf;
	struct device dev;
};
static void lab_init(struct lab *l)
{
	*l = (struct lab){.type = {.n_ifs = IFS, .ifs = l->ifs}, .conf = {.type = &l->type}};
	l->dev = (struct device){.conf = &l->conf, .boot_ns = BOOT};
	for (uint32_t i = 0; i < IFS; i++)
		l->ifs[i] = (struct type_if){.index = 100 + i, .admin = IF_UP, .oper = IF_UP};
	l->ifs[3].oper = IF_DOWN;
	l->ifs[4].admin = l->ifs[4].oper = IF_DOWN;
}

static struct ifstate at(const struct lab *l, const struct dev_ifs *ifs, uint32_t slot, uint64_t ns)
{
	struct ifstate s;
	ifstate_get(&l->dev, ifs, slot, ns, &s);
	return s;
}
#define IS(s, a, l, o, u, c) \
	ck_assert_msg((s).admin == (a) && (s).link == (l) && (s).oper == (o) && \
			      (s).up_ns == (u) && (s).changed_ns == (c), \
		"%u %u %u %llu %llu", (s).admin, (s).link, (s).oper, \
		(unsigned long long)(s).up_ns, (unsigned long long)(s).changed_ns)

START_TEST(a_type_says_what_is)
{
	struct lab l;
	lab_init(&l);
	IS(at(&l, NULL, 0, BOOT + 5), IF_UP, IF_UP, IF_UP, 5, 0);
	IS(at(&l, NULL, 0, BOOT - 5), IF_UP, IF_UP, IF_UP, 0, 0); /* a datagram's instant */
	IS(at(&l, NULL, 3, BOOT + 5), IF_UP, IF_DOWN, IF_DOWN, 0, 0);
	IS(at(&l, NULL, 4, BOOT + 5), IF_DOWN, IF_DOWN, IF_DOWN, 0, 0);
	uint32_t slot;
	ck_assert_int_eq(ifstate_slot(&l.type, 103, &slot), 0);
	ck_assert_uint_eq(slot, 3);
	ck_assert_int_eq(ifstate_slot(&l.type, 3, &slot), -ENOENT);
}
END_TEST

static const struct dev_ifs *change(struct fake *f, const struct lab *l, const struct dev_ifs *ifs,
	uint32_t slot, enum ifstate_what what, uint8_t status, uint64_t ns)
{
	const struct dev_ifs *to = NULL;
	ck_assert_int_eq(ifstate_change(f->mem, &l->dev, ifs, slot, what, status, ns, &to), 0);
	if (to != ifs)
		mem_free(f->mem, (void *)ifs);
	return to;
}

START_TEST(admin_hides_the_link)
{
	struct fake f = fake_make();
	struct lab l;
	const struct dev_ifs *ifs = NULL;
	lab_init(&l);
	ck_assert_ptr_null(change(&f, &l, NULL, 0, IFSTATE_ADMIN, IF_UP, BOOT + 9));
	ifs = change(&f, &l, ifs, 0, IFSTATE_ADMIN, IF_DOWN, BOOT + 10);
	IS(at(&l, ifs, 0, BOOT + 30), IF_DOWN, IF_UP, IF_DOWN, 10, 10);
	IS(at(&l, ifs, 1, BOOT + 30), IF_UP, IF_UP, IF_UP, 30, 0);
	/* Masked: nothing that shows has changed, nor when. */
	ifs = change(&f, &l, ifs, 0, IFSTATE_LINK, IF_DOWN, BOOT + 40);
	IS(at(&l, ifs, 0, BOOT + 50), IF_DOWN, IF_DOWN, IF_DOWN, 10, 10);
	ifs = change(&f, &l, ifs, 0, IFSTATE_ADMIN, IF_TESTING, BOOT + 60);
	IS(at(&l, ifs, 0, BOOT + 70), IF_TESTING, IF_DOWN, IF_TESTING, 10, 60);
	/* Up releases it to its link. */
	ifs = change(&f, &l, ifs, 0, IFSTATE_ADMIN, IF_UP, BOOT + 80);
	IS(at(&l, ifs, 0, BOOT + 90), IF_UP, IF_DOWN, IF_DOWN, 10, 80);
	ifs = change(&f, &l, ifs, 0, IFSTATE_LINK, IF_UP, BOOT + 100);
	IS(at(&l, ifs, 0, BOOT + 110), IF_UP, IF_UP, IF_UP, 20, 100);
	ck_assert_ptr_eq(change(&f, &l, ifs, 0, IFSTATE_LINK, IF_UP, BOOT + 120), ifs);
	mem_free(f.mem, (void *)ifs);
	fake_done(&f);
}
END_TEST

/* Random changes of all interfaces; how long each was up is summed up tick by tick. */
START_TEST(time_up_is_the_sum_of_its_parts)
{
	struct fake f = fake_make();
	static const uint8_t status[] = {IF_UP, IF_DOWN, IF_TESTING};
	struct lab l;
	const struct dev_ifs *ifs = NULL;
	uint64_t up[IFS] = {0}, now = BOOT;
	lab_init(&l);
	for (uint64_t step = 0; step < 5000; step++) {
		uint64_t ticks = rnd_below(1, 1, step, 4);
		for (uint32_t i = 0; i < IFS; i++)
			up[i] += at(&l, ifs, i, now).oper == IF_UP ? ticks : 0;
		now += ticks;
		ifs = change(&f, &l, ifs, rnd_below(1, 2, step, IFS),
			rnd_below(1, 3, step, 2) ? IFSTATE_ADMIN : IFSTATE_LINK,
			status[rnd_below(1, 4, step, 3)], now);
		for (uint32_t i = 0; i < IFS; i++)
			ck_assert_uint_eq(at(&l, ifs, i, now).up_ns, up[i]);
	}
	ck_assert_uint_eq(ifs->n, IFS);
	mem_free(f.mem, (void *)ifs);
	fake_done(&f);
}
END_TEST

/* Without a byte for it: what boots differently is told by the settings. */
START_TEST(scenarios_say_how_interfaces_boot)
{
	struct lab l;
	lab_init(&l);
	l.conf.if_scenario = IF_SCENARIO_SHUTDOWN;
	IS(at(&l, NULL, 0, BOOT + 5), IF_DOWN, IF_UP, IF_DOWN, 0, 0);
	IS(at(&l, NULL, 3, BOOT + 5), IF_DOWN, IF_DOWN, IF_DOWN, 0, 0);
	l.conf.if_scenario = IF_SCENARIO_FAILURE;
	IS(at(&l, NULL, 0, BOOT + 5), IF_UP, IF_DOWN, IF_DOWN, 0, 0);
	IS(at(&l, NULL, 4, BOOT + 5), IF_UP, IF_DOWN, IF_DOWN, 0, 0);
	l.conf.if_scenario = IF_SCENARIO_PART;
	l.conf.if_failure_pct = 2;
	IS(at(&l, NULL, 1, BOOT + 5), IF_UP, IF_DOWN, IF_DOWN, 0, 0); /* ifIndex 101 */
	IS(at(&l, NULL, 2, BOOT + 5), IF_UP, IF_UP, IF_UP, 5, 0);
}
END_TEST

UNIT_MAIN(scenarios_say_how_interfaces_boot, a_type_says_what_is, admin_hides_the_link,
	time_up_is_the_sum_of_its_parts)
