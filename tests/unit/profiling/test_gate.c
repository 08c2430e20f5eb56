#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include "profiling/gate.h"
#include "profiling/timeline.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Waits for an outcome. */
struct waiting {
	struct lock lock;
	struct cond changed;
	unsigned done;
};

static void on_done(void *arg)
{
	struct waiting *w = arg;
	LOCK_SCOPE(&w->lock);
	w->done++;
	cond_wake_all(&w->changed);
}

static struct waiting waiting_make(void)
{
	struct waiting w = {.done = 0};
	lock_init(&w.lock);
	cond_init(&w.changed);
	return w;
}

static void waiting_done(struct waiting *w)
{
	cond_done(&w->changed);
	lock_done(&w->lock);
}

static void wait_for(struct waiting *w, unsigned n)
{
	LOCK_SCOPE(&w->lock);
	while (w->done < n)
		cond_wait(&w->changed, &w->lock);
}

static struct gate *made(const struct gate_conf *conf, struct stats **ret_stats)
{
	struct gate *g;
	thread_adopt("test", &label_main);
	ck_assert_int_eq(stats_new(&mem_libc, ret_stats), 0);
	struct gate_env env = {&mem_libc, &clk_system, *ret_stats};
	ck_assert_int_eq(gate_new(&env, conf, &g), 0);
	return g;
}

static const struct gate_conf usual = {.cpu_hz = 100, .heap_rate_bytes = 512 << 10};

static struct gate_status turned(struct gate *g, const struct gate_ask *ask)
{
	struct waiting w = waiting_make();
	struct gate_done done = {on_done, &w};
	struct gate_job *j;
	struct fault f = {0};
	const struct gate_status *st;
	ck_assert_int_eq(gate_turn(g, ask, &done, &j, &f), 0);
	wait_for(&w, 1);
	ck_assert_int_eq(gate_turned(j, &st), 0);
	struct gate_status copy = *st;
	ck_assert_ptr_null(gate_job_drop(j));
	waiting_done(&w);
	return copy;
}

static const struct gate_ask open_it = {.enabled = true, .address = ""};
static const struct gate_ask close_it = {.enabled = false};

