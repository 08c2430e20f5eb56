/* What was set on the devices of a create, made again before they are: nobody ever sees them
 * without it. Part of restore.c. */
#pragma once
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/store_create.h"

struct restore_states {
	const struct mem *mem;
	struct restore_state {
		struct addr addr;
		struct dev_sets *sets; /* NULL: none, or the device has it */
		struct dev_ifs *ifs;
		struct dev_state *state; /* of both, when all is read */
	} * list;			 /* in order of address */
	uint32_t n, room;
};
void restore_states_done(struct restore_states *s);
/* Reads what the store has of devices of a create, whose types are set (one that is NULL leaves its
 * devices' records alone). Notes what its types have no more. Times are as of now_ns. For who may
 * call the store. -ENOMEM, errors of the store. */
MUST_CHECK int restore_states_read(struct restore_states *s, struct store *store,
	const struct fleet_add *add, uint64_t now_ns);
/* fleet_add.state; arg: struct restore_states. */
struct dev_state *restore_states_take(void *arg, const struct device *d);
