/* The value engine: what a device answers for a row of its type's table, at an instant; and which
 * rows it has, since rows of ipAddrTable are indexed by the device's own address. */
#pragma once
#include "base/rcu.h"
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/ifcount.h"
#include "wire/ber.h"

#define VALUE_SCRATCH_BYTES 512
/* One question; the scratch holds strings made for it. One instant serves a whole datagram, so that
 * its values agree. By value, owned by one thread; begin with value_ask_init. */
struct value_ask {
	const struct device *dev;
	uint64_t now_ns;	       /* fleet time */
	const struct dev_state *state; /* what deviates; NULL: nothing */
	bool counted;		       /* is count filled? */
	struct ifcount count;
	uint8_t oid[OID_BER_BYTES];
	uint8_t scratch[VALUE_SCRATCH_BYTES];
};
static inline void value_ask_init(struct value_ask *ask, const struct device *dev, uint64_t now_ns)
{
	ask->dev = dev;
	ask->now_ns = now_ns;
	ask->state = RCU_GET(dev->state);
	ask->counted = false;
}

/* The row that key (oid.h) names exactly on this device. -ENOENT: the object is known, the instance
 * is not there (noSuchInstance); -ENXIO: no such object (RFC 3416 4.2.1). */
MUST_CHECK int value_find(const struct value_ask *ask, const struct oidtab *t, const uint8_t *key,
	size_t key_len, uint32_t *ret_row);
/* The first row of this device whose OID is greater than key; t->n at the end. */
uint32_t value_after(
	const struct value_ask *ask, const struct oidtab *t, const uint8_t *key, size_t key_len);
/* The row of this device that follows a row of it; t->n at the end. No search. */
uint32_t value_next(const struct value_ask *ask, const struct oidtab *t, uint32_t row);
/* BER content of the row's OID on this device; points into the table or into ask->oid. */
const uint8_t *value_oid(
	struct value_ask *ask, const struct oidtab *t, uint32_t row, uint16_t *ret_len);
/* The value. 0, or -ENOENT: this device has no such instance, which does not happen for rows that
 * the functions above gave. Strings in *ret_value point into the table, the device or ask->scratch:
 * valid until the next call. */
MUST_CHECK int value_get(
	struct value_ask *ask, const struct oidtab *t, uint32_t row, struct ber_value *ret_value);

/* ifPhysAddress of an interface; false: it has none (a zero-length string, RFC 2863). */
bool value_if_mac(const struct device *d, uint32_t slot, uint8_t ret_mac[static 6]);
