#include "wire/traceparent.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS_MAX 32
#define KEY_MAX_BYTES 256
#define VALUE_MAX_BYTES 256
#define LONG_MEMBER_BYTES 128

/* Lower case only (3.2.2). */
static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* n bytes as 2n digits; false: not that. *ret_any: one of them is not 0. */
static bool read_hex(const char *p, uint8_t *out, size_t n, bool *ret_any)
{
	*ret_any = false;
	for (size_t i = 0; i < n; i++) {
		int high = nibble(p[2 * i]), low = high < 0 ? -1 : nibble(p[2 * i + 1]);
		if (low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
		*ret_any = *ret_any || out[i];
	}
	return true;
}

int traceparent_read(const char *header, struct span_context *ret_context)
{
	struct span_context c;
	uint8_t version;
	bool any, has_trace, has_span;
	size_t n = strlen(header);
	if (n < TRACEPARENT_BYTES - 1 || header[2] != '-' || header[35] != '-' || header[52] != '-')
		return -EBADMSG;
	if (!read_hex(header, &version, 1, &any) || version == 0xff ||
		!read_hex(header + 3, c.trace_id, sizeof(c.trace_id), &has_trace) ||
		!read_hex(header + 36, c.span_id, sizeof(c.span_id), &has_span) ||
		!read_hex(header + 53, &c.flags, 1, &any))
		return -EBADMSG;
	if (!has_trace || !has_span)
		return -EBADMSG;
	if (n > TRACEPARENT_BYTES - 1 && (version == 0 || header[55] != '-'))
		return -EBADMSG;
	c.flags &= SPAN_SAMPLED | SPAN_RANDOM;
	*ret_context = c;
	return 0;
}

void traceparent_write(const struct span_context *c, char buf[static TRACEPARENT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *p = buf;
	*p++ = '0';
	*p++ = '0';
	*p++ = '-';
	for (size_t i = 0; i < sizeof(c->trace_id); i++) {
		*p++ = digits[c->trace_id[i] >> 4];
		*p++ = digits[c->trace_id[i] & 15];
	}
	*p++ = '-';
	for (size_t i = 0; i < sizeof(c->span_id); i++) {
		*p++ = digits[c->span_id[i] >> 4];
		*p++ = digits[c->span_id[i] & 15];
	}
	*p++ = '-';
	*p++ = '0';
	*p++ = digits[c->flags & (SPAN_SAMPLED | SPAN_RANDOM)];
	*p = 0;
}

const char *traceparent_header(
	const struct span_context *c, char buf[static TRACEPARENT_HEADER_BYTES])
{
	static const char name[] = "traceparent: ";
	memcpy(buf, name, sizeof(name) - 1);
	traceparent_write(c, buf + sizeof(name) - 1);
	return buf;
}

static bool is_low(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* simple-key or multi-tenant-key (3.3.1.3.1). */
static bool key_is_good(const char *p, size_t n)
{
	const char *at = memchr(p, '@', n);
	size_t system = at ? n - (size_t)(at - p) - 1 : 0, tenant = at ? (size_t)(at - p) : n;
	if (n == 0 || n > KEY_MAX_BYTES || !is_low(p[0]))
		return false;
	if (at && (tenant == 0 || tenant > 241 || system == 0 || system > 14 ||
			  !(at[1] >= 'a' && at[1] <= 'z') || memchr(at + 1, '@', system)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_low(p[i]) && (!p[i] || !strchr("_-*/@", p[i])))
			return false;
	return true;
}

static bool value_is_good(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] < ' ' || p[i] > '~' || p[i] == '=')
			return false;
	return n > 0 && n <= VALUE_MAX_BYTES && p[n - 1] != ' ';
}

static size_t member_bytes(const char *p, const char *end)
{
	const char *comma = memchr(p, ',', (size_t)(end - p));
	return (size_t)((comma ? comma : end) - p);
}

static size_t key_bytes(const char *p, size_t n)
{
	const char *eq = memchr(p, '=', n);
	return eq ? (size_t)(eq - p) : n;
}

static unsigned count_members(const struct text *state)
{
	unsigned n = state->len > 0;
	for (size_t i = 0; i < state->len; i++)
		n += state->s[i] == ',';
	return n;
}

static bool has_key(const struct text *state, const char *key, size_t n)
{
	if (!state->len)
		return false;
	const char *end = state->s + state->len;
	for (const char *p = state->s; p < end;) {
		size_t bytes = member_bytes(p, end);
		if (key_bytes(p, bytes) == n && memcmp(p, key, n) == 0)
			return true;
		p += bytes + 1;
	}
	return false;
}

static int add_member(struct text *state, const char *p, size_t n)
{
	size_t key = key_bytes(p, n);
	if (n == 0)
		return 0; /* empty members are allowed */
	if (key == n || !key_is_good(p, key) || !value_is_good(p + key + 1, n - key - 1))
		return -EBADMSG;
	if (has_key(state, p, key))
		return 0;
	if (count_members(state) >= MEMBERS_MAX)
		return -EBADMSG;
	if (state->len)
		text_write(state, ",", 1);
	text_write(state, p, n);
	return 0;
}

int tracestate_add(struct text *state, const char *header)
{
	const char *end = header + strlen(header);
	for (const char *p = header; p < end;) {
		size_t n = member_bytes(p, end);
		const char *next = p + n + 1;
		while (n && (*p == ' ' || *p == '\t'))
			p++, n--;
		while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
			n--;
		int r = add_member(state, p, n);
		if (r < 0)
			return r;
		p = next;
	}
	return 0;
}

/* Takes out the member at p of n bytes, with one comma. */
static void take_out(struct text *state, char *p, size_t n)
{
	char *end = state->s + state->len;
	char *from = p > state->s ? p - 1 : p, *to = p > state->s ? p + n : MIN(p + n + 1, end);
	memmove(from, to, (size_t)(end - to));
	state->len -= (size_t)(to - from);
	state->s[state->len] = 0;
}

void tracestate_cut(struct text *state)
{
	while (state->len > TRACESTATE_MAX_BYTES) {
		char *end = state->s + state->len, *out = NULL;
		size_t out_bytes = 0;
		for (char *p = state->s; p < end;) { /* the last long one, or else the last */
			size_t n = member_bytes(p, end);
			if (n > LONG_MEMBER_BYTES || out_bytes <= LONG_MEMBER_BYTES) {
				out = p;
				out_bytes = n;
			}
			p += n + 1;
		}
		take_out(state, out, out_bytes);
	}
}
