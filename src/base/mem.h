/* The injectable allocator. Every module that allocates takes one in its env. */
#pragma once
#include "base/attr.h"
#include <stdint.h>

struct mem {
	/* Like realloc(3): old may be NULL; bytes 0 frees and returns NULL. Thread-safe. */
	void *(*resize)(void *arg, void *old, size_t bytes);
	void *arg;
};

extern const struct mem mem_libc; /* malloc(3) */

/* Uninitialised memory; NULL when there is none. The caller frees with mem_free. */
MUST_CHECK void *mem_alloc(const struct mem *m, size_t bytes);
/* Zeroed memory. */
MUST_CHECK void *mem_zalloc(const struct mem *m, size_t bytes);
/* n * bytes of zeroed memory; NULL also when the product overflows. */
MUST_CHECK void *mem_array(const struct mem *m, size_t n, size_t bytes);
/* Resizes to n * bytes; on failure NULL and old stays valid. n * bytes must not be 0. */
MUST_CHECK void *mem_resize(const struct mem *m, void *old, size_t n, size_t bytes);
MUST_CHECK char *mem_strdup(const struct mem *m, const char *s);
MUST_CHECK void *mem_copy(const struct mem *m, const void *from, size_t bytes);
/* Takes NULL, returns NULL. */
void *mem_free(const struct mem *m, void *p);
