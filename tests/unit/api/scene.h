/* The API with a fleet behind it and no socket before it: requests go straight to their handlers,
 * as exchange.c would bring them. */
#pragma once
#include "api/api.h"
#include "base/log.h"
#include "base/rcu.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include "sim/fleet/batch.h"
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct route *const scene_routes[] = {batches_routes, console_routes, devices_routes,
	health_routes, metrics_routes, openapi_routes, resources_routes, sd_routes, status_routes,
	system_stats_routes, version_routes, NULL};

struct scene {
	struct fake f;
	struct stats *stats;
	struct fleet *fleet;
	struct types *types;
	struct batches *batches;
	struct api *api;
	/* What the batches' prepare says, and how often it was called and undone. */
	int prepare_result;
	uint32_t prepared, undone;
	bool hold; /* atomic: prepare waits while it is set */
	char builtin_dir[512];
};
/* The answer, its stream read to the end. */
struct answer {
	unsigned status; /* 0: the stream broke off */
	struct reply reply;
	struct text text;
};

static int scene_prepare(void *arg, const struct addr *first UNUSED, const struct addr *last UNUSED,
	uint16_t port UNUSED, struct fault *reterr_fault)
{
	struct scene *s = arg;
	(void)__atomic_add_fetch(&s->prepared, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&s->hold, __ATOMIC_RELAXED))
		(void)poll(NULL, 0, 1);
	if (s->prepare_result < 0)
		return fault_set(
			reterr_fault, s->prepare_result, "/snmp_port", NULL, "the network says no");
	return 0;
}

static void scene_undo(void *arg, const struct addr *first UNUSED, const struct addr *last UNUSED,
	uint16_t port UNUSED)
{
	(void)__atomic_add_fetch(&((struct scene *)arg)->undone, 1, __ATOMIC_RELAXED);
}

/* 0 or -ENOMEM; either way scene_down cleans up. */
static inline int scene_try(struct scene *s, const char *web_dir)
{
	const char *root = getenv("SOURCE_ROOT");
	(void)snprintf(s->builtin_dir, sizeof(s->builtin_dir), "%s/devices", root ? root : ".");
	int r = stats_new(s->f.mem, &s->stats);
	struct fleet_env fleet_env = {s->f.mem, s->f.clk, s->stats};
	struct fleet_conf fleet_conf = {.seed = 1};
	if (r == 0)
		r = fleet_new(&fleet_env, &fleet_conf, &s->fleet);
	struct types_env types_env = {s->f.mem};
	struct types_conf types_conf = {s->builtin_dir, NULL};
	if (r == 0)
		r = types_new(&types_env, &types_conf, &s->types);
	struct batches_env batches_env = {.mem = s->f.mem,
		.clk = s->f.clk,
		.stats = s->stats,
		.fleet = s->fleet,
		.prepare = scene_prepare,
		.undo = scene_undo,
		.arg = s};
	if (r == 0)
		r = batches_new(&batches_env, &s->batches);
	if (r == 0)
		r = batches_start(s->batches);
	struct api_env env = {.mem = s->f.mem,
		.clk = s->f.clk,
		.stats = s->stats,
		.fleet = s->fleet,
		.batches = s->batches,
		.types = s->types,
		.routes = scene_routes,
		.version = "v0.0.0",
		.web_dir = web_dir};
	struct api_conf conf = {.connections = 8, .connections_per_address = 8};
	return r == 0 ? api_new(&env, &conf, &s->api, NULL) : r;
}

static inline struct scene *scene_up(void)
{
	struct scene *s = calloc(1, sizeof(*s));
	ck_assert_ptr_nonnull(s);
	s->f = fake_make();
	rcu_thread_init();
	ck_assert_int_eq(scene_try(s, NULL), 0);
	return s;
}

static inline void scene_clear(struct scene *s)
{
	s->api = api_free(s->api);
	s->batches = batches_free(s->batches);
	s->fleet = fleet_free(s->fleet);
	s->types = types_free(s->types);
	s->stats = stats_free(s->stats);
}

static inline void scene_down(struct scene *s)
{
	scene_clear(s);
	rcu_thread_done();
	fake_done(&s->f);
	free(s);
}

