#include "base/rcu.h"
#include "fleet_fixture.h"
#include "sim/fleet/ifset.h"
#include <errno.h>
#include <sched.h>

#define SECOND_NS NS_PER_SEC

struct lab {
	struct fixture x;
	struct type_if ifs[200];
	struct type type;
	const struct type *row_type;
	struct keeper *keeper;
	struct ifset *ifset;
	struct addr addr;
};
static void lab_make(struct lab *l)
{
	memset(l, 0, sizeof(*l));
	l->x = fx_make(1);
	struct keeper_env env = {l->x.f.mem, l->x.f.clk, l->x.stats, l->x.fleet, NULL};
	ck_assert_int_eq(keeper_new(&env, &l->keeper), 0);
	struct ifset_env ifset_env = {l->x.f.mem, l->x.f.clk, l->x.stats, l->keeper, NULL};
	ck_assert_int_eq(ifset_new(&ifset_env, &l->ifset), 0);
	ck_assert_int_eq(keeper_start(l->keeper), 0);
	l->type = fake_types[0];
	l->type.ifs = l->ifs;
	l->type.n_ifs = ARRAY_SIZE(l->ifs);
	for (uint32_t i = 0; i < l->type.n_ifs; i++)
		l->ifs[i] = (struct type_if){.index = i + 1, .admin = IF_UP, .oper = IF_UP};
	l->addr = fx_addr("10.0.0.1");
	struct fleet_add add = fx_add(l->addr, 8, 1);
	(void)fx_create(&l->x, &add);
	/* The row's type is the lab's: the fleet counts references of its own. */
	struct device_conf *conf = (struct device_conf *)fleet_find(l->x.fleet, &l->addr)->conf;
	l->row_type = conf->type;
	conf->type = &l->type;
}
static void lab_done(struct lab *l)
{
	keeper_stop(l->keeper);
	l->ifset = ifset_free(l->ifset);
	l->keeper = keeper_free(l->keeper);
	const struct device *d = fleet_find(l->x.fleet, &l->addr);
	if (d)
		((struct device_conf *)d->conf)->type = l->row_type;
	fx_done(&l->x);
}

struct asked {
	struct change change;
	struct lab *lab;
	struct ifset_ask ask;
	struct ifset_revert *revert;
	int result;
	bool told;
};
static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct asked *a = CONTAINER_OF(c, struct asked, change);
	return ifset_apply(a->lab->ifset, k, d, &a->ask, &a->revert);
}
static void done(struct change *c, int r)
{
	struct asked *a = CONTAINER_OF(c, struct asked, change);
	if (r == 0)
		ifset_arm(a->lab->ifset, &a->lab->addr, &a->ask, a->revert);
	a->result = r;
	__atomic_store_n(&a->told, true, __ATOMIC_RELEASE);
}
static int set(struct lab *l, uint32_t slot, enum ifstate_what what, uint8_t status, uint64_t ns)
{
	struct asked a = {.change = {.addr = l->addr, .apply = apply, .done = done},
		.lab = l,
		.ask = {slot, what, status, ns}};
	ck_assert_int_eq(keeper_submit(l->keeper, &a.change), 0);
	while (!__atomic_load_n(&a.told, __ATOMIC_ACQUIRE))
		sched_yield();
	return a.result;
}
static uint8_t oper(struct lab *l, uint32_t slot)
{
	struct ifstate s;
	RCU_SCOPE;
	const struct device *d = fleet_find(l->x.fleet, &l->addr);
	const struct dev_state *state = RCU_GET(d->state);
	ifstate_get(d, state ? state->ifs : NULL, slot, fleet_now_ns(l->x.fleet), &s);
	return s.oper;
}
/* The keeper looks at the clock within some milliseconds of its own. */
static void until(struct lab *l, uint32_t slot, uint8_t status)
{
	while (oper(l, slot) != status)
		clk_step_ns(l->x.f.clk, SECOND_NS / 100);
}

START_TEST(states_come_back)
{
	static struct lab l;
	lab_make(&l);
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_DOWN, SECOND_NS), 0);
	ck_assert_int_eq(set(&l, 1, IFSTATE_ADMIN, IF_TESTING, 2 * SECOND_NS), 0);
	ck_assert(oper(&l, 0) == IF_DOWN && oper(&l, 1) == IF_TESTING);
	until(&l, 0, IF_UP);
	until(&l, 1, IF_UP);
	/* What comes back is what was before the first that waits. */
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_DOWN, 3600 * SECOND_NS), 0);
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_TESTING, SECOND_NS), 0);
	until(&l, 0, IF_UP);
	/* For good: nothing comes back. The other interface tells that time has passed. */
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_TESTING, SECOND_NS), 0);
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_DOWN, 0), 0);
	ck_assert_int_eq(set(&l, 1, IFSTATE_LINK, IF_DOWN, 2 * SECOND_NS), 0);
	until(&l, 1, IF_UP);
	ck_assert(oper(&l, 0) == IF_DOWN);
	lab_done(&l);
}
END_TEST

START_TEST(a_hundred_of_a_device_wait)
{
	static struct lab l;
	lab_make(&l);
	for (uint32_t i = 0; i < IFSET_REVERTS_MAX; i++)
		ck_assert_int_eq(set(&l, i, IFSTATE_LINK, IF_DOWN, 3600 * SECOND_NS), 0);
	ck_assert_int_eq(set(&l, 150, IFSTATE_LINK, IF_DOWN, SECOND_NS), -EDQUOT);
	ck_assert(oper(&l, 150) == IF_UP);
	ck_assert_int_eq(set(&l, 7, IFSTATE_LINK, IF_TESTING, SECOND_NS), 0);
	until(&l, 7, IF_UP);
	ck_assert_int_eq(set(&l, 150, IFSTATE_LINK, IF_DOWN, 3600 * SECOND_NS), 0);
	lab_done(&l); /* with a hundred that wait */
}
END_TEST

START_TEST(a_device_may_go_meanwhile)
{
	static struct lab l;
	lab_make(&l);
	ck_assert_int_eq(set(&l, 0, IFSTATE_LINK, IF_DOWN, SECOND_NS), 0);
	((struct device_conf *)fleet_find(l.x.fleet, &l.addr)->conf)->type = l.row_type;
	ck_assert_int_eq(fleet_del(l.x.fleet, &l.addr, NULL), 0);
	clk_step_ns(l.x.f.clk, 10 * SECOND_NS);
	lab_done(&l);
}
END_TEST

START_TEST(memory_may_fail)
{
	static struct lab l;
	lab_make(&l);
	for (uint64_t n = 0;; n++) {
		uint8_t before = oper(&l, 3), to = before == IF_UP ? IF_DOWN : IF_UP;
		fake_fail_at(&l.x.f, n);
		int r = set(&l, 3, IFSTATE_LINK, to, 3600 * SECOND_NS);
		bool failed = fake_has_failed(&l.x.f);
		fake_fail_at(&l.x.f, UINT64_MAX);
		ck_assert(r == 0 || r == -ENOMEM);
		ck_assert_uint_eq(oper(&l, 3), r == 0 ? to : before);
		if (!failed)
			break;
	}
	lab_done(&l);
}
END_TEST

UNIT_MAIN(states_come_back, a_hundred_of_a_device_wait, a_device_may_go_meanwhile, memory_may_fail)
