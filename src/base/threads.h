/* Registry of all threads of the process, those of libraries included: who they are, where their
 * stacks are, where they were made. The profiler hangs its hooks in here. */
#pragma once
#include "base/self.h"

/* Adds and removes the calling thread; thread_adopt and the interposed pthread_create call them. */
void threads_add(void);
void threads_remove(void);
/* Gives the calling thread its name, here and in ps. */
void threads_rename(const char name[static 16]);
/* Calls fn for each thread while none can come or go: fn must be short and make no thread. */
void threads_each(void (*fn)(void *arg, struct self *thread), void *arg);
unsigned threads_count(void);

/* Who wants to know of threads. born is called when one has been added, gone when it is about to
 * leave: in the thread itself, with SIGPROF blocked and the registry locked. The subscriber's, in
 * place until threads_unsubscribe. */
struct threads_hooks {
	void (*born)(void *arg, struct self *thread);
	void (*gone)(void *arg, struct self *thread);
	void *arg;
	struct threads_hooks *next; /* the registry's */
};
/* Adds the hooks and, in one step with it, calls born for the threads there are, in the calling
 * thread, so that none is missed or seen twice. */
void threads_subscribe(struct threads_hooks *hooks);
/* Removes them, and calls gone for the threads there are likewise. */
void threads_unsubscribe(struct threads_hooks *hooks);

/* Return addresses of the caller and its callers, at most room; not async-signal-safe. */
unsigned threads_here(uintptr_t *pcs, unsigned room);
