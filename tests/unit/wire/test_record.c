#include "fake.h"
#include "wire/record.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int reader(char *text, size_t n, struct record *ret_record, const char **reterr_what);

/* What a record says: "OID TAG VALUE", strings in hex; or its fault. */
static const char *said(reader *read, const char *line, char buf[static 4096])
{
	size_t n = strlen(line);
	char *text = malloc(n + 1), oid[OID_TEXT_BYTES], hex[256] = "";
	memcpy(text, line, n);
	text[n] = 'x'; /* writable, and anything */
	struct record rec;
	const char *what = NULL;
	int r = read(text, n, &rec, &what);
	const struct ber_value *v = &rec.value;
	if (r == -ENODATA) {
		(void)strcpy(buf, "nothing");
	} else if (r < 0) {
		ck_assert_int_eq(r, -EINVAL);
		(void)snprintf(buf, 4096, "bad: %s", what);
	} else if (rec.module) {
		(void)snprintf(buf, 4096, "%s %u :%s %s", oid_text(&rec.oid, oid, sizeof(oid)),
			v->tag, rec.module, rec.options);
	} else {
		if (v->tag == BER_OCTET_STRING || v->tag == BER_OID || v->tag == BER_IPADDRESS ||
			v->tag == BER_OPAQUE)
			for (unsigned i = 0; i < v->len && i < 100; i++)
				(void)snprintf(hex + 2 * i, 3, "%02x", v->bytes[i]);
		else if (v->tag != BER_NULL)
			(void)snprintf(hex, sizeof(hex), "%lld", (long long)v->i);
		(void)snprintf(
			buf, 4096, "%s %u %s", oid_text(&rec.oid, oid, sizeof(oid)), v->tag, hex);
	}
	free(text);
	return buf;
}
struct pair {
	const char *line, *want;
};
static void check_all(reader *read, const struct pair *pairs, size_t n)
{
	char buf[4096];
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(strcmp(said(read, pairs[i].line, buf), pairs[i].want) == 0,
			"%s: %s, not %s", pairs[i].line, buf, pairs[i].want);
}

START_TEST(lines_of_snmprec)
{
	static const struct pair pairs[] = {
		{"1.3.6.1.2.1.1.1.0|4|Linux|a b ", "1.3.6.1.2.1.1.1.0 4 4c696e75787c6120622"
						   "0"},
		{"1.3.6.1.2.1.1.1.0|4|", "1.3.6.1.2.1.1.1.0 4 "},
		{"1.3.6.1.2.1.1.1.0|4|a\r", "1.3.6.1.2.1.1.1.0 4 61"},
		{".1.3.6|2|-5", "1.3.6 2 -5"},
		{"1.3.6|2|2147483647", "1.3.6 2 2147483647"},
		{"1.3.6|2|-2147483648", "1.3.6 2 -2147483648"},
		{"1.3.6|65|32837438  ", "1.3.6 65 32837438"},
		{"1.3.6|66|4294967295", "1.3.6 66 4294967295"},
		{"1.3.6|67|7", "1.3.6 67 7"},
		{"1.3.6|70|9223372036854775807", "1.3.6 70 9223372036854775807"},
		{"1.3.6|4x|00fF", "1.3.6 4 00ff"},
		{"1.3.6|4x|", "1.3.6 4 "},
		{"1.3.6|4e|a\\x00\\n\\\\\\'\\101\\7b", "1.3.6 4 61000a5c2741"
						       "0762"},
		{"1.3.6|64|10.0.0.255", "1.3.6 64 0a0000ff"},
		{"1.3.6|64x|0a0000ff", "1.3.6 64 0a0000ff"},
		{"1.3.6|64|eEij", "1.3.6 64 6545696a"}, /* the octets themselves */
		{"1.3.6|6|1.3.6.1.4.1.9999", "1.3.6 6 2b06010401ce0f"},
		{"1.3.6|6|0.0", "1.3.6 6 00"},
		{"1.3.6|5|", "1.3.6 5 "},
		{"1.3.6|68x|9f780440000000", "1.3.6 68 9f780440000000"},
		{"1.3.6|67:numeric|rate=100,initial=5", "1.3.6 67 :numeric rate=100,initial=5"},
		{"1.3.6|4x:delay|wait=1|2", "1.3.6 4 :delay wait=1|2"},
		{"", "nothing"},
		{"# 1.3.6|2|5", "nothing"},
		{"\r", "nothing"},
	};
	check_all(record_read_rec, pairs, ARRAY_SIZE(pairs));
}
END_TEST

