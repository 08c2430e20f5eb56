#include "api/later.h"
#include "base/thread.h"
#include <errno.h>

enum later_state { LATER_OPEN, LATER_PARKED, LATER_WOKEN };
struct later {
	const struct mem *mem;
	struct lock lock;
	unsigned refs;
	enum later_state state;
	bool gone;
	void (*unpark)(void *arg);
	void *arg;
};

int later_new(const struct mem *mem, struct later **ret_later)
{
	struct later *l = mem_alloc(mem, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct later){.mem = mem, .refs = 1};
	lock_init(&l->lock);
	*ret_later = l;
	return 0;
}

struct later *later_ref(struct later *l)
{
	(void)__atomic_fetch_add(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

struct later *later_unref(struct later *l)
{
	/* Release and acquire pair among the droppers: the last one sees what the others wrote. */
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	lock_done(&l->lock);
	return mem_free(l->mem, l);
}

int later_park(struct later *l, void (*park)(void *arg), void (*unpark)(void *arg), void *arg)
{
	LOCK_SCOPE(&l->lock);
	if (l->state != LATER_OPEN)
		return -EALREADY;
	l->state = LATER_PARKED;
	l->unpark = unpark;
	l->arg = arg;
	park(arg);
	return 0;
}

void later_wake(struct later *l, bool gone)
{
	LOCK_SCOPE(&l->lock);
	if (l->state == LATER_WOKEN)
		return;
	l->gone = gone;
	if (l->state == LATER_PARKED)
		l->unpark(l->arg);
	l->state = LATER_WOKEN;
}

bool later_is_gone(struct later *l)
{
	LOCK_SCOPE(&l->lock);
	return l->gone;
}

void later_forget(struct later *l)
{
	LOCK_SCOPE(&l->lock);
	l->state = LATER_WOKEN;
}
