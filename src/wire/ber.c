#include "wire/ber.h"

struct rd ber_any_long(struct rd *r, uint8_t *ret_tag)
{
	*ret_tag = 0;
	uint8_t tag = rd_u8(r);
	size_t n = rd_u8(r);
	if (UNLIKELY((tag & 0x1f) == 0x1f))
		rd_fail(r);
	if (UNLIKELY(n >= 0x80)) {
		size_t octets = n & 0x7f;
		n = 0;
		if (octets == 0 || octets > 4)
			rd_fail(r);
		for (size_t i = 0; i < octets && !r->err; i++)
			n = n << 8 | rd_u8(r);
	}
	struct rd content = rd_sub(r, n);
	if (LIKELY(!r->err))
		*ret_tag = tag;
	return content;
}

/* Two's complement content; false when it is empty or does not fit 64 bits. */
static bool int_content(const uint8_t *p, size_t n, int64_t *ret_v)
{
	if (n == 0)
		return false;
	uint64_t v = (uint64_t)(int64_t)(int8_t)p[0];
	uint8_t sign = (uint8_t)(v >> 56);
	for (; UNLIKELY(n > 8); n--, p++)
		if (p[0] != sign || (n == 9 && (p[1] ^ sign) >= 0x80))
			return false;
	v = (uint64_t)(int64_t)(int8_t)p[0];
	for (size_t i = 1; i < n; i++)
		v = v << 8 | p[i];
	*ret_v = (int64_t)v;
	return true;
}

int64_t ber_int(struct rd *r, int64_t min, int64_t max)
{
	const uint8_t *p = r->p;
	size_t left = (size_t)(r->end - p), n = left > 2 ? p[1] : 0;
	int64_t v;
	if (LIKELY(n - 1 < 4 && n <= left - 2 && p[0] == BER_INTEGER)) { /* as nearly all are */
		v = (int8_t)p[2];
		for (size_t i = 3; i < n + 2; i++)
			v = (int64_t)((uint64_t)v << 8 | p[i]);
		r->p = p + 2 + n;
	} else {
		struct rd c = ber_expect(r, BER_INTEGER);
		if (r->err || !int_content(c.p, rd_left(&c), &v))
			goto bad;
	}
	if (LIKELY(v >= min && v <= max))
		return v;
bad:
	rd_fail(r);
	return 0;
}

/* Unsigned content: the sign octet is allowed, a negative number is not. */
static bool uint_content(const uint8_t *p, size_t n, uint64_t max, uint64_t *ret_v)
{
	if (n == 0 || p[0] >= 0x80)
		return false;
	for (; n > 8; n--, p++)
		if (*p != 0)
			return false;
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v = v << 8 | p[i];
	*ret_v = v;
	return v <= max;
}

struct ber_value ber_get_value(struct rd *r)
{
	struct ber_value v = {0};
	struct rd c = ber_any(r, &v.tag);
	size_t n = rd_left(&c);
	bool ok = !r->err && n <= UINT16_MAX;
	switch (v.tag) {
	case BER_INTEGER:
		ok = ok && int_content(c.p, n, &v.i) && v.i >= INT32_MIN && v.i <= INT32_MAX;
		break;
	case BER_COUNTER32:
	case BER_GAUGE32:
	case BER_TIMETICKS:
		ok = ok && uint_content(c.p, n, UINT32_MAX, &v.u);
		break;
	case BER_COUNTER64:
		ok = ok && uint_content(c.p, n, UINT64_MAX, &v.u);
		break;
	case BER_IPADDRESS:
		ok = ok && n == 4;
		v.bytes = c.p;
		break;
	case BER_OCTET_STRING:
	case BER_OPAQUE:
	case BER_OID:
		v.bytes = c.p;
		break;
	case BER_NULL:
	case BER_NO_SUCH_OBJECT:
	case BER_NO_SUCH_INSTANCE:
	case BER_END_OF_MIB_VIEW:
		ok = ok && n == 0;
		break;
	default:
		ok = false;
	}
	if (!ok) {
		rd_fail(r);
		return (struct ber_value){.tag = BER_NULL};
	}
	v.len = (uint16_t)n;
	return v;
}

static size_t uint_octets(uint64_t v)
{
	return (size_t)(64 - __builtin_clzll(v | 1)) / 8 + 1;
}

size_t ber_value_bytes(const struct ber_value *v)
{
	switch (v->tag) {
	case BER_INTEGER:
		return 2 + ber_int_octets(v->i);
	case BER_COUNTER32:
	case BER_GAUGE32:
	case BER_TIMETICKS:
	case BER_COUNTER64:
		return 2 + uint_octets(v->u);
	case BER_OCTET_STRING:
	case BER_OPAQUE:
	case BER_OID:
	case BER_IPADDRESS:
		return 1 + ber_len_bytes(v->len) + v->len;
	default:
		return 2;
	}
}

/* octets <= 9: the ninth is the sign octet of a Counter64. */
static uint8_t *write_number(uint8_t *to, uint8_t tag, uint64_t v, size_t octets)
{
	to[0] = tag;
	to[1] = (uint8_t)octets;
	to += 2;
	if (octets == 9) {
		*to++ = 0;
		octets = 8;
	}
	uint64_t be = __builtin_bswap64(v << (8 - octets) * 8);
	memcpy(to, &be, octets);
	return to + octets;
}

uint8_t *ber_write_value(uint8_t *to, const struct ber_value *v)
{
	switch (v->tag) {
	case BER_INTEGER:
		return write_number(to, v->tag, (uint64_t)v->i, ber_int_octets(v->i));
	case BER_COUNTER32:
	case BER_GAUGE32:
	case BER_TIMETICKS:
	case BER_COUNTER64:
		return write_number(to, v->tag, v->u, uint_octets(v->u));
	case BER_OCTET_STRING:
	case BER_OPAQUE:
	case BER_OID:
	case BER_IPADDRESS:
		*to++ = v->tag;
		to = ber_write_len(to, v->len);
		if (v->len)
			memcpy(to, v->bytes, v->len);
		return to + v->len;
	default:
		to[0] = v->tag;
		to[1] = 0;
		return to + 2;
	}
}

void ber_put_value(struct wr *w, const struct ber_value *v)
{
	uint8_t *to = wr_room(w, ber_value_bytes(v));
	if (to)
		(void)ber_write_value(to, v);
}

void ber_put_len(struct wr *w, size_t n)
{
	uint8_t *to = wr_room(w, ber_len_bytes(n));
	if (to)
		(void)ber_write_len(to, n);
}

void ber_back_header(struct bw *w, uint8_t tag, size_t content_bytes)
{
	uint8_t *to = bw_room(w, 1 + ber_len_bytes(content_bytes));
	if (!to)
		return;
	to[0] = tag;
	(void)ber_write_len(to + 1, content_bytes);
}

void ber_back_int(struct bw *w, int64_t v)
{
	size_t octets = ber_int_octets(v);
	uint8_t *to = bw_room(w, 2 + octets);
	if (UNLIKELY(!to))
		return;
	if (LIKELY(octets == 1)) {
		to[0] = BER_INTEGER;
		to[1] = 1;
		to[2] = (uint8_t)v;
		return;
	}
	(void)write_number(to, BER_INTEGER, (uint64_t)v, octets);
}

void ber_back_bytes(struct bw *w, uint8_t tag, const void *p, size_t n)
{
	bw_bytes(w, p, n);
	ber_back_header(w, tag, n);
}
