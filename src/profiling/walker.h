/* The unwind tables of the process, and walks of the calling thread's own stack by them. One walker
 * serves the CPU sampler, the heap and the waits; tables are compiled when it is made and again
 * when libraries come or go. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "profiling/unwind.h"

struct walker;
/* -ENOMEM. */
MUST_CHECK int walker_new(const struct mem *mem, struct walker **ret_walker);
/* Nobody may walk any more. Takes NULL, returns NULL. */
struct walker *walker_free(struct walker *w);
CLEANUP(walker);

/* Compiles anew if libraries came or went since, and frees the old tables when no thread walks by
 * them any more. Any thread, not from a signal handler. */
void walker_refresh(struct walker *w);
void walker_info(struct walker *w, struct unwind_info *ret_info);
/* The tables in force: in a handler that in_handler tells of, or within a walk. */
const struct unwind_tables *walker_tables(const struct walker *w);

/* Walks the calling thread's own stack from regs (see UNWIND_REGS_HERE): pcs leaf first, call sites
 * but for the first. 0 in a thread that is not registered. Takes no lock and no memory, so it may
 * be called from within malloc; not from a signal handler. */
unsigned walker_here(struct walker *w, const struct unwind_regs *regs, uintptr_t *pcs,
	unsigned room, enum unwind_end *ret_end);
