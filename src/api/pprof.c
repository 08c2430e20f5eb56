/* /debug/pprof/: the pull surface of the profiler, as Go's net/http/pprof and godeltaprof serve it.
 * Its errors are texts as theirs; only a closed gate is told in the API's own form. */
#include "api/api.h"
#include "api/gate_wait.h"
#include "api/pprof_ask.h"
#include "profiling/gate.h"
#include "profiling/timeline.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SYMBOL_BODY_BYTES (1u << 20)

/* In the order of their names, as the index lists them. */
static const struct served {
	const char *name;
	enum capture_kind kind;
	const char *file; /* NULL: the name */
	const char *help;
	const char *busy; /* the refusal while another goes on; NULL: any number may */
} served[] = {
	{"allocs", CAPTURE_ALLOCS, NULL, "A sampling of all past memory allocations"},
	{"block", CAPTURE_BLOCK, NULL,
		"Where threads waited on condition variables, queues and locks"},
	{"delta_block", CAPTURE_DELTA_BLOCK, "block.pprof.gz", "As block, since the call before"},
	{"delta_heap", CAPTURE_DELTA_HEAP, "heap.pprof.gz",
		"As heap; allocations since the call before"},
	{"delta_mutex", CAPTURE_DELTA_MUTEX, "mutex.pprof.gz", "As mutex, since the call before"},
	{"goroutine", CAPTURE_GOROUTINE, NULL,
		"Every thread with its stack; debug=2 tells what each waits in"},
	{"heap", CAPTURE_HEAP, NULL, "A sampling of the memory in use"},
	{"mutex", CAPTURE_MUTEX, NULL, "Who held locks that others waited for"},
	{"offcpu", CAPTURE_OFFCPU, NULL, "Where threads waited, for so many seconds (below 30)",
		"Could not enable off-CPU profiling: already in use"},
	{"profile", CAPTURE_CPU, NULL, "CPU profile of so many seconds (below 30)",
		"Could not enable CPU profiling: cpu profiling already in use"},
	{"symbol", CAPTURE_SYMBOL, NULL,
		"Function names of the program counters in the query or body"},
	{"trace", CAPTURE_TRACE, "trace.json",
		"Label scopes of every thread as a timeline, for Perfetto or speedscope",
		"Could not enable tracing: tracing is already enabled"},
	{"threadcreate", CAPTURE_THREADCREATE, NULL, "Where each thread was made"},
};

static int refuse(struct request *rq, unsigned status, const char *text)
{
	struct text *t = reply_raw(rq, status, "text/plain; charset=utf-8");
	text_printf(t, "%s\n", text);
	reply_header(&rq->reply, "X-Go-Pprof", "1");
	return 0;
}

static int refuse_closed(struct request *rq)
{
	reply_error_as(rq, 503,
		fault_set(&rq->fault, -EAGAIN, "", NULL,
			"profiling is off; open it with POST /api/v1/profiling {\"enabled\":true} "
			"(server_address: where to push, \"\" for pull only), or start with "
			"-profiling-pyroscope"));
	return 0;
}

static void put_index(struct request *rq)
{
	struct gate_status st;
	gate_status(api_env(rq->api)->gate, &st);
	struct text *t = reply_raw(rq, 200, "text/html; charset=utf-8");
	text_put(t, "<!DOCTYPE "
		    "html>\n<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n<h1>/"
		    "debug/pprof/</h1>\n"
		    "<p>Add <code>?debug=1</code> for text.</p>\n"
		    "<table>\n<thead><tr><th>Count</th><th>Profile</th><th></th></tr></thead>\n");
	for (unsigned i = 0; i < ARRAY_SIZE(served); i++) {
		const struct served *s = &served[i];
		bool text = s->kind <= CAPTURE_BLOCK && !capture_lasts(s->kind);
		text_printf(t,
			"<tr><td>%llu</td><td><a href=\"%s%s\">%s</a></td><td>%s</td></tr>\n",
			(unsigned long long)gate_count(&st, s->kind), s->name,
			capture_lasts(s->kind) ? "?seconds=5"
			: text		       ? "?debug=1"
					       : "",
			s->name, s->help);
	}
	text_put(t,
		"</table>\n<p><a href=\"goroutine?debug=2\">full stacks of all threads</a></p>\n"
		"</body>\n</html>\n");
}

