#include "base/clk.h"
#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include "profiling/sampler.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_one, "one");
static LABEL_SUBSYSTEM(label_two, "two");

static struct walker *walker; /* of the sampler that is open */

static struct sampler *opened(uint32_t hz)
{
	struct sampler *s = NULL;
	ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	struct sampler_env env = {&mem_libc, &clk_system, walker};
	thread_adopt("test", &label_main);
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){hz}, &s), 0);
	return s;
}

static void closed(struct sampler *s)
{
	ck_assert_ptr_null(sampler_close(s));
	walker = walker_free(walker);
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts;
	ck_assert_int_eq(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	volatile unsigned x = 0;
	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (unsigned i = 0; i < 1000; i++)
			x = x * 3 + i;
}

struct totals {
	int64_t by_label[3], all, ns, entries;
};

static void sum(void *arg, const struct stack *stack)
{
	struct totals *t = arg;
	t->all += stack->values[0];
	t->ns += stack->values[1];
	t->entries += stack->end == UNWIND_ENTRY ? stack->values[0] : 0;
	t->by_label[stack->label == &label_one	 ? 1
		    : stack->label == &label_two ? 2
						 : 0] += stack->values[0];
}

static struct totals stop_and_sum(struct sampler_reader *r)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t ns;
	struct totals t = {0};
	sampler_read_stop(r, &stacks, &ns);
	stacks_each(stacks, sum, &t);
	ck_assert_int_eq(stacks_folded(stacks)->values[0], 0);
	return t;
}

/* On a machine that is busy elsewhere a thread may be off at every tick, and what it used last is
 * not noticed before the timer goes. A fault of ours is there each time. */
#define TRIES 8
static bool in_time(bool (*try)(struct sampler *s, bool last), uint32_t hz)
{
	struct sampler *s = opened(hz);
	bool good = false;
	for (unsigned i = 1; i <= TRIES && !good; i++)
		good = try(s, i == TRIES);
	closed(s);
	return good;
}

static bool weigh(struct sampler *s, bool last)
{
	struct sampler_reader *r;
	ck_assert_int_eq(sampler_read_start(s, 10000, &r), 0);
	uint64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	burn(600 * NS_PER_MS);
	uint64_t used = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
	struct totals t = stop_and_sum(r);
	if (last)
		fprintf(stderr, "%ld of %lu ns\n", (long)t.ns, (unsigned long)used);
	/* The run-time of TSan has code of its own that cannot be unwound. */
	ck_assert_int_ge(t.entries * 1000, t.all * (UNIT_SANITIZED ? 970 : 999));
	return (uint64_t)t.ns > used / 100 * 93 && (uint64_t)t.ns < used / 100 * 107;
}

/* At a rate above the kernel's tick the overruns make up for the signals that cannot come. */
START_TEST(samples_weigh_what_the_cpu_was_used)
{
	ck_assert(in_time(weigh, 1000));
}
END_TEST

static bool nest(struct sampler *s, bool last)
{
	struct sampler_reader *r;
	ck_assert_int_eq(sampler_read_start(s, 10000, &r), 0);
	{
		LABEL_SCOPE(&label_one);
		burn(150 * NS_PER_MS);
		{
			LABEL_SCOPE(&label_two);
			burn(300 * NS_PER_MS);
		}
		burn(150 * NS_PER_MS);
	}
	struct totals t = stop_and_sum(r);
	if (last)
		fprintf(stderr, "one %ld two %ld of %ld\n", (long)t.by_label[1],
			(long)t.by_label[2], (long)t.all);
	return t.by_label[1] > 0 && labs(t.by_label[1] - t.by_label[2]) < t.by_label[2] / 5 &&
	       t.by_label[0] < t.all / 10;
}

START_TEST(labels_follow_nested_scopes)
{
	ck_assert(in_time(nest, 1000));
}
END_TEST

static void burn_as_told(void *arg)
{
	burn(*(uint64_t *)arg);
}

static bool share(struct sampler *s, bool last)
{
	struct sampler_reader *r;
	ck_assert_int_eq(sampler_read_start(s, 10000, &r), 0);
	uint64_t short_ns = 200 * NS_PER_MS, long_ns = 600 * NS_PER_MS;
	struct thread *a, *b;
	struct thread_conf one = {
		.name = "one", .label = &label_one, .run = burn_as_told, .arg = &short_ns};
	struct thread_conf two = {
		.name = "two", .label = &label_two, .run = burn_as_told, .arg = &long_ns};
	ck_assert_int_eq(thread_start(&mem_libc, &one, &a), 0);
	ck_assert_int_eq(thread_start(&mem_libc, &two, &b), 0);
	thread_join(a);
	thread_join(b);
	struct totals t = stop_and_sum(r);
	if (last)
		fprintf(stderr, "1:3 became %ld:%ld\n", (long)t.by_label[1], (long)t.by_label[2]);
	return t.by_label[2] > 27 * t.by_label[1] / 10 &&
	       t.by_label[2] < 33 * t.by_label[1] / 10 + 3;
}

START_TEST(busy_threads_share_as_they_used)
{
	ck_assert(in_time(share, 500));
}
END_TEST

static void *nothing(void *arg)
{
	free(malloc(100));
	return arg;
}

START_TEST(threads_come_and_go_while_sampling)
{
	struct sampler *s = opened(1000);
	struct sampler_reader *r;
	ck_assert_int_eq(sampler_read_start(s, 10000, &r), 0);
	for (int i = 0; i < 500; i++) {
		pthread_t t[2];
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(pthread_create(&t[k], NULL, nothing, NULL), 0);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(pthread_join(t[k], NULL), 0);
	}
	struct sampler_status st;
	sampler_status(s, &st);
	ck_assert_uint_eq(st.threads, threads_count());
	ck_assert_uint_eq(st.threads_unarmed, 0);
	(void)stop_and_sum(r);
	closed(s);
}
END_TEST

