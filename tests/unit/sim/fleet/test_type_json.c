#include "fake.h"
#include "sim/fleet/ifcount.h"
#include "sim/fleet/type_load.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A type's file, a key a line, with one line replaced; lines count from 1. */
static const char *const lines[] = {
	"{",
	"\"name\": \"N\", \"label\": \"L\", \"category\": \"Other\", \"doc_category\": \"D\",",
	"\"profile\": \"edge\",",
	"\"system\": {",
	"\"descr\": \"A thing\", \"object_id\": \"1.3.6.1.4.1.32473.7\",",
	"\"contact\": \"me\", \"services\": 4,",
	"\"or\": [{\"id\": \"1.3.6.1.6.3.1\", \"descr\": \"itself\"}]",
	"},",
	"\"interfaces\": [",
	"{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1000},",
	"{\"name\": \"b\", \"index\": 20, \"speed_bps\": 1000, \"management\": true}",
	"],",
	"\"stack\": [{\"upper\": \"b\", \"lower\": [\"a0\", \"a1\"]}],",
	"\"objects\": [",
	"{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"string\", \"value\": \"v\"},",
	"{\"oid\": \"1.3.6.1.2.1.4.1.0\", \"type\": \"integer\", \"value\": 1}",
	"]",
	"}",
};

static int compile(const struct mem *mem, unsigned line, const char *with, struct type **t,
	struct fault *fault)
{
	char text[4096] = "";
	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		strcat(text, line == i + 1 ? with : lines[i]);
		strcat(text, "\n");
	}
	struct type_file file = {"x.json", text, strlen(text)};
	struct type_source s = {.files = &file, .n = 1};
	return type_source_compile(mem, "x", &s, t, fault);
}