START_TEST(lines_that_are_no_snmprec)
{
	static const struct pair pairs[] = {
		{"1.3.6|2", "bad: no OID|TAG|VALUE"},
		{"1.3.6 = INTEGER: 5", "bad: no OID|TAG|VALUE"},
		{"sysDescr.0|4|x", "bad: no OID in numbers"},
		{"1|4|x", "bad: no OID in numbers"},
		{"1.3..6|4|x", "bad: no OID in numbers"},
		{"1.3.6|3|x", "bad: no tag of a value; 2, 4, 5, 6, 64, 65, 66, 67, 68 and 70 are"},
		{"1.3.6||x", "bad: no tag of a value; 2, 4, 5, 6, 64, 65, 66, 67, 68 and 70 are"},
		{"1.3.6|4294967298|1",
			"bad: no tag of a value; 2, 4, 5, 6, 64, 65, 66, 67, 68 and 70 are"},
		{"1.3.6|4y|x",
			"bad: after the tag there may be x, e or : and the name of a variation"},
		{"1.3.6|2|", "bad: no number"},
		{"1.3.6|2|-", "bad: no number"},
		{"1.3.6|2|0x10", "bad: no number"},
		{"1.3.6|2|2147483648", "bad: beyond the range of an INTEGER"},
		{"1.3.6|2|-2147483649", "bad: beyond the range of an INTEGER"},
		{"1.3.6|65|-1", "bad: below 0"},
		{"1.3.6|65|4294967296", "bad: beyond the range of the type"},
		{"1.3.6|70|18446744073709551616", "bad: beyond the range of the type"},
		{"1.3.6|64|10.0.0.256", "bad: no IPv4 address"},
		{"1.3.6|64x|0a0000", "bad: no four octets of an IpAddress"},
		{"1.3.6|4x|0", "bad: an odd number of hex digits"},
		{"1.3.6|4x|0g", "bad: no pairs of hex digits"},
		{"1.3.6|2x|00", "bad: x is for octets only: 4, 64, 68"},
		{"1.3.6|2e|00", "bad: e is for strings only: 4"},
		{"1.3.6|4e|a\\", "bad: no escape of a Python string"},
		{"1.3.6|4e|\\x1", "bad: no escape of a Python string"},
		{"1.3.6|6|sysDescr", "bad: its value is no OID in numbers"},
		{"1.3.6|5|x", "bad: a NULL has no value"},
	};
	check_all(record_read_rec, pairs, ARRAY_SIZE(pairs));
}
END_TEST

