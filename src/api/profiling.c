/* GET and POST /api/v1/profiling: the gate of the profiler. */
#include "api/api.h"
#include "api/body.h"
#include "api/gate_wait.h"
#include "api/otlp_json.h"
#include "api/when.h"
#include "base/log.h"
#include "base/num.h"
#include "profiling/gate.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BODY_BYTES (4u << 10)

/* Walks that did not reach the entry, by reason. */
static void put_truncated(struct text *t, const uint64_t ends[UNWIND_ENDS])
{
	text_key(t, "truncated");
	text_put(t, "{");
	for (unsigned i = 0; i < UNWIND_ENDS; i++)
		if (i != UNWIND_ENTRY)
			text_kv_u64(t, unwind_end_text((enum unwind_end)i), ends[i]);
	text_put(t, "}");
}

static void put_lost(struct text *t, const char *const *reasons, const uint64_t *lost, unsigned n)
{
	text_key(t, "lost");
	text_put(t, "{");
	for (unsigned i = 0; i < n; i++)
		text_kv_u64(t, reasons[i], lost[i]);
	text_put(t, "}");
}

static void put_heap(struct text *t, const struct heap_status *heap)
{
	text_key(t, "heap");
	text_put(t, "{");
	text_kv_u64(t, "rate", heap->rate_bytes);
	text_kv_u64(t, "samples", heap->samples);
	text_kv_u64(t, "live", heap->live);
	text_kv_u64(t, "stacks", heap->stacks);
	text_kv_u64(t, "folded", heap->folded);
	text_kv_u64(t, "mapped_bytes", heap->mapped_bytes);
	text_kv_u64(t, "bytes", heap->bytes);
	put_lost(t, heap_lost_text, heap->lost, HEAP_LOST_N);
	put_truncated(t, heap->ends);
	text_put(t, "}");
}

static void put_opener(struct text *t, const struct gate_status *st)
{
	static const char *const by[] = {
		[GATE_BY_FLAG] = "flag", [GATE_BY_REST] = "rest", [GATE_BY_REVERT] = "revert"};
	text_kv_str(t, "opened_by", by[st->opened_by]);
	if (st->peer[0])
		text_kv_str(t, "opened_from", st->peer);
	when_kv(t, "opened_at", st->opened_at_ns);
}

/* What the original does not tell, in an object of its own after its keys. */
static void put_sampler(struct text *t, const struct gate_status *st)
{
	const struct sampler_status *s = &st->sampler;
	text_key(t, "sampler");
	text_put(t, "{");
	text_kv_u64(t, "rate", s->hz);
	text_kv_bool(t, "sampling", s->sampling);
	text_kv_u64(t, "threads", s->threads);
	text_kv_u64(t, "threads_armed", s->threads - s->threads_unarmed);
	text_kv_u64(t, "threads_unarmed", s->threads_unarmed);
	if (s->threads_unarmed)
		text_kv_str(t, "unarmed_thread", s->unarmed_name);
	text_kv_u64(t, "samples", s->samples);
	text_kv_u64(t, "links", s->links);
	text_kv_u64(t, "unlinked", s->unlinked);
	text_kv_str(t, "kernel_stacks", s->kernel_state);
	text_kv_str(t, "switches", st->switches);
	text_kv_u64(t, "mutex_fraction", st->mutex_fraction);
	text_kv_u64(t, "block_rate", st->block_rate_ns);
	put_truncated(t, s->ends);
	put_lost(t, sampler_lost_text, s->lost, SAMPLER_LOST_N);
	put_heap(t, &st->heap);
	text_kv_str(t, "unwinder", st->unwind.method);
	text_kv_u64(t, "unwind_rows", st->unwind.rows);
	text_kv_u64(t, "addresses", st->symbols.addresses);
	text_kv_u64(t, "addresses_unknown", st->symbols.unknown);
	if (st->symbols.missing[0])
		text_kv_str(t, "no_debug_info", st->symbols.missing);
	text_kv_u64(t, "captures", st->captures);
	text_kv_u64(t, "bytes", st->bytes);
	put_opener(t, st);
	text_put(t, "}");
}

