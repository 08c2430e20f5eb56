/* The value engine: what a device answers for a row of its type's table, at an instant. */
#pragma once
#include "sim/fleet/fleet.h"
#include "wire/ber.h"

enum if_column; /* ifcount.h */
/* One question; the scratch holds strings made for it. One instant serves a whole datagram. */
struct value_ask {
	const struct device *dev;
	uint64_t now_ns; /* fleet time */
	uint8_t scratch[256];
};
/* 0, or -ENOENT: this device has no such instance (answered noSuchInstance, skipped by walks).
 * Strings in *ret_value point into the table or into ask->scratch: valid until the next call. */
MUST_CHECK int value_get(
	struct value_ask *ask, const struct oidtab *t, uint32_t row, struct ber_value *ret_value);
