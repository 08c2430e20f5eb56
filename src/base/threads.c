#include "base/threads.h"
#include "base/waits.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <unwind.h>

/* Exception: writable globals; the registry must be there before main and for every library. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct self *threads_first;
static unsigned threads_n;
static struct threads_hooks *threads_hooks; /* the last subscriber first */

static void find_stack(struct self *s)
{
	pthread_attr_t attr;
	void *lo;
	size_t bytes;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	if (pthread_attr_getstack(&attr, &lo, &bytes) == 0) {
		s->stack_lo = (uintptr_t)lo;
		s->stack_hi = (uintptr_t)lo + bytes;
	}
	(void)pthread_attr_destroy(&attr);
}

static void lock_registry(sigset_t *old)
{
	sigset_t prof;
	(void)sigemptyset(&prof);
	(void)sigaddset(&prof, SIGPROF);
	(void)pthread_sigmask(SIG_BLOCK, &prof, old);
	(void)pthread_mutex_lock(&threads_lock);
}

static void unlock_registry(const sigset_t *old)
{
	(void)pthread_mutex_unlock(&threads_lock);
	(void)pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* In a child of fork only the calling thread lives, under another id, and nobody samples it. */
static void child_after_fork(void)
{
	struct self *s = &nl6_self;
	(void)pthread_mutex_init(&threads_lock, NULL);
	threads_hooks = NULL;
	waits_after_fork();
	threads_first = NULL;
	threads_n = 0;
	s->sampler = NULL;
	s->scopes = NULL;
	if (!s->tid)
		return;
	s->tid = gettid();
	s->next = NULL;
	s->prev = &threads_first;
	threads_first = s;
	threads_n = 1;
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, child_after_fork);
}

void threads_add(void)
{
	struct self *s = &nl6_self;
	sigset_t old;
	if (s->tid)
		return;
	s->mem_busy++; /* what it takes to find the stack, and is given back, cannot be walked yet
			*/
	find_stack(s);
	s->mem_busy--;
	s->tid = gettid();
	lock_registry(&old);
	s->next = threads_first;
	s->prev = &threads_first;
	if (s->next)
		s->next->prev = &s->next;
	threads_first = s;
	threads_n++;
	/* Whoever opened the allocator's hook before now did not see this thread. */
	__atomic_store_n(&s->mem_limit, 0, __ATOMIC_SEQ_CST);
	for (struct threads_hooks *h = threads_hooks; h; h = h->next)
		h->born(h->arg, s);
	unlock_registry(&old);
}

void threads_remove(void)
{
	struct self *s = &nl6_self;
	sigset_t old;
	if (!s->tid)
		return;
	lock_registry(&old);
	for (struct threads_hooks *h = threads_hooks; h; h = h->next)
		h->gone(h->arg, s);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	threads_n--;
	s->tid = 0;
	unlock_registry(&old);
}

void threads_rename(const char name[static 16])
{
	sigset_t old;
	lock_registry(&old);
	memcpy(nl6_self.name, name, sizeof(nl6_self.name));
	unlock_registry(&old);
	(void)prctl(PR_SET_NAME, name);
}

void threads_each(void (*fn)(void *arg, struct self *thread), void *arg)
{
	sigset_t old;
	lock_registry(&old);
	for (struct self *s = threads_first; s; s = s->next)
		fn(arg, s);
	unlock_registry(&old);
}

unsigned threads_count(void)
{
	sigset_t old;
	lock_registry(&old);
	unsigned n = threads_n;
	unlock_registry(&old);
	return n;
}

void threads_subscribe(struct threads_hooks *hooks)
{
	sigset_t old;
	lock_registry(&old);
	hooks->next = threads_hooks;
	threads_hooks = hooks;
	for (struct self *s = threads_first; s; s = s->next)
		hooks->born(hooks->arg, s);
	unlock_registry(&old);
}

void threads_unsubscribe(struct threads_hooks *hooks)
{
	sigset_t old;
	lock_registry(&old);
	struct threads_hooks **at = &threads_hooks;
	while (*at != hooks)
		at = &(*at)->next;
	*at = hooks->next;
	for (struct self *s = threads_first; s; s = s->next)
		hooks->gone(hooks->arg, s);
	unlock_registry(&old);
}

struct here {
	uintptr_t *pcs;
	unsigned n, room, skip;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct here *h = arg;
	uintptr_t pc = _Unwind_GetIP(context);
	if (h->skip) {
		h->skip--;
		return _URC_NO_REASON;
	}
	if (pc == 0 || h->n == h->room)
		return _URC_END_OF_STACK;
	h->pcs[h->n++] = pc;
	return _URC_NO_REASON;
}

unsigned threads_here(uintptr_t *pcs, unsigned room)
{
	struct here h = {pcs, 0, room, 1};
	(void)_Unwind_Backtrace(add_frame, &h);
	return h.n;
}
