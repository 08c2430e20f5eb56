#include "base/thread.h"
#include "fake.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/type.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct types_conf builtin(char dir[static 512])
{
	(void)snprintf(dir, 512, "%s/devices", getenv("SOURCE_ROOT"));
	return (struct types_conf){dir, NULL};
}

static void open_builtin(struct fake *f, struct types **types)
{
	char dir[512];
	struct types_env env = {f->mem};
	struct types_conf conf = builtin(dir);
	ck_assert_int_eq(types_new(&env, &conf, types), 0);
}

/* Round-robin order, and what REST shows, as the original has them; interfaces as it documents. */
static const struct {
	const char *slug, *label, *category;
	const char *sys_object_id; /* the enterprise */
	uint32_t ifs;
} all[] = {
	{"cisco_catalyst_9500", "Cisco Router/Switch", "Network Devices", "1.3.6.1.4.1.9.1.", 48},
	{"juniper_mx240", "Juniper", "Network Devices", "1.3.6.1.4.1.2636.1.1.1.2.29", 24},
	{"asr9k", "Cisco ASR9K", "Network Devices", "1.3.6.1.4.1.9.1.1018", 48},
	{"palo_alto_pa3220", "Palo Alto", "Network Devices", "1.3.6.1.4.1.25461.2.3.43", 12},
	{"fortinet_fortigate_600e", "Fortinet", "Network Devices", "1.3.6.1.4.1.12356.101.1.6005",
		20},
	{"juniper_mx960", "Juniper", "Network Devices", "1.3.6.1.4.1.2636.1.1.1.2.21", 96},
	{"cisco_nexus_9500", "Cisco Router/Switch", "Network Devices",
		"1.3.6.1.4.1.9.12.3.1.3.1467", 64},
	{"huawei_ne8000", "Huawei", "Network Devices", "1.3.6.1.4.1.2011.2.", 96},
	{"nec_ix3315", "NEC", "Network Devices", "1.3.6.1.4.1.119.1.84", 48},
	{"arista_7280r3", "Arista", "Network Devices", "1.3.6.1.4.1.30065.1.3011.7280.", 32},
	{"check_point_15600", "Check Point", "Network Devices", "1.3.6.1.4.1.2620.1.6.123.1", 24},
	{"cisco_crs_x", "Cisco Router/Switch", "Network Devices", "1.3.6.1.4.1.9.1.1658", 144},
	{"cisco_ios", "Cisco IOS", "Network Devices", "1.3.6.1.4.1.9.1.2068", 4},
	{"extreme_vsp4450", "Extreme Networks", "Network Devices", "1.3.6.1.4.1.2272.206", 48},
	{"nokia_7750_sr12", "Nokia", "Network Devices", "1.3.6.1.4.1.6527.1.3.3", 72},
	{"sonicwall_nsa6700", "SonicWall", "Network Devices", "1.3.6.1.4.1.8741.1", 16},
	{"dlink_dgs3630", "D-Link", "Network Devices", "1.3.6.1.4.1.171.10", 52},
	{"dell_poweredge_r750", "Dell", "Servers", "1.3.6.1.4.1.674.10892.5", 4},
	{"hpe_proliant_dl380", "HPE", "Servers", "1.3.6.1.4.1.232.9.4.11", 4},
	{"ibm_power_s922", "IBM", "Servers", "1.3.6.1.4.1.2.3.1.2.1.1.3", 4},
	{"linux_server", "Linux Server", "Servers", "1.3.6.1.4.1.8072.3.2.10", 2},
	{"nvidia_dgx_a100", "NVIDIA GPU Server", "GPU Servers", "1.3.6.1.4.1.5703.1.2.1", 5},
	{"nvidia_dgx_h100", "NVIDIA GPU Server", "GPU Servers", "1.3.6.1.4.1.5703.1.2.2", 5},
	{"nvidia_hgx_h200", "NVIDIA GPU Server", "GPU Servers", "1.3.6.1.4.1.5703.1.2.3", 5},
	{"netapp_ontap", "NetApp", "Storage", "1.3.6.1.4.1.789.2.5", 4},
	{"pure_storage_flasharray", "Pure Storage", "Storage", "1.3.6.1.4.1.40482", 4},
	{"dell_emc_unity", "Dell", "Storage", "1.3.6.1.4.1.1139.103", 4},
	{"aws_s3_storage", "AWS", "Storage", "1.3.6.1.4.1.4843", 4},
	{"ciena_waveserver5", "Ciena Waveserver 5", "Optical Transport", "1.3.6.1.4.1.1271.3", 4},
};

