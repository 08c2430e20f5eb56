/* A growing string with a sticky error, JSON writing helpers, and safe number parsers. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
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
#define AUTO_TEXT __attribute__((cleanup(text_done)))
void text_clear(struct text *t); /* keeps the memory and clears the error */
void text_put(struct text *t, const char *s);
void text_write(struct text *t, const void *p, size_t bytes);
void text_printf(struct text *t, const char *fmt, ...) PRINTF(2, 3);
/* A JSON string with its quotes; control characters and invalid UTF-8 are escaped. */
void text_json(struct text *t, const char *s);
/* "key":value pairs: writes a comma unless the last byte is { or [ or the text is empty. */
void text_key(struct text *t, const char *key);
void text_kv_str(struct text *t, const char *key, const char *value);
void text_kv_u64(struct text *t, const char *key, uint64_t value);
void text_kv_i64(struct text *t, const char *key, int64_t value);
void text_kv_bool(struct text *t, const char *key, bool value);

/* Decimal digits only, no sign, no blanks, within min..max. -EINVAL: no number; -ERANGE. */
MUST_CHECK int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_n);
/* Hex digits, optional 0x, at most max bytes. -EINVAL, -ERANGE. */
MUST_CHECK int num_hex(const char *s, uint8_t *buf, size_t max, size_t *ret_bytes);
/* Go duration ("1m30s", "10s", "250ms", "1.5h") or a bare count of seconds. -EINVAL, -ERANGE. */
MUST_CHECK int num_duration(const char *s, uint64_t *ret_ns);
/* Writes the shortest Go-like form ("1m30s"). */
#define DURATION_TEXT_BYTES 40
const char *num_duration_text(uint64_t ns, char buf[static DURATION_TEXT_BYTES]);
/* The candidate nearest to word by edit distance, NULL when none is near (distance > 1 + len/3). */
const char *num_nearest(const char *word, const char *const *candidates, size_t n);