START_TEST(walks)
{
	static const struct pair pairs[] = {
		{".1.3.6.1.2.1.1.1.0 = STRING: \"a \\\"b\\\" \\\\ c\nd\"",
			"1.3.6.1.2.1.1.1.0 4 6120226222205c20630a64"},
		{"iso.3.6.1.2.1.1.1.0 = STRING: \"a\"", "1.3.6.1.2.1.1.1.0 4 61"},
		{"1.3.6 = STRING: a \"b\" c\nd", "1.3.6 4 61202262222063"
						 "0a64"},
		{".1.3.6 = \"\"", "1.3.6 4 "},
		{".1.3.6 = STRING: ", "1.3.6 4 "},
		{".1.3.6 = STRING:", "1.3.6 4 "},
		{".1.3.6 = Hex-STRING: 00 1A\n2B FF ", "1.3.6 4 001a2bff"},
		{".1.3.6 = BITS: 80 01 first(0) last(15) ", "1.3.6 4 8001"},
		{".1.3.6 = BITS: 80", "1.3.6 4 80"},
		{".1.3.6 = INTEGER: 5", "1.3.6 2 5"},
		{".1.3.6 = INTEGER: up(1)", "1.3.6 2 1"},
		{".1.3.6 = INTEGER: -5 dBm", "1.3.6 2 -5"},
		{".1.3.6 = INTEGER: 10.50 seconds", "1.3.6 2 1050"},
		{".1.3.6 = Counter32: 4294967295", "1.3.6 65 4294967295"},
		{".1.3.6 = Gauge32: 5 bits per second", "1.3.6 66 5"},
		{".1.3.6 = Counter64: 9223372036854775807", "1.3.6 70 9223372036854775807"},
		{".1.3.6 = Timeticks: (12345) 0:02:03.45", "1.3.6 67 12345"},
		{".1.3.6 = 12345", "1.3.6 67 12345"},
		{".1.3.6 = IpAddress: 10.0.0.1", "1.3.6 64 0a000001"},
		{".1.3.6 = Network Address: 0A:00:00:01", "1.3.6 64 0a000001"},
		{".1.3.6 = OID: .1.3.6.1.4.1.9.1.1", "1.3.6 6 2b060104010901"
						     "01"},
		{".1.3.6 = Opaque: Float: 1.500000", "1.3.6 68 9f78043fc00000"},
		{".1.3.6 = Opaque: Float: 5", "1.3.6 68 9f780440a00000"},
		{".1.3.6 = Opaque: Double: -0.000000", "1.3.6 68 9f79088000000000000000"},
		{".1.3.6 = OID: iso.3.6", "1.3.6 6 2b06"},
		{".1.3.6 = OID: ccitt.0", "1.3.6 6 00"},
		{".1.3.6 = NULL", "1.3.6 5 "},
		{".1.3.6 = Wrong Type (should be Gauge32 or Unsigned32): INTEGER: 7", "1.3.6 2 7"},
		{".1.3.6 = No Such Object available on this agent at this OID", "nothing"},
		{".1.3.6 = No Such Instance currently exists at this OID", "nothing"},
		{".1.3.6 = No more variables left in this MIB View (It is past the end of the MIB "
		 "tree)",
			"nothing"},
		{"No more variables left in this MIB View (It is past the end of the MIB tree)",
			"nothing"},
		{"Variables found: 12", "nothing"},
		{"", "nothing"},
	};
	check_all(record_read_walk, pairs, ARRAY_SIZE(pairs));
}
END_TEST

START_TEST(texts_that_are_no_walk)
{
	static const struct pair pairs[] = {
		{"SNMPv2-MIB::sysDescr.0 = STRING: x", "bad: a name, not an OID in numbers"},
		{"sysDescr.0 = STRING: x", "bad: a name, not an OID in numbers"},
		{"text", "bad: no OID = TYPE: VALUE"},
		{".1.3.6 = STRING: \"a", "bad: a string that does not end"},
		{".1.3.6 = STRING: \"a\" b", "bad: text after the end of a string"},
		{".1.3.6 = Foo: 5", "bad: no type of a value that net-snmp prints"},
		{".1.3.6 = INTEGER: up", "bad: no number"},
		{".1.3.6 = Timeticks: 0:00", "bad: Timeticks without their number in parentheses"},
		{".1.3.6 = Hex-STRING: 0", "bad: an odd number of hex digits"},
		{".1.3.6 = OID: SNMPv2-SMI::zeroDotZero", "bad: its value is no OID in numbers"},
		{".1.3.6 = Opaque: Int64: 15", "bad: an Opaque whose octets are not known"},
		{".1.3.6 = Opaque: Float: 1.5x", "bad: no number"},
		{".1.3.6 =", "bad: no type of a value that net-snmp prints"},
	};
	check_all(record_read_walk, pairs, ARRAY_SIZE(pairs));
}
END_TEST

START_TEST(beginnings_of_walks)
{
	static const char *const begin[] = {".1.3.6 = x", "1.3.6 = x", "iso.3.6 = x",
		"1.3 =", "IF-MIB::ifDescr.1 = STRING: x", "sysDescr.0 = x", "Variables found: 5"};
	static const char *const on[] = {
		"", "text", "a = b", "5 = 3", "00 1A 2B", "1.3.6", "x.1= 3", "Variables"};
	for (size_t i = 0; i < ARRAY_SIZE(begin); i++)
		ck_assert_msg(record_walk_begins(begin[i], strlen(begin[i])), "%s", begin[i]);
	for (size_t i = 0; i < ARRAY_SIZE(on); i++)
		ck_assert_msg(!record_walk_begins(on[i], strlen(on[i])), "%s", on[i]);
}
END_TEST

UNIT_MAIN(lines_of_snmprec, lines_that_are_no_snmprec, walks, texts_that_are_no_walk,
	beginnings_of_walks)
