#include "base/rnd.h"
#include "fake.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/value.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_NS (1772355600 * NS_PER_SEC)

struct lab { /* one device of a built-in type */
	struct fake f;
	struct types *types;
	const struct type *type;
	struct device_conf conf;
	struct device dev;
	struct value_ask ask;
};

static void lab_open(struct lab *l, const char *slug, const char *address)
{
	char dir[512];
	struct fault fault;
	*l = (struct lab){.f = fake_make()};
	struct types_env env = {l->f.mem};
	(void)snprintf(dir, sizeof(dir), "%s/devices", getenv("SOURCE_ROOT"));
	struct types_conf conf = {dir, NULL};
	ck_assert_int_eq(types_new(&env, &conf, &l->types), 0);
	ck_assert_int_eq(types_get(l->types, slug, &l->type, &fault), 0);
	l->conf = (struct device_conf){.type = l->type, .netmask_len = 20};
	l->dev = (struct device){.conf = &l->conf, .seed = 42, .boot_ns = BOOT_NS};
	ck_assert_int_eq(addr_parse(address, &l->dev.addr), 0);
	value_ask_init(&l->ask, &l->dev, BOOT_NS + 5000 * NS_PER_SEC);
}

static void lab_close(struct lab *l)
{
	(void)type_unref(l->type);
	(void)types_free(l->types);
	fake_done(&l->f);
}

static struct oid_key key_of(const char *oid)
{
	struct oid o;
	struct oid_key k;
	ck_assert_int_eq(oid_parse(oid, &o), 0);
	oid_to_key(&o, &k);
	return k;
}

static int get(struct lab *l, const char *oid, struct ber_value *ret_value)
{
	struct oid_key k = key_of(oid);
	uint32_t row;
	int r = value_find(&l->ask, &l->type->table, k.b, k.n, &row);
	return r < 0 ? r : value_get(&l->ask, &l->type->table, row, ret_value);
}

static uint64_t number(struct lab *l, const char *oid, uint8_t tag)
{
	struct ber_value v;
	ck_assert_msg(get(l, oid, &v) == 0, "%s", oid);
	ck_assert_uint_eq(v.tag, tag);
	return tag == BER_INTEGER ? (uint64_t)v.i : v.u;
}

static void check_text(struct lab *l, const char *oid, const char *is)
{
	struct ber_value v;
	ck_assert_msg(get(l, oid, &v) == 0, "%s", oid);
	ck_assert_uint_eq(v.tag, BER_OCTET_STRING);
	ck_assert_uint_eq(v.len, strlen(is));
	ck_assert_int_eq(memcmp(v.bytes, is, v.len), 0);
}

START_TEST(the_system_group_is_the_devices)
{
	struct lab l;
	char buf[IDENT_TEXT_BYTES];
	lab_open(&l, "palo_alto_pa3220", "10.42.3.200");
	check_text(&l, "1.3.6.1.2.1.1.1.0", "Palo Alto Networks PA-3200 series firewall");
	check_text(&l, "1.3.6.1.2.1.1.5.0", ident_name(&l.dev, buf));
	check_text(&l, "1.3.6.1.2.1.1.6.0", ident_location(&l.dev, buf));
	check_text(&l, "1.3.6.1.4.1.25461.2.1.2.1.3.0", ident_serial(&l.dev, buf));
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.1.3.0", BER_TIMETICKS), 500000);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.25.1.1.0", BER_TIMETICKS), 500000);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.1.7.0", BER_INTEGER), 127);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.1.8.0", BER_TIMETICKS), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.1.0", BER_INTEGER), 12);
	struct ber_value v;
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.1.2.0", &v), 0);
	struct oid o;
	ck_assert_uint_eq(v.tag, BER_OID);
	ck_assert_int_eq(oid_from_ber(v.bytes, v.len, &o), 0);
	char text[OID_TEXT_BYTES];
	ck_assert_str_eq(oid_text(&o, text, sizeof(text)), "1.3.6.1.4.1.25461.2.3.43");
	device_count(&l.dev, DEV_SNMP_IN_PKTS, 7);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.11.1.0", BER_COUNTER32), 7);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.11.29.0", BER_COUNTER32), 0);
	/* The clock of ticks wraps after 497 days. */
	value_ask_init(&l.ask, &l.dev, BOOT_NS + 42949672965ull * 10 * NS_PER_MS);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.1.3.0", BER_TIMETICKS), 5);
	lab_close(&l);
}
END_TEST

START_TEST(unknown_names_are_told_apart)
{
	struct lab l;
	struct ber_value v;
	lab_open(&l, "linux_server", "10.42.3.200");
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.1.1.1", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.1.1", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.2.2.1.2.3", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.2.2.1.21.1", &v), -ENXIO);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.99.1.0", &v), -ENXIO);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.4.20.1.1.10.42.3.201", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.4.20.1.1", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.4.20.1.6.10.42.3.200", &v), -ENXIO);
	lab_close(&l);
}
END_TEST