static const struct served *find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(served); i++)
		if (strcmp(served[i].name, name) == 0)
			return &served[i];
	return NULL;
}

/* ticket: the form that was asked for. */
enum { TICKET_TEXT = 1, TICKET_DELTA = 2 };

static ssize_t read_trace(void *timeline, char *buf, size_t room)
{
	ssize_t n = timeline_read(timeline, buf, room);
	return n == TIMELINE_END ? REPLY_STREAM_END : n;
}

static void free_trace(void *timeline)
{
	(void)timeline_free(timeline);
}

static int captured(struct request *rq)
{
	const struct served *s = find(rq->url.segments[2]);
	struct text *body;
	int r = gate_captured(rq->work, &body);
	if (r == -ENOENT)
		return refuse_closed(rq);
	if (r == 0 && s->kind == CAPTURE_TRACE) {
		reply_streamed(rq, NULL,
			&(struct reply_stream){read_trace, free_trace, gate_traced(rq->work)});
		reply_header(
			&rq->reply, "Content-Disposition", "attachment; filename=\"%s\"", s->file);
		return 0;
	}
	if (r < 0)
		return refuse(rq, 500, "failed to collect profile");
	bool text = (rq->ticket & TICKET_TEXT) || s->kind == CAPTURE_SYMBOL;
	(void)reply_raw(rq, 200, text ? "text/plain; charset=utf-8" : "application/octet-stream");
	rq->reply.body = *body;
	*body = (struct text)TEXT(body->mem);
	if (!text)
		reply_header(&rq->reply, "Content-Disposition", "attachment; filename=\"%s%s\"",
			s->file ? s->file : s->name, rq->ticket & TICKET_DELTA ? "-delta" : "");
	return 0;
}

static int begin(struct request *rq, const struct served *s, const struct capture_ask *ask)
{
	struct gate_done done;
	struct gate_job *job = NULL;
	int r = gate_wait_begin(rq, &done);
	if (r < 0)
		return r;
	r = gate_capture(api_env(rq->api)->gate, ask, &done, &job);
	r = gate_wait_end(rq, r, job, captured);
	if (r == -ENOENT)
		return refuse_closed(rq);
	if (r == -EBUSY)
		return refuse(rq, 500, s->busy);
	if (r == -EOPNOTSUPP)
		return refuse(
			rq, 400, "\"seconds\" parameter is not supported for this profile type");
	rq->ticket = (ask->debug ? TICKET_TEXT : 0) |
		     (ask->duration_ns && !capture_lasts(s->kind) ? TICKET_DELTA : 0);
	return r;
}

/* Closed is closed, whatever else may be wrong with a request. */
static bool pprof_closed(struct request *rq)
{
	if (gate_is_open(api_env(rq->api)->gate))
		return false;
	(void)refuse_closed(rq);
	return true;
}

static int pprof(struct request *rq)
{
	const char *name = rq->url.segments[2];
	if (rq->url.n_segments == 3 && !*name) {
		put_index(rq);
		return 0;
	}
	const struct served *s = rq->url.n_segments == 3 ? find(name) : NULL;
	if (!s)
		return refuse(rq, 404, "Unknown profile");
	struct capture_ask ask = {.kind = s->kind};
	const char *why;
	if (pprof_ask_read(&rq->url, &ask, &why) < 0)
		return refuse(rq, 400, why);
	uintptr_t *pcs = NULL;
	int r = 0;
	if (s->kind == CAPTURE_SYMBOL)
		r = pprof_ask_addresses(rq->mem,
			rq->method == POST ? rq->body
			: rq->url.n_query  ? rq->url.query[0].name
					   : "",
			&pcs, &ask.n_pcs);
	ask.pcs = pcs;
	if (r == 0)
		r = begin(rq, s, &ask);
	mem_free(rq->mem, pcs);
	return r;
}

static int pprof_redirect(struct request *rq)
{
	(void)reply_raw(rq, 301, NULL);
	reply_header(&rq->reply, "Location", "/debug/pprof/");
	return 0;
}

#define CLOSED \
	{ \
		503, "The gate is closed", "Error", NULL \
	}
