/* A growing string with a sticky error, and helpers that write JSON. One owner at a time; by value
 * in its user, no lock. After a failed allocation every call does nothing: check err once at the
 * end. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/num.h"
#include <stdbool.h>
#include <stdint.h>

struct text {
	const struct mem *mem; /* borrowed */
	char *s;	       /* owned; NUL-terminated; NULL while empty */
	size_t len, room;
	int err; /* 0 or -ENOMEM, sticky */
};
#define TEXT(m) \
	{ \
		.mem = (m) \
	}
void text_done(struct text *t);
#define AUTO_TEXT __attribute__((cleanup(text_done), unused))
void text_clear(struct text *t); /* keeps the memory and clears the error */
void text_put(struct text *t, const char *s);
void text_write(struct text *t, const void *p, size_t bytes);
void text_printf(struct text *t, const char *fmt, ...) PRINTF(2, 3);
/* A JSON string with its quotes (RFC 8259 7); control characters are escaped, each byte that is not
 * of valid UTF-8 becomes \ufffd. NULL becomes null. */
void text_json(struct text *t, const char *s);
/* Escapes the character at *s (not its end) for the inside of a JSON string, moves *s past it,
 * returns the bytes written, without a NUL. */
#define TEXT_JSON_CHAR_BYTES 6
size_t text_json_char(const char **s, char out[static TEXT_JSON_CHAR_BYTES]);
/* Bytes of the well-formed UTF-8 character at s (RFC 3629 4), 1 for the NUL at the end; 0 when it
 * is not one. */
unsigned text_utf8_bytes(const char *s);
bool text_is_utf8(const char *s); /* all of it */
/* "key":value pairs: writes a comma unless the last byte is { or [ or the text is empty. */
void text_key(struct text *t, const char *key);
void text_kv_str(struct text *t, const char *key, const char *value); /* NULL: null */
void text_kv_u64(struct text *t, const char *key, uint64_t value);
void text_kv_i64(struct text *t, const char *key, int64_t value);
void text_kv_bool(struct text *t, const char *key, bool value);
/* Six significant digits, a point whatever the locale; not finite: null. */
void text_kv_f64(struct text *t, const char *key, double value);
