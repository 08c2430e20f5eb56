#include "profiling/ehframe_impl.h"

uint64_t ehframe_uleb(struct rd *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = rd_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || r->err)
			return v;
	}
}

int64_t ehframe_sleb(struct rd *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;
	do {
		b = rd_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !r->err);
	if (shift < 64 && (b & 0x40))
		v |= ~0ull << shift;
	return (int64_t)v;
}

uint64_t ehframe_le(struct rd *r, size_t bytes)
{
	const uint8_t *p = rd_bytes(r, bytes);
	uint64_t v = 0;
	if (p)
		for (size_t i = 0; i < bytes; i++)
			v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* Reads a pointer of the encoding; data is the base of a datarel one. */
uintptr_t ehframe_encoded(struct rd *r, uint8_t enc, uintptr_t data)
{
	uintptr_t at = (uintptr_t)r->p, v;
	if (enc == PE_OMIT)
		return 0;
	switch (enc & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = ehframe_le(r, 8);
		break;
	case PE_UDATA4:
		v = ehframe_le(r, 4);
		break;
	case PE_SDATA4:
		v = (uintptr_t)(int64_t)(int32_t)ehframe_le(r, 4);
		break;
	case PE_UDATA2:
		v = ehframe_le(r, 2);
		break;
	case PE_SDATA2:
		v = (uintptr_t)(int64_t)(int16_t)ehframe_le(r, 2);
		break;
	case PE_ULEB:
		v = ehframe_uleb(r);
		break;
	case PE_SLEB:
		v = (uintptr_t)ehframe_sleb(r);
		break;
	default:
		rd_fail(r);
		return 0;
	}
	if (enc & PE_INDIRECT)
		rd_fail(r); /* only personality routines use it, and those are skipped */
	switch (enc & 0x70) {
	case 0:
		return v;
	case PE_PCREL:
		return v + at;
	case PE_DATAREL:
		return v + data;
	default:
		rd_fail(r);
		return 0;
	}
}
