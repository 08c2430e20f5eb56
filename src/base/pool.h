/* Fixed-size objects from mmapped chunks; objects come uninitialised. One owner at a time (callers
 * lock). Says what it holds, so that memory reports add up. Under ASan what was
 * given back is poisoned. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdint.h>

struct pool;
/* object_bytes: 1..POOL_OBJECT_BYTES_MAX, aligned to align (a power of two <= 4096). Chunks grow
 * from 64 KiB to 2 MiB. name (copied, at most 40 bytes count) shows in /proc/PID/maps where the
 * kernel can name memory. -ENOMEM. */
#define POOL_OBJECT_BYTES_MAX 32768
MUST_CHECK int pool_new(const struct mem *mem, const char *name, size_t object_bytes, size_t align,
	struct pool **ret_pool);
struct pool *pool_free(struct pool *p); /* unmaps all */
CLEANUP(pool);
MUST_CHECK void *pool_take(struct pool *p);   /* NULL: no memory */
void pool_give(struct pool *p, void *object); /* takes NULL */
uint64_t pool_mapped_bytes(const struct pool *p);
