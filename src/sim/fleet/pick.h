/* Which types the devices of a range get: the default one, one by name, or all in turn. */
#pragma once
#include "sim/fleet/type.h"

#define PICK_DEFAULT_SLUG "asr9k"

struct pick_ask {
	const char *slug;     /* "asr9k" or "asr9k.json"; NULL: the default */
	bool round_robin;     /* all on disk in turn; slug must be NULL */
	const char *category; /* NULL: all; only with round_robin */
};
struct pick {
	const struct mem *mem;
	const struct type **types; /* references are held */
	uint32_t n;
	bool named; /* not merely the default */
};
/* -EINVAL: there is no such type, nothing is of the category, or the settings exclude each other;
 * the fault names /resource_file or /category and what is allowed. -EINVAL of types_get: a file is
 * at fault, which the fault names. Types whose file went away are left out of a round robin. mem is
 * that of the types. Any thread. */
MUST_CHECK int pick_types(struct types *t, const struct mem *mem, const struct pick_ask *ask,
	struct pick *ret_pick, struct fault *reterr_fault);
void pick_done(struct pick *p);
