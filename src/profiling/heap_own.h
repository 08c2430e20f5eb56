/* What the heap sampler's tables stand on, since they are used within malloc: memory by mmap,
 * within a limit, and a lock that is no lock of base/thread.h (whose contention is profiled, too).
 */
#pragma once
#include "base/attr.h"
#include <stdint.h>

/* Sums over all tables of one sampler. */
struct heap_own {
	uint64_t bytes, max;
};
/* Zeroed; bytes are rounded up to whole pages by the kernel. NULL: no memory, or over the limit. */
MUST_CHECK void *heap_own_map(struct heap_own *o, size_t bytes);
void heap_own_unmap(struct heap_own *o, void *p, size_t bytes); /* takes NULL */

struct heap_lock {
	uint32_t state; /* 0: free, 1: taken, 2: taken and waited for */
};
void heap_lock_take(struct heap_lock *l);
void heap_lock_drop(struct heap_lock *l);