struct scene_wait {
	struct lock lock;
	struct cond woken;
	bool is_woken;
};
static void scene_park(void *arg)
{
	(void)arg;
}
static void scene_unpark(void *arg)
{
	struct scene_wait *w = arg;
	LOCK_SCOPE(&w->lock);
	w->is_woken = true;
	cond_wake(&w->woken);
}
static inline void scene_await(struct later *l)
{
	struct scene_wait w = {.is_woken = false};
	lock_init(&w.lock);
	cond_init(&w.woken);
	if (later_park(l, scene_park, scene_unpark, &w) == 0) {
		LOCK_SCOPE(&w.lock);
		while (!w.is_woken)
			cond_wait(&w.woken, &w.lock);
	}
	later_forget(l);
	cond_done(&w.woken);
	lock_done(&w.lock);
}

/* One header, "Name: value", or NULL. */
static const char *scene_header(void *arg, const char *name)
{
	const char *h = arg;
	size_t n = strlen(name);
	return h && strncasecmp(h, name, n) == 0 && h[n] == ':' ? h + n + 2 : NULL;
}

static inline void scene_read_stream(struct answer *a)
{
	char buf[777]; /* odd, so that what is cut is cut anywhere */
	ssize_t n;
	while ((n = a->reply.stream.read(a->reply.stream.arg, buf, sizeof(buf))) > 0)
		text_write(&a->text, buf, (size_t)n);
	if (n != REPLY_STREAM_END)
		a->status = 0;
	a->reply.stream.done(a->reply.stream.arg);
	a->reply.stream = (struct reply_stream){0};
}

static inline struct answer scene_ask(struct scene *s, enum method method, const char *target,
	const char *header, const char *body)
{
	static char target_buf[1024];
	unsigned allowed = 0;
	struct request rq = {.mem = s->f.mem,
		.api = s->api,
		.method = method,
		.header = scene_header,
		.header_arg = (void *)(uintptr_t)header,
		.body = body ? body : "",
		.body_bytes = body ? strlen(body) : 0};
	reply_init(&rq.reply, s->f.mem);
	(void)snprintf(target_buf, sizeof(target_buf), "%s", target);
	int r = url_parse(target_buf, &rq.url, &rq.fault);
	if (r == 0)
		r = router_find(api_router(s->api), method, &rq.url, &rq.route, &allowed);
	if (r == 0)
		r = route_check_query(rq.route, &rq.url, &rq.fault);
	if (r == 0)
		r = rq.route->handle(&rq);
	if (r == -EINPROGRESS) {
		scene_await(rq.later);
		r = rq.resume(&rq);
	}
	if (r < 0)
		reply_error(&rq, r);
	struct answer a = {
		.status = rq.reply.status, .reply = rq.reply, .text = {.mem = &mem_libc}};
	if (a.reply.stream.read)
		scene_read_stream(&a);
	else if (a.reply.fixed)
		text_write(&a.text, a.reply.fixed, a.reply.fixed_bytes);
	else if (a.reply.body.len)
		text_write(&a.text, a.reply.body.s, a.reply.body.len);
	if (rq.reply.body.err < 0)
		a.status = 500; /* as send.c would */
	rq.reply.stream = (struct reply_stream){0};
	request_done(&rq);
	a.reply.body = (struct text){0};
	return a;
}

static inline void answer_done(struct answer *a)
{
	text_done(&a->text);
}

/* Asks and checks the status; the JSON of the answer is the caller's. */
static inline json_t *scene_json(struct scene *s, enum method method, const char *target,
	const char *header, const char *body, unsigned status)
{
	struct answer a = scene_ask(s, method, target, header, body);
	ck_assert_msg(a.status == status, "%s: %u %s", target, a.status, a.text.s);
	json_error_t error;
	json_t *j = json_loads(a.text.s ? a.text.s : "", JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(j, "%s: %s", error.text, a.text.s);
	answer_done(&a);
	return j;
}
/* A member by its path, "data.detail.type"; NULL: there is none. */
static inline json_t *at(json_t *j, const char *path)
{
	char name[64];
	while (j && *path) {
		size_t n = strcspn(path, ".");
		(void)snprintf(name, sizeof(name), "%.*s", (int)n, path);
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(name))
				     : json_object_get(j, name);
		path += n + (path[n] == '.');
	}
	return j;
}
static inline const char *str_at(json_t *j, const char *path)
{
	const char *s = json_string_value(at(j, path));
	return s ? s : "(none)";
}
static inline int64_t int_at(json_t *j, const char *path)
{
	ck_assert_msg(json_is_integer(at(j, path)), "%s is no integer", path);
	return json_integer_value(at(j, path));
}
