/* The wire cursors: one that reads, one that writes forward, one that writes backward. Each has a
 * sticky error: after the first failure every call does nothing and reads give 0, so callers check
 * once at the end. By value, no allocation. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct rd {
	const uint8_t *p, *end;
	int err; /* 0 or -EBADMSG */
};
static inline struct rd rd_make(const void *p, size_t bytes)
{
	return (struct rd){p, (const uint8_t *)p + bytes, 0};
}
static inline size_t rd_left(const struct rd *r)
{
	return r->err ? 0 : (size_t)(r->end - r->p);
}
/* Remembers the first error. */
void rd_fail(struct rd *r);
uint8_t rd_u8(struct rd *r);
uint16_t rd_be16(struct rd *r);
uint32_t rd_be32(struct rd *r);
uint64_t rd_be64(struct rd *r);
/* n bytes in place, NULL on error. */
const uint8_t *rd_bytes(struct rd *r, size_t n);
/* A sub-cursor over the next n bytes; the parent moves past them. An error of the parent is the
 * sub's. */
struct rd rd_sub(struct rd *r, size_t n);

struct wr { /* forward */
	uint8_t *start, *p, *end;
	int err; /* 0 or -EMSGSIZE */
};
static inline struct wr wr_make(void *p, size_t bytes)
{
	return (struct wr){p, p, (uint8_t *)p + bytes, 0};
}
static inline size_t wr_len(const struct wr *w)
{
	return (size_t)(w->p - w->start);
}
void wr_u8(struct wr *w, uint8_t v);
void wr_be16(struct wr *w, uint16_t v);
void wr_be32(struct wr *w, uint32_t v);
void wr_be64(struct wr *w, uint64_t v);
void wr_bytes(struct wr *w, const void *p, size_t n);
uint8_t *wr_room(struct wr *w, size_t n); /* n bytes for the caller to fill; NULL on error */

struct bw { /* backward: p is the first byte written */
	uint8_t *start, *p, *end;
	int err; /* 0 or -EMSGSIZE */
};
static inline struct bw bw_make(void *p, size_t bytes)
{
	return (struct bw){p, (uint8_t *)p + bytes, (uint8_t *)p + bytes, 0};
}
static inline size_t bw_len(const struct bw *w)
{
	return (size_t)(w->end - w->p);
}
void bw_u8(struct bw *w, uint8_t v);
void bw_bytes(struct bw *w, const void *p, size_t n);
