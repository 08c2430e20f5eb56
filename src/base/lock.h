/* Locks and conditions that tell of their waits (waits.h). */
#pragma once
#include "base/attr.h"
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

struct lock {
	pthread_mutex_t m;
	uint32_t watched; /* waits of which the drop that ends them is to be told */
	uint64_t note;	  /* the hooks', written with the lock held */
};
struct cond {
	pthread_cond_t c; /* CLOCK_MONOTONIC */
};
void lock_init(struct lock *l);
void lock_done(struct lock *l);
void lock_take_slowly(struct lock *l);
void lock_tell_drop(struct lock *l);
static inline void lock_take(struct lock *l)
{
	if (UNLIKELY(pthread_mutex_trylock(&l->m) != 0))
		lock_take_slowly(l);
}
static inline void lock_drop(struct lock *l)
{
	if (UNLIKELY(__atomic_load_n(&l->watched, __ATOMIC_RELAXED) != 0))
		lock_tell_drop(l);
	int r = pthread_mutex_unlock(&l->m);
	assert(r == 0);
}
static inline void lock_scope_end_(struct lock **l)
{
	lock_drop(*l);
}
#define LOCK_SCOPE(l) \
	struct lock *UNIQUE(lock_scope_) __attribute__((cleanup(lock_scope_end_), unused)) = \
		(lock_take(l), (l))
void cond_init(struct cond *c);
void cond_done(struct cond *c);
void cond_wait(struct cond *c, struct lock *l);
/* Until the monotonic time until_ns. -ETIMEDOUT. */
int cond_wait_until(struct cond *c, struct lock *l, uint64_t until_ns);
/* As cond_wait, within a wait that the caller tells of. */
void cond_wait_within(struct cond *c, struct lock *l);
void cond_wake(struct cond *c);
void cond_wake_all(struct cond *c);