static void put_push(struct text *t, const struct upload_status *push)
{
	text_key(t, "push");
	text_put(t, "{");
	text_kv_u64(t, "uploads", push->uploads);
	text_kv_u64(t, "bytes", push->bytes);
	if (push->last_upload_ns)
		when_kv(t, "last_upload_at", push->last_upload_ns);
	text_kv_u64(t, "queued", push->queued);
	text_kv_u64(t, "dropped", push->dropped);
	text_put(t, "}");
}

static void put_status(struct api *a, struct text *t, const struct gate_status *st)
{
	text_put(t, "{");
	text_kv_bool(t, "enabled", st->enabled);
	text_kv_str(t, "startup_flag", st->startup_flag);
	text_kv_str(t, "server_address", st->server_address);
	text_kv_bool(t, "pushing", st->pushing);
	if (st->sdk_errors)
		text_kv_u64(t, "sdk_errors", st->sdk_errors);
	if (st->last_error[0])
		text_kv_str(t, "last_error", st->last_error);
	text_kv_str(t, "pprof_path", "/debug/pprof/");
	text_kv_bool(t, "revert_pending", st->revert_pending);
	if (st->revert_pending) {
		when_kv(t, "revert_at", st->revert_at_ns);
		text_kv_bool(t, "revert_to", st->revert_to);
		if (st->revert_to_address[0])
			text_kv_str(t, "revert_to_address", st->revert_to_address);
	}
	if (st->enabled)
		put_sampler(t, st);
	if (st->pushing && st->has_push)
		put_push(t, &st->push);
	if (api_env(a)->trace) {
		struct trace_status trace;
		trace_status(api_env(a)->trace, &trace);
		otlp_json_profiles(t, &trace, st->sinking);
	}
	text_put(t, "}");
}

static int profiling_get(struct request *rq)
{
	struct gate_status st;
	gate_status(api_env(rq->api)->gate, &st);
	put_status(rq->api, reply_data(rq, 200, NULL), &st);
	reply_data_end(rq);
	return 0;
}

struct profiling_body {
	struct body_value enabled, server_address, duration;
};
static const struct body_key profiling_keys[] = {
	{.name = "enabled",
		.help = "Open or close the gate",
		.kind = BODY_BOOL,
		.required = true,
		.offset = offsetof(struct profiling_body, enabled)},
	BODY_KEY_STR(struct profiling_body, server_address, false, NULL,
		"Where to push to; \"\": pull only; absent: as now, else as the flag says"),
	BODY_KEY_STR(struct profiling_body, duration, false, NULL,
		"After which the gate goes back to what it was, like 30m; up to 24h"),
	{0}};

/* A duration of Go: with a unit, and a sign that is then refused for what it is. */
static int read_duration(const char *s, uint64_t *ret_ns, struct fault *f)
{
	size_t n = strlen(s);
	bool negative = s[0] == '-', sign = negative || s[0] == '+';
	bool has_unit = n > 0 && (s[n - 1] == 's' || s[n - 1] == 'm' || s[n - 1] == 'h');
	uint64_t ns = 0;
	int r = num_duration(s + sign, &ns);
	if (r == -ERANGE)
		ns = UINT64_MAX;
	else if (r < 0 || (!has_unit && ns != 0))
		return fault_set(f, -EINVAL, "/duration", "like 90s, 30m or 2h",
			"invalid duration %.40s", s);
	if (negative || ns == 0)
		return fault_set(f, -EINVAL, "/duration", "up to 24h", "must be positive");
	*ret_ns = ns;
	return 0;
}

static int read_body(struct request *rq, struct gate_ask *ask, json_t **json)
{
	struct profiling_body body = {0}; /* read below also when nothing could be decoded */
	int r = body_decode(
		rq->body, rq->body_bytes, profiling_keys, &body, sizeof(body), json, &rq->fault);
	/* The contract's words for what body.c calls missing. */
	if (r == -EINVAL && strcmp(rq->fault.field, "/enabled") == 0 &&
		strcmp(rq->fault.text, "is missing") == 0)
		return fault_set(&rq->fault, r, "", "true or false", "\"enabled\" is required");
	if (r < 0)
		return r;
	ask->enabled = body.enabled.on;
	ask->address = body.server_address.given ? body.server_address.str : NULL;
	return body.duration.given ? read_duration(body.duration.str, &ask->duration_ns, &rq->fault)
				   : 0;
}

