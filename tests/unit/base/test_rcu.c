#include "base/rcu.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READERS 3
#define WRITES 400

struct point {
	uint64_t a, b;
};
struct shared {
	struct point *point;
	uint64_t stop, reads;
};

static void read_points(void *arg)
{
	struct shared *s = arg;
	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		RCU_SCOPE;
		const struct point *p = RCU_GET(s->point);
		{
			RCU_SCOPE; /* sections nest */
			ck_assert_uint_eq(p->b, p->a * 3);
		}
		ck_assert_uint_eq(p->a * 3, p->b);
		(void)__atomic_fetch_add(&s->reads, 1, __ATOMIC_RELAXED);
	}
}

/* ASan and TSan judge: a point is freed while others read. */
START_TEST(old_objects_are_freed_behind_readers)
{
	struct fake f = fake_make();
	struct shared s = {0};
	struct thread *threads[READERS];
	struct thread_conf conf = {.name = "reader-0", .run = read_points, .arg = &s};
	s.point = mem_zalloc(f.mem, sizeof(*s.point));
	for (unsigned i = 0; i < READERS; i++)
		ck_assert_int_eq(thread_start(f.mem, &conf, &threads[i]), 0);
	for (uint64_t n = 1; n <= WRITES || __atomic_load_n(&s.reads, __ATOMIC_RELAXED) < WRITES;
		n++) {
		struct point *old = s.point, *new = mem_alloc(f.mem, sizeof(*new));
		ck_assert_ptr_nonnull(new);
		*new = (struct point){n, 3 * n};
		RCU_SET(s.point, new);
		rcu_wait();
		old->a = old->b = 1; /* nobody sees it any more */
		(void)mem_free(f.mem, old);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++)
		threads[i] = thread_join(threads[i]);
	(void)mem_free(f.mem, s.point);
	fake_done(&f);
}
END_TEST

struct wait {
	uint64_t inside, leave, left, waited;
};

static void stay_inside(void *arg)
{
	struct wait *w = arg;
	RCU_SCOPE;
	__atomic_store_n(&w->inside, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->leave, __ATOMIC_ACQUIRE))
		sched_yield();
	__atomic_store_n(&w->left, 1, __ATOMIC_RELEASE);
}

static void wait_for_it(void *arg)
{
	struct wait *w = arg;
	rcu_wait();
	ck_assert(__atomic_load_n(&w->left, __ATOMIC_ACQUIRE));
	__atomic_store_n(&w->waited, 1, __ATOMIC_RELEASE);
}

START_TEST(wait_outlasts_an_open_section)
{
	struct wait w = {0};
	struct thread *in, *waiter;
	struct thread_conf conf = {.name = "inside", .run = stay_inside, .arg = &w};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &in), 0);
	while (!__atomic_load_n(&w.inside, __ATOMIC_ACQUIRE))
		sched_yield();
	conf = (struct thread_conf){.name = "waiter", .run = wait_for_it, .arg = &w};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &waiter), 0);
	for (unsigned i = 0; i < 1000; i++)
		sched_yield();
	ck_assert(!__atomic_load_n(&w.waited, __ATOMIC_ACQUIRE));
	__atomic_store_n(&w.leave, 1, __ATOMIC_RELEASE);
	in = thread_join(in);
	waiter = thread_join(waiter);
	ck_assert(w.waited);
}
END_TEST

START_TEST(registration_is_counted)
{
	ck_assert_uint_eq(nl6_self.rcu_count, 1); /* of thread_adopt */
	rcu_thread_init();
	rcu_thread_done();
	RCU_SCOPE;
	ck_assert_uint_eq(nl6_self.rcu_count, 1);
}
END_TEST

/* Does the call end the process by an assertion? */
static bool aborts(void (*call)(void))
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)close(2);
		(void)prctl(PR_SET_DUMPABLE, 0);
		call();
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void enter_unregistered(void)
{
	rcu_thread_done();
	rcu_in();
}

static void wait_within(void)
{
	rcu_in();
	rcu_wait();
}

static void enter_registered(void)
{
	rcu_in();
	rcu_out();
}

START_TEST(misuse_is_an_assertion)
{
	ck_assert(aborts(enter_unregistered));
	ck_assert(aborts(wait_within));
	ck_assert(!aborts(enter_registered));
}
END_TEST

UNIT_MAIN(old_objects_are_freed_behind_readers, wait_outlasts_an_open_section,
	registration_is_counted, misuse_is_an_assertion)
