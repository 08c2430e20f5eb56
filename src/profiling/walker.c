#include "profiling/walker.h"
#include "base/lock.h"
#include "base/self.h"
#include "base/threads.h"
#include "profiling/handler.h"
#include <errno.h>
#include <sched.h>

struct walker {
	const struct mem *mem;
	struct lock lock; /* of who replaces the tables, and who reads them without a walk */
	struct unwind_tables *tables;
};

int walker_new(const struct mem *mem, struct walker **ret_walker)
{
	struct walker *w = mem_zalloc(mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->mem = mem;
	int r = unwind_compile(mem, &w->tables);
	if (r < 0) {
		mem_free(mem, w);
		return r;
	}
	lock_init(&w->lock);
	*ret_walker = w;
	return 0;
}

struct walker *walker_free(struct walker *w)
{
	if (!w)
		return NULL;
	lock_done(&w->lock);
	(void)unwind_tables_free(w->tables);
	return mem_free(w->mem, w);
}

static void wait_for_walk(void *arg UNUSED, struct self *self)
{
	handler_wait(self);
	while (__atomic_load_n(&self->in_walk, __ATOMIC_SEQ_CST)) /* pairs with walker_here */
		(void)sched_yield();
}

void walker_refresh(struct walker *w)
{
	struct unwind_tables *fresh;
	LOCK_SCOPE(&w->lock);
	if (!unwind_is_stale(w->tables) || unwind_compile(w->mem, &fresh) < 0)
		return;
	struct unwind_tables *old = __atomic_exchange_n(&w->tables, fresh, __ATOMIC_SEQ_CST);
	threads_each(wait_for_walk, NULL);
	(void)unwind_tables_free(old);
}

const struct unwind_tables *walker_tables(const struct walker *w)
{
	return __atomic_load_n(&w->tables, __ATOMIC_SEQ_CST);
}

void walker_info(struct walker *w, struct unwind_info *ret_info)
{
	LOCK_SCOPE(&w->lock);
	unwind_tables_info(walker_tables(w), ret_info);
}

unsigned walker_here(struct walker *w, const struct unwind_regs *regs, uintptr_t *pcs,
	unsigned room, enum unwind_end *ret_end)
{
	struct unwind_stack stack = {nl6_self.stack_lo, nl6_self.stack_hi};
	if (!nl6_self.tid)
		return 0;
	uint32_t outer = nl6_self.in_walk;
	__atomic_store_n(&nl6_self.in_walk, 1, __ATOMIC_SEQ_CST); /* pairs with wait_for_walk */
	unsigned n = unwind_walk(walker_tables(w), regs, &stack, pcs, room, ret_end);
	__atomic_store_n(&nl6_self.in_walk, outer, __ATOMIC_RELEASE);
	return n;
}
