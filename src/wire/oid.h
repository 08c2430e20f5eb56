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
/* Dotted text, cut to room (>= 1, with the NUL); returns buf. */
const char *oid_text(const struct oid *o, char *buf, size_t room);
/* Lexicographic, arc by arc: <0, 0, >0. */
int oid_cmp(const struct oid *a, const struct oid *b);

/* Content bytes of an OBJECT IDENTIFIER (without tag and length). Refuses an empty content, a cut
 * last sub-identifier, one above 2^32-1, a leading 0x80, more than 128 arcs. -EBADMSG. */
MUST_CHECK int oid_from_ber(const uint8_t *p, size_t bytes, struct oid *ret_oid);
/* The checks of oid_from_ber alone. */
bool oid_ber_is_valid(const uint8_t *p, size_t bytes);
#define OID_BER_BYTES (OID_MAX_ARCS * 5)
/* Returns the number of bytes written, -EMSGSIZE, or -EINVAL for arcs that BER cannot say. */
MUST_CHECK int oid_to_ber(const struct oid *o, uint8_t *buf, size_t room);

/* The order key: bytes whose memcmp order (a prefix sorts first) is the order of the arcs. Each
 * sub-identifier is as long as in BER, but says its length in the top bits of its first byte
 * (0, 10, 110, 1110, 1111), so a key has the length of the BER content, and where all arcs are
 * below 128 (the first two count as 40a+b) the two are the same bytes. A key that starts with all
 * of another's is below it in the tree. */
#define OID_KEY_BYTES (OID_MAX_ARCS * 5)
struct oid_key {
	uint16_t n;
	uint8_t b[OID_KEY_BYTES];
};
/* o must be what oid_parse, oid_from_ber or their like made: valid for BER. */
void oid_to_key(const struct oid *o, struct oid_key *ret_key);
/* Straight from BER content to key with the checks of oid_from_ber; the hot path. -EBADMSG. */
MUST_CHECK int oid_key_from_ber(const uint8_t *p, size_t bytes, struct oid_key *ret_key);
static inline int oid_key_cmp(const uint8_t *a, size_t an, const uint8_t *b, size_t bn)
{
	int r = __builtin_memcmp(a, b, an < bn ? an : bn);
	return r ? r : (an > bn) - (an < bn);
}
/* Is the key at or below prefix in the tree? */
static inline bool oid_key_is_under(
	const uint8_t *key, size_t n, const uint8_t *prefix, size_t prefix_n)
{
	return n >= prefix_n && __builtin_memcmp(key, prefix, prefix_n) == 0;
}
