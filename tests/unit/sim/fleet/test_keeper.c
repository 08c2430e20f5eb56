#include "base/thread.h"
#include "fleet_fixture.h"
#include "sim/fleet/keeper.h"
#include <errno.h>
#include <stdlib.h>

#define N 3000

/* What the keeper passes on without a look. */
struct dev_sets {
	uint32_t value;
};

struct kept { /* a store that counts, and fails when told */
	uint32_t put, committed, rolled_back;
	int fail;
};
static int commit(void *arg)
{
	struct kept *s = arg;
	if (s->fail)
		return s->fail;
	s->committed = s->put;
	return 0;
}
static void rollback(void *arg)
{
	struct kept *s = arg;
	s->put = s->committed;
	s->rolled_back++;
}

struct lab {
	struct fixture x;
	struct kept kept;
	struct keeper_store store;
	struct keeper *keeper;
};
static void lab_make(struct lab *l)
{
	l->x = fx_make(1);
	struct fleet_add a = fx_add(fx_addr("10.0.0.1"), 8, 1000);
	(void)fx_create(&l->x, &a);
	l->kept = (struct kept){0};
	l->store = (struct keeper_store){commit, rollback, &l->kept};
	struct keeper_env env = {l->x.f.mem, l->x.f.clk, l->x.stats, l->x.fleet, &l->store};
	ck_assert_int_eq(keeper_new(&env, &l->keeper), 0);
}
static void lab_done(struct lab *l)
{
	l->keeper = keeper_free(l->keeper);
	fx_done(&l->x);
}

/* Sets the device's value to one more than wanted, which must be what is there. */
struct step {
	struct change change;
	struct lab *lab;
	uint32_t wanted;
	bool puts_fails, gone;
	int *results; /* in order of done */
	uint32_t *n;
};
static int step_apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct step *s = (struct step *)c;
	if (!d)
		return -ENOENT;
	const struct dev_state *now = keeping_state(k, d);
	if ((now ? now->sets->value : 0) != s->wanted)
		return -EINVAL;
	if (s->puts_fails)
		return keeping_fail(k, -EIO);
	struct dev_sets *sets = NULL;
	if (!s->gone) {
		sets = mem_alloc(keeping_mem(k), sizeof(*sets));
		if (!sets)
			return -ENOMEM;
		sets->value = s->wanted + 1;
	}
	s->lab->kept.put++;
	return keeping_put(k, d, sets, NULL);
}
static void step_done(struct change *c, int r)
{
	struct step *s = (struct step *)c;
	s->results[(*s->n)++] = r;
}

struct steps {
	struct step step[N];
	int results[N];
	uint32_t n;
};
static struct steps *steps_new(struct lab *l, const char *a)
{
	struct steps *s = calloc(1, sizeof(*s));
	for (uint32_t i = 0; i < N; i++)
		s->step[i] = (struct step){
			.change = {.addr = fx_addr(a), .apply = step_apply, .done = step_done},
			.lab = l,
			.wanted = i,
			.results = s->results,
			.n = &s->n};
	return s;
}

static uint32_t value_of(struct lab *l, const char *a)
{
	struct addr addr = fx_addr(a);
	RCU_SCOPE;
	const struct dev_state *s = RCU_GET(fleet_find(l->x.fleet, &addr)->state);
	return s ? s->sets->value : 0;
}

START_TEST(changes_come_in_order)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_submit(l.keeper, &s->step[0].change), -ESHUTDOWN);
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	for (uint32_t i = 0; i < N; i++)
		ck_assert_int_eq(keeper_submit(l.keeper, &s->step[i].change), 0);
	keeper_stop(l.keeper); /* carries out what waits */
	ck_assert_uint_eq(s->n, N);
	for (uint32_t i = 0; i < N; i++)
		ck_assert_int_eq(s->results[i], 0);
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), N);
	ck_assert_uint_eq(value_of(&l, "10.0.0.8"), 0);
	ck_assert_uint_eq(l.kept.committed, N);
	free(s);
	lab_done(&l);
}
END_TEST

START_TEST(refusals_leave_the_rest_alone)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	s->step[1].wanted = 9;
	s->step[2].change.addr = fx_addr("10.9.9.9");
	s->step[3].wanted = 1;
	s->step[4].wanted = 2;
	s->step[4].gone = true;
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_int_eq(keeper_submit(l.keeper, &s->step[i].change), 0);
	s->step[5].wanted = 0;
	ck_assert_int_eq(keeper_run(l.keeper, &s->step[5].change), 0);
	static const int want[] = {0, -EINVAL, -ENOENT, 0, 0};
	ck_assert_uint_eq(s->n, 5);
	ck_assert_mem_eq(s->results, want, sizeof(want));
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), 1);
	free(s);
	lab_done(&l);
}
END_TEST

START_TEST(what_is_not_kept_is_undone)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	ck_assert_int_eq(keeper_run(l.keeper, &s->step[0].change), 0);
	l.kept.fail = -ENOSPC;
	ck_assert_int_eq(keeper_run(l.keeper, &s->step[1].change), -ENOSPC);
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), 1);
	l.kept.fail = 0;
	s->step[1].puts_fails = true;
	ck_assert_int_eq(keeper_run(l.keeper, &s->step[1].change), -EIO);
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), 1);
	s->step[1].puts_fails = false;
	ck_assert_int_eq(keeper_run(l.keeper, &s->step[1].change), 0);
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), 2);
	ck_assert_uint_eq(l.kept.committed, 2);
	ck_assert_uint_eq(l.kept.rolled_back, 2);
	free(s);
	lab_done(&l);
}
END_TEST

