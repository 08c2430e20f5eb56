#include "base/scopes.h"
#include "base/text.h"
#include "base/thread.h"
#include "fake.h"
#include "net/caps.h"
#include "profiling/refuse.h"
#include "profiling/timeline.h"
#include "profiling/timeline_store.h"
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_one, "one");
static LABEL_SUBSYSTEM(label_two, "two");
static LABEL_SUBSYSTEM(label_three, "three");

static struct timeline *started_with(const struct mem *mem, uint32_t max_events, bool switches)
{
	struct timeline *t = NULL;
	struct timeline_env env = {mem, &clk_system};
	struct timeline_conf conf = {max_events, switches};
	thread_adopt("test", &label_main);
	ck_assert_int_eq(timeline_start(&env, &conf, &t), 0);
	return t;
}

static struct timeline *started(const struct mem *mem, uint32_t max_events)
{
	return started_with(mem, max_events, false);
}

/* Stops it and reads it by room bytes at a time. */
static json_t *told(struct timeline *t, size_t room)
{
	AUTO_TEXT struct text all = TEXT(&mem_libc);
	char buf[4096];
	ssize_t n;
	json_error_t error;
	timeline_stop(t);
	while ((n = timeline_read(t, buf, room)) > 0) {
		ck_assert_uint_le((size_t)n, room);
		text_write(&all, buf, (size_t)n);
	}
	ck_assert_int_eq(n, TIMELINE_END);
	ck_assert_int_eq(timeline_read(t, buf, room), TIMELINE_END);
	json_t *root = json_loadb(all.s, all.len, 0, &error);
	ck_assert_msg(root, "%s", error.text);
	return root;
}

static const char *str(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	return s ? s : "";
}

static json_int_t other(const json_t *root, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(root, "otherData"), key));
}

/* What one thread did: "(one(two)two)one" with names as they come. */
static void walk(const json_t *root, int tid, struct text *out)
{
	size_t i;
	const json_t *e;
	double last = 0;
	const char *open[TIMELINE_DEPTH];
	unsigned depth = 0;
	json_array_foreach(json_object_get(root, "traceEvents"), i, e)
	{
		double ts = json_number_value(json_object_get(e, "ts"));
		if (json_integer_value(json_object_get(e, "tid")) != tid || *str(e, "ph") == 'M')
			continue;
		ck_assert(ts >= last);
		last = ts;
		if (*str(e, "ph") == 'B') {
			ck_assert_uint_lt(depth, TIMELINE_DEPTH);
			open[depth++] = str(e, "name");
			text_printf(out, "(%s", str(e, "name"));
		} else {
			ck_assert_str_eq(str(e, "ph"), "E");
			ck_assert_uint_gt(depth, 0);
			ck_assert_str_eq(str(e, "name"), open[--depth]);
			text_put(out, ")");
		}
	}
	ck_assert_uint_eq(depth, 0);
	ck_assert_int_eq(out->err, 0);
}

static void check_thread(const json_t *root, int tid, const char *expected)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	walk(root, tid, &t);
	ck_assert_str_eq(t.s ? t.s : "", expected);
}

/* The id of the thread that the metadata calls so; 0: none. */
static int tid_of(const json_t *root, const char *name)
{
	size_t i;
	const json_t *e;
	json_array_foreach(json_object_get(root, "traceEvents"), i, e)
	{
		if (strcmp(str(e, "name"), "thread_name") == 0 &&
			strcmp(str(json_object_get(e, "args"), "name"), name) == 0)
			return (int)json_integer_value(json_object_get(e, "tid"));
	}
	return 0;
}

START_TEST(scopes_nest_in_the_order_of_time)
{
	struct fake f = fake_make();
	AUTO(timeline) struct timeline *t = NULL;
	thread_adopt("test", &label_main);
	{
		LABEL_SCOPE(&label_one); /* before the recording */
		t = started(f.mem, 1000);
		(void)label_swap(&label_one); /* as thread_adopt left it */
		{
			LABEL_SCOPE(&label_two);
			LABEL_SCOPE(&label_three);
		}
		timeline_poll(t);
		(void)label_swap(&label_three);
	}
	{
		LABEL_SCOPE(&label_two);
	}
	json_t *root = told(t, 4096);
	check_thread(root, gettid(), "(main)(one(two(three)))(three)(main(two))");
	ck_assert_int_eq(tid_of(root, "test"), gettid());
	ck_assert_int_eq(other(root, "dropped_events"), 0);
	ck_assert_int_eq(other(root, "lost_scopes"), 0);
	ck_assert_str_eq(str(json_object_get(root, "otherData"), "switches"), "not asked for");
	ck_assert_ptr_null(nl6_self.scopes);
	json_decref(root);
	t = timeline_free(t);
	fake_done(&f);
}
END_TEST

