#include "rec_line.h"
#include <string.h>

/* May the octets stand in a line as they are? */
static bool is_plain(const struct ber_value *v)
{
	for (uint16_t i = 0; i < v->len; i++)
		if (v->bytes[i] < ' ' || v->bytes[i] > '~')
			return false;
	return true;
}

static void put_hex(const struct ber_value *v, struct text *t)
{
	text_printf(t, "%ux|", v->tag);
	for (uint16_t i = 0; i < v->len; i++)
		text_printf(t, "%02x", v->bytes[i]);
}

static void put_value(const struct ber_value *v, struct text *t)
{
	struct oid oid;
	char numbers[OID_TEXT_BYTES];
	switch (v->tag) {
	case BER_OCTET_STRING:
		if (!is_plain(v)) {
			put_hex(v, t);
			return;
		}
		text_printf(t, "%u|", v->tag);
		text_write(t, v->bytes, v->len);
		return;
	case BER_OPAQUE:
		put_hex(v, t);
		return;
	case BER_IPADDRESS:
		text_printf(t, "%u|%u.%u.%u.%u", v->tag, v->bytes[0], v->bytes[1], v->bytes[2],
			v->bytes[3]);
		return;
	case BER_OID:
		if (oid_from_ber(v->bytes, v->len, &oid) == 0)
			text_printf(t, "%u|%s", v->tag, oid_text(&oid, numbers, sizeof(numbers)));
		return;
	case BER_NULL:
		text_printf(t, "%u|", v->tag);
		return;
	case BER_INTEGER:
		text_printf(t, "%u|%lld", v->tag, (long long)v->i);
		return;
	default:
		text_printf(t, "%u|%llu", v->tag, (unsigned long long)v->u);
	}
}

void rec_line(const struct record *rec, struct text *t)
{
	char numbers[OID_TEXT_BYTES], form[2] = {rec->form, 0};
	text_printf(t, "%s|", oid_text(&rec->oid, numbers, sizeof(numbers)));
	if (rec->module)
		text_printf(t, "%u%s:%s|%s", rec->value.tag, form, rec->module, rec->options);
	else
		put_value(&rec->value, t);
	text_put(t, "\n");
}
