#include "base/rnd.h"
#include "base/wheel.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

#define TIMERS 200
#define TICK_NS 1000
#define START_NS 5000123

/* A model beside the wheel: for each timer, the tick it must fire at. */
struct model {
	struct wheel *w;
	struct one {
		struct wheel_timer timer;
		struct model *model;
		bool armed, late;
		uint64_t tick;
	} timers[TIMERS];
	uint64_t seed, draws;
	uint64_t now_tick, last_fired_tick; /* of the run under way */
	unsigned fired;
	bool running;
};

static uint64_t draw(struct model *m)
{
	return rnd_u64(m->seed, 1, m->draws++);
}

static void model_arm(struct model *m, struct one *o, uint64_t at_ns)
{
	wheel_arm(m->w, &o->timer, at_ns);
	o->armed = true;
	o->tick = at_ns <= START_NS ? 0 : (at_ns - START_NS + TICK_NS - 1) / TICK_NS;
	/* What is due already waits for the next run. */
	uint64_t reached = m->running ? m->last_fired_tick : m->now_tick;
	o->late = o->tick <= reached;
}

static uint64_t random_time(struct model *m)
{
	uint64_t spread = 1ull << draw(m) % 45;
	return START_NS + m->now_tick * TICK_NS + draw(m) % spread - (draw(m) % 4 == 0 ? 1500 : 0);
}

static void fired(void *arg)
{
	struct one *o = arg;
	struct model *m = o->model;
	ck_assert(o->armed);
	ck_assert_uint_le(o->tick, m->now_tick);
	if (!o->late) {
		ck_assert_uint_ge(o->tick, m->last_fired_tick);
		m->last_fired_tick = o->tick;
	}
	ck_assert_ptr_null(o->timer.prev);
	o->armed = false;
	m->fired++;
	for (unsigned i = 0; i < draw(m) % 3; i++) {
		struct one *other = &m->timers[draw(m) % TIMERS];
		if (draw(m) % 2) {
			wheel_disarm(m->w, &other->timer);
			other->armed = false;
		} else {
			model_arm(m, other, random_time(m));
		}
	}
}

static uint64_t first_due_ns(const struct model *m)
{
	uint64_t first = UINT64_MAX;
	for (unsigned i = 0; i < TIMERS; i++)
		if (m->timers[i].armed)
			first = MIN(
				first, START_NS + MAX(m->timers[i].tick, m->now_tick) * TICK_NS);
	return first;
}

static void run_to(struct model *m, uint64_t now_ns)
{
	uint64_t before_tick = m->now_tick;
	m->now_tick = (now_ns - START_NS) / TICK_NS;
	m->last_fired_tick = before_tick;
	m->running = true;
	wheel_run(m->w, now_ns);
	m->running = false;
	for (unsigned i = 0; i < TIMERS; i++) {
		struct one *o = &m->timers[i];
		if (o->armed)
			ck_assert_msg(o->late || o->tick > m->now_tick,
				"timer %u of tick %llu missed at %llu", i,
				(unsigned long long)o->tick, (unsigned long long)m->now_tick);
	}
}

START_TEST(fires_as_a_naive_model)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct model m = {.seed = seed};
		ck_assert_int_eq(wheel_new(&mem_libc, TICK_NS, START_NS, &m.w), 0);
		for (unsigned i = 0; i < TIMERS; i++) {
			m.timers[i].model = &m;
			m.timers[i].timer.fire = fired;
			m.timers[i].timer.arg = &m.timers[i];
		}
		uint64_t now_ns = START_NS;
		for (unsigned step = 0; step < 400; step++) {
			struct one *o = &m.timers[draw(&m) % TIMERS];
			if (draw(&m) % 4 == 0) {
				wheel_disarm(m.w, &o->timer);
				o->armed = false;
			} else {
				model_arm(&m, o, random_time(&m));
			}
			ck_assert_uint_le(wheel_next_ns(m.w), first_due_ns(&m));
			ck_assert_int_eq(
				wheel_next_ns(m.w) == UINT64_MAX, first_due_ns(&m) == UINT64_MAX);
			if (draw(&m) % 3 == 0) {
				now_ns += draw(&m) % (1ull << draw(&m) % 40);
				run_to(&m, now_ns);
			}
		}
		ck_assert_uint_gt(m.fired, 50);
		m.w = wheel_free(m.w);
	}
}
END_TEST

static void count_fire(void *arg)
{
	++*(unsigned *)arg;
}