static void work(void *arg UNUSED)
{
	LABEL_SCOPE(&label_two);
}

static void *work_p(void *arg)
{
	(void)pthread_setname_np(pthread_self(), "a library's");
	work(arg);
	return NULL;
}

START_TEST(threads_that_come_and_go_are_kept)
{
	struct timeline *t = started(&mem_libc, 1000);
	struct thread *ours;
	pthread_t theirs;
	struct thread_conf conf = {"ours-0", &label_one, work, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &ours), 0);
	ck_assert_ptr_null(thread_join(ours));
	ck_assert_int_eq(pthread_create(&theirs, NULL, work_p, NULL), 0);
	(void)pthread_join(theirs, NULL);
	json_t *root = told(t, 4096);
	check_thread(root, tid_of(root, "ours-0"), "(main)(one(two))");
	check_thread(root, tid_of(root, "a library's"), "(main(two))");
	check_thread(root, gettid(), "(main)");
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

START_TEST(text_is_the_same_by_bytes)
{
	struct timeline *t = started(&mem_libc, 1000);
	work(NULL);
	json_t *root = told(t, 1);
	check_thread(root, gettid(), "(main(two))");
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
	ck_assert_ptr_null(timeline_free(NULL));
}
END_TEST

START_TEST(what_finds_no_room_is_counted)
{
	enum { SCOPES = 1000 };
	struct timeline *t = started(&mem_libc, 64);
	for (int i = 0; i < SCOPES; i++)
		work(NULL);
	json_t *root = told(t, 4096);
	AUTO_TEXT struct text all = TEXT(&mem_libc);
	walk(root, gettid(), &all);
	json_int_t events = other(root, "events");
	ck_assert_int_le(events, 64);
	ck_assert_int_ge(events, 60);
	/* Each stored scope is two events; each dropped one is counted once. */
	ck_assert_int_ge(other(root, "dropped_events"), SCOPES - 32);
	ck_assert_int_le(other(root, "dropped_events"), SCOPES);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

START_TEST(a_full_ring_is_told_and_made_good)
{
	struct timeline *t = started(&mem_libc, 100000);
	{
		LABEL_SCOPE(&label_one);
		for (int i = 0; i < 20000; i++)
			work(NULL);
		timeline_poll(t);
	}
	{
		LABEL_SCOPE(&label_three);
		work(NULL);
	}
	json_t *root = told(t, 4096);
	AUTO_TEXT struct text all = TEXT(&mem_libc);
	static const char end[] = ")(main(three(two)))";
	walk(root, gettid(), &all);
	ck_assert_int_gt(other(root, "lost_scopes"), 0);
	ck_assert_int_eq(other(root, "dropped_events"), 0);
	ck_assert_uint_gt(all.len, sizeof(end));
	ck_assert_str_eq(all.s + all.len - sizeof(end) + 1, end);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

static void nest(unsigned levels)
{
	LABEL_SCOPE(levels % 2 ? &label_one : &label_two);
	if (levels > 1)
		nest(levels - 1);
}

START_TEST(scopes_too_deep_are_counted)
{
	struct timeline *t = started(&mem_libc, 1000);
	nest(TIMELINE_DEPTH + 5);
	work(NULL);
	json_t *root = told(t, 4096);
	AUTO_TEXT struct text all = TEXT(&mem_libc);
	walk(root, gettid(), &all);
	ck_assert_int_eq(other(root, "dropped_events"), 6);
	ck_assert_str_eq(all.s + all.len - strlen("))(two))"), "))(two))");
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

/* Threads that swap labels while recordings begin and end. */
static bool leave;

static void swap_always(void *arg UNUSED)
{
	while (!__atomic_load_n(&leave, __ATOMIC_RELAXED))
		work(NULL);
}

START_TEST(recordings_begin_and_end_under_load)
{
	struct thread *threads[2];
	struct thread_conf conf = {"busy-0", &label_one, swap_always, NULL};
	__atomic_store_n(&leave, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &threads[i]), 0);
	for (int i = 0; i < 20; i++) {
		struct timeline *t = started(&mem_libc, 3000);
		timeline_poll(t);
		timeline_poll(t);
		json_t *root = told(t, 4096);
		AUTO_TEXT struct text all = TEXT(&mem_libc);
		walk(root, tid_of(root, "busy-0"), &all);
		json_decref(root);
		ck_assert_ptr_null(timeline_free(t));
	}
	__atomic_store_n(&leave, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_null(thread_join(threads[i]));
}
END_TEST

static int record_once(struct fake *f, void *arg UNUSED)
{
	struct timeline *t = NULL;
	char buf[256];
	struct timeline_env env = {f->mem, &clk_system};
	int r = timeline_start(&env, &(struct timeline_conf){1000, false}, &t);
	if (r < 0)
		return r;
	work(NULL);
	timeline_stop(t);
	ssize_t n;
	while ((n = timeline_read(t, buf, sizeof(buf))) > 0)
		continue;
	/* Without memory a thread is not seen, or the text ends. */
	bool failed = fake_has_failed(f);
	ck_assert(n == TIMELINE_END || (n == -ENOMEM && failed));
	ck_assert_ptr_null(timeline_free(t));
	return failed ? -ENOMEM : 0;
}

START_TEST(want_of_memory_leaves_nothing)
{
	struct fake f = fake_make();
	thread_adopt("test", &label_main);
	fake_fail_each(&f, record_once, NULL);
	fake_done(&f);
}
END_TEST

/* Sums of what a row tells of one kind. */
struct times {
	double us;
	unsigned n, waits; /* of them with the name of a wait */
};

static struct times times_of(const json_t *root, int tid, const char *cat, const char *name)
{
	struct times sum = {0};
	size_t i;
	const json_t *e;
	json_array_foreach(json_object_get(root, "traceEvents"), i, e)
	{
		if (strcmp(str(e, "cat"), cat) != 0 || strcmp(str(e, "name"), name) != 0 ||
			(tid && json_integer_value(json_object_get(e, "tid")) != tid))
			continue;
		sum.us += json_number_value(json_object_get(e, "dur"));
		sum.n++;
		sum.waits += *str(json_object_get(e, "args"), "wait") != 0;
	}
	return sum;
}

static void nap(unsigned times)
{
	struct timespec ts = {0, 5000000};
	while (times--)
		(void)nanosleep(&ts, NULL);
}

static void nap_six_times(void *arg UNUSED)
{
	nap(6);
}

static void check_naps(const json_t *root, const char *state)
{
	struct times off = times_of(root, tid_of(root, "naps-0"), "off cpu", "blocked");
	struct times on = times_of(root, 0, "on cpu", "naps-0");
	if (strncmp(state, "recorded", 8) != 0) {
		ck_assert_uint_eq(off.n + on.n, 0);
		return;
	}
	ck_assert_uint_ge(off.n, 6);
	ck_assert_uint_ge(on.n, 6);
	ck_assert_msg(off.us > 30000, "%.0f us", off.us); /* a nap lasts what it was asked for */
	ck_assert_uint_eq(off.waits, strcmp(state, "recorded") == 0 ? off.n : 0);
}

START_TEST(naps_are_off_the_processor)
{
	struct timeline *t = started_with(&mem_libc, 10000, true);
	struct thread *naps;
	struct thread_conf conf = {"naps-0", &label_one, nap_six_times, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &naps), 0);
	ck_assert_ptr_null(thread_join(naps));
	json_t *root = told(t, 4096);
	check_naps(root, timeline_switches_state(t));
	ck_assert_int_eq(other(root, "lost_switches"), 0);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

/* A thread that never left its processor tells of it by where it began. */
START_TEST(each_processor_has_a_name)
{
	cpu_set_t all, last;
	int cpu = CPU_SETSIZE - 1;
	char name[32];
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu--;
	CPU_ZERO(&last);
	CPU_SET(cpu, &last);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(last), &last), 0);
	(void)snprintf(name, sizeof(name), "CPU %d", cpu);
	for (int i = 0; i < 20; i++) {
		struct timeline *t = started_with(&mem_libc, 1000, true);
		json_t *root = told(t, 4096);
		if (times_of(root, 0, "on cpu", "test").n)
			ck_assert_int_eq(tid_of(root, name), cpu + 1);
		json_decref(root);
		ck_assert_ptr_null(timeline_free(t));
	}
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}
END_TEST

static pthread_barrier_t barrier;

static void sleep_through(void *arg UNUSED)
{
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_barrier_wait(&barrier);
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	ck_assert_ptr_nonnull(d);
	unsigned n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(who_sleeps_all_the_time_is_off_all_the_time)
{
	struct thread *sleeper;
	struct thread_conf conf = {"sleeps-0", &label_one, sleep_through, NULL};
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 2), 0);
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &sleeper), 0);
	(void)pthread_barrier_wait(&barrier);
	nap(4); /* until it sleeps */
	unsigned before = descriptors();
	struct timeline *t = started_with(&mem_libc, 10000, true);
	bool recorded = strncmp(timeline_switches_state(t), "recorded", 8) == 0;
	nap(8);
	json_t *root = told(t, 4096);
	struct times off = times_of(root, tid_of(root, "sleeps-0"), "off cpu", "blocked");
	ck_assert_uint_eq(off.n, recorded);
	ck_assert_msg(!recorded || off.us > 40000, "%.0f us", off.us);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
	ck_assert_uint_eq(descriptors(), before);
	(void)pthread_barrier_wait(&barrier);
	ck_assert_ptr_null(thread_join(sleeper));
	(void)pthread_barrier_destroy(&barrier);
}
END_TEST

