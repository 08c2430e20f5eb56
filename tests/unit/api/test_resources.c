#include "api/openapi.h"
#include "api/sysinfo.h"
#include "scene.h"
#include <unistd.h>

START_TEST(types_are_listed_in_order)
{
	struct scene *s = scene_up();
	json_t *j = scene_json(s, GET, "/api/v1/resources", NULL, NULL, 200);
	ck_assert_uint_eq(json_array_size(at(j, "data")), 29);
	ck_assert_str_eq(str_at(j, "data.0.filename"), "cisco_catalyst_9500.json");
	ck_assert_str_eq(str_at(j, "data.0.category"), "Network Devices");
	ck_assert_str_eq(str_at(j, "data.0.type"), "Cisco Router/Switch");
	ck_assert_str_eq(str_at(j, "data.28.filename"), "ciena_waveserver5.json");
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(a_reload_tells_what_it_forgot)
{
	static const struct {
		const char *body;
		unsigned status;
	} refused[] = {
		{"{\"resource_file\":\"\"}", 400},
		{"{\"resource_file\":\"asr9k\"}", 400},
		{"{\"resource_file\":\"no_such.json\"}", 400},
		{"{\"resource_file\":\"../devices/asr9k.json\"}", 400},
		{"{\"resource\":\"asr9k.json\"}", 400},
		{"x", 400},
		{"{\"resource_file\":\"linux_server.json\"}", 404},
	};
	struct scene *s = scene_up();
	json_decref(scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.1\",\"device_count\":3}", 201));
	json_decref(scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.1.1\",\"device_count\":2,\"resource_file\":"
		"\"cisco_ios.json\"}",
		201));
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++)
		json_decref(scene_json(s, POST, "/api/v1/resources/reload", NULL, refused[i].body,
			refused[i].status));
	json_t *j = scene_json(s, POST, "/api/v1/resources/reload", NULL,
		"{\"resource_file\":\"asr9k.json\"}", 200);
	ck_assert_uint_eq(json_array_size(at(j, "data.evicted")), 1);
	ck_assert_str_eq(str_at(j, "data.evicted.0"), "asr9k.json");
	ck_assert_int_eq(json_integer_value(json_object_get(
				 at(j, "data.devices_on_old_snapshot"), "asr9k.json")),
		3);
	ck_assert(json_is_true(json_object_get(at(j, "data.present_on_disk"), "asr9k.json")));
	json_decref(j);
	/* No body, null or no name: all that is loaded. */
	j = scene_json(s, POST, "/api/v1/resources/reload", NULL, "", 200);
	ck_assert_uint_eq(json_array_size(at(j, "data.evicted")), 1);
	ck_assert_str_eq(str_at(j, "data.evicted.0"), "cisco_ios.json");
	json_decref(j);
	j = scene_json(s, POST, "/api/v1/resources/reload", NULL, "{\"resource_file\":null}", 200);
	ck_assert_uint_eq(json_array_size(at(j, "data.evicted")), 0);
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(the_status_counts)
{
	struct scene *s = scene_up();
	json_decref(scene_json(s, POST, "/api/v1/devices", NULL,
		"{\"start_ip\":\"127.1.0.1\",\"device_count\":30,\"round_robin\":true}", 201));
	clk_step_ns(s->f.clk, 61 * NS_PER_SEC);
	json_t *j = scene_json(s, GET, "/api/v1/status", NULL, NULL, 200);
	static const char *const keys[] = {"create_batch_in_progress", "create_batch_requested",
		"resource_reload_in_progress", "is_pre_allocating", "pre_alloc_progress",
		"pre_alloc_total", "is_creating_devices", "device_create_progress",
		"device_create_total", "total_devices", "running_devices"};
	unsigned i = 0;
	const char *key;
	json_t *value;
	json_object_foreach(at(j, "data"), key, value)
	{
		if (i < ARRAY_SIZE(keys))
			ck_assert_str_eq(key, keys[i]);
		i++;
	}
	ck_assert_uint_gt(i, ARRAY_SIZE(keys));
	ck_assert(json_is_false(at(j, "data.create_batch_in_progress")));
	ck_assert_int_eq(int_at(j, "data.total_devices"), 30);
	ck_assert_int_eq(int_at(j, "data.running_devices"), 30);
	ck_assert_int_eq(int_at(j, "data.fleet.types"), 29);
	ck_assert_int_gt(int_at(j, "data.fleet.interfaces"), 29);
	ck_assert_int_eq(int_at(j, "data.fleet.seed"), 1);
	ck_assert_int_eq(int_at(j, "data.uptime_seconds"), 61);
	ck_assert(json_is_object(at(j, "data.lab")));
	ck_assert_int_eq(int_at(j, "data.counters.http.requests"), 0);
	ck_assert_int_eq(int_at(j, "data.counters.watch.connections"), 0);
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(the_host_is_told)
{
	struct scene *s = scene_up();
	json_t *j = scene_json(s, GET, "/api/v1/system-stats", NULL, NULL, 200);
	double total = json_number_value(at(j, "data.total_memory_mb"));
	double used = json_number_value(at(j, "data.used_memory_mb"));
	double unused = json_number_value(at(j, "data.free_memory_mb"));
	ck_assert_double_gt(total, 0);
	ck_assert_double_eq_tol(used + unused, total, 0.02);
	ck_assert_double_gt(json_number_value(at(j, "data.simulator_memory_mb")), 0);
	ck_assert_int_eq(int_at(j, "data.num_cpu"), sysconf(_SC_NPROCESSORS_ONLN));
	double cpu = json_number_value(at(j, "data.cpu_usage_percent"));
	ck_assert(cpu >= 0 && cpu <= 100);
	ck_assert_int_gt(int_at(j, "data.process.file_descriptors"), 2);
	ck_assert_int_gt(int_at(j, "data.process.threads"), 0);
	json_decref(j);
	j = scene_json(s, GET, "/api/v1/version", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "version"), "v0.0.0");
	ck_assert_uint_eq(json_object_size(j), 1);
	json_decref(j);
	struct answer a = scene_ask(s, GET, "/health", NULL, NULL);
	ck_assert_str_eq(a.text.s, "OK");
	answer_done(&a);
	scene_down(s);
}
END_TEST