static int profiling_turned(struct request *rq)
{
	const struct gate_status *st;
	int r = gate_turned(rq->work, &st);
	if (r < 0)
		return fault_set(&rq->fault, r, "", NULL, "profiling could not be switched on");
	if (!st->enabled || !st->server_address[0] || st->pushing) {
		put_status(rq->api, reply_data(rq, 200, NULL), st);
		reply_data_end(rq);
		return 0;
	}
	/* Exception: the contract answers 500 with the state, for the gate is open all the same. */
	char message[ADDRESS_BYTES + 400];
	(void)snprintf(message, sizeof(message),
		"profiling enabled but the push to %s could not start: %s", st->server_address,
		st->last_error);
	struct text *t = reply_raw(rq, 500, NULL);
	text_put(t, "{");
	text_kv_bool(t, "success", false);
	text_kv_str(t, "message", message);
	text_key(t, "data");
	put_status(rq->api, t, st);
	reply_data_end(rq);
	return 0;
}

static int profiling_post(struct request *rq)
{
	AUTO_BODY json_t *json = NULL;
	struct gate_ask ask = {.peer = rq->peer};
	struct gate_done done;
	struct gate_job *job = NULL;
	int r = read_body(rq, &ask, &json);
	if (r == 0)
		r = gate_wait_begin(rq, &done);
	if (r < 0)
		return r;
	r = gate_turn(api_env(rq->api)->gate, &ask, &done, &job, &rq->fault);
	return gate_wait_end(rq, r, job, profiling_turned);
}

const struct schema profiling_schemas[] = {
	{"Profiling",
		"{enabled:bool 'The gate is open', startup_flag:str 'Of -profiling-pyroscope'"
		", server_address:str 'In force; empty: nothing is pushed', pushing:bool"
		", sdk_errors?:int 'Of this push', last_error?:str, pprof_path:str"
		", revert_pending:bool, revert_at?:time, revert_to?:bool, revert_to_address?:str"
		", sampler?:Sampler, push?:Push, otlp?:OtlpProfiles}"},
	{"Push", "{uploads:int 'Profiles that the server accepted', bytes:int 'Of them'"
		 ", last_upload_at?:time, queued:int 'Waiting, or on their way'"
		 ", dropped:int 'Never sent: the queue was full, or they were too old'}"},
	{"Heap", "{rate:int 'Mean bytes between samples', samples:int, live:int 'Samples in use'"
		 ", stacks:int 'By label and size', folded:int, mapped_bytes:int 'Of pools'"
		 ", bytes:int 'Memory of the sampler', lost:map<int>, truncated:map<int>}"},
	{"Sampler", "{rate:int 'CPU samples a second of CPU time', sampling:bool, threads:int"
		    ", threads_armed:int 'With a timer', threads_unarmed:int 'Without', "
		    "unarmed_thread?:str 'One of them'"
		    ", samples:int, links:int 'Spans in CPU profiles so far'"
		    ", unlinked:int 'Samples kept without their span: too many, or too short'"
		    ", kernel_stacks:str 'sampled, or why not'"
		    ", switches:str 'Of threads, by perf: recorded, or why not'"
		    ", mutex_fraction:int, block_rate:int 'Nanoseconds'"
		    ", truncated:map<int> 'Walks that did not reach the entry, by reason'"
		    ", lost:map<int> 'Samples by reason', heap:Heap, unwinder:str, unwind_rows:int"
		    ", addresses:int 'Looked up', addresses_unknown:int 'Without a name'"
		    ", no_debug_info?:str 'A file without it', captures:int 'Under way'"
		    ", bytes:int 'Of tables and rings', opened_by:str 'flag, rest or revert'"
		    ", opened_from?:str 'Address and port', opened_at:time}"},
	{0},
};
static const struct route_answer profiling_get_answers[] = {
	{200, "The gate", "Data<Profiling>", NULL}, {0}};
static const struct route_answer profiling_post_answers[] = {
	{200, "The gate after the turn", "Data<Profiling>", NULL},
	{400, "What was asked makes no sense", "Error", NULL},
	{500, "The gate is open, the push could not start; or it could not be opened", "any", NULL},
	{0}};
const struct route profiling_routes[] = {
	{GET, "/api/v1/profiling", profiling_get, 0, "Tell how the profiling gate stands",
		profiling_get_answers},
	{POST, "/api/v1/profiling", profiling_post, BODY_BYTES, "Open or close the profiling gate",
		profiling_post_answers, NULL, profiling_keys},
	{0},
};
