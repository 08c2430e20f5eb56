/* Identity of a device: pure functions of its seed and address. */
#pragma once
#include "base/attr.h"
#include "sim/fleet/fleet.h"

struct city {
	const char *name, *admin, *country; /* admin may be empty */
	double lat, lon;
};
#define IDENT_TEXT_BYTES 128
/* sysName: a pattern by seed and an encoding of the address, so unique by construction. */
const char *ident_name(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* "<slug with - for _>-<address>", or the bare address for the default type. */
const char *ident_id(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* The inverse: an id, or a bare address, to an address. -EINVAL. Whether the device exists and the
 * slug is right is the caller's question. */
MUST_CHECK int ident_parse(const char *id, struct addr *ret_addr);
const struct city *ident_city(const struct device *d);
const char *ident_location(
	const struct device *d, char buf[static IDENT_TEXT_BYTES]); /* "City, Admin, Country" */
const char *ident_serial(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* 02:42:a:b:c:d for IPv4; IPv6: 02:43 and a hash of the address. port 0: chassis; n: interface n.
 */
void ident_mac(const struct device *d, uint32_t port, uint8_t mac[static 6]);
/* snmpEngineID (RFC 3411 5), at most 32 bytes; returns the length. */
unsigned ident_engine_id(const struct device *d, uint8_t id[static 32]);
