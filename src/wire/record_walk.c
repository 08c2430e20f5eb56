#include "wire/record_text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "Float: " in front of a number. */
#define FLOAT_TEXT_BYTES 7

struct span_of_text {
	char *s;
	size_t n;
};

static bool begins(const struct span_of_text *t, const char *with)
{
	size_t n = strlen(with);
	return t->n >= n && memcmp(t->s, with, n) == 0;
}

static bool take(struct span_of_text *t, const char *with)
{
	if (!begins(t, with))
		return false;
	t->s += strlen(with);
	t->n -= strlen(with);
	return true;
}

/* The roots that net-snmp has names for when it knows no MIB. */
static const struct {
	const char *name, *number;
} roots[] = {{"iso", "1"}, {"ccitt", "0"}, {"joint-iso-ccitt", "2"}, {"joint-ccitt", "2"}};

/* Takes such a name off; false: there is none. */
static bool takes_root(struct span_of_text *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		size_t n = strlen(roots[i].name);
		if (t->n > n && t->s[n] == '.' && take(t, roots[i].name))
			return true;
	}
	return false;
}

/* Bytes of the OID at the start of a line; 0: there is none. */
static size_t oid_bytes(const char *line, size_t n)
{
	struct span_of_text t = {(char *)line, n};
	(void)take(&t, ".");
	(void)takes_root(&t);
	while (t.n > 0 && ((*t.s >= '0' && *t.s <= '9') || *t.s == '.')) {
		t.s++;
		t.n--;
	}
	size_t bytes = (size_t)(t.s - line);
	bool is_end = begins(&t, " = ") || (t.n == 2 && begins(&t, " ="));
	return is_end && memchr(line, '.', bytes) ? bytes : 0;
}

/* Bytes of a name as MIBs give it ("SNMPv2-MIB::sysDescr.0", "sysDescr.0"), with which a line
 * begins; 0: none. */
static size_t name_bytes(const char *line, size_t n)
{
	size_t i = 0;
	bool letter =
		n > 0 && ((line[0] >= 'a' && line[0] <= 'z') || (line[0] >= 'A' && line[0] <= 'Z'));
	while (letter && i < n && line[i] > ' ' && line[i] < 0x7f)
		i++;
	struct span_of_text rest = {(char *)line + i, n - i};
	return i > 0 && memchr(line, '.', i) && begins(&rest, " = ") ? i : 0;
}

/* What snmpwalk says of itself, not of an object. */
static bool is_note(const char *line, size_t n)
{
	static const char *const notes[] = {"Variables found: ", "Total traversal time ",
		"No more variables left in this MIB View", "Timeout: No Response from "};
	struct span_of_text t = {(char *)line, n};
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		if (begins(&t, notes[i]))
			return true;
	return false;
}

bool record_walk_begins(const char *line, size_t n)
{
	return oid_bytes(line, n) > 0 || name_bytes(line, n) > 0 || is_note(line, n);
}

bool record_walk_name(const char *text, size_t n, size_t *ret_at, size_t *ret_bytes)
{
	static const char oid[] = " = OID: ";
	size_t bytes = name_bytes(text, n);
	*ret_at = 0;
	if (bytes == 0) {
		size_t at = oid_bytes(text, n) + sizeof(oid) - 1;
		if (at >= n || memcmp(text + at - (sizeof(oid) - 1), oid, sizeof(oid) - 1) != 0)
			return false;
		while (at + bytes < n && text[at + bytes] > ' ' && text[at + bytes] < 0x7f)
			bytes++;
		struct span_of_text value = {(char *)text + at, bytes};
		if (bytes == 0 || begins(&value, ".") || (*value.s >= '0' && *value.s <= '9') ||
			takes_root(&value))
			return false;
		*ret_at = at;
	}
	*ret_bytes = bytes;
	return true;
}

/* Over the text, for "iso" and its like are longer than their numbers. */
static const char *read_oid(char *text, size_t n, struct oid *ret_oid)
{
	struct span_of_text t = {text, n};
	(void)take(&t, ".");
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (take(&t, roots[i].name)) {
			*--t.s = *roots[i].number;
			t.n++;
			break;
		}
	return record_oid(t.s, t.n, ret_oid);
}

