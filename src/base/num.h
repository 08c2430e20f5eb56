/* Safe number parsers for what people type: flags, files, REST. The whole string must be the
 * number; nothing is skipped, nothing is left. Results are written on success only. */
#pragma once
#include "base/attr.h"
#include <stdint.h>

/* Decimal digits only, no sign, no blanks, within min..max. -EINVAL: no number; -ERANGE. */
MUST_CHECK int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_n);
/* An even number (at least 2) of hex digits, optional 0x, at most max bytes. -EINVAL, -ERANGE. */
MUST_CHECK int num_hex(const char *s, uint8_t *buf, size_t max, size_t *ret_bytes);
/* The byte that two hex digits at s stand for; -1: they are none. Does not go past a NUL. */
int num_hex_pair(const char *s);
/* Go duration ("1m30s", "10s", "250ms", "1.5h") or a bare count of seconds; no sign; fractions of
 * a nanosecond are cut. -EINVAL; -ERANGE: more than INT64_MAX ns. */
MUST_CHECK int num_duration(const char *s, uint64_t *ret_ns);
/* Writes the shortest Go-like form ("1m30s", "1h", "1.5ms", "0s"); returns buf. */
#define DURATION_TEXT_BYTES 40
const char *num_duration_text(uint64_t ns, char buf[static DURATION_TEXT_BYTES]);
/* A part of a whole, "0" to "1" with at most 6 digits after the point, in millionths. -EINVAL;
 * -ERANGE: more than 1. */
MUST_CHECK int num_ratio(const char *s, uint64_t *ret_millionths);
/* The candidate nearest to word by edit distance (a swap of neighbours is one edit; the first of
 * equals), NULL when none is near: distance > 1 + len/3, or word longer than 63 bytes. */
const char *num_nearest(const char *word, const char *const *candidates, size_t n);
