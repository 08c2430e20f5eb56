#include "base/lock.h"
#include "base/clk.h"
#include "base/waits.h"
#include <assert.h>
#include <errno.h>

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

/* Not inlined, like what follows: in a stack the wait begins where it returns to. */
__attribute__((noinline)) void lock_take_slowly(struct lock *l)
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
	wait_ends(&w, &l->note, __builtin_return_address(0));
}

/* Tells, while the lock is still held, who will let the next one in. */
__attribute__((noinline)) void lock_tell_drop(struct lock *l)
{
	waits_tell_drop(&l->note, __builtin_return_address(0));
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
	if (UNLIKELY(__atomic_load_n(&l->watched, __ATOMIC_RELAXED) != 0))
		lock_tell_drop(l);
	must(pthread_cond_wait(&c->c, &l->m));
}

void cond_wait(struct cond *c, struct lock *l)
{
	struct wait w;
	if (UNLIKELY(__atomic_load_n(&l->watched, __ATOMIC_RELAXED) != 0))
		lock_tell_drop(l);
	wait_begins(&w, WAIT_COND);
	must(pthread_cond_wait(&c->c, &l->m));
	wait_ends(&w, NULL, NULL);
}

int cond_wait_until(struct cond *c, struct lock *l, uint64_t until_ns)
{
	struct timespec ts = {(time_t)(until_ns / NS_PER_SEC), (long)(until_ns % NS_PER_SEC)};
	struct wait w;
	if (UNLIKELY(__atomic_load_n(&l->watched, __ATOMIC_RELAXED) != 0))
		lock_tell_drop(l);
	wait_begins(&w, WAIT_COND);
	int r = pthread_cond_timedwait(&c->c, &l->m, &ts);
	wait_ends(&w, NULL, NULL);
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
