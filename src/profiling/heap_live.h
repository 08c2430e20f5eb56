/* The heap sampler's table of sampled allocations in use, by address; sharded, so that threads
 * seldom meet. Owned by one heap, used by any thread. */
#pragma once
#include "profiling/heap_own.h"
#include <stdbool.h>
#include <stdint.h>

struct heap_stack;
struct heap_live_entry {
	uintptr_t p; /* 0: free slot */
	struct heap_stack *stack;
	uint64_t bytes;
};
#define HEAP_LIVE_SHARDS 64
struct heap_live {
	struct heap_own *own;
	struct heap_live_shard {
		struct heap_lock lock;
		uint32_t n, room; /* room: 0 or a power of two */
		struct heap_live_entry *slots;
		uint64_t apart_[5]; /* from the next one's cache line */
	} shards[HEAP_LIVE_SHARDS];
};
/* *l is zeroed but for own. */
void heap_live_done(struct heap_live *l);
/* -ENOMEM; -EEXIST: the address was there, *reterr_old is what stood for it and is replaced. */
MUST_CHECK int heap_live_put(
	struct heap_live *l, const struct heap_live_entry *e, struct heap_live_entry *reterr_old);
/* False: the address is not there. */
bool heap_live_take(struct heap_live *l, uintptr_t p, struct heap_live_entry *ret_e);
uint64_t heap_live_count(struct heap_live *l);
