#include "base/thread_hook.h"
#include "base/rcu.h"
#include "base/self.h"
#include "base/threads.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The sanitizers' own pthread_create, which ours hides. */
extern create_fn __interceptor_pthread_create __attribute__((weak));

/* What the maker hands to the thread. From malloc, since libraries bring no allocator of ours. */
struct birth {
	void *(*start)(void *);
	void *arg;
	const struct label *label;
	struct log *log;
	unsigned pcs_n;
	uintptr_t pcs[SELF_BIRTH_DEPTH];
};

/* Signals go to main's signalfd, the profiler's timers and faults to the thread they concern. */
static void signals_of_thread(sigset_t *set)
{
	static const int own[] = {
		SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	(void)sigfillset(set);
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		(void)sigdelset(set, own[i]);
}

static void thread_ends(void *unused UNUSED)
{
	threads_remove();
	rcu_thread_done();
}

static void *thread_begins(void *arg)
{
	struct birth b = *(struct birth *)arg;
	(void)label_swap(b.label);
	nl6_self.log = b.log;
	nl6_self.birth_n = b.pcs_n;
	memcpy(nl6_self.birth, b.pcs, sizeof(b.pcs));
	rcu_thread_init();
	threads_add();
	free(arg); /* now that the thread is known to all who are told of it */
	sigset_t set;
	signals_of_thread(&set);
	(void)pthread_sigmask(SIG_SETMASK, &set, NULL);
	void *result;
	pthread_cleanup_push(thread_ends, NULL); /* pthread_exit and cancellation come here, too */
	result = b.start(b.arg);
	pthread_cleanup_pop(1);
	return result;
}

int thread_hook_create(
	pthread_t *ret_thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	create_fn *create = __interceptor_pthread_create;
	if (!create)
		create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	assert(create);
	struct birth *b = malloc(sizeof(*b));
	if (!b)
		return EAGAIN;
	*b = (struct birth){start, arg, nl6_self.label, nl6_self.log, 0, {0}};
	b->pcs_n = threads_here(b->pcs, SELF_BIRTH_DEPTH);
	/* Nothing may be delivered to the thread before it has its own mask. */
	sigset_t all, old;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = create(ret_thread, attr, thread_begins, b);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		free(b);
	return r;
}

EXPORT int pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	return thread_hook_create(thread, attr, start, arg);
}