static const char *read_oid_value(struct span_of_text *t, struct ber_value *ret_value)
{
	struct oid oid;
	record_trim(&t->s, &t->n);
	if (read_oid(t->s, t->n, &oid))
		return "its value is no OID in numbers";
	int bytes = oid_to_ber(&oid, (uint8_t *)t->s, t->n);
	if (bytes < 0)
		return "its value is an OID that BER cannot say";
	*ret_value = (struct ber_value){
		.tag = BER_OID, .len = (uint16_t)bytes, .bytes = (const uint8_t *)t->s};
	return NULL;
}

/* In quotes net-snmp escapes quotes and backslashes; without them the text stands as it is. */
static const char *read_string(struct span_of_text *t, struct ber_value *ret_value)
{
	if (!begins(t, "\""))
		return record_string(t->s, t->n, BER_OCTET_STRING, ret_value);
	char *to = t->s, *from = t->s + 1, *end = t->s + t->n;
	for (; from < end && *from != '"'; from++) {
		if (*from == '\\' && from + 1 < end && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	if (from == end)
		return "a string that does not end";
	struct span_of_text rest = {from + 1, (size_t)(end - from - 1)};
	record_trim(&rest.s, &rest.n);
	if (rest.n > 0)
		return "text after the end of a string";
	return record_string(t->s, (size_t)(to - t->s), BER_OCTET_STRING, ret_value);
}

/* The number itself: of "up(1)" what is in parentheses, of "5 seconds" what is before the unit, of
 * "10.5" (DISPLAY-HINT d-1) its digits. */
static const char *read_number(struct span_of_text *t, uint8_t tag, struct ber_value *ret_value)
{
	record_trim(&t->s, &t->n);
	char *open = memchr(t->s, '(', t->n);
	char *close = open ? memchr(open, ')', t->n - (size_t)(open - t->s)) : NULL;
	if (close)
		return record_number(open + 1, (size_t)(close - open - 1), tag, ret_value);
	char *to = t->s;
	size_t i = 0;
	for (; i < t->n && t->s[i] != ' '; i++)
		if (t->s[i] != '.')
			*to++ = t->s[i];
	return record_number(t->s, (size_t)(to - t->s), tag, ret_value);
}

static const char *read_bits(struct span_of_text *t, struct ber_value *ret_value)
{
	/* The names of the bits that are set follow, each with its number in parentheses. */
	size_t n = 0;
	while (n + 2 <= t->n && t->s[n] != '(' && t->s[n + 1] != '(' &&
		(n + 2 == t->n || t->s[n + 2] == ' ' || t->s[n + 2] == '\n'))
		n += n + 2 == t->n ? 2 : 3;
	return record_hex(t->s, n, ret_value);
}

static const char *read_ticks(struct span_of_text *t, struct ber_value *ret_value)
{
	char *open = memchr(t->s, '(', t->n);
	char *close = open ? memchr(open, ')', t->n - (size_t)(open - t->s)) : NULL;
	if (!close)
		return "Timeticks without their number in parentheses";
	return record_number(open + 1, (size_t)(close - open - 1), BER_TIMETICKS, ret_value);
}

static const char *read_network_address(struct span_of_text *t, struct ber_value *ret_value)
{
	const char *bad = record_hex(t->s, t->n, ret_value);
	if (bad || ret_value->len != 4)
		return "no four octets of a Network Address";
	ret_value->tag = BER_IPADDRESS;
	return NULL;
}

/* A float or double in an Opaque, as net-snmp knows them (draft-perkins-opaque-01): over the text,
 * which is at least as long. */
static const char *read_float(struct span_of_text *t, bool is_double, struct ber_value *ret_value)
{
	char *end, last = t->s[t->n];
	t->s[t->n] = 0;
	double v = strtod(t->s, &end);
	t->s[t->n] = last;
	if (end == t->s || end != t->s + t->n)
		return "no number";
	float single = (float)v;
	uint64_t bits64;
	uint32_t bits32;
	memcpy(&bits64, &v, sizeof(bits64));
	memcpy(&bits32, &single, sizeof(bits32));
	struct wr w = wr_make(t->s - FLOAT_TEXT_BYTES, FLOAT_TEXT_BYTES + t->n);
	wr_be16(&w, is_double ? 0x9f79 : 0x9f78);
	wr_u8(&w, is_double ? 8 : 4);
	if (is_double)
		wr_be64(&w, bits64);
	else
		wr_be32(&w, bits32);
	if (w.err)
		return "too short for a number in an Opaque";
	return record_string((char *)w.start, wr_len(&w), BER_OPAQUE, ret_value);
}

static const char *read_opaque(struct span_of_text *t, struct ber_value *ret_value)
{
	if (take(t, "Float: "))
		return read_float(t, false, ret_value);
	if (take(t, "Double: "))
		return read_float(t, true, ret_value);
	const char *bad = record_hex(t->s, t->n, ret_value);
	if (bad)
		return "an Opaque whose octets are not known";
	ret_value->tag = BER_OPAQUE;
	return NULL;
}

static const char *read_typed(struct span_of_text t, struct ber_value *ret_value)
{
	static const struct {
		const char *type;
		uint8_t tag;
	} numbers[] = {{"INTEGER: ", BER_INTEGER}, {"Counter32: ", BER_COUNTER32},
		{"Gauge32: ", BER_GAUGE32}, {"Unsigned32: ", BER_GAUGE32},
		{"UInteger32: ", BER_GAUGE32}, {"Counter64: ", BER_COUNTER64}};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (take(&t, numbers[i].type))
			return read_number(&t, numbers[i].tag, ret_value);
	if (take(&t, "STRING: "))
		return read_string(&t, ret_value);
	if (take(&t, "Hex-STRING: "))
		return record_hex(t.s, t.n, ret_value);
	if (take(&t, "BITS: "))
		return read_bits(&t, ret_value);
	if (take(&t, "OID: "))
		return read_oid_value(&t, ret_value);
	if (take(&t, "IpAddress: "))
		return record_address(t.s, t.n, ret_value);
	if (take(&t, "Network Address: "))
		return read_network_address(&t, ret_value);
	if (take(&t, "Timeticks: "))
		return read_ticks(&t, ret_value);
	if (take(&t, "OPAQUE: ") || take(&t, "Opaque: "))
		return read_opaque(&t, ret_value);
	return "no type of a value that net-snmp prints";
}

static const char *read_value(struct span_of_text t, struct ber_value *ret_value)
{
	static const char wrong[] = "Wrong Type (should be ";
	if (take(&t, wrong)) { /* of net-snmp, when it knows better than the agent */
		char *end = memmem(t.s, t.n, "): ", 3);
		if (!end)
			return "a Wrong Type without a value";
		t.n -= (size_t)(end + 3 - t.s);
		t.s = end + 3;
	}
	if (begins(&t, "\""))
		return read_string(&t, ret_value);
	if (t.n > 0 && *t.s >= '0' && *t.s <= '9' &&
		!record_number(t.s, t.n, BER_TIMETICKS, ret_value))
		return NULL; /* -Ot */
	if (t.n == 4 && begins(&t, "NULL")) {
		*ret_value = (struct ber_value){.tag = BER_NULL};
		return NULL;
	}
	static const char *const empty[] = {"STRING:", "Hex-STRING:", "BITS:"};
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
		if (t.n == strlen(empty[i]) &&
			begins(&t, empty[i])) /* without the blank at the end */
			return record_string(t.s, 0, BER_OCTET_STRING, ret_value);
	return read_typed(t, ret_value);
}

static bool has_no_value(const struct span_of_text *t)
{
	static const char *const none[] = {"No Such Object available", "No Such Instance currently",
		"No more variables left in this MIB View", "End of MIB"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (begins(t, none[i]))
			return true;
	return false;
}

int record_read_walk(char *text, size_t n, struct record *ret_record, const char **reterr_what)
{
	struct record rec = {.module = NULL};
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (n == 0 || is_note(text, n))
		return -ENODATA;
	size_t oid_n = oid_bytes(text, n);
	const char *bad = NULL;
	if (oid_n == 0)
		bad = name_bytes(text, n) ? "a name, not an OID in numbers"
					  : "no OID = TYPE: VALUE";
	else
		bad = read_oid(text, oid_n, &rec.oid);
	struct span_of_text value = {text + oid_n, n - oid_n};
	if (!bad && !take(&value, " = "))
		(void)take(&value, " =");
	if (!bad && has_no_value(&value))
		return -ENODATA;
	if (!bad)
		bad = read_value(value, &rec.value);
	if (bad) {
		*reterr_what = bad;
		return -EINVAL;
	}
	*ret_record = rec;
	return 0;
}
