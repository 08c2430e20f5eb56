#include "base/self.h"
#include "base/thread.h"
#include "base/waits.h"
#include "fake.h"
#include "profiling/blocked.h"
#include "profiling/contention.h"
#include "profiling/refuse.h"
#include "profiling/said.h"
#include "profiling/walker.h"
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static LABEL_SUBSYSTEM(label_naps, "naps");
static LABEL_SUBSYSTEM(label_conds, "conds");
static LABEL_SUBSYSTEM(label_both, "both");

struct bench {
	struct walker *walker;
	struct contention *contention;
	struct blocked *blocked; /* NULL: perf is not permitted here */
	uint64_t begun_ns;
};

static struct bench begun(void)
{
	struct bench b = {0};
	thread_adopt("test", &label_main);
	ck_assert_int_eq(walker_new(&mem_libc, &b.walker), 0);
	struct contention_env env = {&mem_libc, &clk_system, b.walker};
	ck_assert_int_eq(contention_open(&env, &(struct contention_conf){0}, &b.contention), 0);
	ck_assert_int_eq(contention_offcpu_start(b.contention), 0);
	b.begun_ns = clk_ns(&clk_system);
	int r = blocked_start(&(struct blocked_env){&mem_libc, &clk_system}, &b.blocked);
	ck_assert(r == 0 || r == -EACCES || r == -EPERM || r == -ENOSYS);
	return b;
}

struct sums {
	int64_t naps_ns, conds_ns, both_ns, main_ns, naps_n;
	unsigned kernel; /* stacks that begin in the kernel */
};

static void sum(void *arg, const struct stack *s)
{
	struct sums *t = arg;
	ck_assert_uint_ge(s->n, 1);
	ck_assert_uint_eq(s->pcs[s->n - 1], said_pc(SAID_ELSEWHERE));
	ck_assert_int_gt(s->values[0], 0);
	t->kernel += s->pcs[0] >= 1ull << 63;
	if (s->label == &label_naps) {
		t->naps_ns += s->values[1];
		t->naps_n += s->values[0];
	} else if (s->label == &label_conds) {
		t->conds_ns += s->values[1];
	} else if (s->label == &label_both) {
		t->both_ns += s->values[1];
	} else {
		t->main_ns += s->values[1];
	}
}

static struct sums ended(struct bench *b)
{
	struct sums t = {0};
	AUTO(stacks) struct stacks *to = NULL;
	ck_assert_int_eq(stacks_new(&mem_libc, 1000, &to), 0);
	if (b->blocked)
		blocked_stop(b->blocked);
	ck_assert_int_eq(contention_offcpu_stop(b->contention, NULL), 0);
	if (b->blocked)
		blocked_add(b->blocked, to);
	stacks_each(to, sum, &t);
	ck_assert_ptr_null(blocked_free(b->blocked));
	ck_assert_ptr_null(contention_close(b->contention));
	(void)walker_free(b->walker);
	return t;
}

static void nap(unsigned times)
{
	struct timespec ts = {0, 10000000};
	while (times--)
		(void)nanosleep(&ts, NULL);
}

static void run_naps(void *arg UNUSED)
{
	nap(10);
}

static void wait_in_cond(unsigned times)
{
	struct lock l;
	struct cond c;
	lock_init(&l);
	cond_init(&c);
	{
		LOCK_SCOPE(&l);
		while (times--)
			(void)cond_wait_until(&c, &l, clk_ns(&clk_system) + 10 * NS_PER_MS);
	}
	cond_done(&c);
	lock_done(&l);
}

static void run_conds(void *arg UNUSED)
{
	wait_in_cond(10);
}

static void run_both(void *arg UNUSED)
{
	wait_in_cond(10);
	nap(10);
}

static void run_three(void)
{
	static const struct thread_conf confs[] = {{"naps-0", &label_naps, run_naps, NULL},
		{"conds-0", &label_conds, run_conds, NULL},
		{"both-0", &label_both, run_both, NULL}};
	struct thread *threads[3];
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &confs[i], &threads[i]), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_null(thread_join(threads[i]));
}

/* A nap lasts at least what it was asked for, so those are lower bounds; a busy machine adds. */
START_TEST(only_what_is_not_ours_is_told)
{
	struct bench b = begun();
	run_three();
	uint64_t wall_ns = clk_ns(&clk_system) - b.begun_ns;
	bool permitted = b.blocked;
	struct sums t = ended(&b);
	if (!permitted) {
		ck_assert_int_eq(t.naps_ns + t.conds_ns + t.both_ns, 0);
		return;
	}
	ck_assert_msg(t.naps_ns > (int64_t)(95 * NS_PER_MS) && (uint64_t)t.naps_ns < wall_ns,
		"naps %ld ns", (long)t.naps_ns);
	ck_assert_int_ge(t.naps_n, 10);
	/* Two timestamps apart at most, for each wait: hardly anything beside 100 ms. */
	ck_assert_msg(t.conds_ns < (int64_t)(40 * NS_PER_MS), "conds %ld ns", (long)t.conds_ns);
	ck_assert_msg(t.both_ns > (int64_t)(90 * NS_PER_MS) && (uint64_t)t.both_ns < wall_ns,
		"both %ld ns", (long)t.both_ns);
	/* This thread waited for the others in libc. */
	ck_assert_int_gt(t.main_ns, (int64_t)(150 * NS_PER_MS));
}
END_TEST

static pthread_barrier_t barrier;

static void sleep_through(void *arg UNUSED)
{
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_barrier_wait(&barrier);
}

START_TEST(who_sleeps_all_the_time_is_seen)
{
	struct thread *t;
	struct thread_conf conf = {"naps-0", &label_naps, sleep_through, NULL};
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 2), 0);
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	(void)pthread_barrier_wait(&barrier);
	nap(3); /* until it sleeps */
	struct bench b = begun();
	nap(5);
	bool permitted = b.blocked;
	if (permitted)
		blocked_poll(b.blocked);
	struct sums s = ended(&b);
	(void)pthread_barrier_wait(&barrier);
	ck_assert_ptr_null(thread_join(t));
	(void)pthread_barrier_destroy(&barrier);
	ck_assert_int_ge(s.naps_ns, permitted ? (int64_t)(45 * NS_PER_MS) : 0);
}
END_TEST

static void begin_refused(void *arg UNUSED)
{
	struct blocked *b;
	refuse_perf(EPERM);
	ck_assert_int_eq(blocked_start(&(struct blocked_env){&mem_libc, &clk_system}, &b), -EPERM);
}

START_TEST(where_perf_is_refused_it_says_so)
{
	struct thread *t;
	struct thread_conf conf = {"refused-0", &label_main, begin_refused, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
	ck_assert_ptr_null(blocked_free(NULL));
}
END_TEST

static int record_once(struct fake *f, void *arg UNUSED)
{
	struct blocked *b;
	AUTO(stacks) struct stacks *to = NULL;
	ck_assert_int_eq(stacks_new(&mem_libc, 10, &to), 0);
	int r = blocked_start(&(struct blocked_env){f->mem, &clk_system}, &b);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	nap(1);
	blocked_poll(b);
	blocked_stop(b);
	blocked_add(b, to);
	ck_assert_ptr_null(blocked_free(b));
	return fake_has_failed(f) ? -ENOMEM : 0;
}

START_TEST(want_of_memory_leaves_nothing)
{
	struct fake f = fake_make();
	thread_adopt("test", &label_main);
	fake_fail_each(&f, record_once, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(only_what_is_not_ours_is_told, who_sleeps_all_the_time_is_seen,
	where_perf_is_refused_it_says_so, want_of_memory_leaves_nothing)
