/* RCU on liburcu (memb): the only user of that library. Readers never wait; writers publish a new
 * object and free the old one after rcu_wait. Every thread must be registered: thread_start and the
 * interposed pthread_create do it. Annotated for TSan. */
#pragma once
#include "base/attr.h"

/* Registers the calling thread; counted, pairs with rcu_thread_done. */
void rcu_thread_init(void);
void rcu_thread_done(void);
/* Read-side section; nests. No waiting, no locks that a writer holds while it waits. */
void rcu_in(void);
void rcu_out(void);
/* Returns when every section that was open has ended. Not within a section. */
void rcu_wait(void);
static inline void rcu_scope_end_(int *unused UNUSED)
{
	rcu_out();
}
#define RCU_SCOPE \
	int UNIQUE(rcu_scope_) __attribute__((cleanup(rcu_scope_end_), unused)) = (rcu_in(), 0)

/* Publishes (release, pairs with RCU_GET) and reads a shared pointer. */
#define RCU_SET(ptr, value) __atomic_store_n(&(ptr), (value), __ATOMIC_RELEASE)
#define RCU_GET(ptr) __atomic_load_n(&(ptr), __ATOMIC_ACQUIRE)
