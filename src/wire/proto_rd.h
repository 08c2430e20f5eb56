/* Reads the wire format of Protocol Buffers, a field at a time, in place. Inline: decoders spend
 * their time here. https://protobuf.dev/programming-guides/encoding */
#pragma once
#include "wire/cursor.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_LEN = 2, PROTO_FIXED32 = 5 };
struct proto_field {
	uint32_t number, type;
	uint64_t num;	      /* of all types but PROTO_LEN */
	struct rd sub;	      /* PROTO_LEN: its bytes */
	const uint8_t *start; /* of its tag; the cursor stands at its end */
};

static inline uint64_t proto_varint(struct rd *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (UNLIKELY(r->p == r->end))
			break;
		uint8_t b = *r->p++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	rd_fail(r);
	return 0;
}

/* The next field; false at the end and when what follows is none, which r->err tells. Groups are
 * none: they are not of proto3. */
static inline bool proto_next(struct rd *r, struct proto_field *ret_field)
{
	if (r->err || r->p == r->end)
		return false;
	struct proto_field f = {.start = r->p};
	uint64_t tag = proto_varint(r);
	f.number = (uint32_t)(tag >> 3);
	f.type = tag & 7;
	if (tag >> 32 || f.number == 0)
		rd_fail(r);
	else if (f.type == PROTO_VARINT)
		f.num = proto_varint(r);
	else if (f.type == PROTO_LEN)
		f.sub = rd_sub(r, proto_varint(r));
	else if (f.type == PROTO_FIXED64 || f.type == PROTO_FIXED32) {
		size_t n = f.type == PROTO_FIXED64 ? 8 : 4;
		const uint8_t *b = rd_bytes(r, n);
		if (b)
			memcpy(&f.num, b, n);
	} else
		rd_fail(r);
	if (r->err)
		return false;
	*ret_field = f;
	return true;
}
