#include "scene.h"
#include "sim/fleet/ident.h"

#define TEN "{\"start_ip\":\"127.1.0.1\",\"device_count\":10,\"snmp_port\":1161}"

static void create(struct scene *s, const char *body)
{
	json_t *j = scene_json(s, POST, "/api/v1/devices", NULL, body, 201);
	ck_assert_int_eq(int_at(j, "data.failed"), 0);
	json_decref(j);
}

START_TEST(a_create_answers_when_it_is_done)
{
	struct scene *s = scene_up();
	json_t *j = scene_json(s, POST, "/api/v1/devices", NULL, TEN, 201);
	ck_assert(json_is_true(at(j, "success")));
	ck_assert_str_eq(str_at(j, "message"), "Created 10 devices starting from 127.1.0.1");
	ck_assert_int_eq(int_at(j, "data.created"), 10);
	ck_assert_int_eq(int_at(j, "data.requested"), 10);
	ck_assert_int_eq(int_at(j, "data.failed"), 0);
	ck_assert_ptr_null(at(j, "data.warnings"));
	ck_assert_str_eq(str_at(j, "data.batch.state"), "done");
	ck_assert_str_eq(str_at(j, "data.batch.last"), "127.1.0.10");
	json_decref(j);
	ck_assert_uint_eq(fleet_count(s->fleet), 10);
	/* The same again: all were there. */
	j = scene_json(s, POST, "/api/v1/devices", NULL, TEN, 201);
	ck_assert_int_eq(int_at(j, "data.created"), 10);
	ck_assert_int_eq(int_at(j, "data.batch.created"), 0);
	ck_assert_int_eq(int_at(j, "data.batch.existing"), 10);
	json_decref(j);
	/* Others in their place: left as they are, and said so. */
	j = scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.6\",\"device_count\":10,\"snmp_port\":1162}", 201);
	ck_assert_str_eq(str_at(j, "message"),
		"Created 5 of 10 devices (5 failed to start) starting from 127.1.0.6");
	ck_assert_int_eq(int_at(j, "data.failed"), 5);
	ck_assert_str_eq(str_at(j, "data.warnings.0.field"), "start_ip");
	ck_assert_str_eq(str_at(j, "data.warnings.0.requested"), "127.1.0.6-127.1.0.10");
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(a_create_may_be_asked_about_later)
{
	struct scene *s = scene_up();
	struct answer a =
		scene_ask(s, POST, "/api/v1/devices", "Prefer: wait=5, respond-async", TEN);
	ck_assert_uint_eq(a.status, 202);
	ck_assert_str_eq(a.reply.headers[0].name, "Location");
	ck_assert_str_eq(a.reply.headers[0].value, "/api/v1/batches/1");
	answer_done(&a);
	json_t *j = NULL;
	for (unsigned i = 0; i < 20000; i++) {
		j = scene_json(s, GET, "/api/v1/batches/1", NULL, NULL, 200);
		if (strcmp(str_at(j, "data.state"), "done") == 0)
			break;
		json_decref(j);
	}
	ck_assert_int_eq(int_at(j, "data.done"), 10);
	json_decref(j);
	json_decref(scene_json(s, GET, "/api/v1/batches/2", NULL, NULL, 404));
	json_decref(scene_json(s, GET, "/api/v1/batches/x", NULL, NULL, 404));
	j = scene_json(s, GET, "/api/v1/batches", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 0);
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(meaningless_keys_are_answered_in_warnings)
{
	struct scene *s = scene_up();
	json_t *j = scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"pre_allocate\":true,"
		"\"max_workers\":7,\"category\":\"Servers\"}",
		201);
	ck_assert_uint_eq(json_array_size(at(j, "data.warnings")), 3);
	ck_assert_str_eq(str_at(j, "data.warnings.0.field"), "pre_allocate");
	ck_assert_str_eq(str_at(j, "data.warnings.1.field"), "max_workers");
	ck_assert_str_eq(str_at(j, "data.warnings.2.field"), "category");
	json_decref(j);
	j = scene_json(s, POST, "/api/v1/devices", "Prefer: respond-async",
		"{\"start_ip\":\"127.2.0.1\",\"device_count\":1,\"pre_allocate\":false}", 202);
	ck_assert_str_eq(str_at(j, "data.warnings.0.field"), "pre_allocate");
	json_decref(j);
	/* 0 is what not giving it means. */
	j = scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.3.0.1\",\"device_count\":1,\"max_workers\":0}", 201);
	ck_assert_ptr_null(at(j, "data.warnings"));
	json_decref(j);
	scene_down(s);
}
END_TEST

