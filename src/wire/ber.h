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
		uint64_t u; /* the unsigned types */
		const uint8_t *bytes;
	};
};

/* Reads a header; *ret_tag gets the tag and a sub-cursor over the content is returned. A length
 * that overruns the parent, an indefinite one, or one of more than 4 octets fails the parent. */
struct rd ber_any(struct rd *r, uint8_t *ret_tag);
/* The same; fails when the tag is another. */
struct rd ber_expect(struct rd *r, uint8_t tag);
/* INTEGER content of any width whose value fits; empty content or a value out of min..max fails. */
int64_t ber_int(struct rd *r, int64_t min, int64_t max);

/* Bytes of a complete TLV of the value. */
size_t ber_value_bytes(const struct ber_value *v);
void ber_put_value(struct wr *w, const struct ber_value *v);
/* Bytes of a length field for content of n bytes. */
size_t ber_len_bytes(size_t n);
void ber_put_len(struct wr *w, size_t n);
/* Backward: content is written already; puts length and tag before it. */
void ber_back_header(struct bw *w, uint8_t tag, size_t content_bytes);
void ber_back_int(struct bw *w, int64_t v); /* a whole INTEGER TLV */
void ber_back_bytes(struct bw *w, uint8_t tag, const void *p, size_t n);