START_TEST(cpu_is_measured_between_two_questions)
{
	struct sysinfo_cpu a = {100, 1000}, b = {150, 1100}, same = b;
	ck_assert_double_eq_tol(sysinfo_cpu_percent(&a, &b), 50, 1e-9);
	ck_assert_double_eq_tol(sysinfo_cpu_percent(&b, &same), 0, 1e-9);
	struct sysinfo_self self;
	sysinfo_read_self(&self);
	ck_assert_uint_gt(self.resident_bytes, 0);
	ck_assert_uint_ge(self.virtual_bytes, self.resident_bytes);
	ck_assert_uint_gt(self.anonymous_bytes, 0);
	int fd = dup(0);
	struct sysinfo_self more;
	sysinfo_read_self(&more);
	ck_assert_uint_eq(more.fds, self.fds + (fd >= 0));
	(void)close(fd);
	struct timespec now;
	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	ck_assert(self.start_unix_seconds > (double)now.tv_sec - 3600 &&
		  self.start_unix_seconds <= (double)now.tv_sec + 1);
}
END_TEST

/* Every sample line belongs to the family that was opened last, and each family is opened once. */
static void check_exposition(const char *text, bool plain)
{
	static char families[512][128];
	unsigned n = 0;
	char family[128] = "", line[512];
	for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
		(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
		if (strncmp(line, "# TYPE ", 7) == 0) {
			(void)sscanf(line, "# TYPE %127s", family);
			for (unsigned i = 0; i < n; i++)
				ck_assert_str_ne(families[i], family);
			ck_assert_uint_lt(n, 512);
			(void)strcpy(families[n++], family);
		} else if (line[0] != '#') {
			size_t len = strcspn(line, "{ ");
			const char *suffix =
				!plain && strncmp(line + len - 6, "_total", 6) == 0 ? "_total" : "";
			ck_assert_msg(len == strlen(family) + strlen(suffix) &&
					      strncmp(line, family, strlen(family)) == 0,
				"%s in %s", line, family);
		}
	}
	ck_assert_uint_gt(n, 10);
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
}

