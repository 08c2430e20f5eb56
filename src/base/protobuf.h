/* Writes the wire format of Protocol Buffers onto a text, whose sticky error tells of want of
 * memory. No state of its own. https://protobuf.dev/programming-guides/encoding */
#pragma once
#include "base/text.h"
#include <stdint.h>

void protobuf_varint(struct text *t, uint64_t v);
/* A varint field; zero is the default and is left out. */
void protobuf_uint(struct text *t, unsigned field, uint64_t v);
/* A field of bytes, a string or a message that is written already. */
void protobuf_bytes(struct text *t, unsigned field, const void *p, size_t bytes);
