/* The allocator of the whole program, libraries included: mem_hook.c defines malloc and its family
 * in the executable and forwards to glibc's. A hook (the heap profiler) sees an allocation whenever
 * the thread has asked for a number of bytes that the hook itself draws, and the end of those that
 * it watches. Without a hook an allocation costs the thread one addition, a free one load. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>

/* Called in the allocating thread, in any state of it, so without a lock that is held around an
 * allocation. What they allocate themselves is not seen. errno is kept by the caller. */
struct mem_hook {
	/* Bytes until the next call of allocated, counted from the end of the last allocation that
	 * was seen; 0: every one is seen. *state is the thread's; first: in this opening. */
	uint64_t (*gap)(void *arg, uint64_t *state, bool first);
	/* p of bytes as asked for; caller: where malloc returns to. */
	void (*allocated)(void *arg, void *p, uint64_t bytes, uintptr_t caller);
	/* The same for memory that does not pass malloc: every one is seen. */
	void (*mapped)(void *arg, void *p, uint64_t bytes, uintptr_t caller);
	/* p, which may be watched, is about to be freed or resized; kept (3 words) is the hook's.
	 */
	bool (*freed)(void *arg, void *p, uint64_t kept[3]);
	/* It was not resized after all: undoes freed, with what that kept. */
	void (*stayed)(void *arg, const uint64_t kept[3]);
	void *arg;
};
/* From now on *hook (borrowed) is called. -EBUSY: there is one. */
MUST_CHECK int mem_hook_open(const struct mem_hook *hook);
/* Returns when no thread is in the hook any more, and none will be. */
void mem_hook_close(void);

/* From allocated, mapped and freed: frees of p are told to the hook from now on, until as many
 * mem_hook_unwatch as mem_hook_watch were called for it. */
void mem_hook_watch(const void *p);
void mem_hook_unwatch(const void *p);

/* Data in memory that does not pass malloc says so here, whether or not there is a hook: bytes at p
 * were mapped, or are about to be unmapped. Any thread. */
void mem_hook_mapped(void *p, uint64_t bytes);
void mem_hook_unmapped(void *p, uint64_t bytes);
/* All that is mapped now by the two. */
uint64_t mem_hook_mapped_bytes(void);
/* Bytes that the allocator has handed out and not got back, its own overhead included. */
uint64_t mem_hook_malloc_bytes(void);

/* glibc's own, past the hook: for baselines. */
void *mem_hook_bare_malloc(size_t bytes);
void mem_hook_bare_free(void *p);