START_TEST(metrics_have_every_counter)
{
	struct scene *s = scene_up();
	struct answer a = scene_ask(s, GET, "/metrics", NULL, NULL);
	ck_assert_str_eq(
		a.reply.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
	check_exposition(a.text.s, false);
	ck_assert_ptr_nonnull(strstr(a.text.s, "# TYPE nl6_http_requests counter\n"));
	ck_assert_ptr_nonnull(strstr(a.text.s, "\nnl6_http_requests_total 0\n"));
	ck_assert_ptr_nonnull(strstr(a.text.s, "\nnl6_watch_connections 0\n"));
	ck_assert_ptr_nonnull(strstr(a.text.s, "# TYPE nl6_fleet_devices gauge\n"));
	ck_assert_ptr_nonnull(strstr(a.text.s, "\nnl6_build_info{version=\"v0.0.0\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(a.text.s, "\nprocess_open_fds "));
	answer_done(&a);
	a = scene_ask(s, GET, "/metrics", "Accept: text/plain;version=0.0.4, */*;q=0.1", NULL);
	ck_assert_str_eq(a.reply.type, "text/plain; version=0.0.4; charset=utf-8");
	check_exposition(a.text.s, true);
	ck_assert_ptr_nonnull(strstr(a.text.s, "# TYPE nl6_http_requests_total counter\n"));
	answer_done(&a);
	a = scene_ask(s, GET, "/metrics",
		"Accept: text/plain;q=0.5, application/openmetrics-text;version=1.0.0", NULL);
	ck_assert_ptr_nonnull(strstr(a.reply.type, "openmetrics"));
	answer_done(&a);
	scene_down(s);
}
END_TEST

START_TEST(openapi_describes_every_route)
{
	struct scene *s = scene_up();
	json_t *j = scene_json(s, GET, "/api/v1/openapi.json", NULL, NULL, 200);
	ck_assert_str_eq(str_at(j, "openapi"), "3.0.3");
	json_t *paths = at(j, "paths");
	for (unsigned t = 0; scene_routes[t]; t++)
		for (const struct route *r = scene_routes[t]; r->path; r++) {
			json_t *path = json_object_get(paths, r->path);
			char method[16];
			(void)snprintf(method, sizeof(method), "%s", method_name(r->method));
			for (char *c = method; *c; c++)
				*c |= 0x20;
			json_t *op = json_object_get(path, method);
			ck_assert_msg((op != NULL) == (r->answers != NULL), "%s", r->path);
			if (!op)
				continue;
			ck_assert_ptr_nonnull(at(op, "responses.default"));
			ck_assert_str_ne(str_at(op, "summary"), "(none)");
			ck_assert_ptr_nonnull(at(op, "operationId"));
		}
	json_t *body = at(json_object_get(paths, "/api/v1/devices"), "post.requestBody.content");
	body = at(json_object_get(body, "application/json"), "schema");
	ck_assert_int_eq(int_at(body, "properties.device_count.maximum"), 16000000);
	ck_assert_str_eq(str_at(body, "required.1"), "device_count");
	json_decref(j);
	scene_down(s);
}
END_TEST

START_TEST(the_console_is_served)
{
	struct scene *s = scene_up();
	char web[600];
	s->api = api_free(s->api);
	(void)snprintf(web, sizeof(web), "%s/../web", s->builtin_dir);
	struct api_env env = {.mem = s->f.mem,
		.clk = s->f.clk,
		.stats = s->stats,
		.fleet = s->fleet,
		.batches = s->batches,
		.types = s->types,
		.routes = scene_routes,
		.version = "v0.0.0",
		.web_dir = web};
	struct api_conf conf = {.connections = 8, .connections_per_address = 8};
	struct fault fault;
	ck_assert_int_eq(api_new(&env, &conf, &s->api, &fault), 0);
	static const char *const pages[] = {
		"/", "/ui", "/web/index.html", "/?x=1", "/web/index.html?v=2"};
	char tag[256] = "";
	for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
		struct answer a = scene_ask(s, GET, pages[i], NULL, NULL);
		ck_assert_uint_eq(a.status, 200);
		ck_assert_str_eq(a.reply.type, "text/html; charset=utf-8");
		ck_assert(a.reply.static_file);
		ck_assert_str_eq(a.reply.headers[0].name, "ETag");
		(void)snprintf(tag, sizeof(tag), "If-None-Match: W/%s", a.reply.headers[0].value);
		answer_done(&a);
	}
	struct answer a = scene_ask(s, GET, "/", tag, NULL);
	ck_assert_uint_eq(a.status, 304);
	ck_assert_uint_eq(a.text.len, 0);
	answer_done(&a);
	static const char *const bad[] = {"/web/", "/web/no.js", "/web/..%2f..%2fVERSION",
		"/web/../VERSION", "/web/js", "/web//index.html", "/web/%2e%2e/VERSION",
		"/web/.hidden", "/web/js/../index.html"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		json_decref(scene_json(s, GET, bad[i], NULL, NULL, 404));
	scene_down(s);
}
END_TEST

static int write_once(struct fake *f, void *arg)
{
	AUTO_TEXT struct text t = TEXT(f->mem);
	return openapi_write(arg, "v0", &t);
}

START_TEST(each_allocation_of_openapi_may_fail)
{
	struct fake f = fake_make();
	struct router *r = NULL;
	ck_assert_int_eq(router_new(f.mem, scene_routes, &r), 0);
	fake_fail_each(&f, write_once, r);
	r = router_free(r);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(types_are_listed_in_order, a_reload_tells_what_it_forgot, the_status_counts,
	the_host_is_told, cpu_is_measured_between_two_questions, metrics_have_every_counter,
	openapi_describes_every_route, the_console_is_served, each_allocation_of_openapi_may_fail)
