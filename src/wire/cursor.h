/* The wire cursors: one that reads, one that writes forward, one that writes backward. Each has a
 * sticky error: after the first failure every call does nothing and reads give 0, so callers check
 * once at the end. By value, no allocation; inline, because codecs spend their time here. */
#pragma once
#include "base/attr.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct rd {
	const uint8_t *p, *end;
	int err; /* 0 or -EBADMSG */
};
static inline struct rd rd_make(const void *p, size_t bytes)
{
	return (struct rd){(const uint8_t *)p, (const uint8_t *)p + bytes, 0};
}
/* Bytes not yet read; 0 after an error. */
static inline size_t rd_left(const struct rd *r)
{
	return r->err ? 0 : (size_t)(r->end - r->p);
}
/* Remembers the first error; nothing is left to read. */
static inline void rd_fail(struct rd *r)
{
	r->err = -EBADMSG;
	r->p = r->end;
}
/* n bytes in place, NULL on error. */
static inline const uint8_t *rd_bytes(struct rd *r, size_t n)
{
	if (UNLIKELY(r->err || (size_t)(r->end - r->p) < n)) {
		rd_fail(r);
		return NULL;
	}
	const uint8_t *at = r->p;
	r->p += n;
	return at;
}
static inline uint8_t rd_u8(struct rd *r)
{
	const uint8_t *b = rd_bytes(r, 1);
	return b ? b[0] : 0;
}
/* Network order. */
static inline uint16_t rd_be16(struct rd *r)
{
	const uint8_t *b = rd_bytes(r, 2);
	if (!b)
		return 0;
	return (uint16_t)(b[0] << 8 | b[1]);
}
static inline uint32_t rd_be32(struct rd *r)
{
	const uint8_t *b = rd_bytes(r, 4);
	return b ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3] : 0;
}
static inline uint64_t rd_be64(struct rd *r)
{
	if (UNLIKELY(rd_left(r) < 8)) {
		rd_fail(r);
		return 0;
	}
	uint64_t high = rd_be32(r);
	return high << 32 | rd_be32(r);
}
/* A sub-cursor over the next n bytes; the parent moves past them. An error of the parent is the
 * sub's. */
static inline struct rd rd_sub(struct rd *r, size_t n)
{
	const uint8_t *b = rd_bytes(r, n);
	if (UNLIKELY(!b))
		return (struct rd){r->end, r->end, r->err};
	return (struct rd){b, b + n, 0};
}

struct wr { /* forward */
	uint8_t *start, *p, *end;
	int err; /* 0 or -EMSGSIZE */
};
static inline struct wr wr_make(void *p, size_t bytes)
{
	return (struct wr){(uint8_t *)p, (uint8_t *)p, (uint8_t *)p + bytes, 0};
}
static inline size_t wr_len(const struct wr *w)
{
	return (size_t)(w->p - w->start);
}
/* n bytes for the caller to fill; NULL on error. */
static inline uint8_t *wr_room(struct wr *w, size_t n)
{
	if (UNLIKELY(w->err || (size_t)(w->end - w->p) < n)) {
		w->err = -EMSGSIZE;
		return NULL;
	}
	uint8_t *at = w->p;
	w->p += n;
	return at;
}
static inline void wr_u8(struct wr *w, uint8_t v)
{
	uint8_t *b = wr_room(w, 1);
	if (b)
		b[0] = v;
}
/* Network order. */
static inline void wr_be16(struct wr *w, uint16_t v)
{
	uint8_t *b = wr_room(w, 2);
	uint16_t be = __builtin_bswap16(v);
	if (b)
		memcpy(b, &be, sizeof(be));
}
static inline void wr_be32(struct wr *w, uint32_t v)
{
	uint8_t *b = wr_room(w, 4);
	uint32_t be = __builtin_bswap32(v);
	if (b)
		memcpy(b, &be, sizeof(be));
}
static inline void wr_be64(struct wr *w, uint64_t v)
{
	uint8_t *b = wr_room(w, 8);
	uint64_t be = __builtin_bswap64(v);
	if (b)
		memcpy(b, &be, sizeof(be));
}
static inline void wr_bytes(struct wr *w, const void *p, size_t n)
{
	uint8_t *b = wr_room(w, n);
	if (b && n)
		memcpy(b, p, n);
}

struct bw { /* backward: p is the first byte written */
	uint8_t *start, *p, *end;
	int err; /* 0 or -EMSGSIZE */
};
static inline struct bw bw_make(void *p, size_t bytes)
{
	return (struct bw){(uint8_t *)p, (uint8_t *)p + bytes, (uint8_t *)p + bytes, 0};
}
static inline size_t bw_len(const struct bw *w)
{
	return (size_t)(w->end - w->p);
}
/* n bytes before what is written, for the caller to fill; NULL on error. */
static inline uint8_t *bw_room(struct bw *w, size_t n)
{
	if (UNLIKELY(w->err || (size_t)(w->p - w->start) < n)) {
		w->err = -EMSGSIZE;
		return NULL;
	}
	w->p -= n;
	return w->p;
}
static inline void bw_u8(struct bw *w, uint8_t v)
{
	uint8_t *b = bw_room(w, 1);
	if (b)
		b[0] = v;
}
static inline void bw_bytes(struct bw *w, const void *p, size_t n)
{
	uint8_t *b = bw_room(w, n);
	if (b && n)
		memcpy(b, p, n);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the cursors swap bytes");
