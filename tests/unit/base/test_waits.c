#include "base/lock.h"
#include "base/queue.h"
#include "base/thread.h"
#include "base/threads.h"
#include "base/waits.h"
#include "fake.h"
#include <errno.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Hooks that note what they are told. */
struct told {
	unsigned begun[WAIT_KINDS], ended[WAIT_KINDS], drops;
	uint32_t session;
};

static void begins(void *arg, struct wait *w)
{
	struct told *t = arg;
	__atomic_fetch_add(&t->begun[w->kind], 1, __ATOMIC_RELAXED);
	w->wants_drop = w->kind == WAIT_LOCK;
	w->began_ns = 7;
	/* A hook's own waits are not told. */
	struct wait inner;
	wait_begins(&inner, WAIT_COND);
	wait_ends(&inner, NULL, NULL);
	__atomic_store_n(&nl6_self.waiting, w->kind, __ATOMIC_RELAXED);
}

static void ends(
	void *arg, const struct wait *w, bool claimed UNUSED, uint64_t *note, const void *site)
{
	struct told *t = arg;
	__atomic_fetch_add(&t->ended[w->kind], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->session, w->session, __ATOMIC_RELAXED);
	ck_assert_ptr_nonnull(site);
	if (note)
		*note = 0;
}

static void drops(void *arg, uint64_t *note, const void *site)
{
	struct told *t = arg;
	__atomic_fetch_add(&t->drops, 1, __ATOMIC_RELAXED);
	ck_assert_ptr_nonnull(site);
	*note = 1;
}

static struct waits_hooks hooks_of(struct told *t)
{
	return (struct waits_hooks){begins, ends, drops, t, 0};
}

static void take_and_drop(void *arg)
{
	LOCK_SCOPE((struct lock *)arg);
}

START_TEST(a_free_lock_tells_nothing_and_a_held_one_its_drop)
{
	struct told t = {0};
	struct waits_hooks hooks = hooks_of(&t);
	struct lock lock;
	struct thread *thread;
	struct thread_conf conf = {"waiter", NULL, take_and_drop, &lock};
	waits_set_hooks(&hooks);
	ck_assert_uint_ne(hooks.session, 0);
	lock_init(&lock);
	for (unsigned i = 0; i < 100; i++)
		take_and_drop(&lock);
	ck_assert_uint_eq(t.begun[WAIT_LOCK], 0);
	lock_take(&lock);
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &thread), 0);
	while (!__atomic_load_n(&lock.watched, __ATOMIC_SEQ_CST))
		sched_yield();
	lock_drop(&lock);
	thread_join(thread);
	waits_set_hooks(NULL);
	ck_assert_uint_eq(t.begun[WAIT_LOCK], 1);
	/* None was left to wait for when it was dropped between the two questions. */
	ck_assert_uint_eq(t.ended[WAIT_LOCK] + t.ended[WAIT_NONE], 1);
	ck_assert_uint_eq(t.begun[WAIT_COND], 0);
	ck_assert_uint_eq(t.session, hooks.session);
	ck_assert_uint_eq(t.drops, 1);
	ck_assert_uint_eq(lock.note, 0);
	ck_assert_uint_eq(lock.watched, 0);
	lock_done(&lock);
}
END_TEST

START_TEST(each_kind_tells_once)
{
	struct told t = {0};
	struct waits_hooks hooks = hooks_of(&t);
	struct lock lock;
	struct cond cond;
	struct epoll_event e;
	struct pollfd p = {eventfd(1, EFD_CLOEXEC), POLLIN, 0};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	AUTO(queue) struct queue *q = NULL;
	void *item;
	ck_assert_int_eq(queue_new(&mem_libc, 2, &q), 0);
	lock_init(&lock);
	cond_init(&cond);
	waits_set_hooks(&hooks);
	ck_assert_int_eq(queue_put(q, q), 0);
	ck_assert_int_eq(queue_take(q, &item), 0); /* there was one: no wait */
	lock_take(&lock);
	ck_assert_int_eq(cond_wait_until(&cond, &lock, 0), -ETIMEDOUT);
	lock_drop(&lock);
	ck_assert_int_eq(wait_poll(&p, 1, -1), 1);
	ck_assert_int_eq(wait_epoll(epoll_fd, &e, 1, 0), 0);
	errno = 0;
	ck_assert_int_eq(wait_epoll(-1, &e, 1, 0), -1);
	ck_assert_int_eq(errno, EBADF);
	nl6_self.hushed = true;
	ck_assert_int_eq(wait_poll(&p, 1, -1), 1);
	nl6_self.hushed = false;
	waits_set_hooks(NULL);
	ck_assert_int_eq(wait_poll(&p, 1, -1), 1);
	ck_assert_uint_eq(t.begun[WAIT_QUEUE], 0);
	ck_assert_uint_eq(t.begun[WAIT_COND], 1);
	ck_assert_uint_eq(t.ended[WAIT_COND], 1);
	ck_assert_uint_eq(t.begun[WAIT_IO], 3);
	ck_assert_uint_eq(t.ended[WAIT_IO], 3);
	ck_assert_uint_eq(nl6_self.waiting, WAIT_NONE);
	close(p.fd);
	close(epoll_fd);
	cond_done(&cond);
	lock_done(&lock);
}
END_TEST

START_TEST(a_child_tells_nobody)
{
	struct told t = {0};
	struct waits_hooks hooks = hooks_of(&t);
	waits_set_hooks(&hooks);
	pid_t child = fork();
	if (child == 0)
		_exit(waits_hooks != NULL);
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_eq(waits_hooks, &hooks);
	waits_set_hooks(NULL);
}
END_TEST

UNIT_MAIN(a_free_lock_tells_nothing_and_a_held_one_its_drop, each_kind_tells_once,
	a_child_tells_nobody)
