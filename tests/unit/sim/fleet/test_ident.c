#include "base/rnd.h"
#include "fleet_fixture.h"
#include "sim/fleet/ident.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct device_conf conf = {
	.type = &fake_types[0], .snmp_port = 161, .netmask_len = 16, .named_type = true};

static struct device device(const char *addr, uint64_t seed)
{
	return (struct device){.addr = fx_addr(addr),
		.conf = &conf,
		.seed = seed,
		.site = (uint32_t)rnd_mix(seed)};
}

START_TEST(ids_go_both_ways)
{
	static const struct {
		const char *id, *addr; /* NULL: -EINVAL */
	} rows[] = {
		{"cisco-catalyst-9500-10.0.0.1", "10.0.0.1"},
		{"10.0.0.1", "10.0.0.1"},
		{"2001:db8::1", "2001:db8::1"},
		{"asr9k-2001:db8::1", "2001:db8::1"},
		{"a-b-::5", "::5"},
		{"asr9k-::ffff:10.0.0.1", "10.0.0.1"},
		{"", NULL},
		{"-", NULL},
		{"-10.0.0.1", NULL},
		{"10.0.0.1-", NULL},
		{"asr9k-", NULL},
		{"asr9k", NULL},
		{"asr9k-10.0.0", NULL},
		{"asr9k-10.0.0.256", NULL},
		{"asr9k-10.0.0.1 ", NULL},
		{"asr9k-10.0.0.1/8", NULL},
		{"10.0.0.1-asr9k", NULL},
		{"asr9k-10.0.0.1\n", NULL},
		{"asr9k-2001:db8::1%eth0", NULL},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = {{0}};
		char text[ADDR_TEXT_BYTES];
		int r = ident_parse(rows[i].id, &a);
		ck_assert_msg(r == (rows[i].addr ? 0 : -EINVAL), "row %u: %d", i, r);
		if (r == 0)
			ck_assert_str_eq(addr_text(&a, text), rows[i].addr);
	}
	char buf[IDENT_TEXT_BYTES];
	struct device d = device("10.0.0.1", 1);
	ck_assert_str_eq(ident_id(&d, buf), "cisco-catalyst-9500-10.0.0.1");
	struct device_conf unnamed = conf;
	unnamed.named_type = false;
	d.conf = &unnamed;
	ck_assert_str_eq(ident_id(&d, buf), "10.0.0.1");
}
END_TEST

START_TEST(random_ids_never_confuse)
{
	static const char alphabet[] = "0123456789abcdef-.:_xyz/%";
	for (uint64_t i = 0; i < 200000; i++) {
		char id[32], again[ADDR_TEXT_BYTES];
		unsigned n = rnd_below(5, 0, i, sizeof(id));
		for (unsigned k = 0; k < n; k++)
			id[k] = alphabet[rnd_below(5, i + 1, k, sizeof(alphabet) - 1)];
		id[n] = 0;
		struct addr a, b;
		if (ident_parse(id, &a) < 0)
			continue;
		/* What is taken for an address reads back as the same one. */
		ck_assert_int_eq(ident_parse(addr_text(&a, again), &b), 0);
		ck_assert_msg(addr_eq(&a, &b), "%s", id);
	}
	/* And every id of a device is taken for its own address. */
	for (uint64_t i = 0; i < 20000; i++) {
		struct device d = device(i % 2 ? "::" : "0.0.0.0", i);
		char buf[IDENT_TEXT_BYTES];
		d.addr = addr_add(&d.addr, rnd_u64(1, 2, i) >> (i % 2 ? 0 : 32));
		struct addr a;
		ck_assert_msg(ident_parse(ident_id(&d, buf), &a) == 0, "%s", buf);
		ck_assert(addr_eq(&a, &d.addr));
	}
}
END_TEST

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_label(const char *name)
{
	size_t n = strlen(name);
	ck_assert_msg(n >= 1 && n <= 63, "%s", name);
	ck_assert_msg(name[0] != '-' && name[n - 1] != '-', "%s", name);
	ck_assert_msg(!strstr(name, "--"), "%s", name);
	ck_assert_msg(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n, "%s", name);
}

