/* The kernel's functions by address, from /proc/kallsyms where that is permitted. Immutable. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdint.h>

struct kallsyms;
/* -EACCES: the kernel hides the addresses (kernel.kptr_restrict), or an error of reading; -ENOMEM.
 * The caller owns *ret_symbols. Takes some tens of milliseconds. */
MUST_CHECK int kallsyms_new(const struct mem *mem, struct kallsyms **ret_symbols);
/* The same from another file of its form. */
MUST_CHECK int kallsyms_read(
	const struct mem *mem, const char *path, struct kallsyms **ret_symbols);
struct kallsyms *kallsyms_free(struct kallsyms *k); /* takes NULL, returns NULL */
CLEANUP(kallsyms);
/* The function that holds pc, valid as long as k; NULL when there is none. *ret_start (may be NULL)
 * is its first address. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t pc, uint64_t *ret_start);
uint64_t kallsyms_bytes(const struct kallsyms *k);
