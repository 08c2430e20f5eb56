/* The tracer: the sink of base/span.h. It keeps the spans that are under way, holds those that
 * ended while the CPU is sampled until it is known whether they got samples, and hands batches of
 * ended ones to whoever encodes and sends them. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/span.h"
#include "base/stats.h"
#include <stdint.h>

#define TRACER_LIVE_MAX 4096  /* spans under way */
#define TRACER_QUEUE_MAX 2048 /* ended ones that wait for their batch */
#define TRACER_BATCH_MAX 512
#define TRACER_ATTRS 20
/* How long an ended span waits for more to go with it. */
#define TRACER_DELAY_NS NS_PER_SEC

struct tracer_attr {
	const char *key; /* lives as long as the process */
	const char *str; /* valid UTF-8; NULL: num counts */
	int64_t num;
};
/* A span as it is told of once it has ended. */
struct tracer_span {
	struct span span; /* first */
	const char *name;
	enum span_kind kind;
	bool has_parent, parent_is_remote;
	uint8_t parent_id[8];
	const char *state;	     /* tracestate; NULL: none */
	uint64_t begun_ns, ended_ns; /* since 1970; ended_ns 0: not yet */
	const struct tracer_attr *attrs;
	uint32_t n_attrs, dropped_attrs;
	bool failed;
	const char *failure; /* why, if told; "" else */
};
struct tracer_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	/* A batch of at least one, on the tracer's thread; gone after it returns. */
	void (*batch)(void *arg, const struct tracer_span *const *spans, uint32_t n);
	void *arg;
};
struct tracer_conf {
	uint64_t trace_millionths;     /* of the traces that begin here, how many are sampled */
	uint64_t link_millionths;      /* of the spans, whose samples are linked */
	uint64_t link_min_duration_ns; /* shorter spans' are not */
};
extern const struct counter tracer_counters[];
struct tracer;
/* -ENOMEM. */
MUST_CHECK int tracer_new(
	const struct tracer_env *env, const struct tracer_conf *conf, struct tracer **ret_tracer);
struct tracer *tracer_free(struct tracer *t); /* stops first; takes NULL */
CLEANUP(tracer);
/* Becomes the sink. -EAGAIN (no thread), -ENOMEM. */
MUST_CHECK int tracer_start(struct tracer *t);
/* When no other thread has a span any more: what ended goes out as the last batches. */
void tracer_stop(struct tracer *t);
struct tracer_status {
	uint64_t spans, dropped;     /* begun; not begun or not kept for want of room */
	uint32_t live, held, queued; /* under way; held until their samples are known; waiting */
};
/* Any thread. */
void tracer_status(struct tracer *t, struct tracer_status *ret_status);