START_TEST(the_address_has_one_row)
{
	struct lab l;
	struct ber_value v;
	lab_open(&l, "linux_server", "10.42.3.200");
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.4.20.1.1.10.42.3.200", &v), 0);
	ck_assert_uint_eq(v.tag, BER_IPADDRESS);
	ck_assert_uint_eq(v.len, 4);
	ck_assert_int_eq(memcmp(v.bytes, "\x0a\x2a\x03\xc8", 4), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.4.20.1.2.10.42.3.200", BER_INTEGER), 2);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.4.20.1.3.10.42.3.200", &v), 0);
	ck_assert_int_eq(memcmp(v.bytes, "\xff\xff\xf0\x00", 4), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.4.20.1.4.10.42.3.200", BER_INTEGER), 1);
	lab_close(&l);
}
END_TEST

/* Names around the row, and what follows each. */
START_TEST(the_address_row_is_in_order)
{
	static const struct {
		const char *after, *next;
	} steps[] = {
		{"1.3.6.1.2.1.2.3", "1.3.6.1.2.1.4.20.1.1.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1", "1.3.6.1.2.1.4.20.1.1.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.9", "1.3.6.1.2.1.4.20.1.1.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.10.42.3.127", "1.3.6.1.2.1.4.20.1.1.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.10.42.3.200", "1.3.6.1.2.1.4.20.1.2.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.10.42.3.200.0", "1.3.6.1.2.1.4.20.1.2.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.10.42.3.201", "1.3.6.1.2.1.4.20.1.2.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.127.0.0.1", "1.3.6.1.2.1.4.20.1.2.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.1.200", "1.3.6.1.2.1.4.20.1.2.10.42.3.200"},
		{"1.3.6.1.2.1.4.20.1.5.10.42.3.200", "1.3.6.1.2.1.11.1.0"},
		{"1.3.6.1.2.1.4.20.1.5.10.42.4", "1.3.6.1.2.1.11.1.0"},
	};
	struct lab l;
	lab_open(&l, "cisco_ios", "10.42.3.200");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct oid_key k = key_of(steps[i].after);
		uint32_t row = value_after(&l.ask, &l.type->table, k.b, k.n);
		uint16_t len;
		struct oid o;
		char text[OID_TEXT_BYTES];
		const uint8_t *ber = value_oid(&l.ask, &l.type->table, row, &len);
		ck_assert_int_eq(oid_from_ber(ber, len, &o), 0);
		ck_assert_str_eq(oid_text(&o, text, sizeof(text)), steps[i].next);
	}
	lab_close(&l);
}
END_TEST

/* One whole walk: in order, the same by step, by search and by name. Returns the rows. */
static uint32_t walk(struct lab *l)
{
	const struct oidtab *t = &l->type->table;
	struct oid_key last = {0};
	uint32_t rows = 0;
	for (uint32_t row = value_after(&l->ask, t, last.b, 0); row < t->n; rows++) {
		uint16_t len;
		uint32_t found;
		struct oid_key k;
		struct ber_value v;
		const uint8_t *ber = value_oid(&l->ask, t, row, &len);
		ck_assert_int_eq(oid_key_from_ber(ber, len, &k), 0);
		ck_assert_int_gt(oid_key_cmp(k.b, k.n, last.b, last.n), 0);
		ck_assert_int_eq(value_find(&l->ask, t, k.b, k.n, &found), 0);
		ck_assert_uint_eq(found, row);
		ck_assert_int_eq(value_get(&l->ask, t, row, &v), 0);
		ck_assert_uint_eq(v.tag, t->rows[row].tag);
		uint32_t next = value_next(&l->ask, t, row);
		ck_assert_uint_eq(value_after(&l->ask, t, k.b, k.n), next);
		row = next;
		last = k;
	}
	return rows;
}

START_TEST(every_type_can_be_walked)
{
	struct lab l;
	lab_open(&l, "linux_server", "10.42.3.200");
	struct type_info *list;
	uint32_t n;
	ck_assert_int_eq(types_list(l.types, &list, &n), 0);
	struct addr v6;
	ck_assert_int_eq(addr_parse("2001:db8::7", &v6), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct lab m;
		lab_open(&m, list[i].slug, "127.10.0.255");
		uint32_t rows = walk(&m);
		ck_assert_uint_eq(rows, m.type->table.n);
		m.dev.addr = v6;
		ck_assert_uint_eq(walk(&m), rows - 5);
		struct ber_value v;
		ck_assert_int_eq(get(&m, "1.3.6.1.2.1.4.20.1.1.127.10.0.255", &v), -ENOENT);
		lab_close(&m);
	}
	mem_free(l.f.mem, list);
	lab_close(&l);
}
END_TEST