static const struct {
	const char *body, *field;
} bad_bodies[] = {
	{"{}", "/start_ip"},
	{"{\"start_ip\":\"127.1.0.1\"}", "/device_count"},
	{"{\"start_ip\":\"127.1.0\",\"device_count\":1}", "/start_ip"},
	{"{\"start_ip\":\"127.1.0.1/24\",\"device_count\":1}", "/start_ip"},
	{"{\"start_ip\":\"224.0.0.1\",\"device_count\":1}", "/start_ip"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":0}", "/device_count"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":16000001}", "/device_count"},
	{"{\"start_ip\":\"127.255.255.250\",\"device_count\":10}", "/device_count"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"netmask\":\"33\"}", "/netmask"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"netmask\":\"255.0.0.0\"}", "/netmask"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"netmask\":\" 8\"}", "/netmask"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":300,\"netmask\":\"24\"}", "/device_count"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmp_port\":65536}", "/snmp_port"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"resource_file\":\"asr9k\"}",
		"/resource_file"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"resource_file\":\"../x.json\"}",
		"/resource_file"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"resource_file\":\"no.json\"}",
		"/resource_file"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"round_robin\":true,"
	 "\"category\":\"Toasters\"}",
		"/category"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"flow\":{}}", "/flow"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"traps\":{}}", "/traps"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"syslog\":{}}", "/syslog"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"gnmi_dialout\":{}}", "/gnmi_dialout"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":3}", "/snmpv3"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"auth_protocol\":7,\"password\":\"longenough\"}}",
		"/snmpv3/auth_protocol"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"auth_protocol\":\"sha3\",\"password\":\"longenough\"}}",
		"/snmpv3/auth_protocol"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"auth_protocol\":1}}",
		"/snmpv3/password"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"auth_protocol\":1,\"password\":\"7 bytes\"}}",
		"/snmpv3/password"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"priv_protocol\":\"aes\",\"password\":\"longenough\"}}",
		"/snmpv3/priv_protocol"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"enabled\":false,"
	 "\"engine_id\":\"8000\"}}",
		"/snmpv3/engine_id"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"engine_id\":"
	 "\"0x0000000000\"}}",
		"/snmpv3/engine_id"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"engine_ids\":"
	 "\"8000000001\"}}",
		"/snmpv3/engine_ids"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"username\":\"a\","
	 "\"min_security_level\":\"auth\"}}",
		"/snmpv3/min_security_level"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"users\":[{"
	 "\"username\":\"a\"},{\"username\":\"a\"}]}}",
		"/snmpv3/users/1/username"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"users\":[{"
	 "\"password\":\"longenough\"}]}}",
		"/snmpv3/users/0/username"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"snmpv3\":{\"contexts\":[\"\"]}}",
		"/snmpv3/contexts"},
	{"{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"if_flap_scenario\":\"rare\"}",
		"/if_flap_scenario"},
};

START_TEST(bad_bodies_are_refused_by_name)
{
	struct scene *s = scene_up();
	for (unsigned i = 0; i < ARRAY_SIZE(bad_bodies); i++) {
		json_t *j = scene_json(s, POST, "/api/v1/devices", NULL, bad_bodies[i].body, 400);
		ck_assert(json_is_false(at(j, "success")));
		ck_assert_str_eq(str_at(j, "detail.field"), bad_bodies[i].field);
		ck_assert_str_eq(str_at(j, "detail.code"), "EINVAL");
		ck_assert_msg(strncmp(str_at(j, "message"), bad_bodies[i].field + 1,
				      strlen(bad_bodies[i].field) - 1) == 0,
			"%s", str_at(j, "message"));
		json_decref(j);
	}
	ck_assert_uint_eq(fleet_count(s->fleet), 0);
	ck_assert_uint_eq(s->prepared, 0);
	scene_down(s);
}
END_TEST