START_TEST(a_file_becomes_a_type)
{
	struct fake f = fake_make();
	struct type *t;
	struct fault fault = {0};
	int r = compile(f.mem, 0, NULL, &t, &fault);
	ck_assert_msg(r == 0, "%s %s", fault.field, fault.text);
	ck_assert_str_eq(t->slug, "x");
	ck_assert_str_eq(t->name, "N");
	ck_assert_str_eq(t->label, "L");
	ck_assert_str_eq(t->category, "Other");
	ck_assert_str_eq(t->doc_category, "D");
	ck_assert_str_eq(t->sys_descr, "A thing");
	ck_assert_str_eq(t->profile->name, "edge");
	ck_assert_uint_eq(t->n_ifs, 3);
	ck_assert_str_eq(t->ifs[1].name, "a1");
	ck_assert_str_eq(t->ifs[1].descr, "a1");
	ck_assert_str_eq(t->ifs[1].alias, "");
	ck_assert_uint_eq(t->ifs[1].index, 11);
	ck_assert_uint_eq(t->ifs[1].mtu, 1500);
	ck_assert_uint_eq(t->ifs[1].iana_type, 6);
	ck_assert_uint_eq(t->ifs[1].speed_bps, 1000);
	ck_assert_int_eq(t->ifs[1].oper, IF_UP);
	ck_assert(t->ifs[1].connector);
	ck_assert_int_eq(t->ifs[1].mac_kind, IF_MAC_DEVICE);
	ck_assert_uint_eq(t->mgmt_slot, 2);
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

static const struct type_if *first_if(const char *keys, struct type **t, struct fake *f)
{
	char text[512];
	struct fault fault = {0};
	(void)snprintf(text, sizeof(text),
		"{\"name\": \"p{n}\", \"count\": 2, \"index\": 10, %s},"
		"{\"name\": \"a{n}\", \"count\": 2, \"index\": 90, \"speed_bps\": 0},",
		keys);
	int r = compile(f->mem, 10, text, t, &fault);
	ck_assert_msg(r == 0, "%s %s", fault.field, fault.text);
	return &(*t)->ifs[0];
}

START_TEST(keys_of_an_interface_take_effect)
{
	struct fake f = fake_make();
	struct type *t;
	const struct type_if *i =
		first_if("\"descr\": \"port {n}.\", \"alias\": \"to {n}\", \"first\": 7, "
			 "\"index_step\": 5, \"type\": \"softwareLoopback\", "
			 "\"speed_bps\": 10000000000000, \"mtu\": 9, "
			 "\"admin\": \"testing\", \"oper\": \"dormant\", "
			 "\"load\": \"light\"",
			&t, &f);
	ck_assert_str_eq(i[1].name, "p8");
	ck_assert_str_eq(i[1].descr, "port 8.");
	ck_assert_str_eq(i[1].alias, "to 8");
	ck_assert_uint_eq(i[1].index, 15);
	ck_assert_uint_eq(i->iana_type, 24);
	ck_assert_uint_eq(i->speed_bps, 10000000000000);
	ck_assert_uint_eq(i->mtu, 9);
	ck_assert_int_eq(i->admin, IF_TESTING);
	ck_assert_int_eq(i->oper, IF_DORMANT);
	ck_assert_int_eq(i->load, IF_LOAD_LIGHT);
	ck_assert(!i->connector);
	ck_assert_int_eq(i->mac_kind, IF_MAC_NONE);
	(void)type_unref(t);
	i = first_if(
		"\"speed_bps\": 1, \"type\": 77, \"connector\": true, \"mac\": true, \"first\": 0",
		&t, &f);
	ck_assert_str_eq(i->name, "p0");
	ck_assert_uint_eq(i->iana_type, 77);
	ck_assert(i->connector);
	ck_assert_int_eq(i->mac_kind, IF_MAC_DEVICE);
	(void)type_unref(t);
	i = first_if("\"speed_bps\": 1, \"admin\": \"down\"", &t, &f);
	ck_assert_int_eq(i->oper, IF_DOWN);
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

/* Wrong lines, and what is said of each. */
static const struct {
	unsigned line;
	const char *with, *field, *text;
} wrong[] = {
	{1, "[", "x.json:2:", "']' expected near ':'"},
	{3, "\"profile\" \"edge\",", "x.json:3:", "':' expected near '\"edge\"'"},
	{3, "\"profile\": \"edge\", \"profile\": \"core\",",
		"x.json:3:", "duplicate object key near '\"profile\"'"},
	{3, "\"profile\": \"quiet\",", "x.json:3: /profile", "quiet is not known"},
	{3, "\"profile\": 5,", "x.json:3: /profile", "must be a string"},
	{3, "\"profil\": \"edge\",", "x.json:3: /profil", "unknown key"},
	{3, "\"a/b~c\": \"edge\",", "x.json:3: /a~1b~0c", "unknown key"},
	{3, "", "x.json:1: /", "profile is missing"},
	{2, "\"name\": \"\", \"label\": \"L\", \"category\": \"Other\", \"doc_category\": \"D\",",
		"x.json:2: /name", "has 0 octets"},
	{2, "\"name\": \"N\", \"label\": \"L\", \"category\": \"Others\", \"doc_category\": \"D\",",
		"x.json:2: /category", "Others is not known"},
	{5, "\"descr\": \"A thing\", \"object_id\": \"1.3.6.1.4.1.\",",
		"x.json:5: /system/object_id", "1.3.6.1.4.1. is not an object identifier"},
	{5, "\"descr\": \"A thing\", \"object_id\": \"3.1\",", "x.json:5: /system/object_id",
		"3.1 is not an object identifier"},
	{6, "\"contact\": \"me\", \"services\": 128,", "x.json:6: /system/services",
		"128 is out of range"},
	{6, "\"contact\": \"me\", \"services\": 4.5,", "x.json:6: /system/services",
		"must be a whole number"},
	{6, "\"services\": 4,", "x.json:4: /system", "contact is missing"},
	{7, "\"or\": [{\"id\": \"1.3.6.1.6.3.1\"}]", "x.json:7: /system/or/0", "descr is missing"},
	{7, "\"or\": [{\"id\": \"x\", \"descr\": \"\"}]", "x.json:7: /system/or/0/id",
		"x is not an object identifier"},
	{7, "\"or\": [7]", "x.json:7: /system/or/0", "must be an object"},
	{9, "\"interfaces\": [{},", "x.json:9: /interfaces/0", "name is missing"},
	{10, "{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": -1},",
		"x.json:10: /interfaces/0/speed_bps", "-1 is out of range"},
	{10, "{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed\": 1},",
		"x.json:10: /interfaces/0/speed", "unknown key"},
	{10, "{\"name\": \"a\", \"count\": 2, \"index\": 10, \"speed_bps\": 1},",
		"x.json:10: /interfaces/0/name", "must have {n} for count 2"},
	{10, "{\"name\": \"{n}{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1},",
		"x.json:10: /interfaces/0/name", "has braces other than {n}"},
	{10, "{\"name\": \"{m}\", \"index\": 10, \"speed_bps\": 1},",
		"x.json:10: /interfaces/0/name", "has braces other than {n}"},
	{10,
		"{\"name\": \"0123456789012345678901234567{n}\", \"first\": 9999, \"index\": 10, "
		"\"speed_bps\": 1},",
		"x.json:10: /interfaces/0/name", "is longer than 31 octets for n = 9999"},
	{10, "{\"name\": \"a{n}\", \"count\": 12, \"index\": 9, \"speed_bps\": 1},",
		"x.json:11: /interfaces/1/index", "a11 and b both have ifIndex 20"},
	{10, "{\"name\": \"b\", \"index\": 10, \"speed_bps\": 1},", "x.json:11: /interfaces/1/name",
		"a second interface named b"},
	{10, "{\"name\": \"a{n}\", \"count\": 2, \"index\": 2147483647, \"speed_bps\": 1},",
		"x.json:10: /interfaces/0/index", "runs past 2147483647"},
	{10,
		"{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1, \"type\": "
		"\"wire\"},",
		"x.json:10: /interfaces/0/type", "is no interface type that is known"},
	{10, "{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1, \"type\": 0},",
		"x.json:10: /interfaces/0/type", "is no interface type that is known"},
	{10,
		"{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1, \"admin\": "
		"\"on\"},",
		"x.json:10: /interfaces/0/admin", "on is not known"},
	{10,
		"{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1, \"admin\": "
		"\"down\", \"oper\": \"up\"},",
		"x.json:10: /interfaces/0/oper", "cannot be up while admin is not"},
	{10,
		"{\"name\": \"a{n}\", \"count\": 2, \"index\": 10, \"speed_bps\": 1, "
		"\"connector\": 1},",
		"x.json:10: /interfaces/0/connector", "must be true or false"},
	{10, "{\"name\": \"c\", \"index\": 10, \"speed_bps\": 1, \"management\": true},",
		"x.json:11: /interfaces/1/management", "only one interface can have it"},
	{13, "\"stack\": [{\"upper\": \"c\", \"lower\": []}],", "x.json:13: /stack/0/upper",
		"no interface is named c"},
	{13, "\"stack\": [{\"upper\": \"b\", \"lower\": [\"a0\", \"a0\"]}],",
		"x.json:13: /stack/0/lower/1", "a pair for the second time"},
	{13, "\"stack\": [{\"upper\": \"b\", \"lower\": [\"b\"]}],", "x.json:13: /stack/0/lower/0",
		"an interface below itself"},
	{13, "\"stack\": [{\"upper\": \"b\", \"lower\": [4]}],", "x.json:13: /stack/0/lower/0",
		"must be a string"},
	{15, "{\"oid\": \"1.3.6.1.2.1.4.1.0\", \"type\": \"integer\", \"value\": 2},",
		"x.json:16: /objects/1/oid", "the same OID as /objects/0"},
	{15, "{\"oid\": \"1.3.6.1.2.1.1.5.0\", \"type\": \"string\", \"value\": \"me\"},",
		"x.json:15: /objects/0/oid", "nl6 makes this object from the rest of the file"},
	{15, "{\"oid\": \"1.3.6.1.2.1.2.2.1.2.99\", \"type\": \"string\", \"value\": \"me\"},",
		"x.json:15: /objects/0/oid", "nl6 makes this object from the rest of the file"},
	{15, "{\"oid\": \"1.3.6.1.2.1.4.1.1\", \"type\": \"integer\", \"value\": 2},",
		"x.json:15: /objects/0/oid", "ipForwarding has one instance, .0"},
	{15, "{\"oid\": \"1.3.6.1.2.1.47.1.1.1.1.2\", \"type\": \"string\", \"value\": \"\"},",
		"x.json:15: /objects/0/oid", "entPhysicalDescr needs an instance"},
	{15, "{\"oid\": \"1.3.6.1.2.1.47.1.1.1.1.1.1\", \"type\": \"integer\", \"value\": 1},",
		"x.json:15: /objects/0/oid", "entPhysicalIndex is not accessible"},
	{15, "{\"oid\": \"1.3.6.1.2.1.4.2.0\", \"type\": \"gauge32\", \"value\": 2},",
		"x.json:15: /objects/0/type", "ipDefaultTTL has another type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"text\", \"value\": 2},",
		"x.json:15: /objects/0/type", "text is not known"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"string\", \"value\": 2},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"integer\", \"value\": 2147483648},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15,
		"{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"counter32\", \"value\": "
		"4294967296},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"timeticks\", \"value\": -1},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15,
		"{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"counter64\", \"value\": "
		"\"18446744073709551616\"},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"hex\", \"value\": \"0g\"},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"oid\", \"value\": \"1\"},",
		"x.json:15: /objects/0/value", "1 is not an object identifier"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"ipaddress\", \"value\": \"::1\"},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15,
		"{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"template\", \"value\": "
		"\"{sreial}\"},",
		"x.json:15: /objects/0/value", "does not fit the type"},
	{15, "{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"template\", \"value\": \"none\"},",
		"x.json:15: /objects/0/value", "does not fit the type"},
};

START_TEST(wrong_files_are_told_with_line_and_key)
{
	struct fake f = fake_make();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct type *t;
		struct fault fault = {0};
		int r = compile(f.mem, wrong[i].line, wrong[i].with, &t, &fault);
		ck_assert_msg(r == -EINVAL, "%s", wrong[i].with);
		ck_assert_str_eq(fault.field, wrong[i].field);
		ck_assert_str_eq(fault.text, wrong[i].text);
		ck_assert_int_eq(fault.code, -EINVAL);
		ck_assert_int_eq(compile(f.mem, wrong[i].line, wrong[i].with, &t, NULL), -EINVAL);
	}
	fake_done(&f);
}
END_TEST

