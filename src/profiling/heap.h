/* The heap sampler: who allocated what, and what of it is still in use, by stack, label and size.
 * It sees the malloc family of the whole program, libraries included, through base/mem_hook.h: an
 * allocation of s bytes is sampled with probability 1 - exp(-s / rate) and counts as the reciprocal
 * of that. Mapped memory that is reported to mem_hook_mapped is seen always. Its own memory comes
 * from mmap. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "profiling/stacks.h"
#include "profiling/walker.h"
#include <stdint.h>

struct heap;
struct heap_env { /* borrowed */
	const struct mem *mem;
	struct walker *walker;
};
struct heap_conf {
	uint64_t rate_bytes; /* mean bytes between samples, >= 1; 1: every allocation */
	uint64_t seed;	     /* of the sampling; 0: another each time */
	uint64_t max_bytes;  /* of own memory; 0: 256 MiB. What finds no room is told as lost */
};
/* What was not noted as it should. */
enum heap_lost {
	HEAP_LOST_NO_MEMORY, /* counted as allocated, but not as in use */
	HEAP_LOST_STALE,     /* the end of an allocation was not seen; noticed when its address came
			      * again */
	HEAP_LOST_N
};
extern const char *const heap_lost_text[HEAP_LOST_N];
struct heap_status {
	uint64_t rate_bytes;
	uint64_t samples;      /* since opened */
	uint64_t live;	       /* sampled allocations in use */
	uint64_t stacks;       /* distinct, by label and size, too */
	uint64_t folded;       /* samples that found no room for their stack */
	uint64_t bytes;	       /* of own memory */
	uint64_t mapped_bytes; /* reported to mem_hook_mapped, since the program began */
	uint64_t lost[HEAP_LOST_N];
	uint64_t ends[UNWIND_ENDS]; /* walks by how they ended */
};

/* Samples from now on. At most one may be open in a process: -EBUSY. -ENOMEM. */
MUST_CHECK int heap_open(
	const struct heap_env *env, const struct heap_conf *conf, struct heap **ret_heap);
/* Returns when no thread is in the sampler any more, with all of its memory unmapped. Takes NULL,
 * returns NULL. */
struct heap *heap_close(struct heap *h);

/* Adds what was sampled since opened; any thread, while others allocate. Values: alloc_objects,
 * alloc_space (both never fall from one read to the next), inuse_objects, inuse_space. `number` is
 * the size that was asked for, `label` the thread's at that time; the leaf is the caller of malloc.
 * What the process holds beyond what is estimated as in use, because it was allocated before or is
 * overhead of the allocator, is one entry of the frame SAID_BEFORE whose alloc values are 0. */
void heap_read(struct heap *h, struct stacks *to);
void heap_status(struct heap *h, struct heap_status *ret_status);