START_TEST(names_are_labels_and_unique)
{
	enum { N = 100000 };
	char **names = calloc(N, sizeof(*names));
	ck_assert_ptr_nonnull(names);
	static const struct type long_type = {
		.slug = "_My-Very__Long.Slug_That_Goes_On_And_On_And_On_And_On_Beyond_Any_Label"};
	struct device_conf confs[FAKE_TYPES + 1];
	for (unsigned i = 0; i <= FAKE_TYPES; i++) {
		confs[i] = conf;
		confs[i].type = i < FAKE_TYPES ? &fake_types[i] : &long_type;
	}
	for (uint32_t i = 0; i < N; i++) {
		/* One seed for all: names differ by construction, not by luck. */
		struct device d = device(i % 3 ? "10.0.0.1" : "2001:db8::1", 77);
		d.addr = addr_add(&d.addr, i);
		d.conf = &confs[i % 5];
		if (i % 2)
			d.seed = d.site = i;
		char buf[IDENT_TEXT_BYTES];
		names[i] = strdup(ident_name(&d, buf));
		check_label(names[i]);
	}
	qsort(names, N, sizeof(*names), by_text);
	for (uint32_t i = 1; i < N; i++)
		ck_assert_str_ne(names[i - 1], names[i]);
	for (uint32_t i = 0; i < N; i++)
		free(names[i]);
	free(names);
}
END_TEST

START_TEST(names_say_slug_address_and_place)
{
	bool seen[8] = {false};
	for (uint32_t i = 0; i < 72; i++) {
		struct device d = device("10.42.0.7", i);
		d.site = i;
		char buf[IDENT_TEXT_BYTES], again[IDENT_TEXT_BYTES];
		ident_name(&d, buf);
		size_t n = strlen(buf);
		ck_assert_str_eq(buf + n - 29, "-cisco-catalyst-9500-0a2a0007");
		ck_assert_str_eq(ident_name(&d, again), buf);
		unsigned pattern = i / 9 % 8;
		bool placed = pattern == 0 || pattern == 1 || pattern == 2 || pattern == 4 ||
			      pattern == 6;
		if (placed)
			ck_assert_msg(strstr(buf, ident_city(&d)->code), "%s", buf);
		seen[pattern] = true;
	}
	for (unsigned i = 0; i < 8; i++)
		ck_assert(seen[i]);
	struct device d = device("2001:db8::1", 5);
	char buf[IDENT_TEXT_BYTES];
	ident_name(&d, buf);
	ck_assert_str_eq(buf + strlen(buf) - 27, "-10046vg0000000000000000001");
}
END_TEST

START_TEST(serial_and_engine_id)
{
	char buf[IDENT_TEXT_BYTES];
	uint8_t id[32];
	struct device d = device("10.42.0.171", 1), v6 = device("2001:db8::a", 1);
	ck_assert_str_eq(ident_serial(&d, buf), "SN0A2A00AB");
	ck_assert_uint_eq(strlen(ident_serial(&v6, buf)), 29);
	ck_assert_int_eq(strncmp(buf, "SN6", 3), 0);
	static const uint8_t want4[] = {0x80, 0x00, 0x7e, 0xd9, 3, 0x02, 0x42, 10, 42, 0, 171};
	ck_assert_uint_eq(ident_engine_id(&d, id), sizeof(want4));
	ck_assert_mem_eq(id, want4, sizeof(want4));
	static const uint8_t want6[] = {0x80, 0x00, 0x7e, 0xd9, 2, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 10};
	ck_assert_uint_eq(ident_engine_id(&v6, id), sizeof(want6));
	ck_assert_mem_eq(id, want6, sizeof(want6));
}
END_TEST

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

START_TEST(macs_are_local_and_unique)
{
	uint8_t mac[6];
	struct device d = device("10.42.0.7", 1);
	ident_mac(&d, 0, mac);
	ck_assert_mem_eq(mac, ((uint8_t[]){0x02, 0x42, 10, 42, 0, 7}), 6);
	ident_mac(&d, 1, mac);
	ck_assert_mem_eq(mac, ((uint8_t[]){0x02, 0x01, 10, 42, 0, 7}), 6);
	enum { DEVICES = 40, PORTS = IDENT_MAC_PORTS };
	uint64_t *all = calloc(DEVICES * (PORTS + 1), sizeof(*all));
	ck_assert_ptr_nonnull(all);
	uint32_t n = 0;
	for (uint32_t i = 0; i < DEVICES; i++) {
		d = device(i % 2 ? "10.0.0.1" : "2001:db8::1", 1);
		d.addr = addr_add(&d.addr, i * 251);
		for (uint32_t port = 0; port <= PORTS; port++) {
			ident_mac(&d, port, mac);
			ck_assert_uint_eq(mac[0] & 3, 2);
			for (unsigned k = 0; k < 6; k++)
				all[n] = all[n] << 8 | mac[k];
			n++;
		}
	}
	qsort(all, n, sizeof(*all), by_u64);
	for (uint32_t i = 1; i < n; i++)
		ck_assert_uint_ne(all[i - 1], all[i]);
	free(all);
	ident_mac(&d, UINT32_MAX, mac);
	ck_assert_uint_eq(mac[0] & 3, 2);
}
END_TEST

