/* Objects that were set on a device: sorted, immutable, one allocation. They hide the values that
 * its type has. */
#pragma once
#include "base/mem.h"
#include "sim/fleet/dev_state.h"
#include "wire/ber.h"
#include "wire/oid.h"
#include <stdbool.h>
#include <stdint.h>

struct dev_set {
	uint32_t key_at, ber_at, value_at; /* offsets in the bytes: order key and BER content of the
					      OID, TLV of the value */
	uint16_t key_n, ber_n;
	uint32_t value_n;
	uint64_t set_ns; /* fleet time */
};
struct dev_sets {
	uint32_t n;
	uint32_t bytes_n;
	struct dev_set set[]; /* n, strictly increasing by key; then the bytes */
};
static inline const uint8_t *dev_sets_bytes(const struct dev_sets *s)
{
	return (const uint8_t *)&s->set[s->n];
}
/* The set of the object that key (oid.h) names; NULL: it was not set. */
const struct dev_set *dev_sets_find(const struct dev_sets *s, const uint8_t *key, size_t key_n);
struct ber_value dev_set_value(const struct dev_sets *s, const struct dev_set *set);

struct dev_sets_change {
	const uint8_t *ber; /* content of the OID, valid */
	size_t ber_n;
	const struct ber_value *value; /* NULL: set no more */
};
/* What old (NULL: nothing) becomes by n changes at now_ns, of which a later one of an OID counts;
 * *ret_sets is NULL when nothing is left. Frees nothing. -ENOMEM; -E2BIG: more than 2^32 bytes. */
MUST_CHECK int dev_sets_changed(const struct mem *mem, const struct dev_sets *old,
	const struct dev_sets_change *changes, uint32_t n, uint64_t now_ns,
	struct dev_sets **ret_sets);
