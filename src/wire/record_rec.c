#include "wire/record_text.h"
#include <errno.h>
#include <string.h>

struct rec_tag {
	uint8_t tag;
	char form; /* 0, or 'x' for hex, 'e' for a string with escapes */
};

/* TAG[x|e][:MODULE], NUL-terminated. */
static const char *read_tag(char *text, struct rec_tag *ret_tag, const char **ret_module)
{
	static const uint8_t known[] = {BER_INTEGER, BER_OCTET_STRING, BER_NULL, BER_OID,
		BER_IPADDRESS, BER_COUNTER32, BER_GAUGE32, BER_TIMETICKS, BER_OPAQUE,
		BER_COUNTER64};
	unsigned tag = 0;
	char *at = text;
	for (; *at >= '0' && *at <= '9' && tag < 256; at++)
		tag = tag * 10 + (unsigned)(*at - '0');
	if (at == text || tag > 255 || !memchr(known, (int)tag, sizeof(known)))
		return "no tag of a value; 2, 4, 5, 6, 64, 65, 66, 67, 68 and 70 are";
	ret_tag->tag = (uint8_t)tag;
	ret_tag->form = *at == 'x' || *at == 'e' ? *at++ : 0;
	*ret_module = *at == ':' ? at + 1 : NULL;
	if (*at != ':' && *at != 0)
		return "after the tag there may be x, e or : and the name of a variation";
	return NULL;
}

static int octal(const char *s, size_t n)
{
	int v = 0;
	for (size_t i = 0; i < n && i < 3 && s[i] >= '0' && s[i] <= '7'; i++)
		v = v * 8 + (s[i] - '0');
	return v;
}

static size_t octal_digits(const char *s, size_t n)
{
	size_t i = 0;
	while (i < n && i < 3 && s[i] >= '0' && s[i] <= '7')
		i++;
	return i;
}

/* One escape after its backslash, of a Python string; *at moves on. -1: it is none. */
static int escape(const char *s, size_t n, size_t *at)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	if (*at >= n)
		return -1;
	size_t digits = octal_digits(s + *at, n - *at);
	if (digits > 0) {
		int v = octal(s + *at, digits);
		*at += digits;
		return v & 0xff;
	}
	const char *known = memchr(from, s[*at], sizeof(from) - 1);
	if (known) {
		(*at)++;
		return (unsigned char)to[known - from];
	}
	struct ber_value v;
	char pair[2];
	if (s[*at] != 'x' || n - *at < 3)
		return -1;
	memcpy(pair, s + *at + 1, sizeof(pair));
	if (record_hex(pair, sizeof(pair), &v) || v.len != 1)
		return -1;
	*at += 3;
	return (uint8_t)pair[0];
}

static const char *unescape(char *text, size_t n, struct ber_value *ret_value, uint8_t tag)
{
	char *to = text;
	for (size_t at = 0; at < n;) {
		if (text[at] != '\\') {
			*to++ = text[at++];
			continue;
		}
		at++;
		int c = escape(text, n, &at);
		if (c < 0)
			return "no escape of a Python string";
		*to++ = (char)c;
	}
	return record_string(text, (size_t)(to - text), tag, ret_value);
}

static const char *read_hex(char *text, size_t n, uint8_t tag, struct ber_value *ret_value)
{
	const char *bad = record_hex(text, n, ret_value);
	if (bad)
		return bad;
	struct ber_value bytes = *ret_value;
	ret_value->tag = tag;
	switch (tag) {
	case BER_OCTET_STRING:
	case BER_OPAQUE:
		return NULL;
	case BER_IPADDRESS:
		return bytes.len == 4 ? NULL : "no four octets of an IpAddress";
	default:
		return "x is for octets only: 4, 64, 68";
	}
}

static const char *read_value(
	char *text, size_t n, const struct rec_tag *t, struct ber_value *ret_value)
{
	if (t->form == 'x')
		return read_hex(text, n, t->tag, ret_value);
	if (t->form == 'e')
		return t->tag == BER_OCTET_STRING ? unescape(text, n, ret_value, t->tag)
						  : "e is for strings only: 4";
	switch (t->tag) {
	case BER_OCTET_STRING:
	case BER_OPAQUE:
		return record_string(text, n, t->tag, ret_value);
	case BER_NULL:
		*ret_value = (struct ber_value){.tag = BER_NULL};
		return n == 0 ? NULL : "a NULL has no value";
	case BER_OID:
		return record_oid_value(text, n, ret_value);
	case BER_IPADDRESS:
		return record_address(text, n, ret_value);
	default:
		return record_number(text, n, t->tag, ret_value);
	}
}

int record_read_rec(char *text, size_t n, struct record *ret_record, const char **reterr_what)
{
	if (n > 0 && text[n - 1] == '\r')
		n--;
	if (n == 0 || text[0] == '#')
		return -ENODATA;
	char *tag = memchr(text, '|', n);
	char *value = tag ? memchr(tag + 1, '|', n - (size_t)(tag + 1 - text)) : NULL;
	if (!value) {
		*reterr_what = "no OID|TAG|VALUE";
		return -EINVAL;
	}
	size_t oid_bytes = (size_t)(tag - text), value_bytes = n - (size_t)(value + 1 - text);
	struct rec_tag t = {0};
	struct record rec = {.module = NULL};
	*value++ = 0;
	const char *bad = record_oid(text, oid_bytes, &rec.oid);
	if (!bad)
		bad = read_tag(tag + 1, &t, &rec.module);
	rec.form = t.form;
	if (!bad && rec.module) {
		rec.value.tag = t.tag;
		rec.options = value;
		value[value_bytes] = 0;
		if (strlen(rec.options) != value_bytes)
			bad = "a NUL among the options of a variation";
	} else if (!bad) {
		bad = read_value(value, value_bytes, &t, &rec.value);
	}
	if (bad) {
		*reterr_what = bad;
		return -EINVAL;
	}
	*ret_record = rec;
	return 0;
}