START_TEST(a_failed_batch_tells_why)
{
	struct scene *s = scene_up();
	s->prepare_result = -EPERM;
	json_t *j = scene_json(s, POST, "/api/v1/devices", NULL, TEN, 500);
	ck_assert_str_eq(str_at(j, "message"), "snmp_port: the network says no");
	ck_assert_str_eq(str_at(j, "detail.code"), "EPERM");
	json_decref(j);
	s->prepare_result = -EEXIST;
	json_decref(scene_json(s, POST, "/api/v1/devices", NULL, TEN, 400));
	ck_assert_uint_eq(fleet_count(s->fleet), 0);
	scene_down(s);
}
END_TEST

START_TEST(ranges_that_meet_are_refused_while_one_is_made)
{
	struct scene *s = scene_up();
	__atomic_store_n(&s->hold, true, __ATOMIC_RELAXED);
	json_decref(scene_json(s, POST, "/api/v1/devices", "Prefer: respond-async", TEN, 202));
	struct answer a = scene_ask(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.10\",\"device_count\":10}");
	ck_assert_uint_eq(a.status, 409);
	ck_assert_str_eq(a.reply.headers[0].name, "Retry-After");
	ck_assert_str_eq(a.reply.headers[0].value, "5");
	ck_assert_ptr_nonnull(strstr(a.text.s, "127.1.0.1-127.1.0.10"));
	answer_done(&a);
	json_t *j = scene_json(s, GET, "/api/v1/batches", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 1);
	ck_assert_int_eq(int_at(j, "data.0.id"), 1);
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/status", NULL, NULL, 200);
	ck_assert(json_is_true(at(j, "data.create_batch_in_progress")));
	ck_assert_int_eq(int_at(j, "data.create_batch_requested"), 10);
	ck_assert_int_eq(int_at(j, "data.device_create_progress"), 0);
	json_decref(j);
	/* What does not meet it is made meanwhile, once it may be prepared. */
	json_decref(scene_json(s, POST, "/api/v1/devices", "Prefer: respond-async",
		"{\"start_ip\":\"127.1.0.11\",\"device_count\":10}", 202));
	__atomic_store_n(&s->hold, false, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 20000 && fleet_count(s->fleet) < 20; i++)
		(void)poll(NULL, 0, 1);
	ck_assert_uint_eq(fleet_count(s->fleet), 20);
	scene_down(s);
}
END_TEST