static void record_refused(void *arg UNUSED)
{
	refuse_perf(EPERM);
	struct timeline *t = started_with(&mem_libc, 1000, true);
	work(NULL);
	nap(1);
	json_t *root = told(t, 4096);
	ck_assert_str_eq(timeline_switches_state(t), "not permitted (EPERM)");
	ck_assert_str_eq(
		str(json_object_get(root, "otherData"), "switches"), "not permitted (EPERM)");
	check_thread(root, gettid(), "(main(two))");
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}

START_TEST(where_perf_is_refused_scopes_remain)
{
	struct thread *t;
	struct thread_conf conf = {"refused-0", &label_main, record_refused, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
}
END_TEST

static void record_unprivileged(void *arg UNUSED)
{
	ck_assert_int_eq(caps_keep(0), 0);
	struct timeline *t = started_with(&mem_libc, 1000, true);
	struct thread *naps;
	struct thread_conf conf = {"naps-0", &label_one, nap_six_times, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &naps), 0);
	ck_assert_ptr_null(thread_join(naps));
	json_t *root = told(t, 4096);
	const char *state = timeline_switches_state(t);
	ck_assert_msg(
		strstr(state, "without the wait") || strstr(state, "not permitted"), "%s", state);
	check_naps(root, state);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}

START_TEST(without_privileges_the_wait_is_not_told)
{
	struct thread *t;
	struct thread_conf conf = {"poor-0", &label_main, record_unprivileged, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
}
END_TEST

static void *burn(void *arg UNUSED)
{
	while (!__atomic_load_n(&leave, __ATOMIC_RELAXED))
		continue;
	return NULL;
}

START_TEST(who_shares_a_processor_is_preempted)
{
	cpu_set_t before, one;
	pthread_t other_thread;
	struct timespec begun, now;
	__atomic_store_n(&leave, false, __ATOMIC_RELAXED);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	int cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	struct timeline *t = started_with(&mem_libc, 10000, true);
	ck_assert_int_eq(pthread_create(&other_thread, NULL, burn, NULL), 0);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < 60000000L);
	__atomic_store_n(&leave, true, __ATOMIC_RELAXED);
	(void)pthread_join(other_thread, NULL);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
	json_t *root = told(t, 4096);
	if (strncmp(timeline_switches_state(t), "recorded", 8) == 0)
		ck_assert_uint_gt(times_of(root, gettid(), "off cpu", "preempted").n, 0);
	json_decref(root);
	ck_assert_ptr_null(timeline_free(t));
}
END_TEST

UNIT_MAIN(scopes_nest_in_the_order_of_time, threads_that_come_and_go_are_kept,
	text_is_the_same_by_bytes, what_finds_no_room_is_counted, a_full_ring_is_told_and_made_good,
	scopes_too_deep_are_counted, naps_are_off_the_processor, each_processor_has_a_name,
	who_sleeps_all_the_time_is_off_all_the_time, where_perf_is_refused_scopes_remain,
	without_privileges_the_wait_is_not_told, who_shares_a_processor_is_preempted,
	recordings_begin_and_end_under_load, want_of_memory_leaves_nothing)
