#include "base/num.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_n)
{
	if (!*s || s[strspn(s, "0123456789")])
		return -EINVAL;
	uint64_t n = 0;
	for (; *s; s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	if (n < min || n > max)
		return -ERANGE;
	*ret_n = n;
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

int num_hex_pair(const char *s)
{
	int high = hex_digit(s[0]), low = high < 0 ? -1 : hex_digit(s[1]);
	return low < 0 ? -1 : high << 4 | low;
}

int num_hex(const char *s, uint8_t *buf, size_t max, size_t *ret_bytes)
{
	if (s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	size_t digits = strlen(s);
	if (digits == 0 || digits % 2 || s[strspn(s, "0123456789abcdefABCDEF")])
		return -EINVAL;
	if (digits / 2 > max)
		return -ERANGE;
	for (size_t i = 0; i < digits / 2; i++)
		buf[i] = (uint8_t)num_hex_pair(s + 2 * i);
	*ret_bytes = digits / 2;
	return 0;
}

#define SEC_NS 1000000000ull
static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\xc2\xb5s", 1000}, /* U+00B5, micro sign */
	{"\xce\xbcs", 1000}, /* U+03BC, Greek mu */
	{"ms", 1000000},
	{"s", SEC_NS},
	{"m", 60 * SEC_NS},
	{"h", 3600 * SEC_NS},
};

static const struct unit *unit_find(const char *s, size_t len)
{
	for (unsigned i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].name) == len && memcmp(units[i].name, s, len) == 0)
			return &units[i];
	return NULL;
}

/* One "1.5h" of a duration; moves *s past it. */
static int duration_part(const char **s, uint64_t *ret_ns)
{
	const char *p = *s;
	uint64_t whole = 0, fraction = 0, scale = 1;
	bool any = false, too_big = false;
	for (; is_digit(*p); p++, any = true)
		too_big |= __builtin_mul_overflow(whole, 10, &whole) ||
			   __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole);
	if (*p == '.')
		for (p++; is_digit(*p); p++, any = true)
			if (scale < 100000 * SEC_NS) { /* more digits cannot make a nanosecond */
				fraction = fraction * 10 + (uint64_t)(*p - '0');
				scale *= 10;
			}
	size_t len = strcspn(p, ".0123456789");
	const struct unit *u = unit_find(p, len);
	if (!any || !u)
		return -EINVAL;
	uint64_t ns;
	if (too_big || __builtin_mul_overflow(whole, u->ns, &ns))
		return -ERANGE;
	uint64_t part = (uint64_t)((unsigned __int128)fraction * u->ns / scale);
	if (__builtin_add_overflow(ns, part, &ns))
		return -ERANGE;
	*s = p + len;
	*ret_ns = ns;
	return 0;
}

int num_duration(const char *s, uint64_t *ret_ns)
{
	uint64_t seconds, all = 0;
	int r = num_u64(s, 0, INT64_MAX / SEC_NS, &seconds);
	if (r != -EINVAL) {
		if (r == 0)
			*ret_ns = seconds * SEC_NS;
		return r;
	}
	if (!*s)
		return -EINVAL;
	bool too_big = false;
	while (*s) {
		uint64_t part = 0;
		r = duration_part(&s, &part);
		if (r < 0)
			return r;
		too_big |= __builtin_add_overflow(all, part, &all) || all > INT64_MAX;
	}
	if (too_big)
		return -ERANGE;
	*ret_ns = all;
	return 0;
}

int num_ratio(const char *s, uint64_t *ret_millionths)
{
	uint64_t n = 0;
	unsigned digits = 0;
	bool point = false;
	if (!(*s >= '0' && *s <= '9'))
		return -EINVAL;
	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (!(*s >= '0' && *s <= '9') || (point && ++digits > 6))
			return -EINVAL;
		n = MIN(n * 10 + (uint64_t)(*s - '0'), (uint64_t)UINT32_MAX);
	}
	if (point && digits == 0)
		return -EINVAL;
	for (; digits < 6; digits++)
		n = MIN(n * 10, (uint64_t)UINT32_MAX);
	if (n > 1000000)
		return -ERANGE;
	*ret_millionths = n;
	return 0;
}

/* Appends value/per with its fraction, without trailing zeros, and the unit. */
static void put_fraction(char *buf, size_t room, uint64_t value, uint64_t per, const char *unit)
{
	unsigned digits = 0;
	for (uint64_t p = per; p > 1; p /= 10)
		digits++;
	uint64_t whole = value / per, fraction = value % per;
	while (digits > 0 && fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	if (digits == 0)
		(void)snprintf(buf, room, "%llu%s", (unsigned long long)whole, unit);
	else
		(void)snprintf(buf, room, "%llu.%0*llu%s", (unsigned long long)whole, (int)digits,
			(unsigned long long)fraction, unit);
}

const char *num_duration_text(uint64_t ns, char buf[static DURATION_TEXT_BYTES])
{
	if (ns == 0 || ns >= SEC_NS) {
		uint64_t hours = ns / (3600 * SEC_NS), minutes = ns / (60 * SEC_NS) % 60;
		int at = 0;
		buf[0] = 0;
		if (hours)
			at += snprintf(
				buf, DURATION_TEXT_BYTES, "%lluh", (unsigned long long)hours);
		if (minutes)
			at += snprintf(buf + at, DURATION_TEXT_BYTES - (size_t)at, "%llum",
				(unsigned long long)minutes);
		if (ns == 0 || ns % (60 * SEC_NS))
			put_fraction(buf + at, DURATION_TEXT_BYTES - (size_t)at, ns % (60 * SEC_NS),
				SEC_NS, "s");
	} else if (ns >= 1000000) {
		put_fraction(buf, DURATION_TEXT_BYTES, ns, 1000000, "ms");
	} else if (ns >= 1000) {
		put_fraction(buf, DURATION_TEXT_BYTES, ns, 1000, "us");
	} else {
		put_fraction(buf, DURATION_TEXT_BYTES, ns, 1, "ns");
	}
	return buf;
}

#define WORD_MAX_BYTES 63

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b; both of at most
 * WORD_MAX_BYTES. */
static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][WORD_MAX_BYTES + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];
	for (unsigned j = 0; j <= b_len; j++)
		above[j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		row[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			unsigned d = above[j - 1] + (a[i - 1] != b[j - 1]);
			d = MIN(d, above[j] + 1);
			d = MIN(d, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = MIN(d, before[j - 2] + 1);
			row[j] = d;
		}
		unsigned *spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[b_len];
}

const char *num_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	if (len > WORD_MAX_BYTES)
		return NULL;
	const char *best = NULL;
	unsigned best_distance = 1 + (unsigned)len / 3;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(candidates[i]);
		if (other > WORD_MAX_BYTES)
			continue;
		unsigned d = edit_distance(word, len, candidates[i], other);
		if (d < best_distance || (d == best_distance && !best)) {
			best = candidates[i];
			best_distance = d;
		}
	}
	return best;
}