START_TEST(the_list_turns_pages)
{
	struct scene *s = scene_up();
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":1000,\"round_robin\":true,"
		  "\"snmp_port\":1161}");
	json_t *j = scene_json(s, GET, "/api/v1/devices", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 1000);
	ck_assert(json_is_null(at(j, "page.next")));
	ck_assert_int_eq(int_at(j, "page.total"), 1000);
	json_decref(j);
	char target[128] = "/api/v1/devices?limit=300", last[64] = "";
	unsigned seen = 0, pages = 0;
	for (bool more = true; more; pages++) {
		j = scene_json(s, GET, target, NULL, NULL, 200);
		size_t i;
		json_t *row;
		json_array_foreach(at(j, "data"), i, row)
		{
			struct addr a, b;
			ck_assert_int_eq(addr_parse(str_at(row, "ip"), &a), 0);
			ck_assert(!*last || (addr_parse(last, &b) == 0 && addr_cmp(&b, &a) < 0));
			(void)snprintf(last, sizeof(last), "%s", str_at(row, "ip"));
			seen++;
		}
		more = json_is_string(at(j, "page.next"));
		(void)snprintf(target, sizeof(target), "/api/v1/devices?limit=300&after=%s",
			str_at(j, "page.next"));
		json_decref(j);
	}
	ck_assert_uint_eq(seen, 1000);
	ck_assert_uint_eq(pages, 4);
	/* A page that ends with the fleet says so. */
	j = scene_json(s, GET, "/api/v1/devices?limit=1000", NULL, NULL, 200);
	ck_assert(json_is_null(at(j, "page.next")));
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(the_list_is_filtered)
{
	struct scene *s = scene_up();
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":290,\"round_robin\":true}");
	json_t *j = scene_json(s, GET, "/api/v1/devices?type=cisco_ios.json", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 10);
	ck_assert_str_eq(str_at(j, "data.0.resource_file"), "cisco_ios.json");
	ck_assert_str_eq(str_at(j, "data.9.detail.type"), "cisco_ios");
	ck_assert_ptr_null(at(j, "page.total"));
	json_decref(j);
	/* Exactly as many as there are: no next page. */
	j = scene_json(s, GET, "/api/v1/devices?type=cisco_ios&limit=10", NULL, NULL, 200);
	ck_assert(json_is_null(at(j, "page.next")));
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/devices?type=cisco_ios&limit=9", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 9);
	ck_assert_str_eq(str_at(j, "page.next"), str_at(j, "data.8.ip"));
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/devices?q=127.1.0.20", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 11); /* .20, .200 to .209 */
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/devices?q=CISCO-IOS", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 10);
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/devices?q=no+such", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 0);
	json_decref(j);
	static const char *const bad[] = {"limit=0", "limit=-1", "limit=x", "limit=4294967296",
		"after=x", "type=", "q=", "color=red"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		char target[64];
		(void)snprintf(target, sizeof(target), "/api/v1/devices?%s", bad[i]);
		json_decref(scene_json(s, GET, target, NULL, NULL, 400));
	}
	scene_down(s);
}
END_TEST

START_TEST(documented_keys_keep_their_order)
{
	struct scene *s = scene_up();
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"resource_file\":"
		  "\"cisco_ios.json\",\"snmp_port\":1161}");
	create(s, "{\"start_ip\":\"127.1.0.2\",\"device_count\":1}");
	struct answer a = scene_ask(s, GET, "/api/v1/devices", NULL, NULL);
	const char *head =
		"{\"success\":true,\"message\":\"Success\",\"data\":[\n{\"id\":\"cisco-ios-127.1.0."
		"1\","
		"\"ip\":\"127.1.0.1\",\"snmp_port\":1161,\"ssh_port\":0,\"running\":true,"
		"\"resource_file\":\"cisco_ios.json\",\"device_type\":\"Cisco IOS\","
		"\"location\":\"";
	ck_assert_msg(strncmp(a.text.s, head, strlen(head)) == 0, "%s", a.text.s);
	ck_assert_ptr_nonnull(strstr(a.text.s, "\"detail\":{\"sys_name\":\""));
	answer_done(&a);
	json_t *j = scene_json(s, GET, "/api/v1/devices/127.1.0.2", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "data.id"), "127.1.0.2");
	ck_assert_str_eq(str_at(j, "data.device_type"), "Default");
	ck_assert_ptr_null(at(j, "data.resource_file"));
	ck_assert_int_eq(int_at(j, "data.snmp_port"), 161);
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(one_device_is_shown_whole)
{
	struct scene *s = scene_up();
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":1,\"resource_file\":"
		  "\"cisco_ios.json\"}");
	clk_step_ns(s->f.clk, 90 * NS_PER_SEC);
	json_t *j = scene_json(s, GET, "/api/v1/devices/cisco-ios-127.1.0.1", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "data.detail.type"), "cisco_ios");
	ck_assert_str_eq(str_at(j, "data.detail.mac"), "02:42:7f:01:00:01");
	ck_assert_double_eq_tol(json_number_value(at(j, "data.detail.uptime_seconds")), 90, 1e-6);
	ck_assert_int_eq(int_at(j, "data.detail.snmp.in_pkts"), 0);
	size_t n = json_array_size(at(j, "data.detail.interfaces"));
	ck_assert_uint_gt(n, 1);
	ck_assert_int_eq(int_at(j, "page.total"), (int64_t)n);
	ck_assert(json_is_null(at(j, "page.next")));
	int64_t second = int_at(j, "data.detail.interfaces.1.index");
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/devices/127.1.0.1?limit=1", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data.detail.interfaces")), 1);
	char target[64];
	(void)snprintf(target, sizeof(target), "/api/v1/devices/127.1.0.1?limit=1&after=%s",
		str_at(j, "page.next"));
	json_decref(j);
	j = scene_json(s, GET, target, NULL, NULL, 200);
	ck_assert_int_eq(int_at(j, "data.detail.interfaces.0.index"), second);
	json_decref(j);
	static const char *const unknown[] = {"127.1.0.2", "cisco-ios-127.1.0.2", "asr9k-127.1.0.1",
		"cisco_ios-127.1.0.1", "x", "127.1.0.1-", "%20127.1.0.1"};
	for (unsigned i = 0; i < ARRAY_SIZE(unknown); i++) {
		(void)snprintf(target, sizeof(target), "/api/v1/devices/%s", unknown[i]);
		json_decref(scene_json(s, GET, target, NULL, NULL, 404));
		json_decref(scene_json(s, DELETE, target, NULL, NULL, 404));
	}
	scene_down(s);
}
END_TEST