static const struct {
	unsigned narrow, wide; /* columns of ifTable or 100 + of ifXTable, of ifXTable */
} twins[] = {{10, 6}, {11, 7}, {16, 10}, {17, 11}, {102, 8}, {103, 9}, {104, 12}, {105, 13}};

START_TEST(narrow_counters_are_the_low_half_of_wide_ones)
{
	struct lab l;
	lab_open(&l, "arista_7280r3", "10.0.0.1");
	uint64_t wraps = 0;
	for (uint32_t i = 0; i < l.type->n_ifs; i++)
		for (uint64_t k = 0; k < 40; k++) {
			value_ask_init(&l.ask, &l.dev,
				BOOT_NS + rnd_u64(7, i, k) % (1000000 * NS_PER_SEC));
			for (size_t c = 0; c < ARRAY_SIZE(twins); c++) {
				char narrow[64], wide[64];
				(void)snprintf(narrow, sizeof(narrow),
					twins[c].narrow > 100 ? "1.3.6.1.2.1.31.1.1.1.%u.%u"
							      : "1.3.6.1.2.1.2.2.1.%u.%u",
					twins[c].narrow % 100, l.type->ifs[i].index);
				(void)snprintf(wide, sizeof(wide), "1.3.6.1.2.1.31.1.1.1.%u.%u",
					twins[c].wide, l.type->ifs[i].index);
				uint64_t w = number(&l, wide, BER_COUNTER64);
				ck_assert_uint_eq(
					number(&l, narrow, BER_COUNTER32), w & UINT32_MAX);
				wraps += w > UINT32_MAX;
			}
		}
	ck_assert_uint_gt(wraps, 1000);
	lab_close(&l);
}
END_TEST

START_TEST(interfaces_are_as_their_type_says)
{
	struct lab l;
	struct ber_value v;
	uint8_t mac[6];
	lab_open(&l, "cisco_catalyst_9500", "10.0.0.1");
	check_text(&l, "1.3.6.1.2.1.2.2.1.2.8", "TenGigabitEthernet1/0/1");
	check_text(&l, "1.3.6.1.2.1.31.1.1.1.1.8", "Te1/0/1");
	check_text(&l, "1.3.6.1.2.1.31.1.1.1.18.8", "Access 1");
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.3.8", BER_INTEGER), 6);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.4.8", BER_INTEGER), 9198);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.5.8", BER_GAUGE32), UINT32_MAX);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.1.1.15.8", BER_GAUGE32), 10000);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.5.1", BER_GAUGE32), 1000000000);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.7.44", BER_INTEGER), 1);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.8.44", BER_INTEGER), 2);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.9.44", BER_TIMETICKS), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.10.44", BER_COUNTER32), 0);
	ck_assert_uint_gt(number(&l, "1.3.6.1.2.1.31.1.1.1.6.48", BER_COUNTER64), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.2.2.1.14.48", BER_COUNTER32), 0);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.1.1.17.48", BER_INTEGER), 1);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.1.1.17.53", BER_INTEGER), 2);
	/* Slot 0 is the management port; a loopback has no address. */
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.2.2.1.6.1", &v), 0);
	ident_mac(&l.dev, 1, mac);
	ck_assert_uint_eq(v.len, 6);
	ck_assert_int_eq(memcmp(v.bytes, mac, 6), 0);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.2.2.1.6.53", &v), 0);
	ck_assert_uint_eq(v.len, 0);
	/* Port-channel1 (52) over Fo1/1/1 (48); nothing below a port, nothing above the bundle. */
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.2.1.3.52.48", BER_INTEGER), 1);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.2.1.3.0.52", BER_INTEGER), 1);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.2.1.3.48.0", BER_INTEGER), 1);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.31.1.2.1.3.0.48", &v), -ENOENT);
	ck_assert_int_eq(get(&l, "1.3.6.1.2.1.31.1.2.1.3.52.0", &v), -ENOENT);
	/* ifLinkUpDownTrapEnable: only at the bottom. */
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.1.1.14.48", BER_INTEGER), 1);
	ck_assert_uint_eq(number(&l, "1.3.6.1.2.1.31.1.1.1.14.52", BER_INTEGER), 2);
	lab_close(&l);
}
END_TEST

UNIT_MAIN(the_system_group_is_the_devices, unknown_names_are_told_apart, the_address_has_one_row,
	the_address_row_is_in_order, every_type_can_be_walked,
	narrow_counters_are_the_low_half_of_wide_ones, interfaces_are_as_their_type_says)
