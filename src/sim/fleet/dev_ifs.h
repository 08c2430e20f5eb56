/* Interfaces of a device whose state is or was another than its type has: sorted, immutable, one
 * allocation. */
#pragma once
#include "base/mem.h"
#include "sim/fleet/fleet.h"

struct dev_if {
	uint32_t slot;
	uint8_t admin,
		link;	   /* enum if_status; the link is what ifOperStatus is while admin is up */
	uint64_t up_ns;	   /* how long it was up until since_ns */
	uint64_t since_ns; /* fleet time of the last change of ifOperStatus, or of boot */
	bool changed;	   /* since_ns is a change */
};
struct dev_ifs {
	uint32_t n;
	struct dev_if ifs[]; /* by slot */
};

/* An interface as it is at an instant. */
struct ifstate {
	uint8_t admin, link, oper; /* enum if_status */
	uint64_t up_ns;		   /* how long it has been up since boot: its counters' time */
	uint64_t changed_ns;	   /* since boot: of the last change of ifOperStatus; 0: none */
};
/* ifs: of the device's state; NULL: as the type has it. */
void ifstate_get(const struct device *d, const struct dev_ifs *ifs, uint32_t slot, uint64_t now_ns,
	struct ifstate *ret_state);
enum ifstate_what { IFSTATE_ADMIN, IFSTATE_LINK };
/* What ifs becomes when admin or link of an interface gets a value at now_ns; before and after are
 * told. *ret_ifs is ifs itself when nothing changes. -ENOMEM. */
MUST_CHECK int ifstate_change(const struct mem *mem, const struct device *d,
	const struct dev_ifs *ifs, uint32_t slot, enum ifstate_what what, uint8_t status,
	uint64_t now_ns, const struct dev_ifs **ret_ifs);
/* The slot of an ifIndex. -ENOENT. */
MUST_CHECK int ifstate_slot(const struct type *t, uint32_t index, uint32_t *ret_slot);
