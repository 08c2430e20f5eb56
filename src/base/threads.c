#include "base/threads.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>

/* Exception: writable globals; the registry must be there before main and for every library. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct self *threads_first;
static unsigned threads_n;
static struct threads_hooks threads_hooks;

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

void threads_add(void)
{
	struct self *s = &nl6_self;
	sigset_t old;
	if (s->tid)
		return;
	find_stack(s);
	s->tid = gettid();
	lock_registry(&old);
	s->next = threads_first;
	s->prev = &threads_first;
	if (s->next)
		s->next->prev = &s->next;
	threads_first = s;
	threads_n++;
	if (threads_hooks.born)
		threads_hooks.born(threads_hooks.arg, s);
	unlock_registry(&old);
}

void threads_remove(void)
{
	struct self *s = &nl6_self;
	sigset_t old;
	if (!s->tid)
		return;
	lock_registry(&old);
	if (threads_hooks.gone)
		threads_hooks.gone(threads_hooks.arg, s);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	threads_n--;
	s->tid = 0;
	unlock_registry(&old);
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

void threads_set_hooks(const struct threads_hooks *hooks)
{
	sigset_t old;
	lock_registry(&old);
	threads_hooks = hooks ? *hooks : (struct threads_hooks){0};
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
