/* Ranges of fleet addresses: which addresses n devices from a start on get, and whether they all
 * are addresses that a device can have. Pure functions. */
#pragma once
#include "base/addr.h"
#include "base/fault.h"
#include <stdbool.h>
#include <stdint.h>

#define FLEET_MAX_DEVICES 16000000u /* of one create */

/* Bits of an address of the family: 32 or 128. */
static inline unsigned fleet_addr_bits(const struct addr *a)
{
	return addr_is_v4(a) ? 32 : 128;
}
/* The netmask of a create that gives none: 16 for IPv4, 64 for IPv6. */
static inline uint8_t fleet_default_netmask(const struct addr *a)
{
	return addr_is_v4(a) ? 16 : 64;
}

/* The address of device i of a range: device 0 has start as given, each further one the next
 * address that is no host of all 0 or all 1 bits under netmask_len (of the family: 0..32 or 0..128;
 * from 31 or 127 on nothing is skipped), on into the networks that follow. O(1).
 * -ERANGE past the end of the family's space, -EINVAL: netmask_len is no length of the family. */
MUST_CHECK int fleet_nth_addr(
	const struct addr *start, uint8_t netmask_len, uint32_t i, struct addr *ret_addr);
/* How many of the first count devices of such a range have addresses below a. */
uint32_t fleet_count_below(
	const struct addr *start, uint8_t netmask_len, uint32_t count, const struct addr *a);
/* What follows a in such a range: the address of device i + 1 if a is that of device i. Wraps at
 * the end of the space. */
struct addr fleet_next_addr(const struct addr *a, uint8_t netmask_len);

/* Can the range be created? Every device of it must lie in the region of its start, and, when
 * netmask_given (the user named the netmask; without, its default only decides which hosts are
 * skipped), in the start's own network of netmask_len. The regions are
 * 1.0.0.0-126.255.255.255, 127.0.0.1-127.255.255.254, 128.0.0.0-223.255.255.255,
 * ::2-::fffe:ffff:ffff, ::1:0:0:0-fe7f:..., fec0::-feff:...: what they leave out is unspecified,
 * IPv6 loopback, IPv4 in IPv6 clothes, link-local (has no meaning without an interface), multicast
 * or reserved. *ret_last is the address of the last device.
 * -EINVAL with a fault whose field is /start_ip, /netmask or /device_count; one of a range that
 * does not fit names the last address that does. */
MUST_CHECK int fleet_range_check(const struct addr *start, uint8_t netmask_len, bool netmask_given,
	uint32_t count, struct addr *ret_last, struct fault *reterr_fault);
