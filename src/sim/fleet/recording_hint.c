#include "sim/fleet/recording_hint.h"
#include "sim/fleet/mib.h"
#include <stdio.h>
#include <string.h>

static void read_phys_address(struct ber_value *v)
{
	uint8_t octets[32];
	unsigned n = 0, digits = 0, octet = 0;
	for (unsigned i = 0; i <= v->len; i++) {
		char c = i < v->len ? (char)v->bytes[i] : ':';
		const char *hex = "0123456789abcdef", *at = memchr(hex, c | 0x20, 16);
		if (c == ':') {
			if (digits == 0 || n == sizeof(octets))
				return;
			octets[n++] = (uint8_t)octet;
			digits = octet = 0;
		} else if (!at || ++digits > 2) {
			return;
		} else {
			octet = octet << 4 | (unsigned)(at - hex);
		}
	}
	if (n < 2)
		return;
	memcpy((uint8_t *)v->bytes, octets, n); /* shorter than its text */
	v->len = (uint16_t)n;
}

static void read_time(struct ber_value *v)
{
	char text[64], sign;
	unsigned f[9];
	int end = 0, zone = 0;
	if (v->len >= sizeof(text))
		return;
	memcpy(text, v->bytes, v->len);
	text[v->len] = 0;
	int n = sscanf(text, "%5u-%2u-%2u,%2u:%2u:%2u.%1u%n,%c%2u:%2u%n", &f[0], &f[1], &f[2],
		&f[3], &f[4], &f[5], &f[6], &end, &sign, &f[7], &f[8], &zone);
	bool with_zone = n == 10 && zone == v->len && (sign == '+' || sign == '-');
	if (f[0] > UINT16_MAX || !(with_zone || (n == 7 && end == v->len)))
		return;
	uint8_t *to = (uint8_t *)v->bytes;
	*to++ = (uint8_t)(f[0] >> 8);
	*to++ = (uint8_t)f[0];
	for (unsigned i = 1; i < 7; i++)
		*to++ = (uint8_t)f[i];
	v->len = 8;
	if (!with_zone)
		return;
	*to++ = (uint8_t)sign;
	*to++ = (uint8_t)f[7];
	*to++ = (uint8_t)f[8];
	v->len = 11;
}

void recording_hint(struct record *rec)
{
	struct mib_ref ref;
	if (rec->module || rec->value.tag != BER_OCTET_STRING || mib_find(&rec->oid, &ref) < 0)
		return;
	const char *syntax = ref.object->syntax;
	if (strcmp(syntax, "PhysAddress") == 0 || strcmp(syntax, "MacAddress") == 0)
		read_phys_address(&rec->value);
	else if (strcmp(syntax, "DateAndTime") == 0)
		read_time(&rec->value);
}
