/* Traces and linked profiles, put together: the tracer and the export of its spans, the sink of the
 * profiler's gate and the export of its windows. What is not asked for does not exist. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include "profiling/cpu_sink.h"
#include "trace/export.h"
#include "trace/linked.h"
#include "trace/otlp_setup.h"
#include "trace/tracer.h"

struct trace_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	const char *version; /* of the program */
};
struct trace_conf {
	struct otlp_conf otlp;
	struct tracer_conf tracer;
};
extern const struct flag trace_flags[];
struct trace;
/* -EINVAL and the like with a fault; -ENOMEM. */
MUST_CHECK int trace_new(const struct trace_env *env, const struct trace_conf *conf,
	struct trace **ret_trace, struct fault *reterr_fault);
struct trace *trace_free(struct trace *t); /* stops first; takes NULL */
CLEANUP(trace);
/* -EAGAIN (no thread) with a fault, -ENOMEM. */
MUST_CHECK int trace_start(struct trace *t, struct fault *reterr_fault);
/* When no other thread has a span and no window comes any more: sends what is left, for a short
 * while. */
void trace_stop(struct trace *t);
/* For the gate; NULL: no profiles are to be sent. In place as long as t. */
const struct cpu_sink *trace_sink(struct trace *t);

struct trace_export_status { /* of one signal */
	const char *url;     /* NULL: not sent */
	struct export_status now;
	struct export_totals totals;
};
struct trace_status {
	struct trace_export_status traces, profiles;
	struct tracer_status tracer;
	bool carries_cpu; /* the push leaves the CPU to it */
	struct linked_totals windows;
	char missed[LINKED_WHY_BYTES];
};
/* Any thread. */
void trace_status(struct trace *t, struct trace_status *ret_status);