START_TEST(the_built_in_types_are_listed_in_order)
{
	struct fake f = fake_make();
	AUTO(types) struct types *types = NULL;
	struct type_info *list;
	uint32_t n;
	open_builtin(&f, &types);
	ck_assert_int_eq(types_list(types, &list, &n), 0);
	ck_assert_uint_eq(n, ARRAY_SIZE(all));
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_str_eq(list[i].slug, all[i].slug);
		ck_assert_str_eq(list[i].label, all[i].label);
		ck_assert_str_eq(list[i].category, all[i].category);
	}
	mem_free(f.mem, list);
	types = types_free(types);
	fake_done(&f);
}
END_TEST

static void check_table(const struct type *t)
{
	for (uint32_t i = 1; i < t->table.n; i++) {
		const struct oid_row *a = &t->table.rows[i - 1], *b = &t->table.rows[i];
		ck_assert_int_lt(oid_key_cmp(oidtab_key(&t->table, i - 1), a->key_len,
					 oidtab_key(&t->table, i), b->key_len),
			0);
	}
	for (uint32_t i = 0; i < t->table.n; i++) {
		const struct oid_row *row = &t->table.rows[i];
		ck_assert_uint_ne(row->object, OIDTAB_NO_OBJECT);
		struct mib_ref ref = mib_nth(row->object);
		ck_assert_msg(row->tag == ref.object->tag, "%s of %s", ref.object->name, t->slug);
		ck_assert_int_ne(ref.object->access, MIB_NO);
	}
}

START_TEST(every_built_in_type_compiles)
{
	struct fake f = fake_make();
	AUTO(types) struct types *types = NULL;
	open_builtin(&f, &types);
	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		const struct type *t;
		char oid[OID_TEXT_BYTES];
		struct fault fault = {0};
		int r = types_get(types, all[i].slug, &t, &fault);
		ck_assert_msg(r == 0, "%s: %s", fault.field, fault.text);
		ck_assert_uint_eq(t->n_ifs, all[i].ifs);
		ck_assert_uint_eq(t->n_warnings, 0);
		(void)oid_text(&t->sys_object_id, oid, sizeof(oid));
		ck_assert_msg(strncmp(oid, all[i].sys_object_id, strlen(all[i].sys_object_id)) == 0,
			"%s: %s", all[i].slug, oid);
		/* The management interface is up and has an address of its own. */
		const struct type_if *m = &t->ifs[t->mgmt_slot];
		ck_assert_int_eq(m->oper, IF_UP);
		ck_assert_int_eq(m->mac_kind, IF_MAC_DEVICE);
		check_table(t);
		(void)type_unref(t);
	}
	types = types_free(types);
	fake_done(&f);
}
END_TEST

/* A directory that goes away with the test. */
struct dir {
	char path[64];
};