START_TEST(it_opens_and_closes)
{
	struct stats *stats;
	struct gate *g = made(&usual, &stats);
	struct gate_status st;
	unsigned before = threads_count();
	gate_status(g, &st);
	ck_assert(!st.enabled && !gate_is_open(g));
	st = turned(g, &open_it);
	ck_assert(st.enabled && gate_is_open(g));
	ck_assert_uint_gt(threads_count(), before);
	ck_assert_uint_gt(st.bytes, 0);
	st = turned(g, &close_it);
	ck_assert(!st.enabled && !gate_is_open(g));
	ck_assert_ptr_null(gate_free(g));
	ck_assert_uint_eq(threads_count(), before);
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

static int captured(struct gate *g, const struct capture_ask *ask, size_t *ret_bytes)
{
	struct waiting w = waiting_make();
	struct gate_done done = {on_done, &w};
	struct gate_job *j;
	struct text *body;
	int r = gate_capture(g, ask, &done, &j);
	if (r == 0) {
		wait_for(&w, 1);
		r = gate_captured(j, &body);
		*ret_bytes = body->len;
		ck_assert_ptr_null(gate_job_drop(j));
	}
	waiting_done(&w);
	return r;
}

START_TEST(every_kind_has_its_forms)
{
	struct stats *stats;
	struct gate *g = made(&usual, &stats);
	size_t bytes;
	struct capture_ask ask = {.kind = CAPTURE_HEAP};
	ck_assert_int_eq(captured(g, &ask, &bytes), -ENOENT);
	(void)turned(g, &open_it);
	for (unsigned kind = 0; kind < CAPTURE_KINDS; kind++) {
		bool lasts = kind == CAPTURE_CPU || kind == CAPTURE_OFFCPU || kind == CAPTURE_TRACE;
		ask = (struct capture_ask){.kind = kind, .duration_ns = lasts ? NS_PER_MS : 0};
		ck_assert_int_eq(captured(g, &ask, &bytes), 0);
		ck_assert(bytes > 0 || kind == CAPTURE_TRACE);
	}
	ask = (struct capture_ask){.kind = CAPTURE_CPU};
	ck_assert_int_eq(captured(g, &ask, &bytes), -EOPNOTSUPP);
	ask = (struct capture_ask){.kind = CAPTURE_HEAP, .duration_ns = NS_PER_MS, .debug = 1};
	ck_assert_int_eq(captured(g, &ask, &bytes), -EOPNOTSUPP);
	ask = (struct capture_ask){.kind = CAPTURE_DELTA_HEAP, .debug = 1};
	ck_assert_int_eq(captured(g, &ask, &bytes), -EOPNOTSUPP);
	ask = (struct capture_ask){.kind = CAPTURE_GOROUTINE, .debug = 2};
	ck_assert_int_eq(captured(g, &ask, &bytes), 0);
	ask = (struct capture_ask){.kind = CAPTURE_ALLOCS, .duration_ns = NS_PER_MS};
	ck_assert_int_eq(captured(g, &ask, &bytes), 0);
	ck_assert_ptr_null(gate_free(g));
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

START_TEST(one_of_a_kind_at_a_time)
{
	static const enum capture_kind kinds[] = {CAPTURE_CPU, CAPTURE_TRACE};
	struct stats *stats;
	struct gate *g = made(&usual, &stats);
	struct waiting w = waiting_make();
	struct gate_done done = {on_done, &w};
	(void)turned(g, &open_it);
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct capture_ask ask = {.kind = kinds[i], .duration_ns = 3600 * NS_PER_SEC};
		struct gate_job *a, *b;
		ck_assert_int_eq(gate_capture(g, &ask, &done, &a), 0);
		ck_assert_int_eq(gate_capture(g, &ask, &done, &b), -EBUSY);
		ck_assert_ptr_null(gate_job_drop(a)); /* nobody waits for it any more: it ends */
		wait_for(&w, i + 1);
		ck_assert_int_eq(gate_capture(g, &ask, &done, &b), 0);
		ck_assert_ptr_null(gate_job_drop(b));
		wait_for(&w, i + 2);
		w.done = i + 1;
	}
	ck_assert_ptr_null(gate_free(g));
	waiting_done(&w);
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

/* Whoever waits has an outcome when the gate closes or the program ends. */
START_TEST(the_end_leaves_nobody_waiting)
{
	struct stats *stats;
	struct gate *g = made(&usual, &stats);
	struct waiting w = waiting_make();
	struct gate_done done = {on_done, &w};
	struct capture_ask ask = {.kind = CAPTURE_CPU, .duration_ns = 3600 * NS_PER_SEC};
	struct gate_job *a, *b;
	struct text *body;
	(void)turned(g, &open_it);
	ck_assert_int_eq(gate_capture(g, &ask, &done, &a), 0);
	(void)turned(g, &close_it);
	wait_for(&w, 1);
	ck_assert_int_eq(gate_captured(a, &body), 0);
	ck_assert_uint_gt(body->len, 0);
	(void)turned(g, &open_it);
	ck_assert_int_eq(gate_capture(g, &ask, &done, &b), 0);
	gate_stop(g);
	ck_assert_uint_eq(w.done, 2);
	struct fault f;
	struct gate_job *late;
	ck_assert_int_eq(gate_turn(g, &open_it, &done, &late, &f), -ESHUTDOWN);
	ck_assert_int_eq(gate_capture(g, &ask, &done, &late), -ESHUTDOWN);
	ck_assert_ptr_null(gate_job_drop(a));
	ck_assert_ptr_null(gate_job_drop(b));
	ck_assert_ptr_null(gate_free(g));
	waiting_done(&w);
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

START_TEST(a_timed_turn_is_undone)
{
	struct stats *stats;
	struct gate *g = made(&usual, &stats);
	struct gate_ask ask = open_it;
	ask.duration_ns = 10 * NS_PER_MS;
	struct gate_status st = turned(g, &ask);
	ck_assert(st.revert_pending && !st.revert_to);
	while (gate_is_open(g))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	/* The thread waits while a revert is pending, though the gate is closed, and undoes it. */
	(void)turned(g, &open_it);
	ask = close_it;
	ask.duration_ns = 10 * NS_PER_MS;
	st = turned(g, &ask);
	ck_assert(st.revert_pending && st.revert_to);
	while (!gate_is_open(g))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	gate_status(g, &st);
	ck_assert_int_eq(st.opened_by, GATE_BY_REVERT);
	ck_assert_ptr_null(gate_free(g));
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

START_TEST(a_heap_from_the_start_outlives_the_gate)
{
	struct stats *stats;
	struct gate_conf conf = usual;
	conf.heap_at_boot = true;
	conf.heap_rate_bytes = 1;
	struct gate *g = made(&conf, &stats);
	struct gate_status st = turned(g, &open_it);
	ck_assert_uint_gt(st.heap.samples, 0);
	uint64_t samples = st.heap.samples;
	(void)turned(g, &close_it);
	st = turned(g, &open_it);
	ck_assert_uint_gt(st.heap.samples, samples);
	ck_assert_ptr_null(gate_free(g));
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

/* Opening fails for want of memory at each place: the gate stays closed, and nothing is kept. */
START_TEST(without_memory_it_stays_closed)
{
	struct stats *stats;
	thread_adopt("test", &label_main);
	ck_assert_int_eq(stats_new(&mem_libc, &stats), 0);
	unsigned failed = 0;
	for (uint64_t nth = 0;; nth++) {
		struct fake f = fake_make();
		struct gate *g;
		struct waiting w = waiting_make();
		struct gate_done done = {on_done, &w};
		struct gate_env env = {f.mem, &clk_system, stats};
		ck_assert_int_eq(gate_new(&env, &usual, &g), 0);
		fake_fail_at(&f, nth);
		struct gate_job *j;
		struct fault fault;
		const struct gate_status *st;
		int r = gate_turn(g, &open_it, &done, &j, &fault);
		if (r == 0) {
			wait_for(&w, 1);
			r = gate_turned(j, &st);
			ck_assert_ptr_null(gate_job_drop(j));
		}
		bool has_failed = fake_has_failed(&f);
		fake_fail_at(&f, UINT64_MAX);
		ck_assert_int_eq(r == 0, gate_is_open(g));
		ck_assert_ptr_null(gate_free(g));
		waiting_done(&w);
		fake_done(&f);
		if (!has_failed)
			break;
		ck_assert(r == 0 || r == -ENOMEM); /* a thread less that is sampled is no failure */
		failed += r < 0;
		ck_assert_uint_lt(nth, 10000);
	}
	ck_assert_uint_gt(failed, 3);
	ck_assert_ptr_null(stats_free(stats));
}
END_TEST

UNIT_MAIN(it_opens_and_closes, every_kind_has_its_forms, one_of_a_kind_at_a_time,
	the_end_leaves_nobody_waiting, a_timed_turn_is_undone,
	a_heap_from_the_start_outlives_the_gate, without_memory_it_stays_closed)
