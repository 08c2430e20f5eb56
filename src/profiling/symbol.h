/* From program counters to functions, files and lines, inlined frames included, by the ELF and
 * DWARF of this machine's files (libdw); never over a network. Results are cached by address until
 * the table is freed. One thread at a time. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

struct symbol_frame {
	const char *name;	 /* without the suffixes that compilers add to clones */
	const char *system_name; /* as in the symbol table */
	const char *file;	 /* "" when unknown */
	uint32_t line;		 /* 0 when unknown */
};
struct symbol {
	uint32_t mapping; /* index for symbols_mapping until the next symbols_find; UINT32_MAX: in
			   * none */
	uint32_t n;	  /* 0: nothing is known */
	uint64_t offset;  /* of the address in the function that has the code; 0: unknown */
	const struct symbol_frame *frames; /* innermost inlined function first */
};
/* Addresses from here on are the kernel's: their index is SYMBOL_MAPPING_KERNEL. */
#define SYMBOL_KERNEL_START (1ull << 63)
#define SYMBOL_MAPPING_KERNEL (UINT32_MAX - 1)
struct symbol_mapping {
	uint64_t start, limit, offset;
	char file[256];
	char build_id[41]; /* hex; empty when there is none */
};
struct symbols_info {
	uint64_t addresses, unknown; /* looked up; of them without a name */
	char missing[256];	     /* a file without debug information, "" when there is none */
	uint64_t bytes;		     /* of the cache */
};
struct symbols;
MUST_CHECK int symbols_new(const struct mem *mem, struct symbols **ret_symbols);
/* Of one ELF file instead (borrowed), as if it were loaded at base: to be tried on damaged ones. */
MUST_CHECK int symbols_new_of_file(
	const struct mem *mem, const char *file, uintptr_t base, struct symbols **ret_symbols);
struct symbols *symbols_free(struct symbols *s);
CLEANUP(symbols);
/* Before a profile is written: when libraries were unloaded, others may be at their addresses, and
 * all that was looked up is forgotten. -ENOMEM, or the error of reading /proc/self/maps. */
MUST_CHECK int symbols_refresh(struct symbols *s);
/* What is at pc (a call site, not a return address). Valid until the table is freed or
 * refreshed. -ENOMEM. */
MUST_CHECK int symbols_find(struct symbols *s, uintptr_t pc, struct symbol *ret_symbol);
/* The name of the function that pc is in, not of what is inlined there. Nothing is kept or counted,
 * so that anybody may ask. False: unknown. */
bool symbols_name(const struct symbols *s, uintptr_t pc, char *buf, size_t bytes);
const struct symbol_mapping *symbols_mapping(const struct symbols *s, uint32_t index);
uint32_t symbols_mappings(const struct symbols *s);
void symbols_info(const struct symbols *s, struct symbols_info *ret_info);
/* Length of a symbol's name without .isra.0, .part.1, .constprop.2, .cold, .lto_priv.3 and the
 * like. */
size_t symbol_name_bytes(const char *system_name);
