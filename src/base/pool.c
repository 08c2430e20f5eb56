#include "base/pool.h"
#include "base/mem_hook.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#endif
#ifdef POOL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define POISON(p, bytes) __asan_poison_memory_region(p, bytes)
#define UNPOISON(p, bytes) __asan_unpoison_memory_region(p, bytes)
#define CHUNK_MAPPED(p, bytes) __lsan_register_root_region(p, bytes)
#define CHUNK_UNMAPS(p, bytes) __lsan_unregister_root_region(p, bytes)
#else
#define POISON(p, bytes) ((void)0)
#define UNPOISON(p, bytes) ((void)0)
#define CHUNK_MAPPED(p, bytes) ((void)0)
#define CHUNK_UNMAPS(p, bytes) ((void)0)
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define CHUNK_BYTES_MIN ((size_t)64 << 10)
#define CHUNK_BYTES_MAX ((size_t)2 << 20)

/* Apart from its memory, so that objects fill that, and that a test's allocator can refuse one. */
struct chunk {
	struct chunk *next;
	void *memory;
	size_t bytes;
};
struct free_object {
	struct free_object *next;
};
struct pool {
	const struct mem *mem;
	size_t object_bytes;
	struct free_object *free; /* given back, last first */
	char *fresh, *fresh_end;  /* never taken, of the newest chunk */
	struct chunk *chunks;
	size_t next_chunk_bytes;
	uint64_t live, mapped_bytes;
	char name[48]; /* the kernel keeps a pointer-free copy */
};

int pool_new(const struct mem *mem, const char *name, size_t object_bytes, size_t align,
	struct pool **ret_pool)
{
	assert(object_bytes > 0 && object_bytes <= POOL_OBJECT_BYTES_MAX);
	assert(align > 0 && align <= 4096 && (align & (align - 1)) == 0);
	struct pool *p = mem_zalloc(mem, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->mem = mem;
	align = MAX(align, _Alignof(struct free_object));
	p->object_bytes = (object_bytes + align - 1) & ~(align - 1);
	p->next_chunk_bytes = CHUNK_BYTES_MIN;
	(void)snprintf(p->name, sizeof(p->name), "nl6:%.40s", name);
	*ret_pool = p;
	return 0;
}

struct pool *pool_free(struct pool *p)
{
	if (!p)
		return NULL;
	for (struct chunk *c = p->chunks, *next; c; c = next) {
		void *memory = c->memory;
		size_t bytes = c->bytes;
		next = c->next;
		CHUNK_UNMAPS(memory, bytes);
		mem_hook_unmapped(memory, bytes);
		UNPOISON(memory, bytes);
		(void)munmap(memory, bytes);
		(void)mem_free(p->mem, c);
	}
	return mem_free(p->mem, p);
}

static int add_chunk(struct pool *p)
{
	size_t bytes = p->next_chunk_bytes;
	struct chunk *c = mem_alloc(p->mem, sizeof(*c));
	if (!c)
		return -ENOMEM;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		(void)mem_free(p->mem, c);
		return -ENOMEM;
	}
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, bytes, p->name);
	*c = (struct chunk){p->chunks, memory, bytes};
	p->chunks = c;
	p->fresh = memory;
	p->fresh_end = memory + bytes / p->object_bytes * p->object_bytes;
	p->mapped_bytes += bytes;
	p->next_chunk_bytes = MIN(bytes * 2, CHUNK_BYTES_MAX);
	mem_hook_mapped(memory, bytes);
	CHUNK_MAPPED(memory, bytes);
	POISON(memory, (size_t)(p->fresh_end - memory));
	return 0;
}

void *pool_take(struct pool *p)
{
	void *object = p->free;
	if (object) {
		UNPOISON(object, p->object_bytes);
		p->free = p->free->next;
	} else {
		if (p->fresh == p->fresh_end && add_chunk(p) < 0)
			return NULL;
		object = p->fresh;
		p->fresh += p->object_bytes;
		UNPOISON(object, p->object_bytes);
	}
	p->live++;
	return object;
}

void pool_give(struct pool *p, void *object)
{
	if (!object)
		return;
	assert(p->live > 0);
	p->live--;
	struct free_object *o = object;
	o->next = p->free;
	p->free = o;
	POISON(object, p->object_bytes);
}

uint64_t pool_mapped_bytes(const struct pool *p)
{
	return p->mapped_bytes;
}
