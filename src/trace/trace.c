#include "trace/trace.h"
#include "trace/span_message.h"
#include <errno.h>
#include <string.h>

/* At the end, for what is left of both signals. */
#define FLUSH_NS (3 * NS_PER_SEC)

const struct flag trace_flags[] = {
	FLAG_RATIO(struct trace_conf, tracer.trace_millionths, "otlp-trace-ratio", "1",
		"Sample that part of the traces that begin here; a caller's traceparent says it "
		"for its own"),
	FLAG_RATIO(struct trace_conf, tracer.link_millionths, "otlp-link-ratio", "1",
		"Link that part of the spans with their profile samples"),
	FLAG_DURATION(struct trace_conf, tracer.link_min_duration_ns, "otlp-link-min-duration",
		"0s", 0, 3600 * NS_PER_SEC,
		"Link no spans that are shorter with their profile samples"),
	{0},
};

/* One signal on its way out. */
struct outlet {
	const struct export_conf *conf; /* NULL: the signal is off */
	struct export *export;
	struct export_totals totals;
	bool attached;
};
struct trace {
	struct trace_env env;
	struct trace_conf conf;
	struct otlp_setup *setup;
	struct outlet traces, profiles;
	struct tracer *tracer;
	struct linked *linked;
	struct linked_totals windows;
};

static void on_batch(void *arg, const struct tracer_span *const *spans, uint32_t n)
{
	struct trace *t = arg;
	struct text body = TEXT(t->env.mem);
	const struct text *resource = otlp_setup_resource(t->setup);
	struct span_message_from from = {resource->s, resource->len, "nl6", t->env.version};
	span_message_write(&body, &from, spans, n);
	export_queue(t->traces.export, &body, n);
}

static void on_message(void *arg, struct text *body, uint32_t profiles)
{
	export_queue(((struct trace *)arg)->profiles.export, body, profiles);
}

static void on_profile_done(void *arg, bool accepted)
{
	linked_done(((struct trace *)arg)->linked, accepted);
}

static int make_traces(struct trace *t)
{
	struct tracer_env env = {t->env.mem, t->env.clk, t->env.stats, on_batch, t};
	int r = tracer_new(&env, &t->conf.tracer, &t->tracer);
	if (r == 0)
		r = stats_attach(t->env.stats, export_counters, "traces", &t->traces.totals);
	t->traces.attached = r == 0;
	return r;
}

static int make_profiles(struct trace *t)
{
	const struct text *resource = otlp_setup_resource(t->setup);
	struct linked_env env = {
		t->env.mem, t->env.clk, resource->s, resource->len, t->env.version, on_message, t};
	int r = linked_new(&env, &t->windows, &t->linked);
	if (r == 0)
		r = stats_attach(t->env.stats, export_counters, "profiles", &t->profiles.totals);
	t->profiles.attached = r == 0;
	if (r == 0)
		r = stats_attach(t->env.stats, linked_counters, NULL, &t->windows);
	return r;
}

int trace_new(const struct trace_env *env, const struct trace_conf *conf, struct trace **ret_trace,
	struct fault *reterr_fault)
{
	AUTO(trace) struct trace *t = mem_zalloc(env->mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->env = *env;
	t->conf = *conf;
	int r = otlp_setup_new(env->mem, &conf->otlp, env->version, &t->setup, reterr_fault);
	if (r < 0)
		return r;
	t->traces.conf = otlp_setup_export(t->setup, EXPORT_TRACES);
	t->profiles.conf = otlp_setup_export(t->setup, EXPORT_PROFILES);
	if (t->traces.conf)
		r = make_traces(t);
	if (r == 0 && t->profiles.conf)
		r = make_profiles(t);
	if (r < 0)
		return r;
	*ret_trace = TAKE(t);
	return 0;
}

static int start_outlet(struct trace *t, struct outlet *o, void (*done)(void *arg, bool accepted),
	struct fault *reterr_fault)
{
	struct export_env env = {t->env.mem, t->env.clk, &o->totals, done, t};
	return export_start(&env, o->conf, &o->export, reterr_fault);
}

int trace_start(struct trace *t, struct fault *reterr_fault)
{
	int r = 0;
	if (t->linked)
		r = start_outlet(t, &t->profiles, on_profile_done, reterr_fault);
	if (r == 0 && t->tracer)
		r = start_outlet(t, &t->traces, NULL, reterr_fault);
	if (r == 0 && t->tracer)
		r = tracer_start(t->tracer);
	if (r < 0)
		trace_stop(t);
	return r;
}

void trace_stop(struct trace *t)
{
	if (t->tracer)
		tracer_stop(t->tracer);
	t->traces.export = export_stop(t->traces.export, FLUSH_NS);
	t->profiles.export = export_stop(t->profiles.export, FLUSH_NS);
}

static void done_outlet(struct trace *t, struct outlet *o)
{
	if (o->attached)
		stats_detach(t->env.stats, &o->totals);
}

struct trace *trace_free(struct trace *t)
{
	if (!t)
		return NULL;
	trace_stop(t);
	t->tracer = tracer_free(t->tracer);
	if (t->linked)
		stats_detach(t->env.stats, &t->windows);
	t->linked = linked_free(t->linked);
	done_outlet(t, &t->traces);
	done_outlet(t, &t->profiles);
	t->setup = otlp_setup_free(t->setup);
	return mem_free(t->env.mem, t);
}

const struct cpu_sink *trace_sink(struct trace *t)
{
	return t->linked ? linked_sink(t->linked) : NULL;
}

/* Each counter is right; together they are of about one moment. */
static void copy_counters(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] = stat_get((const uint64_t *)from + i);
}

static void outlet_status(struct outlet *o, struct trace_export_status *ret_status)
{
	if (!o->export)
		return;
	ret_status->url = o->conf->url;
	export_status(o->export, &ret_status->now);
	copy_counters(&ret_status->totals, &o->totals, sizeof(o->totals));
}

void trace_status(struct trace *t, struct trace_status *ret_status)
{
	struct trace_status st = {.carries_cpu = t->linked && linked_carries(t->linked)};
	outlet_status(&t->traces, &st.traces);
	outlet_status(&t->profiles, &st.profiles);
	if (t->tracer)
		tracer_status(t->tracer, &st.tracer);
	if (t->linked)
		linked_missed(t->linked, st.missed);
	copy_counters(&st.windows, &t->windows, sizeof(st.windows));
	*ret_status = st;
}
