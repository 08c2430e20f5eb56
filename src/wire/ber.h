/* BER as SNMP uses it (RFC 3417 8): definite lengths, the types of RFC 2578. */
#pragma once
#include "wire/cursor.h"

enum ber_tag {
	BER_INTEGER = 0x02,
	BER_OCTET_STRING = 0x04,
	BER_NULL = 0x05,
	BER_OID = 0x06,
	BER_SEQUENCE = 0x30,
	BER_IPADDRESS = 0x40,
	BER_COUNTER32 = 0x41,
	BER_GAUGE32 = 0x42,
	BER_TIMETICKS = 0x43,
	BER_OPAQUE = 0x44,
	BER_COUNTER64 = 0x46,
	BER_NO_SUCH_OBJECT = 0x80,
	BER_NO_SUCH_INSTANCE = 0x81,
	BER_END_OF_MIB_VIEW = 0x82,
};
/* A value to be answered. Strings (OCTET STRING, OID content, IpAddress, Opaque) are borrowed. */
struct ber_value {
	uint8_t tag; /* enum ber_tag */
	uint16_t len;
	union {
		int64_t i;  /* INTEGER: -2^31..2^31-1 */
		uint64_t u; /* Counter32, Gauge32, TimeTicks: 0..2^32-1; Counter64 */
		const uint8_t *bytes;
	};
};

/* Reads a header; *ret_tag gets the tag (0 on error) and a sub-cursor over the content is returned.
 * Lengths need not be minimal. A tag of more than one octet, a length that overruns the parent, an
 * indefinite one, or one of more than 4 octets fails the parent. */
struct rd ber_any_long(struct rd *r, uint8_t *ret_tag); /* the same, for every header */
static inline struct rd ber_any(struct rd *r, uint8_t *ret_tag)
{
	/* Nearly all are of two octets. */
	const uint8_t *p = r->p;
	size_t left = (size_t)(r->end - p);
	if (UNLIKELY(left < 2 || p[1] > left - 2 || p[1] >= 0x80 || (p[0] & 0x1f) == 0x1f))
		return ber_any_long(r, ret_tag);
	*ret_tag = p[0];
	r->p = p + 2 + p[1];
	return (struct rd){p + 2, r->p, 0};
}
/* The same; fails when the tag is another. */
static inline struct rd ber_expect(struct rd *r, uint8_t tag)
{
	uint8_t got;
	struct rd content = ber_any(r, &got);
	if (UNLIKELY(got != tag)) {
		rd_fail(r);
		return (struct rd){r->end, r->end, r->err};
	}
	return content;
}
/* INTEGER of any width whose value is within min..max; empty content or another value fails. */
int64_t ber_int(struct rd *r, int64_t min, int64_t max);
/* A whole TLV as a value, for data that is trusted no further than this check: content of a length
 * that the type cannot have, or an unknown tag, fails. Strings are borrowed from r. */
struct ber_value ber_get_value(struct rd *r);

/* Bytes of a complete TLV of the value. */
size_t ber_value_bytes(const struct ber_value *v);
void ber_put_value(struct wr *w, const struct ber_value *v);
/* Writes the ber_value_bytes(v) bytes at to, which must have room; returns the byte after them. */
uint8_t *ber_write_value(uint8_t *to, const struct ber_value *v);
/* Bytes of a length field for content of n bytes, n < 2^32. */
static inline size_t ber_len_bytes(size_t n)
{
	return n < 0x80 ? 1 : n < 0x100 ? 2 : n < 0x10000 ? 3 : n < 0x1000000 ? 4 : 5;
}
/* Writes the ber_len_bytes(n) bytes at to, which must have room; returns the byte after them. */
static inline uint8_t *ber_write_len(uint8_t *to, size_t n)
{
	if (LIKELY(n < 0x80)) {
		*to++ = (uint8_t)n;
		return to;
	}
	size_t octets = ber_len_bytes(n) - 1;
	*to++ = (uint8_t)(0x80 | octets);
	for (size_t shift = octets * 8; shift > 0; shift -= 8)
		*to++ = (uint8_t)(n >> (shift - 8));
	return to;
}
void ber_put_len(struct wr *w, size_t n);
/* Content octets of a two's complement number: its sign must be told from the value. */
static inline size_t ber_int_octets(int64_t v)
{
	uint64_t magnitude = (uint64_t)(v < 0 ? ~v : v);
	return (size_t)(64 - __builtin_clzll(magnitude | 1)) / 8 + 1;
}
/* Bytes of an INTEGER TLV. */
static inline size_t ber_int_bytes(int64_t v)
{
	return 2 + ber_int_octets(v);
}
/* Backward: content is written already; puts length and tag before it. */
void ber_back_header(struct bw *w, uint8_t tag, size_t content_bytes);
void ber_back_int(struct bw *w, int64_t v); /* a whole INTEGER TLV */
void ber_back_bytes(struct bw *w, uint8_t tag, const void *p, size_t n);
