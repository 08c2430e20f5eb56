/* What deviates on a device from its type: objects that were set, interfaces that were ever in
 * another state. Immutable; readers find it at device.state within RCU_SCOPE, the keeper
 * (keeper.h) replaces it. */
#pragma once
#include "base/mem.h"

struct dev_sets; /* both are one allocation of the fleet's memory */
struct dev_ifs;
struct dev_state {
	const struct dev_sets *sets; /* NULL: nothing was set */
	const struct dev_ifs *ifs;   /* NULL: all are as the type has them */
};
/* A new one of two parts, which it takes over; both may not be NULL. NULL: no memory. */
MUST_CHECK struct dev_state *dev_state_new(
	const struct mem *mem, const struct dev_sets *sets, const struct dev_ifs *ifs);
/* Frees s, but not the parts that kept (may be NULL) has as well. Takes NULL. */
void dev_state_free(const struct mem *mem, const struct dev_state *s, const struct dev_state *kept);
