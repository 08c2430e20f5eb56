/* One address type for IPv4 and IPv6. IPv4 is held as ::ffff:a.b.c.d, so addresses compare as 16
 * bytes and IPv4 sorts numerically. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct addr {
	uint8_t b[16]; /* network order */
};
struct prefix {
	struct addr addr;
	uint8_t len; /* of 128; an IPv4 /16 is 112 */
};
#define ADDR_TEXT_BYTES 46   /* with the NUL */
#define PREFIX_TEXT_BYTES 50 /* with the NUL */

static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	return memcmp(a->b, mapped, sizeof(mapped)) == 0;
}
static inline int addr_cmp(const struct addr *a, const struct addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}
static inline bool addr_eq(const struct addr *a, const struct addr *b)
{
	return addr_cmp(a, b) == 0;
}
/* Host order IPv4 to address and back; addr_v4_u32 needs addr_is_v4. */
struct addr addr_from_v4(uint32_t host_order);
uint32_t addr_v4_u32(const struct addr *a);
/* Adds n (carries over all 16 bytes, wraps). */
struct addr addr_add(const struct addr *a, uint64_t n);
/* b - a; UINT64_MAX when b < a or the distance does not fit. */
uint64_t addr_distance(const struct addr *a, const struct addr *b);
/* Dotted or RFC 5952 text; -EINVAL. "::ffff:1.2.3.4" is the IPv4 address. */
MUST_CHECK int addr_parse(const char *s, struct addr *ret_addr);
/* Writes at most ADDR_TEXT_BYTES, returns buf. IPv4 dotted, IPv6 as RFC 5952. */
const char *addr_text(const struct addr *a, char buf[static ADDR_TEXT_BYTES]);
/* "10.0.0.0/8", "2001:db8::/64", or a bare address for a host; host bits must be 0. -EINVAL. */
MUST_CHECK int prefix_parse(const char *s, struct prefix *ret_prefix);
const char *prefix_text(const struct prefix *p, char buf[static PREFIX_TEXT_BYTES]);
/* The highest address of the prefix. */
struct addr prefix_last(const struct prefix *p);
bool prefix_has(const struct prefix *p, const struct addr *a);
/* Is it in 127/8 or ::1? */
bool addr_is_loopback(const struct addr *a);
/* To and from socket addresses. IPv4 becomes AF_INET. -EAFNOSUPPORT. */
socklen_t addr_to_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *ret_sa);
MUST_CHECK int addr_from_sockaddr(
	const struct sockaddr *sa, struct addr *ret_addr, uint16_t *ret_port);
/* Text for logs: "1.2.3.4:161", "[2001:db8::1]:161". */
#define ADDR_PORT_TEXT_BYTES 56
const char *addr_port_text(
	const struct addr *a, uint16_t port, char buf[static ADDR_PORT_TEXT_BYTES]);