START_TEST(devices_are_deleted)
{
	struct scene *s = scene_up();
	create(s, TEN);
	json_t *j = scene_json(s, DELETE, "/api/v1/devices/127.1.0.3", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "message"), "Device 127.1.0.3 deleted");
	ck_assert_ptr_null(at(j, "data"));
	json_decref(j);
	json_decref(scene_json(s, DELETE, "/api/v1/devices/127.1.0.3", NULL, NULL, 404));
	ck_assert_uint_eq(fleet_count(s->fleet), 9);
	ck_assert_uint_eq(s->undone, 0);
	j = scene_json(s, DELETE, "/api/v1/devices", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "message"), "All devices deleted");
	json_decref(j);
	ck_assert_uint_eq(fleet_count(s->fleet), 0);
	ck_assert_uint_eq(s->undone, 1);
	j = scene_json(s, GET, "/api/v1/devices", NULL, NULL, 200);
	ck_assert(json_is_array(at(j, "data")));
	ck_assert_int_eq(int_at(j, "page.total"), 0);
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(exports_have_a_line_a_device)
{
	struct scene *s = scene_up();
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":2,\"resource_file\":"
		  "\"cisco_ios.json\",\"snmp_port\":1161}");
	create(s, "{\"start_ip\":\"127.1.0.9\",\"device_count\":1}");
	struct answer a = scene_ask(s, GET, "/api/v1/devices/export", NULL, NULL);
	ck_assert_str_eq(a.text.s,
		"Device ID,IP Address,Interface,SNMP Port,SSH Port,Status,Resource File\n"
		"cisco-ios-127.1.0.1,127.1.0.1,N/A,1161,0,Running,cisco_ios.json\n"
		"cisco-ios-127.1.0.2,127.1.0.2,N/A,1161,0,Running,cisco_ios.json\n"
		"127.1.0.9,127.1.0.9,N/A,161,0,Running,N/A\n");
	ck_assert_str_eq(a.reply.type, "text/csv; charset=utf-8");
	ck_assert_str_eq(a.reply.headers[0].value,
		"attachment; filename=\"devices_2026-03-01_09-00-00.csv\"");
	answer_done(&a);
	json_t *j = scene_json(s, GET, "/api/v1/prometheus/sd", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(j), 3);
	ck_assert_str_eq(str_at(j, "0.targets.0"), "127.1.0.1:1161");
	ck_assert_str_eq(str_at(j, "2.targets.0"), "127.1.0.9");
	ck_assert_str_eq(str_at(j, "0.labels.__meta_nl6_resource"), "cisco_ios");
	ck_assert_str_eq(str_at(j, "2.labels.__meta_nl6_resource"), "asr9k");
	ck_assert_str_eq(str_at(j, "2.labels.__meta_nl6_device_type"), "Default");
	ck_assert_str_eq(str_at(j, "2.labels.__meta_nl6_snmp_port"), "161");
	json_decref(j);
	scene_down(s);
}
END_TEST

