#include "base/lock.h"
#include "base/clk.h"
#include "base/waits.h"
#include <assert.h>
#include <errno.h>

/* Keeps the frame of its user on the stack: no call before it can become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("")

static void must(int r)
{
	assert(r == 0);
}

void lock_init(struct lock *l)
{
	must(pthread_mutex_init(&l->m, NULL));
	l->watched = 0;
	l->note = 0;
}

void lock_done(struct lock *l)
{
	must(pthread_mutex_destroy(&l->m));
}

__attribute__((noinline)) static void take_slowly(struct lock *l, const void *caller)
{
	struct wait w;
	wait_begins(&w, WAIT_LOCK);
	if (w.wants_drop)
		__atomic_fetch_add(&l->watched, 1, __ATOMIC_SEQ_CST);
	/* Asked anew, since it may have been dropped before the drop could be watched. */
	if (w.session && pthread_mutex_trylock(&l->m) == 0)
		w.kind = WAIT_NONE;
	else
		must(pthread_mutex_lock(&l->m));
	if (w.wants_drop)
		__atomic_fetch_sub(&l->watched, 1, __ATOMIC_SEQ_CST);
	wait_ends(&w, &l->note, caller);
}

void lock_take(struct lock *l)
{
	int r = pthread_mutex_trylock(&l->m);
	if (LIKELY(r == 0))
		return;
	assert(r == EBUSY);
	take_slowly(l, __builtin_return_address(0));
	NO_TAIL_CALL();
}

/* Tells, while the lock is still held, who will let the next one in. A macro, so that in stacks it
 * bears the name of the function that drops the lock. */
#define TELL_DROP(l) \
	do { \
		if (UNLIKELY(__atomic_load_n(&(l)->watched, __ATOMIC_RELAXED) != 0)) \
			waits_tell_drop(&(l)->note, __builtin_return_address(0)); \
	} while (0)

void lock_drop(struct lock *l)
{
	TELL_DROP(l);
	must(pthread_mutex_unlock(&l->m));
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attr;
	must(pthread_condattr_init(&attr));
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	must(pthread_cond_init(&c->c, &attr));
	must(pthread_condattr_destroy(&attr));
}

void cond_done(struct cond *c)
{
	must(pthread_cond_destroy(&c->c));
}

void cond_wait_within(struct cond *c, struct lock *l)
{
	TELL_DROP(l);
	must(pthread_cond_wait(&c->c, &l->m));
}

void cond_wait(struct cond *c, struct lock *l)
{
	struct wait w;
	TELL_DROP(l);
	wait_begins(&w, WAIT_COND);
	must(pthread_cond_wait(&c->c, &l->m));
	wait_ends(&w, NULL, __builtin_return_address(0));
	NO_TAIL_CALL();
}

int cond_wait_until(struct cond *c, struct lock *l, uint64_t until_ns)
{
	struct timespec ts = {(time_t)(until_ns / NS_PER_SEC), (long)(until_ns % NS_PER_SEC)};
	struct wait w;
	TELL_DROP(l);
	wait_begins(&w, WAIT_COND);
	int r = pthread_cond_timedwait(&c->c, &l->m, &ts);
	wait_ends(&w, NULL, __builtin_return_address(0));
	assert(r == 0 || r == ETIMEDOUT);
	return -r;
}

void cond_wake(struct cond *c)
{
	must(pthread_cond_signal(&c->c));
}

void cond_wake_all(struct cond *c)
{
	must(pthread_cond_broadcast(&c->c));
}