/* A group that fails in the middle takes nothing with it that comes after. */
START_TEST(a_failure_ends_its_group)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	s->step[100].puts_fails = true;
	uint32_t n = 0;
	for (uint32_t i = 0; i < 200; i++)
		ck_assert_int_eq(keeper_submit(l.keeper, &s->step[i].change), 0);
	keeper_stop(l.keeper);
	ck_assert_uint_eq(s->n, 200);
	ck_assert_int_eq(s->results[100], -EIO);
	while (n < 200 && s->results[n] == 0)
		n++;
	for (uint32_t i = n; i <= 100; i++)
		ck_assert_int_eq(s->results[i], -EIO);
	for (uint32_t i = 101; i < 200; i++) /* their turn came, and found what was undone */
		ck_assert_int_eq(s->results[i], -EINVAL);
	ck_assert_uint_eq(value_of(&l, "10.0.0.7"), n);
	ck_assert_uint_eq(l.kept.committed, n);
	free(s);
	lab_done(&l);
}
END_TEST

static void step_delete(struct change *c, int r)
{
	struct step *s = (struct step *)c;
	ck_assert_int_eq(fleet_del(s->lab->x.fleet, &c->addr, NULL), 0);
	step_done(c, r);
}

/* What comes behind a change that is alone sees what its done has done, however many wait. */
START_TEST(one_that_is_alone_is_done_before_the_next)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	s->step[100].change.alone = true;
	s->step[100].change.done = step_delete;
	for (uint32_t i = 0; i < 300; i++)
		ck_assert_int_eq(keeper_submit(l.keeper, &s->step[i].change), 0);
	keeper_stop(l.keeper);
	ck_assert_uint_eq(s->n, 300);
	for (uint32_t i = 0; i < 300; i++)
		ck_assert_int_eq(s->results[i], i <= 100 ? 0 : -ENOENT);
	free(s);
	lab_done(&l);
}
END_TEST

static void delete_and_create(void *arg)
{
	struct lab *l = arg;
	struct fleet_add a = fx_add(fx_addr("10.0.0.7"), 8, 1);
	for (unsigned i = 0; i < 200; i++) {
		ck_assert_int_eq(fleet_del(l->x.fleet, &a.start, NULL), 0);
		clk_step_ns(l->x.f.clk, 1);
		(void)fx_create(&l->x, &a);
	}
}

START_TEST(devices_may_go_meanwhile)
{
	struct lab l;
	lab_make(&l);
	struct steps *s = steps_new(&l, "10.0.0.7");
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	struct thread *t;
	struct thread_conf conf = {"deleter", NULL, delete_and_create, &l};
	ck_assert_int_eq(thread_start(l.x.f.mem, &conf, &t), 0);
	for (uint32_t i = 0; i < N; i++) {
		s->step[i].wanted = 0;
		s->step[i].gone = i % 3 == 2;
		ck_assert_int_eq(keeper_submit(l.keeper, &s->step[i].change), 0);
	}
	thread_join(t);
	keeper_stop(l.keeper);
	ck_assert_uint_eq(s->n, N);
	free(s);
	lab_done(&l);
}
END_TEST

static int one_change(struct fake *f, void *arg)
{
	struct lab *l = arg;
	struct keeper_env env = {f->mem, f->clk, l->x.stats, l->x.fleet, &l->store};
	AUTO(keeper) struct keeper *k = NULL;
	int result = 0;
	uint32_t n = 0;
	struct step s = {.change = {.addr = fx_addr("10.0.0.9"), .apply = step_apply},
		.lab = l,
		.results = &result,
		.n = &n};
	int r = keeper_new(&env, &k);
	if (r == 0)
		r = keeper_start(k);
	if (r == 0)
		r = keeper_run(k, &s.change);
	s.wanted = 1;
	s.gone = true;
	if (r == 0)
		r = keeper_run(k, &s.change);
	if (k)
		keeper_stop(k);
	struct addr a = s.change.addr;
	const struct device *d = fleet_find(l->x.fleet, &a);
	if (r < 0 && d->state) { /* the second failed: as before the first */
		dev_state_free(f->mem, d->state, NULL);
		ck_assert_int_eq(fleet_swap_state(l->x.fleet, &a, d->boot_ns, NULL), 0);
	}
	return r;
}

START_TEST(memory_may_fail)
{
	struct lab l;
	lab_make(&l);
	fake_fail_each(&l.x.f, one_change, &l);
	lab_done(&l);
}
END_TEST

static void note(void *arg)
{
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
}
static struct wheel_timer timer;
static int arm(struct change *c UNUSED, struct keeping *k UNUSED, const struct device *d)
{
	return d ? -EINVAL : 0;
}
static void armed(struct change *c, int r)
{
	struct step *s = (struct step *)c;
	ck_assert_int_eq(r, 0);
	wheel_arm(keeper_wheel(s->lab->keeper), &timer, clk_ns(s->lab->x.f.clk) + 1);
}

START_TEST(timers_fire)
{
	struct lab l;
	lab_make(&l);
	bool fired = false;
	timer = (struct wheel_timer){.fire = note, .arg = &fired};
	struct step s = {.change = {.apply = arm, .done = armed}, .lab = &l};
	ck_assert_int_eq(keeper_start(l.keeper), 0);
	ck_assert_int_eq(keeper_submit(l.keeper, &s.change), 0);
	while (!__atomic_load_n(&fired, __ATOMIC_ACQUIRE))
		clk_step_ns(l.x.f.clk, NS_PER_SEC / 100);
	lab_done(&l);
}
END_TEST

UNIT_MAIN(changes_come_in_order, refusals_leave_the_rest_alone, what_is_not_kept_is_undone,
	a_failure_ends_its_group, one_that_is_alone_is_done_before_the_next,
	devices_may_go_meanwhile, memory_may_fail, timers_fire)