static unsigned count_in(const char *dir)
{
	DIR *d = opendir(dir);
	ck_assert_ptr_nonnull(d);
	unsigned n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(closing_leaves_nothing_and_a_stray_signal_is_harmless)
{
	thread_adopt("test", &label_main);
	struct sampler *s = opened(100);
	closed(s);
	unsigned tasks = count_in("/proc/self/task"), fds = count_in("/proc/self/fd");
	for (int i = 0; i < 50; i++) {
		struct sampler_reader *r;
		s = opened(1000);
		ck_assert_int_eq(sampler_read_start(s, 100, &r), 0);
		burn(2 * NS_PER_MS);
		(void)stop_and_sum(r);
		closed(s);
		ck_assert_int_eq(syscall(SYS_tgkill, getpid(), gettid(), SIGPROF), 0);
	}
	ck_assert_uint_eq(count_in("/proc/self/task"), tasks);
	ck_assert_uint_eq(count_in("/proc/self/fd"), fds);
	ck_assert_ptr_null(nl6_self.sampler);
}
END_TEST

static void *wait_over(void *arg)
{
	unsigned *step = arg;
	__atomic_store_n(step, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(step, __ATOMIC_ACQUIRE) == 1)
		(void)usleep(1000);
	return NULL;
}

START_TEST(a_thread_without_memory_for_it_is_told)
{
	struct fake f = fake_make();
	AUTO(walker) struct walker *w = NULL;
	struct sampler *s;
	struct sampler_status st;
	unsigned step = 0;
	pthread_t t;
	ck_assert_int_eq(walker_new(&mem_libc, &w), 0);
	ck_assert_int_eq(sampler_open(&(struct sampler_env){f.mem, &clk_system, w},
				 &(struct sampler_conf){100, false}, &s),
		0);
	do
		sampler_status(s, &st);
	while (st.threads < 2); /* until the sampler's own is there */
	unsigned threads = st.threads;
	ck_assert_uint_eq(st.threads_unarmed, 0);
	fake_fail_at(&f, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, wait_over, &step), 0);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) == 0)
		(void)usleep(1000);
	sampler_status(s, &st);
	ck_assert_uint_eq(st.threads, threads + 1);
	ck_assert_uint_eq(st.threads_unarmed, 1);
	__atomic_store_n(&step, 2, __ATOMIC_RELEASE);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	sampler_status(s, &st);
	ck_assert_uint_eq(st.threads, threads);
	ck_assert_uint_eq(st.threads_unarmed, 0);
	ck_assert_ptr_null(sampler_close(s));
	fake_done(&f);
}
END_TEST

START_TEST(without_timers_it_says_so)
{
	struct rlimit old, none = {0, 0};
	getrlimit(RLIMIT_SIGPENDING, &old);
	none.rlim_max = old.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	struct sampler *s = opened(100);
	struct sampler_status st;
	sampler_status(s, &st);
	ck_assert_uint_gt(st.threads, 0);
	ck_assert_uint_eq(st.threads_unarmed, st.threads);
	setrlimit(RLIMIT_SIGPENDING, &old);
	struct sampler_reader *r; /* tried again */
	ck_assert_int_eq(sampler_read_start(s, 100, &r), 0);
	sampler_status(s, &st);
	ck_assert_uint_eq(st.threads_unarmed, 0);
	(void)stop_and_sum(r);
	closed(s);
}
END_TEST

struct seen {
	unsigned n, answered, waiting, born;
};

static void see_thread(void *arg, const struct sampler_thread_info *info)
{
	struct seen *seen = arg;
	seen->n++;
	seen->answered += info->answered && info->end == UNWIND_ENTRY;
	if (strcmp(info->name, "waits") == 0) {
		seen->waiting++;
		seen->born += info->birth_n > 2;
		ck_assert_ptr_eq(info->label, &label_two);
		ck_assert_uint_gt(info->n, 2);
	}
}

static struct lock lock;

static void wait_for_lock(void *arg UNUSED)
{
	lock_take(&lock);
	lock_drop(&lock);
}

START_TEST(every_thread_shows_its_stack)
{
	struct sampler *s = opened(100);
	struct thread *t[3];
	lock_init(&lock);
	lock_take(&lock);
	struct thread_conf conf = {.name = "waits", .label = &label_two, .run = wait_for_lock};
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t[i]), 0);
	struct seen seen;
	do { /* a thread is there, and takes its name, a moment after it was started */
		seen = (struct seen){0};
		ck_assert_int_eq(sampler_threads(s, see_thread, &seen), 0);
	} while (seen.waiting < 3 || seen.n != threads_count());
	ck_assert_uint_eq(seen.answered, seen.n);
	ck_assert_uint_eq(seen.born, 3);
	lock_drop(&lock);
	for (int i = 0; i < 3; i++)
		thread_join(t[i]);
	lock_done(&lock);
	closed(s);
}
END_TEST

UNIT_MAIN(samples_weigh_what_the_cpu_was_used, labels_follow_nested_scopes,
	busy_threads_share_as_they_used, threads_come_and_go_while_sampling,
	closing_leaves_nothing_and_a_stray_signal_is_harmless, without_timers_it_says_so,
	a_thread_without_memory_for_it_is_told, every_thread_shows_its_stack)