START_TEST(following_next_reaches_every_timer)
{
	AUTO(wheel) struct wheel *w = NULL;
	ck_assert_int_eq(wheel_new(&mem_libc, NS_PER_MS, 0, &w), 0);
	static const uint64_t at[] = {1, NS_PER_MS, 64 * NS_PER_MS, 65 * NS_PER_MS,
		4096 * NS_PER_MS, 3600 * NS_PER_SEC, 86400 * 365 * NS_PER_SEC};
	struct wheel_timer timers[ARRAY_SIZE(at)] = {0};
	unsigned fires = 0, wakes = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
		timers[i].fire = count_fire;
		timers[i].arg = &fires;
		wheel_arm(w, &timers[i], at[i]);
	}
	ck_assert_uint_eq(wheel_next_ns(w), NS_PER_MS);
	uint64_t now = 0, next;
	while ((next = wheel_next_ns(w)) != UINT64_MAX) {
		ck_assert_uint_ge(next, now);
		now = next;
		wheel_run(w, now);
		wakes++;
	}
	ck_assert_uint_eq(fires, ARRAY_SIZE(at));
	ck_assert_uint_eq(now, at[ARRAY_SIZE(at) - 1]);
	/* One wake for each level a timer falls through, at most. */
	ck_assert_uint_le(wakes, 7 * 6);
}
END_TEST

START_TEST(next_is_exact_for_near_timers)
{
	AUTO(wheel) struct wheel *w = NULL;
	ck_assert_int_eq(wheel_new(&mem_libc, 1, 0, &w), 0);
	unsigned fires = 0;
	struct wheel_timer t = {.fire = count_fire, .arg = &fires};
	wheel_run(w, 1ull << 40); /* nothing was armed: the wheel is there all the same */
	wheel_arm(w, &t, (1ull << 40) + 63);
	ck_assert_uint_eq(wheel_next_ns(w), (1ull << 40) + 63);
}
END_TEST

struct again {
	struct wheel *w;
	struct wheel_timer timer;
	unsigned fires;
};

static void arm_for_the_past(void *arg)
{
	struct again *a = arg;
	a->fires++;
	wheel_arm(a->w, &a->timer, 0);
}

START_TEST(past_fires_once_a_run)
{
	struct again a = {0};
	ck_assert_int_eq(wheel_new(&mem_libc, 10, 100, &a.w), 0);
	a.timer = (struct wheel_timer){.fire = arm_for_the_past, .arg = &a};
	wheel_arm(a.w, &a.timer, 0);
	ck_assert_uint_le(wheel_next_ns(a.w), 100);
	wheel_run(a.w, 100);
	ck_assert_uint_eq(a.fires, 1);
	wheel_run(a.w, 100);
	wheel_run(a.w, 90); /* a clock that goes back changes nothing else */
	ck_assert_uint_eq(a.fires, 3);
	wheel_disarm(a.w, &a.timer);
	wheel_disarm(a.w, &a.timer);
	wheel_run(a.w, 1000);
	ck_assert_uint_eq(a.fires, 3);
	ck_assert_uint_eq(wheel_next_ns(a.w), UINT64_MAX);
	a.w = wheel_free(a.w);
}
END_TEST

START_TEST(farthest_times_hold)
{
	AUTO(wheel) struct wheel *w = NULL;
	ck_assert_int_eq(wheel_new(&mem_libc, 1, 0, &w), 0);
	unsigned fires = 0;
	struct wheel_timer far = {.fire = count_fire, .arg = &fires}, farther = far;
	wheel_arm(w, &far, UINT64_MAX - 1);
	wheel_arm(w, &farther, UINT64_MAX);
	ck_assert_uint_le(wheel_next_ns(w), UINT64_MAX - 1);
	wheel_run(w, UINT64_MAX - 2);
	ck_assert_uint_eq(fires, 0);
	wheel_run(w, UINT64_MAX - 1);
	ck_assert_uint_eq(fires, 1);
	wheel_run(w, UINT64_MAX);
	ck_assert_uint_eq(fires, 2);
}
END_TEST

static int make_wheel(struct fake *f, void *arg UNUSED)
{
	AUTO(wheel) struct wheel *w = NULL;
	return wheel_new(f->mem, 1, 0, &w);
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_wheel, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(fires_as_a_naive_model, following_next_reaches_every_timer, past_fires_once_a_run,
	farthest_times_hold, next_is_exact_for_near_timers, each_allocation_may_fail)