static struct dir dir_make(void)
{
	struct dir d = {"/tmp/nl6-test-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(d.path));
	return d;
}

static void dir_write(const struct dir *d, const char *name, const char *text)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/%s", d->path, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void dir_drop(const struct dir *d)
{
	char command[128];
	(void)snprintf(command, sizeof(command), "rm -r %s", d->path);
	ck_assert_int_eq(system(command), 0);
}

#define A_TYPE(name) \
	"{\"name\": \"" name "\", \"label\": \"Mine\", \"category\": \"Other\", " \
	"\"doc_category\": \"Mine\", \"profile\": \"edge\", \"system\": {\"descr\": \"d\", " \
	"\"object_id\": \"1.3.6.1.4.1.32473.1\", \"contact\": \"\", \"services\": 4}, " \
	"\"interfaces\": []}"

static void note_slug(void *arg, const char *slug)
{
	(void)snprintf(arg, 64, "%s", slug);
}

START_TEST(a_users_type_needs_no_rebuild)
{
	char built_in[512], evicted[64] = "";
	struct fake f = fake_make();
	struct dir user = dir_make();
	struct types_env env = {f.mem};
	struct types_conf conf = builtin(built_in);
	conf.user_dir = user.path;
	AUTO(types) struct types *types = NULL;
	const struct type *t, *again;
	struct fault fault;
	struct type_info *list;
	uint32_t n;
	dir_write(&user, "mine.json", A_TYPE("First"));
	dir_write(&user, "asr9k.json", A_TYPE("Other ASR"));
	ck_assert_int_eq(types_new(&env, &conf, &types), 0);
	ck_assert_int_eq(types_list(types, &list, &n), 0);
	ck_assert_uint_eq(n, ARRAY_SIZE(all) + 1);
	ck_assert_str_eq(list[2].slug, "asr9k");
	ck_assert_str_eq(list[2].name, "Other ASR");
	ck_assert_str_eq(list[n - 1].slug, "mine");
	mem_free(f.mem, list);

	/* A built-in type is found beside the user's. */
	ck_assert_int_eq(types_get(types, "ciena_waveserver5", &t, &fault), 0);
	ck_assert_uint_eq(t->n_ifs, 4);
	(void)type_unref(t);
	ck_assert_int_eq(types_get(types, "mine", &t, &fault), 0);
	ck_assert_str_eq(t->name, "First");
	ck_assert_uint_eq(t->generation, 1);
	dir_write(&user, "mine.json", A_TYPE("Second"));
	ck_assert_int_eq(types_get(types, "mine", &again, &fault), 0);
	ck_assert_ptr_eq(again, t);
	(void)type_unref(again);
	ck_assert_int_eq(types_evict(types, "mine", note_slug, evicted), 0);
	ck_assert_str_eq(evicted, "mine");
	ck_assert_int_eq(types_evict(types, "mine", NULL, NULL), -ESRCH);
	ck_assert_int_eq(types_evict(types, "none", NULL, NULL), -ENOENT);
	ck_assert_int_eq(types_get(types, "mine", &again, &fault), 0);
	ck_assert_str_eq(again->name, "Second");
	ck_assert_uint_eq(again->generation, 2);
	ck_assert_str_eq(t->name, "First"); /* devices keep what they have */
	(void)type_unref(t);
	(void)type_unref(again);
	types = types_free(types);
	dir_drop(&user);
	fake_done(&f);
}
END_TEST

START_TEST(what_is_not_there_is_told)
{
	struct fake f = fake_make();
	AUTO(types) struct types *types = NULL;
	const struct type *t;
	struct fault fault = {0};
	open_builtin(&f, &types);
	ck_assert_int_eq(types_get(types, "none", &t, &fault), -ENOENT);
	ck_assert_str_eq(fault.field, "none");
	ck_assert_str_eq(fault.text, "no such device type");
	ck_assert_int_eq(types_get(types, "../devices/asr9k", &t, &fault), -EINVAL);
	ck_assert_int_eq(types_get(types, "", &t, &fault), -EINVAL);
	ck_assert_int_eq(types_get(types, "none", &t, NULL), -ENOENT);
	types = types_free(types);
	fake_done(&f);
}
END_TEST

static int load(struct fake *f, void *arg)
{
	char dir[512];
	struct types_env env = {f->mem};
	struct types_conf conf = builtin(dir);
	AUTO(types) struct types *types = NULL;
	const struct type *t;
	int r = types_new(&env, &conf, &types);
	if (r == 0)
		r = types_get(types, arg, &t, NULL);
	if (r == 0)
		(void)type_unref(t);
	return r;
}

static int list_types(struct fake *f, void *arg UNUSED)
{
	char dir[512];
	struct types_env env = {f->mem};
	struct types_conf conf = builtin(dir);
	AUTO(types) struct types *types = NULL;
	struct type_info *list;
	uint32_t n;
	int r = types_new(&env, &conf, &types);
	if (r == 0)
		r = types_list(types, &list, &n);
	if (r == 0)
		mem_free(f->mem, list);
	return r;
}

START_TEST(every_failed_allocation_is_survived)
{
	struct fake f = fake_make();
	/* Not those of jansson 2.14, which asserts when a string cannot grow. */
	fake_fail_each(&f, load, "cisco_ios");
	fake_fail_each(&f, load, "palo_alto_pa3220");
	fake_fail_each(&f, load, "cisco_catalyst_9500");
	fake_fail_each(&f, list_types, NULL);
	fake_done(&f);
}
END_TEST

struct racer {
	struct types *types;
	unsigned seen;
};

static void race(void *arg)
{
	struct racer *me = arg;
	for (unsigned i = 0; i < 60; i++) {
		const struct type *t;
		if (types_get(me->types, all[i % 4 + 12].slug, &t, NULL) == 0) {
			me->seen += t->n_ifs > 0;
			(void)type_unref(t);
		}
		if (i % 10 == 9)
			(void)!types_evict(me->types, NULL, NULL, NULL);
	}
}

START_TEST(threads_share_the_types)
{
	AUTO(types) struct types *types = NULL;
	char dir[512];
	struct types_env env = {&mem_libc};
	struct types_conf conf = builtin(dir);
	struct racer racers[3] = {0};
	struct thread *threads[3];
	ck_assert_int_eq(types_new(&env, &conf, &types), 0);
	for (unsigned i = 0; i < 3; i++) {
		racers[i].types = types;
		struct thread_conf c = {.name = "test-0", .run = race, .arg = &racers[i]};
		ck_assert_int_eq(thread_start(&mem_libc, &c, &threads[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		(void)thread_join(threads[i]);
		ck_assert_uint_eq(racers[i].seen, 60);
	}
}
END_TEST

UNIT_MAIN(the_built_in_types_are_listed_in_order, every_built_in_type_compiles,
	a_users_type_needs_no_rebuild, what_is_not_there_is_told,
	every_failed_allocation_is_survived, threads_share_the_types)
