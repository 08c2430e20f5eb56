/* Identity of a device: pure functions of its seed, site, address and settings. All text is ASCII.
 */
#pragma once
#include "base/attr.h"
#include "sim/fleet/city.h"
#include "sim/fleet/fleet.h"

#define IDENT_TEXT_BYTES 128
/* sysName: "fra2-core-07-asr9k-0a2a0001": a pattern that a site's devices share, words by seed that
 * suit what the type is for, the slug, and the address (IPv4: 8 hex digits; IPv6: 26 digits of base
 * 32), so unique by construction. A DNS label (RFC 1123 2.1): lower case, at most 63 bytes; a slug
 * that is too long is cut. */
const char *ident_name(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* "<slug with - for _>-<address>", or the bare address for the default type. */
const char *ident_id(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* The inverse: an id, or a bare address, to an address. -EINVAL. Whether the device exists and the
 * slug is right is the caller's question. */
MUST_CHECK int ident_parse(const char *id, struct addr *ret_addr);
/* Where the site is: sixteen addresses in a row stand together. */
const struct city *ident_city(const struct device *d);
/* "City, Admin, Country", or "City, Country". */
const char *ident_location(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* "SN" and the address in 8 hex digits; IPv6: "SN6" and 26 digits of base 32. At most 32 bytes
 * (ENTITY-MIB entPhysicalSerialNum). */
const char *ident_serial(const struct device *d, char buf[static IDENT_TEXT_BYTES]);
/* The address in digits: 8 of hex (IPv4) or 26 of base 32 (IPv6), lower case. */
const char *ident_addr_digits(const struct addr *a, char buf[static IDENT_TEXT_BYTES]);
/* Locally administered unicast addresses. port 0: the chassis, 02:42:a:b:c:d for IPv4 a.b.c.d and
 * 82:43:... for IPv6. Port n: the first two bytes tell family and n, the other four the address
 * (IPv6: its last 32 bits mixed with the others), so no two ports of a fleet share one, nor two of
 * IPv6 devices in one /96; across /96s, and for ports above IDENT_MAC_PORTS, it is only unlikely.
 */
#define IDENT_MAC_PORTS 8189u
void ident_mac(const struct device *d, uint32_t port, uint8_t mac[static 6]);
/* snmpEngineID (RFC 3411 5, SnmpEngineID) of enterprise 32473: IPv4: format 3 with the chassis MAC,
 * 11 bytes; IPv6: format 2 with the address, 21 bytes. Returns the length. */
unsigned ident_engine_id(const struct device *d, uint8_t id[static 32]);
