/* The executable mappings of this process, from /proc/self/maps. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdint.h>

struct map {
	uint64_t start, limit, offset;
	char file[256];	   /* "/usr/lib/…", "[vdso]"; " (deleted)" is cut off */
	char build_id[41]; /* hex, of the object as it is loaded; empty when there is none */
};
struct maps {
	const struct mem *mem;
	uint32_t n, room;
	struct map *list; /* sorted */
};
/* Anonymous ones are left out. -ENOMEM, or the error of reading. The caller ends it with maps_done.
 */
MUST_CHECK int maps_read(const struct mem *mem, struct maps *ret_maps);
void maps_done(struct maps *m);
/* The index of the mapping with pc, UINT32_MAX when there is none. */
uint32_t maps_find(const struct maps *m, uintptr_t pc);
