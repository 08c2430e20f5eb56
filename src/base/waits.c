#include "base/waits.h"
#include "base/threads.h"
#include <errno.h>
#include <sched.h>

const char *const wait_text[WAIT_KINDS] = {"running", "lock", "condition", "queue", "descriptors"};

/* Exception: writable globals; locks know no owner that could hand them their hooks. */
struct waits_hooks *waits_hooks;
static uint32_t waits_session;

/* The hooks in force, for as long as in_hook is set; NULL: none, or this thread is not told of. */
static const struct waits_hooks *enter(void)
{
	struct self *s = &nl6_self;
	if (!s->tid || s->in_hook)
		return NULL;
	__atomic_store_n(&s->in_hook, 1, __ATOMIC_SEQ_CST); /* pairs with waits_pass */
	const struct waits_hooks *h = __atomic_load_n(&waits_hooks, __ATOMIC_SEQ_CST);
	if (!h)
		__atomic_store_n(&s->in_hook, 0, __ATOMIC_RELEASE);
	return h;
}

static void leave(void)
{
	__atomic_store_n(&nl6_self.in_hook, 0, __ATOMIC_RELEASE);
}

void waits_pass(const struct self *thread)
{
	while (__atomic_load_n(&thread->in_hook, __ATOMIC_SEQ_CST)) /* pairs with enter */
		(void)sched_yield();
}

static void pass(void *arg UNUSED, struct self *thread)
{
	waits_pass(thread);
}

void waits_set_hooks(struct waits_hooks *hooks)
{
	if (hooks) {
		waits_session += waits_session == UINT32_MAX ? 2 : 1;
		hooks->session = waits_session;
	}
	__atomic_store_n(&waits_hooks, hooks, __ATOMIC_SEQ_CST);
	threads_each(pass, NULL);
}

void waits_hush(void)
{
	__atomic_store_n(&nl6_self.hushed, true, __ATOMIC_RELAXED); /* others read it */
}

void waits_after_fork(void)
{
	waits_hooks = NULL;
	nl6_self.in_hook = 0;
}

void waits_tell_begin(struct wait *w)
{
	const struct waits_hooks *h = nl6_self.hushed ? NULL : enter();
	if (!h)
		return;
	w->session = h->session;
	nl6_self.waits++;
	h->begins(h->arg, w);
	__atomic_store_n(&nl6_self.waits_since_ns, w->began_ns, __ATOMIC_RELAXED);
	leave();
}

static void tell_end(const struct wait *w, uint64_t *note, const void *site)
{
	struct self *s = &nl6_self;
	const struct waits_hooks *h = s->hushed ? NULL : enter();
	/* Claimed or not is settled here, once; whoever claims lets hooks pass before he goes on.
	 */
	uint32_t was = __atomic_exchange_n(&s->waiting, WAIT_NONE, __ATOMIC_SEQ_CST);
	if (!h)
		return;
	h->ends(h->arg, w, was & WAIT_CLAIMED, note, site);
	leave();
}

__attribute__((noinline)) void wait_ends(const struct wait *w, uint64_t *note, const void *site)
{
	if (UNLIKELY(__atomic_load_n(&waits_hooks, __ATOMIC_RELAXED) != NULL))
		tell_end(w, note, site ? site : __builtin_return_address(0));
	else
		__atomic_store_n(&nl6_self.waiting, WAIT_NONE, __ATOMIC_RELAXED);
}

void waits_tell_drop(uint64_t *note, const void *site)
{
	const struct waits_hooks *h = enter();
	if (!h)
		return;
	h->drops(h->arg, note, site);
	leave();
}

int wait_epoll(int fd, struct epoll_event *events, int max, int ms)
{
	struct wait w;
	wait_begins(&w, WAIT_IO);
	int n = epoll_wait(fd, events, max, ms);
	int e = errno;
	wait_ends(&w, NULL, NULL);
	errno = e;
	return n;
}

int wait_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct wait w;
	wait_begins(&w, WAIT_IO);
	int r = poll(fds, n, ms);
	int e = errno;
	wait_ends(&w, NULL, NULL);
	errno = e;
	return r;
}
