#include "base/text.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_done(struct text *t)
{
	t->s = mem_free(t->mem, t->s);
	t->len = t->room = 0;
}

void text_clear(struct text *t)
{
	t->len = 0;
	t->err = 0;
	if (t->s)
		t->s[0] = 0;
}

/* Makes room for bytes more and a NUL. */
static bool reserve(struct text *t, size_t bytes)
{
	if (t->err)
		return false;
	size_t need;
	if (__builtin_add_overflow(t->len + 1, bytes, &need))
		goto fail;
	if (need <= t->room)
		return true;
	size_t room = MAX(t->room + t->room / 2, (size_t)64);
	room = MAX(room, need);
	char *s = mem_resize(t->mem, t->s, room, 1);
	if (!s)
		goto fail;
	t->s = s;
	t->room = room;
	return true;
fail:
	t->err = -ENOMEM;
	return false;
}

void text_write(struct text *t, const void *p, size_t bytes)
{
	if (!reserve(t, bytes))
		return;
	if (bytes)
		memcpy(t->s + t->len, p, bytes);
	t->len += bytes;
	t->s[t->len] = 0;
}

void text_put(struct text *t, const char *s)
{
	text_write(t, s, strlen(s));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		t->err = -ENOMEM;
	else if (reserve(t, (size_t)n)) {
		(void)vsnprintf(t->s + t->len, (size_t)n + 1, fmt, again);
		t->len += (size_t)n;
	}
	va_end(again);
}

unsigned text_utf8_bytes(const char *utf8)
{
	const unsigned char *s = (const unsigned char *)utf8;
	unsigned char low = 0x80, high = 0xbf;
	unsigned n;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		n = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		n = 3;
		low = s[0] == 0xe0 ? 0xa0 : 0x80;  /* no overlong form */
		high = s[0] == 0xed ? 0x9f : 0xbf; /* no surrogate */
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		n = 4;
		low = s[0] == 0xf0 ? 0x90 : 0x80;
		high = s[0] == 0xf4 ? 0x8f : 0xbf; /* nothing above U+10FFFF */
	} else {
		return 0;
	}
	if (s[1] < low || s[1] > high)
		return 0;
	for (unsigned i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

bool text_is_utf8(const char *s)
{
	for (unsigned n; *s; s += n)
		if ((n = text_utf8_bytes(s)) == 0)
			return false;
	return true;
}

size_t text_json_char(const char **s, char out[static TEXT_JSON_CHAR_BYTES])
{
	static const char hex[] = "0123456789abcdef", named[] = "\"\\\b\f\n\r\t",
			  letters[] = "\"\\bfnrt";
	const unsigned char *u = (const unsigned char *)*s;
	unsigned n = text_utf8_bytes(*s);
	*s += n ? n : 1;
	if (n == 0) {
		memcpy(out, "\\ufffd", 6);
		return 6;
	}
	const char *at = strchr(named, u[0]);
	if (at) {
		out[0] = '\\';
		out[1] = letters[at - named];
		return 2;
	}
	if (u[0] < 0x20 || u[0] == 0x7f) {
		memcpy(out, "\\u00", 4);
		out[4] = hex[u[0] >> 4];
		out[5] = hex[u[0] & 15];
		return 6;
	}
	memcpy(out, u, n);
	return n;
}

void text_json(struct text *t, const char *s)
{
	if (!s) {
		text_put(t, "null");
		return;
	}
	text_put(t, "\"");
	while (*s) {
		char c[TEXT_JSON_CHAR_BYTES];
		size_t n = text_json_char(&s, c);
		text_write(t, c, n);
	}
	text_put(t, "\"");
}

void text_key(struct text *t, const char *key)
{
	if (t->len && t->s[t->len - 1] != '{' && t->s[t->len - 1] != '[')
		text_put(t, ",");
	text_json(t, key);
	text_put(t, ":");
}

void text_kv_str(struct text *t, const char *key, const char *value)
{
	text_key(t, key);
	text_json(t, value);
}

void text_kv_u64(struct text *t, const char *key, uint64_t value)
{
	text_key(t, key);
	text_printf(t, "%" PRIu64, value);
}

void text_kv_i64(struct text *t, const char *key, int64_t value)
{
	text_key(t, key);
	text_printf(t, "%" PRId64, value);
}

void text_kv_bool(struct text *t, const char *key, bool value)
{
	text_key(t, key);
	text_put(t, value ? "true" : "false");
}

void text_kv_f64(struct text *t, const char *key, double value)
{
	text_key(t, key);
	if (!isfinite(value)) {
		text_put(t, "null");
		return;
	}
	char buf[32];
	int n = snprintf(buf, sizeof(buf), "%.6g", value);
	/* What is neither digit, sign nor exponent is the locale's decimal point. */
	for (int i = 0; i < n;) {
		size_t plain = strspn(buf + i, "0123456789+-e"), point = 0;
		text_write(t, buf + i, plain);
		i += (int)plain;
		if (i < n)
			point = strcspn(buf + i, "0123456789+-e");
		if (point)
			text_put(t, ".");
		i += (int)point;
	}
}
