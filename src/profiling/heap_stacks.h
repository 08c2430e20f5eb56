/* The heap sampler's counts by stack, label and size. Entries never move or go away before the
 * table does, so they are read without a lock. Owned by one heap, used by any thread. */
#pragma once
#include "base/label.h"
#include "profiling/heap_own.h"
#include <stdbool.h>
#include <stdint.h>

struct heap_stack {
	struct heap_stack *next; /* in its chain; under the shard's lock */
	uint64_t hash;
	const struct label *label;
	uint64_t bytes; /* of each object */
	bool is_exact;	/* every one was seen */
	uint8_t end;	/* enum unwind_end */
	uint16_t n;
	uint64_t allocated, freed; /* samples; all else is immutable */
	uintptr_t pcs[];
};
/* What to look for. */
struct heap_stack_key {
	const struct label *label;
	uint64_t bytes;
	bool is_exact;
	uint8_t end;
	uint16_t n;
	const uintptr_t *pcs;
};
#define HEAP_STACK_SHARDS 16
struct heap_stacks {
	struct heap_own *own;
	struct heap_stack_shard {
		struct heap_lock lock;
		uint32_t n, room; /* of heads: 0 or a power of two */
		struct heap_stack **heads;
		/* Entries lie one after another in chunks. */
		struct heap_stack_chunk *chunks; /* newest first */
		uint64_t apart_[4];		 /* from the next one's cache line */
	} shards[HEAP_STACK_SHARDS];
};
/* *s is zeroed but for own. */
void heap_stacks_done(struct heap_stacks *s);
/* The entry of *key, made if it is not there; NULL: no memory. */
struct heap_stack *heap_stacks_find(struct heap_stacks *s, const struct heap_stack_key *key);
/* Each entry that is there now; fn may allocate. */
void heap_stacks_each(
	struct heap_stacks *s, void (*fn)(void *arg, const struct heap_stack *stack), void *arg);
uint64_t heap_stacks_count(struct heap_stacks *s);