START_TEST(sites_share_a_place_and_spread_over_the_world)
{
	struct fixture x = fx_make(1);
	struct fleet_add add = fx_add(fx_addr("10.0.0.0"), 8, 16 * 4000);
	(void)fx_create(&x, &add);
	bool seen[512] = {false};
	uint32_t places = 0;
	for (uint32_t i = 0; i < add.count; i++) {
		struct addr a = addr_add(&add.start, i), site = addr_add(&add.start, i & ~15u);
		RCU_SCOPE;
		const struct city *c = ident_city(fleet_find(x.fleet, &a));
		ck_assert_ptr_eq(c, ident_city(fleet_find(x.fleet, &site)));
		places += !seen[c - cities];
		seen[c - cities] = true;
	}
	ck_assert_uint_gt(places, n_cities * 9 / 10);
	char buf[IDENT_TEXT_BYTES];
	struct device d = device("10.0.0.1", 1);
	for (uint32_t i = 0; i < n_cities; i++) {
		d.site = (uint32_t)(((uint64_t)i << 32) / n_cities) + 1;
		ck_assert_ptr_eq(ident_city(&d), &cities[i]);
		const char *at = ident_location(&d, buf);
		ck_assert_int_eq(strncmp(at, cities[i].name, strlen(cities[i].name)), 0);
		ck_assert_str_eq(at + strlen(at) - strlen(cities[i].country), cities[i].country);
		ck_assert_ptr_null(strstr(at, ", , "));
	}
	fx_done(&x);
}
END_TEST

static double km_between(const struct city *a, const struct city *b)
{
	double rad = 3.14159265358979 / 180, la = a->lat * rad, lb = b->lat * rad;
	double cosine = sin(la) * sin(lb) + cos(la) * cos(lb) * cos((a->lon - b->lon) * rad);
	return 6371 * acos(MIN(1.0, cosine));
}

START_TEST(cities_are_sane)
{
	ck_assert_uint_ge(n_cities, 300);
	uint32_t north = 0, east = 0;
	for (uint32_t i = 0; i < n_cities; i++) {
		const struct city *c = &cities[i];
		ck_assert_msg(strlen(c->code) == 3, "%s", c->name);
		ck_assert_msg(strspn(c->code, "abcdefghijklmnopqrstuvwxyz") == 3, "%s", c->name);
		ck_assert_msg(c->lat >= -60 && c->lat <= 75, "%s", c->name);
		ck_assert_msg(c->lon >= -180 && c->lon <= 180, "%s", c->name);
		ck_assert_msg(c->name[0] && c->country[0] && c->admin, "%u", i);
		for (const char *const *t =
				(const char *const[]){c->name, c->admin, c->country, NULL};
			*t; t++)
			for (const char *p = *t; *p; p++)
				ck_assert_msg(*p >= ' ' && *p <= '~' && *p != ',', "%s", *t);
		north += c->lat > 0;
		east += c->lon > 0;
		for (uint32_t k = 0; k < i; k++) {
			ck_assert_msg(strcmp(c->code, cities[k].code) != 0, "%s", c->code);
			ck_assert_msg(km_between(c, &cities[k]) > 4, "%s and %s", c->name,
				cities[k].name);
			ck_assert_msg(strcmp(c->name, cities[k].name) != 0 ||
					      strcmp(c->country, cities[k].country) != 0,
				"%s twice", c->name);
		}
	}
	/* The whole world. */
	ck_assert_uint_gt(n_cities - north, n_cities / 10);
	ck_assert_uint_gt(n_cities - east, n_cities / 5);
	ck_assert_uint_gt(east, n_cities / 5);
}
END_TEST

UNIT_MAIN(ids_go_both_ways, random_ids_never_confuse, names_are_labels_and_unique,
	names_say_slug_address_and_place, serial_and_engine_id, macs_are_local_and_unique,
	sites_share_a_place_and_spread_over_the_world, cities_are_sane)