#define REFUSED(status) \
	{ \
		status, "Refused, with the reason", "str", "text/plain; charset=utf-8" \
	}
static const struct route_query profile_query[] = {
	{"seconds", "How long to sample", "int", 1, 29}, {0}};
static const struct route_query named_query[] = {
	{"debug", "1: as text; 2: goroutine in full", "int", 0, 2},
	{"seconds", "Tell what changes within so many seconds", "int", 1, 29}, {0}};
static const struct route_answer profile_answers[] = {
	{200, "A gzipped profile.proto", "str", "application/octet-stream"}, REFUSED(400),
	REFUSED(500), CLOSED, {0}};
static const struct route_answer named_answers[] = {
	{200, "A gzipped profile.proto", "str", "application/octet-stream"},
	{200, "", "str", "text/plain; charset=utf-8"}, REFUSED(400), REFUSED(500), CLOSED, {0}};
static const struct route_answer delta_answers[] = {
	{200, "A gzipped profile.proto", "str", "application/octet-stream"}, REFUSED(500), CLOSED,
	{0}};
static const struct route_query trace_query[] = {
	{"seconds", "How long to record, like 2.5; below 30", "str", 0, 0}, {0}};
static const struct route_answer trace_answers[] = {
	{200, "Trace Event JSON", "any", NULL}, REFUSED(400), REFUSED(500), CLOSED, {0}};
static const struct route_answer symbol_answers[] = {
	{200, "num_symbols: 1, then an address and its function a line", "str",
		"text/plain; charset=utf-8"},
	REFUSED(500), CLOSED, {0}};
static const struct route_answer index_answers[] = {
	{200, "What is served", "str", "text/html; charset=utf-8"}, CLOSED, {0}};
static const struct route_answer redirect_answers[] = {{301, "To /debug/pprof/", NULL, NULL}, {0}};

#define PATH "/debug/pprof/"
/* Any parameter is taken, as there: scrapers send their own. */
#define ANY(method, path, text) \
	{ \
		method, path, pprof, SYMBOL_BODY_BYTES, text, NULL, NULL, NULL, true, \
			.before = pprof_closed \
	}
/* Every method, as there; only what makes sense is told. */
#define OTHERS(path, text) \
	ANY(POST, path, text), ANY(PUT, path, text), ANY(PATCH, path, text), ANY(DELETE, path, text)
#define SERVED(name, answers, query, text) \
	{GET, PATH name, pprof, 0, text, answers, query, NULL, true, .before = pprof_closed}, \
		OTHERS(PATH name, text)
const struct route pprof_routes[] = {
	{GET, "/debug/pprof", pprof_redirect, 0, "Go to the profiler's index", redirect_answers,
		NULL, NULL, true},
	{POST, "/debug/pprof", pprof_redirect, SYMBOL_BODY_BYTES, "Go to the profiler's index",
		NULL, NULL, NULL, true},
	SERVED("", index_answers, NULL, "List the profiles"),
	SERVED("allocs", named_answers, named_query,
		"Sampled allocations since the gate was opened"),
	SERVED("block", named_answers, named_query, "Waits of threads"),
	SERVED("delta_block", delta_answers, NULL, "Waits since the call before"),
	SERVED("delta_heap", delta_answers, NULL,
		"Memory in use, and allocations since the call before"),
	SERVED("delta_mutex", delta_answers, NULL, "Contention since the call before"),
	SERVED("goroutine", named_answers, named_query, "All threads and their stacks"),
	SERVED("heap", named_answers, named_query, "Memory in use, by stack"),
	SERVED("mutex", named_answers, named_query, "Contention of locks, by who held them"),
	SERVED("offcpu", profile_answers, profile_query,
		"Time that threads waited, by stack and label"),
	SERVED("profile", profile_answers, profile_query, "CPU time, by stack and label"),
	SERVED("symbol", symbol_answers, NULL, "Names of program counters"),
	SERVED("threadcreate", named_answers, named_query, "Where threads were made"),
	SERVED("trace", trace_answers, trace_query, "Label scopes of threads over time"),
	{GET, PATH "{name*}", pprof, 0, "Refuse an unknown profile", NULL, NULL, NULL, true,
		.before = pprof_closed},
	OTHERS(PATH "{name*}", "Refuse an unknown profile"),
	{0},
};