/* The TLV that an object of a kind and a value becomes. */
static const struct {
	const char *type, *value;
	const char *tlv;
	size_t len;
} values[] = {
	{"integer", "-1", "\x02\x01\xff", 3},
	{"integer", "-2147483648", "\x02\x04\x80\0\0\0", 6},
	{"string", "\"\\u00e9\"", "\x04\x02\xc3\xa9", 4},
	{"string", "\"\"", "\x04\x00", 2},
	{"hex", "\"00:ff 7f-01AB\"", "\x04\x05\x00\xff\x7f\x01\xab", 7},
	{"oid", "\"2.999.1\"", "\x06\x03\x88\x37\x01", 5},
	{"ipaddress", "\"192.0.2.1\"", "\x40\x04\xc0\x00\x02\x01", 6},
	{"counter32", "4294967295", "\x41\x05\x00\xff\xff\xff\xff", 7},
	{"gauge32", "128", "\x42\x02\x00\x80", 4},
	{"timeticks", "0", "\x43\x01\x00", 3},
	{"counter64", "9223372036854775807", "\x46\x08\x7f\xff\xff\xff\xff\xff\xff\xff", 10},
	{"counter64", "\"18446744073709551615\"", "\x46\x09\x00\xff\xff\xff\xff\xff\xff\xff\xff",
		11},
	{"template", "\"{serial}/{mac}/{ip}\"", "\x04\x13{serial}/{mac}/{ip}", 21},
};

