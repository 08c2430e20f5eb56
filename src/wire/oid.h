/* Object identifiers: decoded arcs, BER content bytes, and the order key. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>

#define OID_MAX_ARCS 128 /* RFC 3416 4.1 (RFC 2578 3.5) */
struct oid {
	uint16_t n;
	uint32_t arcs[OID_MAX_ARCS];
};

/* "1.3.6.1" or ".1.3.6.1"; at least two arcs, first 0..2, second <= 39 below 2 and 40a+b <= 2^32-1.
 * -EINVAL. */
MUST_CHECK int oid_parse(const char *s, struct oid *ret_oid);
#define OID_TEXT_BYTES (OID_MAX_ARCS * 11 + 1)
const char *oid_text(const struct oid *o, char *buf, size_t room);
/* Lexicographic, arc by arc: <0, 0, >0. */
int oid_cmp(const struct oid *a, const struct oid *b);

/* Content bytes of an OBJECT IDENTIFIER (without tag and length). Refuses an empty content, a cut
 * last sub-identifier, one above 2^32-1, a leading 0x80, more than 128 arcs. -EBADMSG. */
MUST_CHECK int oid_from_ber(const uint8_t *p, size_t bytes, struct oid *ret_oid);
#define OID_BER_BYTES (OID_MAX_ARCS * 5)
/* Returns the number of bytes written, -EMSGSIZE, or -EINVAL for arcs that BER cannot say. */
MUST_CHECK int oid_to_ber(const struct oid *o, uint8_t *buf, size_t room);

/* The order key: bytes whose memcmp order (a prefix sorts first) is the order of the arcs. */
#define OID_KEY_BYTES (OID_MAX_ARCS * 5)
struct oid_key {
	uint16_t n;
	uint8_t b[OID_KEY_BYTES];
};
void oid_to_key(const struct oid *o, struct oid_key *ret_key);
/* Straight from BER content to key with the checks of oid_from_ber; the hot path. -EBADMSG. */
MUST_CHECK int oid_key_from_ber(const uint8_t *p, size_t bytes, struct oid_key *ret_key);
static inline int oid_key_cmp(const uint8_t *a, size_t an, const uint8_t *b, size_t bn)
{
	int r = __builtin_memcmp(a, b, an < bn ? an : bn);
	return r ? r : (an > bn) - (an < bn);
}
