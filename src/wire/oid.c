#include "wire/oid.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUBS_MAX (OID_MAX_ARCS - 1) /* the first sub-identifier holds two arcs */

int oid_parse(const char *s, struct oid *ret_oid)
{
	struct oid o = {0};
	if (*s == '.')
		s++;
	for (;;) {
		if (*s < '0' || *s > '9' || o.n == OID_MAX_ARCS)
			return -EINVAL;
		uint64_t v = 0;
		for (; *s >= '0' && *s <= '9'; s++) {
			v = v * 10 + (uint64_t)(*s - '0');
			if (v > UINT32_MAX)
				return -EINVAL;
		}
		o.arcs[o.n++] = (uint32_t)v;
		if (!*s)
			break;
		if (*s++ != '.')
			return -EINVAL;
	}
	if (o.n < 2 || o.arcs[0] > 2 || (o.arcs[0] < 2 && o.arcs[1] > 39) ||
		o.arcs[1] > UINT32_MAX - 80)
		return -EINVAL;
	*ret_oid = o;
	return 0;
}

const char *oid_text(const struct oid *o, char *buf, size_t room)
{
	size_t at = 0;
	buf[0] = 0;
	for (unsigned i = 0; i < o->n && at < room; i++) {
		int n = snprintf(buf + at, room - at, i ? ".%u" : "%u", o->arcs[i]);
		at += n > 0 ? (size_t)n : 0;
	}
	return buf;
}

int oid_cmp(const struct oid *a, const struct oid *b)
{
	unsigned n = a->n < b->n ? a->n : b->n;
	for (unsigned i = 0; i < n; i++)
		if (a->arcs[i] != b->arcs[i])
			return a->arcs[i] < b->arcs[i] ? -1 : 1;
	return (a->n > b->n) - (a->n < b->n);
}

/* Reads the sub-identifier at *at; returns its bytes, 0 when it is none. */
static size_t sub_read(const uint8_t *p, size_t bytes, uint32_t *ret_v)
{
	uint64_t v = 0;
	if (p[0] == 0x80)
		return 0;
	for (size_t i = 0; i < bytes && i < 5; i++) {
		v = v << 7 | (p[i] & 0x7fu);
		if (p[i] < 0x80) {
			if (v > UINT32_MAX)
				return 0;
			*ret_v = (uint32_t)v;
			return i + 1;
		}
	}
	return 0;
}

int oid_from_ber(const uint8_t *p, size_t bytes, struct oid *ret_oid)
{
	struct oid o = {0};
	if (bytes == 0)
		return -EBADMSG;
	for (size_t at = 0; at < bytes;) {
		uint32_t v = 0;
		size_t n = sub_read(p + at, bytes - at, &v);
		if (n == 0 || o.n == OID_MAX_ARCS)
			return -EBADMSG;
		at += n;
		if (o.n == 0) {
			o.arcs[o.n++] = MIN(v / 40, 2u);
			v -= 40 * o.arcs[0];
		}
		o.arcs[o.n++] = v;
	}
	*ret_oid = o;
	return 0;
}

static size_t sub_bytes(uint32_t v)
{
	return v < 1u << 7 ? 1 : v < 1u << 14 ? 2 : v < 1u << 21 ? 3 : v < 1u << 28 ? 4 : 5;
}

static void sub_write(uint8_t *to, uint32_t v, size_t n)
{
	for (size_t i = n; i-- > 0; v >>= 7)
		to[i] = (uint8_t)((v & 0x7f) | (i == n - 1 ? 0 : 0x80));
}

/* The sub-identifier as the key has it: n bytes, big end first, the length in unary on top. */
static void sub_write_key(uint8_t *to, uint32_t v, size_t n)
{
	static const uint8_t mark[6] = {0, 0, 0x80, 0xc0, 0xe0, 0xf0};
	for (size_t i = n; i-- > 0; v >>= 8)
		to[i] = (uint8_t)v;
	to[0] |= mark[n];
}

int oid_to_ber(const struct oid *o, uint8_t *buf, size_t room)
{
	if (o->n < 2 || o->n > OID_MAX_ARCS || o->arcs[0] > 2 ||
		(o->arcs[0] < 2 && o->arcs[1] > 39) || o->arcs[1] > UINT32_MAX - 80)
		return -EINVAL;
	size_t at = 0;
	for (unsigned i = 1; i < o->n; i++) {
		uint32_t v = i == 1 ? 40 * o->arcs[0] + o->arcs[1] : o->arcs[i];
		size_t n = sub_bytes(v);
		if (room - at < n)
			return -EMSGSIZE;
		sub_write(buf + at, v, n);
		at += n;
	}
	return (int)at;
}

void oid_to_key(const struct oid *o, struct oid_key *ret_key)
{
	size_t at = 0;
	for (unsigned i = 1; i < o->n; i++) {
		uint32_t v = i == 1 ? 40 * o->arcs[0] + o->arcs[1] : o->arcs[i];
		size_t n = sub_bytes(v);
		sub_write_key(ret_key->b + at, v, n);
		at += n;
	}
	ret_key->n = (uint16_t)at;
}

/* Has any byte its top bit set? Then it is not one sub-identifier. */
static bool top_bits(const uint8_t *p, size_t bytes)
{
	uint64_t all = 0, word;
	for (; bytes >= sizeof(word); p += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		all |= word;
	}
	for (; bytes > 0; p++, bytes--)
		all |= *p;
	return all & 0x8080808080808080ull;
}

/* Sub-identifiers with a byte of 0x80 or more; key may be NULL to check only. */
static bool read_long(const uint8_t *p, size_t bytes, uint8_t *key)
{
	size_t subs = 0;
	for (size_t at = 0; at < bytes; subs++) {
		if (p[at] < 0x80) {
			if (key)
				key[at] = p[at];
			at++;
			continue;
		}
		uint32_t v;
		size_t n = sub_read(p + at, bytes - at, &v);
		if (n == 0 || subs >= SUBS_MAX)
			return false;
		if (key)
			sub_write_key(key + at, v, n);
		at += n;
	}
	return subs <= SUBS_MAX;
}

int oid_key_from_ber(const uint8_t *p, size_t bytes, struct oid_key *ret_key)
{
	if (UNLIKELY(bytes == 0 || bytes > OID_KEY_BYTES))
		return -EBADMSG;
	memcpy(ret_key->b, p, bytes);
	if (UNLIKELY(top_bits(p, bytes) || bytes > SUBS_MAX) && !read_long(p, bytes, ret_key->b))
		return -EBADMSG;
	ret_key->n = (uint16_t)bytes;
	return 0;
}

bool oid_ber_is_valid(const uint8_t *p, size_t bytes)
{
	if (bytes == 0 || bytes > OID_KEY_BYTES)
		return false;
	return LIKELY(!top_bits(p, bytes) && bytes <= SUBS_MAX) || read_long(p, bytes, NULL);
}
