/* GET /api/v1/status: what goes on. O(batches + settings in use), whatever the size of the fleet.
 */
#include "api/api.h"
#include "api/batch_json.h"
#include "api/otlp_json.h"
#include "net/lab.h"
#include "sim/fleet/store.h"
#include <string.h>

struct progress {
	uint64_t batches, requested, done;
};

static void on_batch(void *arg, const struct batch_info *b)
{
	struct progress *p = arg;
	p->batches++;
	p->requested += b->requested;
	p->done += b->done;
}

/* Types in use; two settings of one type, or two loads of its file, count once. */
struct use {
	uint64_t interfaces, types;
	const char *slugs[256];
};

static void on_conf(void *arg, const struct device_conf *conf, uint64_t devices)
{
	struct use *u = arg;
	u->interfaces += devices * conf->type->n_ifs;
	uint64_t known = MIN(u->types, (uint64_t)ARRAY_SIZE(u->slugs));
	for (uint64_t i = 0; i < known; i++)
		if (strcmp(u->slugs[i], conf->type->slug) == 0)
			return;
	if (u->types < ARRAY_SIZE(u->slugs))
		u->slugs[u->types] = conf->type->slug;
	u->types++;
}

static void put_documented(struct text *t, const struct api_env *env)
{
	struct progress p = {0};
	batch_each_active(env->batches, on_batch, &p);
	uint64_t devices = fleet_count(env->fleet);
	text_kv_bool(t, "create_batch_in_progress", p.batches > 0);
	text_kv_u64(t, "create_batch_requested", p.requested);
	/* Reading a type again and giving out its new form is one step. */
	text_kv_bool(t, "resource_reload_in_progress", false);
	text_kv_bool(t, "is_pre_allocating", false);
	text_kv_u64(t, "pre_alloc_progress", 0);
	text_kv_u64(t, "pre_alloc_total", 0);
	text_kv_bool(t, "is_creating_devices", p.batches > 0);
	text_kv_u64(t, "device_create_progress", p.done);
	text_kv_u64(t, "device_create_total", p.requested);
	text_kv_u64(t, "total_devices", devices);
	text_kv_u64(t, "running_devices", devices);
}

static void put_fleet(struct text *t, const struct api_env *env)
{
	struct use u = {0};
	fleet_each_conf(env->fleet, on_conf, &u);
	text_key(t, "fleet");
	text_put(t, "{");
	text_kv_u64(t, "types", u.types);
	text_kv_u64(t, "interfaces", u.interfaces);
	text_kv_u64(t, "bytes", fleet_bytes(env->fleet));
	text_kv_u64(t, "seed", fleet_seed(env->fleet));
	text_put(t, "}");
}

/* Counters, {"owner":{"field":n}}; instances of a table are added up. */
struct sums {
	struct text *t;
	const char *owner, *field;
	uint64_t sum;
};

static void end_field(struct sums *s)
{
	if (s->field)
		text_kv_u64(s->t, s->field, s->sum);
	s->sum = 0;
}

static void on_counter(void *arg, const struct counter *c, const char *name UNUSED, uint64_t value)
{
	struct sums *s = arg;
	bool new_owner = !s->owner || strcmp(s->owner, c->owner) != 0;
	if (new_owner || strcmp(s->field, c->field) != 0)
		end_field(s);
	if (new_owner) {
		text_put(s->t, s->owner ? "}" : "");
		text_key(s->t, c->owner);
		text_put(s->t, "{");
		s->owner = c->owner;
	}
	s->field = c->field;
	s->sum += value;
}

static void put_counters(struct text *t, const struct api_env *env)
{
	struct sums s = {.t = t};
	text_key(t, "counters");
	text_put(t, "{");
	stats_each(env->stats, on_counter, &s);
	end_field(&s);
	text_put(t, s.owner ? "}}" : "}");
}

static void put_damage(void *arg, const char *what)
{
	struct text *t = arg;
	if (t->len > 0 && t->s[t->len - 1] != '[')
		text_put(t, ",");
	text_json(t, what);
}

static void put_state(struct text *t, const struct api_env *env)
{
	struct store_status status;
	store_status(env->store, &status);
	text_key(t, "state");
	text_put(t, "{");
	text_kv_str(t, "dir", status.dir);
	text_kv_str(t, "writes", status.refuses ? "refused" : status.refusal[0] ? "fail" : "work");
	if (status.refusal[0])
		text_kv_str(t, "message", status.refusal);
	text_kv_u64(t, "boots", status.boots);
	text_kv_u64(t, "not_loaded_total", status.n_damaged);
	text_key(t, "not_loaded");
	text_put(t, "[");
	store_each_damage(env->store, put_damage, t);
	text_put(t, "]");
	if (status.kept_aside[0])
		text_kv_str(t, "kept_aside", status.kept_aside);
	text_put(t, "}");
}

static int status_get(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{");
	put_documented(t, env);
	put_fleet(t, env);
	text_key(t, "uptime_seconds");
	text_printf(t, "%llu",
		(unsigned long long)((clk_ns(env->clk) - api_started_ns(rq->api)) / NS_PER_SEC));
	text_key(t, "lab");
	text_put(t, "{");
	if (env->lab)
		lab_status(env->lab, t);
	text_put(t, "}");
	put_counters(t, env);
	if (env->trace) {
		struct trace_status trace;
		trace_status(env->trace, &trace);
		otlp_json(t, &trace);
	}
	if (env->store)
		put_state(t, env);
	text_put(t, "}");
	reply_data_end(rq);
	return 0;
}

const struct schema status_schemas[] = {
	{"Status", "{create_batch_in_progress:bool, create_batch_requested:int"
		   ", resource_reload_in_progress:bool, is_pre_allocating:bool"
		   ", pre_alloc_progress:int, pre_alloc_total:int, is_creating_devices:bool"
		   ", device_create_progress:int, device_create_total:int, total_devices:int"
		   ", running_devices:int"
		   ", fleet:{types:int 'In use', interfaces:int, bytes:int 'Memory it holds'"
		   ", seed:int}, uptime_seconds:int, lab:map<any> 'The lab network'"
		   ", counters:map<map<int>> 'By owner and name; see /metrics'"
		   ", otlp?:Otlp, state?:State}"},
	{"State", "{dir:str, writes:str 'work, fail (the last one did) or refused'"
		  ", message?:str 'Why they fail or are refused'"
		  ", boots:int 'snmpEngineBoots of this start', not_loaded_total:int"
		  ", not_loaded:[str] 'What is damaged or could not be made again, at most 64'"
		  ", kept_aside?:str 'The damaged file, when this start repaired'}"},
	{0},
};
static const struct route_answer status_answers[] = {
	{200, "The state of nl6", "Data<Status>", NULL}, {0}};
const struct route status_routes[] = {
	{GET, "/api/v1/status", status_get, 0, "Tell what goes on", status_answers},
	{0},
};
