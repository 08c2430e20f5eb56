#include "wire/record_text.h"
#include <arpa/inet.h>
#include <string.h>

#define IS_BLANK(c) ((c) == ' ' || (c) == '\t' || (c) == '\r' || (c) == '\n')

void record_trim(char **text, size_t *n)
{
	for (; *n > 0 && IS_BLANK(**text); (*n)--)
		(*text)++;
	while (*n > 0 && IS_BLANK((*text)[*n - 1]))
		(*n)--;
}

/* text[n] is overwritten by what oid_parse needs, and put back. */
const char *record_oid(char *text, size_t n, struct oid *ret_oid)
{
	char end = text[n];
	text[n] = 0;
	int r = memchr(text, 0, n) ? -EINVAL : oid_parse(text, ret_oid);
	text[n] = end;
	return r < 0 ? "no OID in numbers" : NULL;
}

const char *record_number(const char *text, size_t n, uint8_t tag, struct ber_value *ret_value)
{
	char *at = (char *)text;
	record_trim(&at, &n);
	bool minus = n > 0 && *at == '-';
	size_t i = minus || (n > 0 && *at == '+');
	uint64_t v = 0;
	bool big = false;
	if (i == n)
		return "no number";
	for (; i < n; i++) {
		unsigned digit = (unsigned char)at[i] - '0';
		if (digit > 9)
			return "no number";
		big |= __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v);
	}
	*ret_value = (struct ber_value){.tag = tag};
	if (tag == BER_INTEGER) {
		if (big || v > (uint64_t)INT32_MAX + minus)
			return "beyond the range of an INTEGER";
		ret_value->i = minus ? -(int64_t)v : (int64_t)v;
		return NULL;
	}
	if (minus && v > 0)
		return "below 0";
	if (big || (tag != BER_COUNTER64 && v > UINT32_MAX))
		return "beyond the range of the type";
	ret_value->u = v;
	return NULL;
}

const char *record_oid_value(char *text, size_t n, struct ber_value *ret_value)
{
	struct oid oid;
	record_trim(&text, &n);
	if (record_oid(text, n, &oid))
		return "its value is no OID in numbers";
	/* No arc is shorter as text, and the first two share an octet or more. */
	int bytes = oid_to_ber(&oid, (uint8_t *)text, n);
	if (bytes < 0)
		return "its value is an OID that BER cannot say";
	*ret_value = (struct ber_value){
		.tag = BER_OID, .len = (uint16_t)bytes, .bytes = (const uint8_t *)text};
	return NULL;
}

const char *record_address(char *text, size_t n, struct ber_value *ret_value)
{
	char dotted[INET_ADDRSTRLEN];
	uint8_t octets[4];
	if (n != sizeof(octets)) {
		record_trim(&text, &n);
		if (n >= sizeof(dotted))
			return "no IPv4 address";
		memcpy(dotted, text, n);
		dotted[n] = 0;
		if (inet_pton(AF_INET, dotted, octets) != 1)
			return "no IPv4 address";
		memcpy(text, octets, sizeof(octets));
	}
	*ret_value = (struct ber_value){
		.tag = BER_IPADDRESS, .len = sizeof(octets), .bytes = (const uint8_t *)text};
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	char lower = (char)(c | 0x20);
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

const char *record_hex(char *text, size_t n, struct ber_value *ret_value)
{
	uint8_t *to = (uint8_t *)text;
	int high = -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_digit(text[i]);
		if (digit < 0 && high < 0 && (IS_BLANK(text[i]) || text[i] == ':'))
			continue;
		if (digit < 0)
			return "no pairs of hex digits";
		if (high < 0) {
			high = digit;
			continue;
		}
		*to++ = (uint8_t)(high << 4 | digit);
		high = -1;
	}
	if (high >= 0)
		return "an odd number of hex digits";
	return record_string(text, (size_t)(to - (uint8_t *)text), BER_OCTET_STRING, ret_value);
}

const char *record_string(const char *text, size_t n, uint8_t tag, struct ber_value *ret_value)
{
	if (n > UINT16_MAX)
		return "longer than 65,535 octets";
	*ret_value =
		(struct ber_value){.tag = tag, .len = (uint16_t)n, .bytes = (const uint8_t *)text};
	return NULL;
}
