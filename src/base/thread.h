/* Our threads: a name, a label from birth, the log of their maker, all signals blocked but SIGPROF.
 * pthread_create is interposed so that threads made by libraries inherit label and log as well. */
#pragma once
#include "base/attr.h"
#include "base/label.h"
#include "base/mem.h"

struct thread;
struct thread_conf {
	char name[16];		   /* "<subsystem>-<n>", at most 15 bytes */
	const struct label *label; /* NULL: the maker's */
	void (*run)(void *arg);
	void *arg; /* borrowed until run returns */
};
/* -EAGAIN: no more threads; -ENOMEM. */
MUST_CHECK int thread_start(
	const struct mem *mem, const struct thread_conf *conf, struct thread **ret_t);
/* Waits for the end; frees; takes NULL, returns NULL. */
struct thread *thread_join(struct thread *t);
/* Makes the calling thread (main, or a test) one of ours. */
void thread_adopt(const char *name, const struct label *label);

/* A lock and a condition with room for the profiler's hooks. */
#include <pthread.h>
struct lock {
	pthread_mutex_t m;
};
struct cond {
	pthread_cond_t c; /* CLOCK_MONOTONIC */
};
void lock_init(struct lock *l);
void lock_done(struct lock *l);
void lock_take(struct lock *l);
void lock_drop(struct lock *l);
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
void cond_wake(struct cond *c);
void cond_wake_all(struct cond *c);
