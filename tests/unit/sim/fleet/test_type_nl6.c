#include "fake.h"
#include "sim/fleet/ifcount.h"
#include "sim/fleet/type_load.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int compile(const struct mem *mem, const char *slug, const struct type_file *files,
	uint32_t n, struct type **t, struct fault *fault)
{
	struct type_source s = {
		.files = (struct type_file *)(uintptr_t)files, .n = n, .is_dir = n > 1};
	return type_source_compile(mem, slug, &s, t, fault);
}

static struct type *one(struct fake *f, const char *slug, const char *text)
{
	struct type_file file = {"x.json", text, strlen(text)};
	struct type *t = NULL;
	struct fault fault = {0};
	int r = compile(f->mem, slug, &file, 1, &t, &fault);
	ck_assert_msg(r == 0, "%s %s", fault.field, fault.text);
	return t;
}

static const struct oid_row *row_of(const struct type *t, const char *oid)
{
	struct oid o;
	struct oid_key k;
	bool exact;
	ck_assert_int_eq(oid_parse(oid, &o), 0);
	oid_to_key(&o, &k);
	uint32_t row = oidtab_seek(&t->table, k.b, k.n, &exact);
	return exact ? &t->table.rows[row] : NULL;
}

static void check_tlv(const struct type *t, const char *oid, const char *tlv, size_t len)
{
	const struct oid_row *row = row_of(t, oid);
	ck_assert_msg(row && row->kind == OID_CONST, "%s", oid);
	ck_assert_msg(memcmp(t->table.bytes + row->arg, tlv, len) == 0, "%s", oid);
}

static void check_warning(const struct type *t, const char *begins)
{
	for (uint32_t i = 0; i < t->n_warnings; i++)
		if (strncmp(t->warnings[i], begins, strlen(begins)) == 0)
			return;
	ck_abort_msg("no warning \"%s\"", begins);
}

