#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *arg UNUSED, void *old, size_t bytes)
{
	if (bytes == 0) {
		free(old);
		return NULL;
	}
	return realloc(old, bytes);
}

const struct mem mem_libc = {libc_resize, NULL};

void *mem_alloc(const struct mem *m, size_t bytes)
{
	return m->resize(m->arg, NULL, bytes ? bytes : 1);
}

void *mem_zalloc(const struct mem *m, size_t bytes)
{
	void *p = mem_alloc(m, bytes);
	if (p)
		memset(p, 0, bytes);
	return p;
}

void *mem_array(const struct mem *m, size_t n, size_t bytes)
{
	size_t all;
	if (__builtin_mul_overflow(n, bytes, &all))
		return NULL;
	return mem_zalloc(m, all);
}

void *mem_resize(const struct mem *m, void *old, size_t n, size_t bytes)
{
	size_t all;
	if (__builtin_mul_overflow(n, bytes, &all) || all == 0)
		return NULL;
	return m->resize(m->arg, old, all);
}

void *mem_copy(const struct mem *m, const void *from, size_t bytes)
{
	void *p = mem_alloc(m, bytes);
	if (p && bytes)
		memcpy(p, from, bytes);
	return p;
}

char *mem_strdup(const struct mem *m, const char *s)
{
	return mem_copy(m, s, strlen(s) + 1);
}

void *mem_free(const struct mem *m, void *p)
{
	if (p)
		(void)m->resize(m->arg, p, 0);
	return NULL;
}
