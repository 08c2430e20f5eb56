/* Values of nl6's own type form: every one is a text there. */
#include "base/addr.h"
#include "base/text.h"
#include "sim/fleet/type_names.h"
#include "sim/fleet/type_nl6.h"
#include <errno.h>
#include <string.h>

#define TEXT_MAX 8192

static int as_text(struct arena *a, const char *text, struct ber_value *to)
{
	size_t n = strlen(text);
	if (n > TEXT_MAX)
		return -EINVAL;
	to->tag = BER_OCTET_STRING;
	to->bytes = arena_copy(a, text, n);
	to->len = (uint16_t)n;
	return to->bytes ? 0 : -ENOMEM;
}

/* Physical addresses stand there as text, "00:1b:2c:3d:4e:5f". */
static int as_octets(struct arena *a, const char *text, struct ber_value *to)
{
	size_t n = strlen(text);
	uint8_t *bytes = n <= TEXT_MAX ? arena_copy(a, text, n) : NULL;
	if (!bytes)
		return n <= TEXT_MAX ? -ENOMEM : -EINVAL;
	if (hex_bytes(text, bytes, &n) < 0)
		return -EINVAL;
	to->bytes = bytes;
	to->len = (uint16_t)n;
	return 0;
}

/* Digits with an optional sign, at most 64 bits of magnitude. */
static int as_number(const char *text, bool *ret_negative, uint64_t *ret_magnitude)
{
	bool negative = *text == '-';
	uint64_t n;
	if (num_u64(text + (*text == '-' || *text == '+'), 0, UINT64_MAX, &n) < 0)
		return -EINVAL;
	*ret_negative = negative && n > 0;
	*ret_magnitude = n;
	return 0;
}

static int as_integer(const char *text, struct ber_value *to)
{
	bool negative;
	uint64_t n;
	if (as_number(text, &negative, &n) < 0 || n > (uint64_t)INT32_MAX + negative)
		return -EINVAL;
	to->i = negative ? -(int64_t)n : (int64_t)n;
	return 0;
}

static int as_unsigned(const char *text, struct ber_value *to, bool *ret_wrapped)
{
	bool negative;
	uint64_t n, max = to->tag == BER_COUNTER64 ? UINT64_MAX : UINT32_MAX;
	if (as_number(text, &negative, &n) < 0 || n > max)
		return -EINVAL;
	if (negative && (to->tag == BER_COUNTER64 || n > (uint64_t)INT32_MAX + 1))
		return -EINVAL;
	*ret_wrapped = negative;
	to->u = negative ? (uint32_t)-n : n;
	return 0;
}

static int as_address(struct arena *a, const char *text, struct ber_value *to)
{
	struct addr addr;
	if (addr_parse(text, &addr) < 0 || !addr_is_v4(&addr))
		return -EINVAL;
	to->bytes = arena_copy(a, addr.b + 12, 4);
	to->len = 4;
	return to->bytes ? 0 : -ENOMEM;
}

static int as_oid(struct arena *a, const char *text, struct ber_value *to)
{
	struct oid oid;
	uint8_t buf[OID_BER_BYTES];
	if (oid_parse(text, &oid) < 0)
		return -EINVAL;
	int n = oid_to_ber(&oid, buf, sizeof(buf));
	if (n < 0)
		return -EINVAL;
	to->bytes = arena_copy(a, buf, (size_t)n);
	to->len = (uint16_t)n;
	return to->bytes ? 0 : -ENOMEM;
}

int nl6_value(struct arena *a, const char *text, uint8_t tag, const char *syntax,
	struct ber_value *ret_value, bool *ret_wrapped)
{
	struct ber_value v = {.tag = tag};
	bool wrapped = false;
	int r;
	switch (tag) {
	case BER_INTEGER:
		r = as_integer(text, &v);
		break;
	case BER_OCTET_STRING:
		r = strcmp(syntax, "PhysAddress") == 0 || strcmp(syntax, "MacAddress") == 0
			    ? as_octets(a, text, &v)
			    : as_text(a, text, &v);
		break;
	case BER_OID:
		r = as_oid(a, text, &v);
		break;
	case BER_IPADDRESS:
		r = as_address(a, text, &v);
		break;
	default:
		r = as_unsigned(text, &v, &wrapped);
		break;
	}
	if (r < 0)
		return r;
	*ret_value = v;
	*ret_wrapped = wrapped;
	return 0;
}

int nl6_guess(struct arena *a, const char *text, struct ber_value *ret_value, bool *ret_wide)
{
	struct ber_value v = {.tag = BER_INTEGER};
	bool negative;
	uint64_t n;
	*ret_wide = false;
	if (as_integer(text, &v) == 0) {
		*ret_value = v;
		return 0;
	}
	if (as_number(text, &negative, &n) == 0 && !negative) {
		*ret_wide = true;
		*ret_value = (struct ber_value){
			.tag = n > UINT32_MAX ? BER_COUNTER64 : BER_GAUGE32, .u = n};
		return 0;
	}
	return as_text(a, text, ret_value);
}