/* The lines between "routes=(" and ")". */
static void routes_of(struct scene *s, char *buf, size_t room)
{
	struct answer a = scene_ask(s, GET, "/api/v1/devices/routes", NULL, NULL);
	ck_assert_str_eq(a.reply.type, "application/x-sh");
	const char *from = strstr(a.text.s, "\nroutes=(\n");
	ck_assert_ptr_nonnull(from);
	from += strlen("\nroutes=(\n");
	const char *to = strstr(from, ")\n");
	ck_assert_ptr_nonnull(to);
	(void)snprintf(buf, room, "%.*s", (int)(to - from), from);
	answer_done(&a);
}

START_TEST(the_route_script_has_the_fewest_prefixes)
{
	struct scene *s = scene_up();
	char buf[4096];
	create(s, "{\"start_ip\":\"127.1.0.1\",\"device_count\":300}");
	routes_of(s, buf, sizeof(buf));
	ck_assert_str_eq(buf, "\n");
	/* The hosts that a /24 skips, .255 and .0, lie within the run. */
	create(s, "{\"start_ip\":\"10.0.0.0\",\"device_count\":1}");
	create(s, "{\"start_ip\":\"10.0.0.1\",\"device_count\":254,\"netmask\":\"24\"}");
	create(s, "{\"start_ip\":\"10.0.1.1\",\"device_count\":254,\"netmask\":\"24\"}");
	create(s, "{\"start_ip\":\"10.0.1.255\",\"device_count\":1}");
	create(s, "{\"start_ip\":\"10.0.3.7\",\"device_count\":1}");
	create(s, "{\"start_ip\":\"2001:db8::2\",\"device_count\":2}");
	routes_of(s, buf, sizeof(buf));
	ck_assert_str_eq(buf, "10.0.0.0/23\n10.0.3.7/32\n2001:db8::2/127\n");
	scene_down(s);
}
END_TEST

static int create_once(struct fake *f UNUSED, void *arg)
{
	struct scene *s = arg;
	struct answer a = scene_ask(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.1\",\"device_count\":600,\"resource_file\":"
		"\"cisco_ios.json\",\"snmp_port\":1161,\"pre_allocate\":true}");
	/* All of it, or a clean error. */
	uint64_t n = fleet_count(s->fleet);
	bool made = a.status == 201;
	ck_assert_msg(made || a.status == 500, "%u %s", a.status, a.text.s);
	ck_assert_msg(n == 600 || (n == 0 && !made), "%u devices: %s", (unsigned)n, a.text.s);
	answer_done(&a);
	return made ? 0 : -ENOMEM;
}

/* The whole life of the API around one create, so that what is left can be counted. */
static int live_once(struct fake *f, void *arg UNUSED)
{
	struct scene *s = calloc(1, sizeof(*s));
	ck_assert_ptr_nonnull(s);
	s->f = *f;
	int r = scene_try(s, NULL);
	if (r == 0)
		r = create_once(f, s);
	scene_clear(s);
	free(s);
	return r;
}

START_TEST(each_allocation_of_a_create_may_fail)
{
	struct fake f = fake_make();
	rcu_thread_init();
	/* All but jansson's: version 2.14 writes past its buffer when its own growth fails. */
	fake_fail_each(&f, live_once, NULL);
	rcu_thread_done();
	fake_done(&f);
}
END_TEST

UNIT_MAIN(a_create_answers_when_it_is_done, a_create_may_be_asked_about_later,
	meaningless_keys_are_answered_in_warnings, bad_bodies_are_refused_by_name,
	a_failed_batch_tells_why, ranges_that_meet_are_refused_while_one_is_made,
	the_list_turns_pages, the_list_is_filtered, documented_keys_keep_their_order,
	one_device_is_shown_whole, devices_are_deleted, exports_have_a_line_a_device,
	the_route_script_has_the_fewest_prefixes, each_allocation_of_a_create_may_fail)