START_TEST(a_directory_is_merged)
{
	static const char system[] =
		"{\"snmp\": [{\"oid\": \".1.3.6.1.2.1.1.1.0\", \"response\": \"old\"},"
		"{\"oid\": \"1.3.6.1.2.1.1.2.0\", \"response\": \"1.3.6.1.4.1.9.1.1\"},"
		"{\"oid\": \"1.3.6.1.2.1.1.3.0\", \"response\": \"123456789\"},"
		"{\"oid\": \"1.3.6.1.2.1.1.4.0\", \"response\": \"ops\"},"
		"{\"oid\": \"1.3.6.1.2.1.1.5.0\", \"response\": \"a-name\"},"
		"{\"oid\": \"1.3.6.1.2.1.1.7.0\", \"response\": \"78\"}]}";
	static const char more[] =
		"{\"snmp\": [{\"oid\": \"1.3.6.1.2.1.1.1.0\", \"response\": \"new\"},"
		"{\"oid\": \"1.3.6.1.2.1.25.1.1.0\", \"response\": \"77\"}],"
		"\"ssh\": [{\"command\": \"a\", \"response\": \"b\"}, {}], \"api\": [{}], "
		"\"extra\": 1}";
	struct type_file files[] = {{"cisco_x/a.json", system, sizeof(system) - 1},
		{"cisco_x/b.json", more, sizeof(more) - 1}, {"cisco_x/traps.json", "zzz", 3}};
	struct fake f = fake_make();
	struct type *t;
	struct fault fault = {0};
	int r = compile(f.mem, "cisco_x", files, 3, &t, &fault);
	ck_assert_msg(r == 0, "%s %s", fault.field, fault.text);
	ck_assert_str_eq(t->sys_descr, "new");
	ck_assert_str_eq(t->name, "Cisco X");
	ck_assert_str_eq(t->label, "Cisco Router/Switch");
	ck_assert_str_eq(t->category, "Network Devices");
	check_tlv(t, "1.3.6.1.2.1.1.4.0", "\x04\x03ops", 5);
	check_tlv(t, "1.3.6.1.2.1.1.7.0", "\x02\x01\x4e", 3);
	check_tlv(t, "1.3.6.1.2.1.1.2.0", "\x06\x08\x2b\x06\x01\x04\x01\x09\x01\x01", 10);
	ck_assert_int_eq(row_of(t, "1.3.6.1.2.1.1.3.0")->kind, OID_SYS_UPTIME);
	ck_assert_int_eq(row_of(t, "1.3.6.1.2.1.1.5.0")->kind, OID_SYS_NAME);
	ck_assert_int_eq(row_of(t, "1.3.6.1.2.1.25.1.1.0")->kind, OID_SYS_UPTIME);
	ck_assert_ptr_null(row_of(t, "1.3.6.1.2.1.4.20.1.1")); /* no interface, no address */
	ck_assert_uint_eq(t->n_warnings, 5);
	check_warning(t, "not served in this build: answers of the section ssh: 2");
	check_warning(t, "not served in this build: answers of the section api: 1");
	check_warning(
		t, "not served in this build: files or keys: 2; the first: cisco_x/b.json/extra");
	check_warning(t, "the last value is served of OIDs that appear again: 1; the first: "
			 "1.3.6.1.2.1.1.1.0");
	check_warning(t, "not taken from the file: values that nl6 makes itself: 1; the first: "
			 "hrSystemUptime");
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

#define E(oid, response) "{\"oid\": \"" oid "\", \"response\": \"" response "\"}"
#define IF(column, index, response) E("1.3.6.1.2.1.2.2.1." #column "." #index, response)
#define IFX(column, index, response) E("1.3.6.1.2.1.31.1.1.1." #column "." #index, response)

START_TEST(interfaces_come_from_their_rows)
{
	struct fake f = fake_make();
	struct type *t = one(&f, "juniper_y",
		"{\"snmp\": [" IF(1, 7, "7") "," IF(2, 7, "xe-0/0/0") "," IF(3, 7, "6") "," IF(
			4, 7, "9192") "," IF(5, 7, "10000000000") "," IF(6, 7,
			"00:1b:2C:3d:4e:5f") "," IF(7, 7, "1") "," IF(8, 7, "2") "," IF(10, 7,
			"12345") "," IFX(1, 7, "xe") "," IFX(15, 7, "40000") "," IFX(18, 7,
			"to core") "," IFX(6, 7, "99999999999") "," IF(2, 3, "lo0") "," IF(3, 3,
			"24") "," IF(6, 3, "") "," IFX(15, 3, "0") "," IF(5, 3, "64000") "," IFX(1,
			9, "only a name") "," IF(21, 7, "4") "]}");
	ck_assert_str_eq(t->label, "Juniper");
	ck_assert_uint_eq(t->n_ifs, 3);
	ck_assert_uint_eq(t->mgmt_slot, 0);
	const struct type_if *i = &t->ifs[0];
	ck_assert_uint_eq(i->index, 3);
	ck_assert_str_eq(i->name, "lo0");
	ck_assert_uint_eq(i->iana_type, 24);
	ck_assert_uint_eq(i->speed_bps, 64000);
	ck_assert_int_eq(i->mac_kind, IF_MAC_NONE);
	i = &t->ifs[1];
	ck_assert_uint_eq(i->index, 7);
	ck_assert_str_eq(i->descr, "xe-0/0/0");
	ck_assert_str_eq(i->name, "xe");
	ck_assert_str_eq(i->alias, "to core");
	ck_assert_uint_eq(i->mtu, 9192);
	ck_assert_uint_eq(i->speed_bps, 40000000000);
	ck_assert_int_eq(i->mac_kind, IF_MAC_FIXED);
	ck_assert_int_eq(memcmp(i->mac, "\x00\x1b\x2c\x3d\x4e\x5f", 6), 0);
	ck_assert_int_eq(i->admin, IF_UP);
	ck_assert_int_eq(i->oper, IF_DOWN);
	i = &t->ifs[2];
	ck_assert_uint_eq(i->index, 9);
	ck_assert_str_eq(i->descr, "only a name");
	ck_assert_uint_eq(i->iana_type, 6);
	ck_assert_int_eq(i->mac_kind, IF_MAC_DEVICE);
	ck_assert_int_eq(row_of(t, "1.3.6.1.2.1.2.2.1.10.7")->kind, OID_IF_COLUMN);
	ck_assert_int_eq(row_of(t, "1.3.6.1.2.1.31.1.1.1.6.9")->kind, OID_IF_COLUMN);
	check_tlv(t, "1.3.6.1.2.1.2.2.1.21.7", "\x42\x01\x04", 3); /* kept: we make no ifOutQLen */
	ck_assert_uint_eq(t->n_warnings, 0);
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

START_TEST(values_get_the_type_of_their_object)
{
	struct fake f = fake_make();
	struct type *t = one(&f, "zzz",
		"{\"snmp\": [" E("1.3.6.1.2.1.4.21.1.1.0.0.0.0", "0.0.0.0") "," /* ipRouteDest */
		E("1.3.6.1.2.1.4.21.1.3.0.0.0.0", "-1") "," E("1.3.6.1.2.1.4.22.1.2.1.10.0.0.1",
			"0:0") "," /* PhysAddress, but no octets */
		E("1.3.6.1.2.1.4.22.1.2.1.10.0.0.2", "02-42-0a") "," E("1.3.6.1.2.1.4.31.1.1.4.1",
			"18446744073709551615") "," E("1.3.6.1.2.1.47.1.1.1.1.1.1",
			"1") "," E("1.3.6.1.2.1.47.1.1.1.1.3.1",
			".1.3.6.1.4.1.9") "," E("1.3.6.1.2.1.47.1.1.1.1.3.2",
			"chassis") "," E("1.3.6.1.2.1.47.1.1.1.1.11.1",
			"007") "," E("1.3.6.1.2.1.15.3.1.7.1.2.3.4",
			"65001") "," E("1.3.6.1.2.1.6.9.0", "-5") "," E("1.3.6.1.4.1.32473.1.0",
			"-12") "," E("1.3.6.1.4.1.32473.2.0",
			"2147483648") "," E("1.3.6.1.4.1.32473.3.0",
			"4294967296") "," E("1.3.6.1.4.1.32473.4.0",
			"99999999999999999999") "," E("1.3.6.1.4.1.32473.5.0",
			"1.2.3.4") "," E("1.3.6.1.4.1.32473.6.0", "") "]}");
	ck_assert_str_eq(t->category, "Other");
	ck_assert_str_eq(t->label, "Zzz");
	ck_assert_str_eq(t->profile->name, "edge");
	check_tlv(t, "1.3.6.1.2.1.4.21.1.1.0.0.0.0", "\x40\x04\0\0\0\0", 6);
	check_tlv(t, "1.3.6.1.2.1.4.21.1.3.0.0.0.0", "\x02\x01\xff", 3);
	check_tlv(t, "1.3.6.1.2.1.4.22.1.2.1.10.0.0.1",
		"\x04\x03"
		"0:0",
		5);
	check_tlv(t, "1.3.6.1.2.1.4.22.1.2.1.10.0.0.2", "\x04\x03\x02\x42\x0a", 5);
	check_tlv(t, "1.3.6.1.2.1.4.31.1.1.4.1", "\x46\x09\x00\xff", 4);
	ck_assert_ptr_null(row_of(t, "1.3.6.1.2.1.47.1.1.1.1.1.1"));
	check_tlv(t, "1.3.6.1.2.1.47.1.1.1.1.3.1", "\x06\x06\x2b\x06\x01\x04\x01\x09", 8);
	check_tlv(t, "1.3.6.1.2.1.47.1.1.1.1.3.2",
		"\x04\x07"
		"chassis",
		9);
	check_tlv(t, "1.3.6.1.2.1.47.1.1.1.1.11.1",
		"\x04\x03"
		"007",
		5);
	check_tlv(t, "1.3.6.1.2.1.15.3.1.7.1.2.3.4", "\x02\x03\x00\xfd\xe9", 5);
	check_tlv(t, "1.3.6.1.2.1.6.9.0", "\x42\x05\x00\xff\xff\xff\xfb", 7);
	check_tlv(t, "1.3.6.1.4.1.32473.1.0", "\x02\x01\xf4", 3);
	check_tlv(t, "1.3.6.1.4.1.32473.2.0", "\x42\x05\x00\x80\0\0\0", 7);
	check_tlv(t, "1.3.6.1.4.1.32473.3.0", "\x46\x05\x01\0\0\0\0", 7);
	check_tlv(t, "1.3.6.1.4.1.32473.4.0", "\x04\x14", 2);
	check_tlv(t, "1.3.6.1.4.1.32473.5.0",
		"\x04\x07"
		"1.2.3.4",
		9);
	check_tlv(t, "1.3.6.1.4.1.32473.6.0", "\x04\x00", 2);
	check_warning(t, "served as number or text, or made anew: values that do not fit the type "
			 "of their object: 3");
	check_warning(
		t, "served as Gauge32 or Counter64: numbers of unknown objects beyond INTEGER: 2");
	check_warning(t, "served modulo 2^32: negative values of unsigned objects: 1; the first: "
			 "1.3.6.1.2.1.6.9.0");
	check_warning(t, "not served: values of index columns, which are not accessible: 1");
	ck_assert_uint_eq(t->n_warnings, 4);
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

static const struct {
	const char *text, *field, *said;
} wrong[] = {
	{"{\"snmp\": []}", "x.json:1: /", "has no entries"},
	{"{\"snmp\": {}}", "x.json:1: /snmp", "must be an array"},
	{"{\"snmp\": [\n{\"oid\": 1}]}", "x.json:2: /snmp/0/oid", "must be a string"},
	{"{\"snmp\": [\n{\"oid\": \"1.3\"}]}", "x.json:2: /snmp/0/response", "must be a string"},
	{"{\"snmp\": [\n{\"oid\": \"1.3\", \"response\": 5}]}", "x.json:2: /snmp/0/response",
		"must be a string"},
	{"{\"snmp\": [\n" E("1.3.x", "") "]}", "x.json:2: /snmp/0/oid",
		"1.3.x is not an object identifier"},
	{"{\"snmp\": [" E("1.3.6.1.4.1.5.1", "a") ",\n" E("1.3.6.1.4.1.5", "noSuchObject") "]}",
		"x.json:2: /snmp/1/response",
		"1.3.6.1.4.1.5 \"noSuchObject\": an exception is not a value"},
	{"{\"snmp\": [" E("1.3.6.1.4.1.5", "endOfMibView") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.4.1.5 \"endOfMibView\": an exception is not a value"},
	{"{\"snmp\": [" E("1.3.6.1.2.1.1.2.0", "Cisco") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.1.2.0 \"Cisco\": not a value of sysObjectID"},
	{"{\"snmp\": [" E("1.3.6.1.2.1.1.2.0", "1.40.1") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.1.2.0 \"1.40.1\": not a value of sysObjectID"},
	{"{\"snmp\": [" IF(10, 1, "12 octets") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.2.2.1.10.1 \"12 octets\": not a value of ifInOctets"},
	{"{\"snmp\": [" IF(10, 1, " 12") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.2.2.1.10.1 \" 12\": not a value of ifInOctets"},
	{"{\"snmp\": [" IF(10, 1, "0x12") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.2.2.1.10.1 \"0x12\": not a value of ifInOctets"},
	{"{\"snmp\": [" IFX(6, 1, "-1") "]}", "x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.31.1.1.1.6.1 \"-1\": not a value of ifHCInOctets"},
	{"{\"snmp\": [" E("1.3.6.1.2.1.4.21.1.11.1.2.3.0", "/24") "]}",
		"x.json:1: /snmp/0/response",
		"1.3.6.1.2.1.4.21.1.11.1.2.3.0 \"/24\": not a value of ipRouteMask"},
	{"{\"snmp\": [], \"ssh\": 3}", "x.json:1: /ssh", "must be an array"},
	{"{\"snmp\": [}", "x.json:1:", "unexpected token near '}'"},
};

START_TEST(wrong_files_are_told_with_oid_and_value)
{
	struct fake f = fake_make();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct type_file files[] = {
			{"x.json", wrong[i].text, strlen(wrong[i].text)}, {"y.json", "{}", 2}};
		struct type *t;
		struct fault fault = {0};
		/* As a directory, so that no key is needed to know the form. */
		ck_assert_msg(
			compile(f.mem, "x", files, 2, &t, &fault) == -EINVAL, "%s", wrong[i].text);
		if (strcmp(wrong[i].said, "has no entries") != 0)
			ck_assert_str_eq(fault.field, wrong[i].field);
		ck_assert_str_eq(fault.text, wrong[i].said);
	}
	fake_done(&f);
}
END_TEST

START_TEST(numbers_may_be_too_wide_where_they_are_made_anew)
{
	struct fake f = fake_make();
	struct type *t = one(&f, "x",
		"{\"snmp\": [" IF(2, 1, "a") "," IF(5, 1, "100000000000") "," IF(
			16, 1, "98234567890") "], \"ssh\": null}");
	ck_assert_uint_eq(t->ifs[0].speed_bps, 100000000000);
	check_tlv(t, "1.3.6.1.2.1.2.2.1.5.1", "\x42\x05\x00\xff\xff\xff\xff", 7);
	ck_assert_uint_eq(t->n_warnings, 1);
	check_warning(t, "served as number or text, or made anew: values that do not fit the type "
			 "of their object: 1");
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

START_TEST(names_without_an_instance_are_not_served)
{
	struct fake f = fake_make();
	struct type *t = one(&f, "x",
		"{\"snmp\": [" E("1.3.6.1.2.1.2.2.1.2", "a") "," E(
			"1.3.6.1.2.1.2.2.1.2.1.1", "b") "," E("1.3.6.1.2.1.4.21.1.1",
			"1") "," E("1.3.6.1.2.1.1.3.0", "4567890123") "]}");
	ck_assert_uint_eq(t->n_ifs, 0);
	ck_assert_ptr_null(row_of(t, "1.3.6.1.2.1.4.21.1.1"));
	ck_assert_uint_eq(t->n_warnings, 1);
	check_warning(t, "not served: values that name no instance that their object can have: 3; "
			 "the first: ifDescr, 1.3.6.1.2.1.2.2.1.2");
	(void)type_unref(t);
	fake_done(&f);
}
END_TEST

static int compile_some(struct fake *f, void *arg UNUSED)
{
	static const char text[] = "{\"snmp\": [" IF(2, 1, "a") "," IF(2, 1, "b") "," E(
		"1.3.6.1.2.1.47.1.1.1.1.3.1", "1.3.6.1") "," E("1.3.6.1.4.1.5.1",
		"text") "," E("1.3.6.1.2.1.4.21.1.1.0.0.0.0", "0.0.0.0") "], \"ssh\": [{}]}";
	struct type_file file = {"x.json", text, sizeof(text) - 1};
	struct type *t;
	int r = compile(f->mem, "x", &file, 1, &t, NULL);
	if (r == 0)
		(void)type_unref(t);
	return r;
}

START_TEST(every_failed_allocation_is_survived)
{
	struct fake f = fake_make();
	fake_fail_each(&f, compile_some, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(a_directory_is_merged, interfaces_come_from_their_rows,
	values_get_the_type_of_their_object, wrong_files_are_told_with_oid_and_value,
	numbers_may_be_too_wide_where_they_are_made_anew, names_without_an_instance_are_not_served,
	every_failed_allocation_is_survived)
