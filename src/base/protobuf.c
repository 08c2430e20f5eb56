#include "base/protobuf.h"

enum { WIRE_VARINT = 0, WIRE_LEN = 2 };

void protobuf_varint(struct text *t, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;
	do {
		b[n] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
		n++;
	} while (v);
	text_write(t, b, n);
}

void protobuf_uint(struct text *t, unsigned field, uint64_t v)
{
	if (v == 0)
		return;
	protobuf_varint(t, (uint64_t)field << 3 | WIRE_VARINT);
	protobuf_varint(t, v);
}

void protobuf_bytes(struct text *t, unsigned field, const void *p, size_t bytes)
{
	protobuf_varint(t, (uint64_t)field << 3 | WIRE_LEN);
	protobuf_varint(t, bytes);
	text_write(t, p, bytes);
}
