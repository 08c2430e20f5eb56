#include "fake.h"
#include "sim/fleet/boot.h"
#include "sim/fleet/pick.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct types *make_types(void)
{
	static char dir[4096];
	const char *root = getenv("SOURCE_ROOT");
	ck_assert_ptr_nonnull(root);
	(void)snprintf(dir, sizeof(dir), "%s/devices", root);
	struct types *t;
	ck_assert_int_eq(types_new(&(struct types_env){&mem_libc},
				 &(struct types_conf){.builtin_dir = dir}, &t),
		0);
	return t;
}

START_TEST(one_type_by_name_or_default)
{
	static const struct {
		const char *slug, *got;
		bool named;
	} good[] = {{NULL, "asr9k", false}, {"asr9k", "asr9k", true},
		{"cisco_ios.json", "cisco_ios", true}};
	struct fake f = fake_make();
	struct types *types = make_types();
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		struct pick p;
		struct pick_ask ask = {.slug = good[i].slug};
		ck_assert_int_eq(pick_types(types, f.mem, &ask, &p, NULL), 0);
		ck_assert_uint_eq(p.n, 1);
		ck_assert_str_eq(p.types[0]->slug, good[i].got);
		ck_assert_int_eq(p.named, good[i].named);
		pick_done(&p);
	}
	(void)types_free(types);
	fake_done(&f);
}
END_TEST

START_TEST(all_types_in_turn)
{
	struct types *types = make_types();
	struct pick p;
	ck_assert_int_eq(
		pick_types(types, &mem_libc, &(struct pick_ask){.round_robin = true}, &p, NULL), 0);
	ck_assert_uint_eq(p.n, 29);
	ck_assert_str_eq(p.types[0]->slug, "cisco_catalyst_9500");
	ck_assert_str_eq(p.types[28]->slug, "ciena_waveserver5");
	ck_assert(p.named);
	pick_done(&p);
	struct pick_ask ask = {.round_robin = true, .category = "Storage"};
	ck_assert_int_eq(pick_types(types, &mem_libc, &ask, &p, NULL), 0);
	ck_assert_uint_eq(p.n, 4);
	ck_assert_str_eq(p.types[0]->slug, "netapp_ontap");
	pick_done(&p);
	(void)types_free(types);
}
END_TEST

START_TEST(what_cannot_be_picked_is_named)
{
	static const struct {
		struct pick_ask ask;
		const char *field, *text;
	} bad[] = {
		{{.slug = "asr9000"}, "/resource_file", "resource asr9000: no such device type"},
		{{.slug = "../etc/passwd"}, "/resource_file",
			"\"../etc/passwd\" is not the name of a device type"},
		{{.slug = ".json"}, "/resource_file", "\".json\" is not the name of a device type"},
		{{.slug = "asr9k", .round_robin = true}, "/resource_file",
			"one type and all types in turn exclude each other"},
		{{.category = "Storage"}, "/category",
			"a category chooses among types in turn, it needs round robin"},
		{{.round_robin = true, .category = "storage"}, "/category",
			"no device type is of the category \"storage\""},
	};
	struct types *types = make_types();
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pick p;
		struct fault fault = {0};
		ck_assert_int_eq(pick_types(types, &mem_libc, &bad[i].ask, &p, &fault), -EINVAL);
		ck_assert_str_eq(fault.field, bad[i].field);
		ck_assert_str_eq(fault.text, bad[i].text);
		if (bad[i].ask.category && bad[i].ask.round_robin)
			ck_assert_str_eq(fault.allowed,
				"Network Devices, Servers, GPU Servers, Storage, "
				"Optical Transport");
	}
	(void)types_free(types);
}
END_TEST

static int pick_scenario(struct fake *f, void *arg)
{
	struct pick p;
	int r = pick_types(arg, f->mem, &(struct pick_ask){.slug = "asr9k"}, &p, NULL);
	if (r == 0)
		pick_done(&p);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct types *types = make_types();
	fake_fail_each(&f, pick_scenario, types);
	(void)types_free(types);
	fake_done(&f);
}
END_TEST

START_TEST(settings_of_the_fleet_at_start)
{
	struct addr v4 = addr_from_v4(0x7f0a0001), v6;
	ck_assert_int_eq(addr_parse("2001:db8::1", &v6), 0);
	const struct {
		struct boot_conf conf;
		bool wanted, warns;
		const char *fault_field;
	} cases[] = {
		{{.count = 0}, false, false, NULL},
		{{.start = v4, .count = 3, .netmask = 16}, true, false, NULL},
		{{.start = v4, .netmask = 16}, false, true, NULL},
		{{.count = 3}, false, true, NULL},
		{{.round_robin = true}, false, true, NULL},
		{{.start = v4, .count = 1, .netmask = 33}, true, false, "-auto-netmask"},
		{{.start = v6, .count = 1, .netmask = 64}, true, false, NULL},
		{{.category = "Servers"}, false, false, "-auto-category"},
		{{.type = "asr9k", .round_robin = true}, false, true, "-auto-type"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct boot_conf *c = &cases[i].conf;
		struct fault fault = {0};
		ck_assert_int_eq(boot_is_wanted(c), cases[i].wanted);
		ck_assert_int_eq(boot_warning(c) != NULL, cases[i].warns);
		int r = boot_conf_check(c, &fault);
		ck_assert_int_eq(r < 0, cases[i].fault_field != NULL);
		ck_assert_str_eq(fault.field, cases[i].fault_field ? cases[i].fault_field : "");
	}
}
END_TEST

UNIT_MAIN(one_type_by_name_or_default, all_types_in_turn, what_cannot_be_picked_is_named,
	each_allocation_may_fail, settings_of_the_fleet_at_start)