START_TEST(values_become_what_their_type_says)
{
	struct fake f = fake_make();
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct type *t;
		struct fault fault = {0};
		char text[256];
		(void)snprintf(text, sizeof(text),
			"{\"oid\": \"1.3.6.1.4.1.32473.1.0\", \"type\": \"%s\", \"value\": %s},",
			values[i].type, values[i].value);
		int r = compile(f.mem, 15, text, &t, &fault);
		ck_assert_msg(r == 0, "%s: %s", values[i].value, fault.text);
		struct oid oid;
		struct oid_key key;
		bool exact;
		ck_assert_int_eq(oid_parse("1.3.6.1.4.1.32473.1.0", &oid), 0);
		oid_to_key(&oid, &key);
		uint32_t at = oidtab_seek(&t->table, key.b, key.n, &exact);
		ck_assert(exact);
		const struct oid_row *row = &t->table.rows[at];
		ck_assert_int_eq(row->kind,
			strcmp(values[i].type, "template") == 0 ? OID_TEXT_TEMPLATE : OID_CONST);
		ck_assert_uint_eq(row->tag, (uint8_t)values[i].tlv[0]);
		ck_assert_int_eq(
			memcmp(t->table.bytes + row->arg, values[i].tlv, values[i].len), 0);
		(void)type_unref(t);
	}
	fake_done(&f);
}
END_TEST

static int compile_all(struct fake *f, void *arg UNUSED)
{
	struct type *t;
	int r = compile(f->mem, 0, NULL, &t, NULL);
	if (r == 0)
		(void)type_unref(t);
	return r;
}

START_TEST(every_failed_allocation_is_survived)
{
	struct fake f = fake_make();
	fake_fail_each(&f, compile_all, NULL);
	fake_done(&f);
}
END_TEST

START_TEST(lines_are_found)
{
	static const char text[] = "{\"a\": [1,\n {\"b\\\"c\": \"]}\",\n \"d\": -1.5e3,\n"
				   "\"e\": {}, \"f\":\n[[],\n[null, true]]}]}";
	static const struct {
		const char *pointer;
		unsigned line;
	} cases[] = {{"", 1}, {"/a", 1}, {"/a/0", 1}, {"/a/1", 2}, {"/a/1/d", 3}, {"/a/1/e", 4},
		{"/a/1/f", 5}, {"/a/1/f/0", 5}, {"/a/1/f/1", 6}, {"/a/1/f/1/1", 6}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(
			type_pos_line(text, sizeof(text) - 1, cases[i].pointer), cases[i].line);
	/* Never past the end, whatever the text. */
	for (size_t len = 0; len < sizeof(text) - 1; len++)
		ck_assert_uint_le(type_pos_line(text, len, "/a/1/f/1/1"), 6);
}
END_TEST

UNIT_MAIN(a_file_becomes_a_type, keys_of_an_interface_take_effect,
	wrong_files_are_told_with_line_and_key, values_become_what_their_type_says,
	every_failed_allocation_is_survived, lines_are_found)
