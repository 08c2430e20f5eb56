/* Our own waits: locks, conditions, queues and the waits for descriptors tell of themselves here,
 * and the profiler hangs its hooks in. While there are none, a wait costs two stores and two
 * branches, and what does not wait costs nothing. */
#pragma once
#include "base/attr.h"
#include "base/self.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

enum wait_kind { WAIT_NONE, WAIT_LOCK, WAIT_COND, WAIT_QUEUE, WAIT_IO, WAIT_KINDS };
extern const char *const wait_text[WAIT_KINDS]; /* "lock", … */
/* Set in self.waiting by who has taken the wait into account: its end is not counted again. */
#define WAIT_CLAIMED 0x80u

/* One wait, on the stack of the thread that waits. */
struct wait {
	enum wait_kind kind; /* WAIT_NONE: after all there was nothing to wait for */
	uint32_t session;    /* of the hooks that saw it begin; 0: none did */
	bool wants_drop;     /* the drop of the lock that ends the wait is to be told as well */
	uint64_t began_ns;
};
/* All are called in the thread concerned and may neither wait for one of our locks nor long. site:
 * an address in the function that waits or drops, where it calls base; its frame is to be the
 * innermost of the stack, with lock_take, cond_wait or the like inlined in it or itself. */
struct waits_hooks {
	void (*begins)(void *arg, struct wait *w);
	/* note: the lock's, which is held; NULL for the other kinds. claimed: see WAIT_CLAIMED. */
	void (*ends)(
		void *arg, const struct wait *w, bool claimed, uint64_t *note, const void *site);
	/* The thread holds a lock that a wait with wants_drop waits for, and is about to drop it.
	 */
	void (*drops)(void *arg, uint64_t *note, const void *site);
	void *arg;
	uint32_t session; /* set by waits_set_hooks: not 0, another each time */
};
/* Sets the hooks (borrowed until they are replaced; NULL: none); returns when no thread is in one
 * of those before. One thread at a time. */
void waits_set_hooks(struct waits_hooks *hooks);
/* Returns when the thread is in no hook that it entered before. */
void waits_pass(const struct self *thread);
/* Waits of the calling thread are told no more: for the profiler's own. */
void waits_hush(void);
void waits_after_fork(void); /* in the child */

/* epoll_wait(2) and poll(2), told of. */
int wait_epoll(int fd, struct epoll_event *events, int max, int ms);
int wait_poll(struct pollfd *fds, nfds_t n, int ms);

/* The inside of what waits. */
extern struct waits_hooks *waits_hooks;
void waits_tell_begin(struct wait *w);
void waits_tell_drop(uint64_t *note, const void *site);
/* note: of the lock that was waited for, or NULL. site: see waits_hooks; NULL: where this is
 * called. */
void wait_ends(const struct wait *w, uint64_t *note, const void *site);
static inline void wait_begins(struct wait *w, enum wait_kind kind)
{
	w->kind = kind;
	w->session = 0;
	w->wants_drop = false;
	__atomic_store_n(&nl6_self.waiting, kind, __ATOMIC_RELAXED);
	if (UNLIKELY(__atomic_load_n(&waits_hooks, __ATOMIC_RELAXED) != NULL))
		waits_tell_begin(w);
}
