/* One profile in the making: begun now, ended at once, when its time is over, or early. All on the
 * gate's thread. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "base/text.h"
#include "profiling/blocked.h"
#include "profiling/contention.h"
#include "profiling/gate.h"
#include "profiling/profile.h"
#include "profiling/sampler.h"
#include "profiling/stacks.h"
#include "profiling/symbol.h"
#include "profiling/timeline.h"

#define CAPTURE_STACKS (1u << 18)
#define CAPTURE_DELTAS 3
#define CAPTURE_TRACE_EVENTS (1u << 18)
/* How often what goes on wants capture_poll. */
#define CAPTURE_POLL_NS (50 * NS_PER_MS)
/* What captures read from: the parts of the profiler while the gate is open; the gate's. */
struct capture_tools {
	const struct mem *mem;
	const struct clk *clk;
	uint32_t cpu_hz;
	uint64_t heap_rate_bytes;
	uint32_t mutex_fraction;
	uint64_t block_rate_ns;
	struct walker *walker;
	struct sampler *sampler;
	struct symbols *symbols;
	struct contention *contention;
	struct heap *heap;
	struct stacks *last[CAPTURE_DELTAS]; /* of delta_heap, _mutex, _block; NULL: not read yet */
};
struct capture {
	struct capture_ask ask;
	uint64_t begun_ns, begun_wall_ns, ends_ns; /* ends_ns 0: has ended or never lasts */
	struct sampler_reader *reader;
	struct contention *offcpu; /* that it has started */
	struct blocked *blocked;   /* beside it, where perf is permitted */
	char note[96];		   /* why not, for a comment; or empty */
	struct stacks *before;
	struct timeline *timeline;
};

/* Which kind of profile a capture makes; not of SYMBOL and TRACE. */
enum profile_kind capture_profile(enum capture_kind kind);
bool capture_has_form(enum capture_kind kind, uint64_t duration_ns, unsigned debug);
/* 0: goes on until ends_ns; 1: is complete now. -ENOMEM, -EBUSY (another of the kind goes on). */
MUST_CHECK int capture_begin(struct capture_tools *t, struct capture *c);
/* Completes it into *out; why: a comment for what ended before its time, or NULL. -ENOMEM. */
MUST_CHECK int capture_end(
	struct capture_tools *t, struct capture *c, const char *why, struct text *out);
/* Takes over what threads and the kernel noted for a trace or off-CPU; nothing for the others. */
void capture_poll(struct capture *c);
/* Frees what capture_begin took; after capture_end it does nothing. */
void capture_abort(struct capture *c);

/* What a kind that does not last has now (GOROUTINE: of this moment, others: since the gate was
 * opened); the caller frees it. -ENOMEM. */
MUST_CHECK int capture_gather(
	struct capture_tools *t, enum capture_kind kind, struct stacks **ret_stacks);
/* What came since *last was gathered (NULL: since the values began); *last, the caller's, becomes
 * what is now. What is in use is no sum over time and stays what it is. -ENOMEM: nothing is
 * changed. */
MUST_CHECK int capture_since(struct capture_tools *t, enum capture_kind kind, struct stacks **last,
	struct stacks **ret_stacks);
/* A profile of such stacks, gzipped; begun_wall_ns: CPU alone. -ENOMEM. */
struct capture_made {
	enum capture_kind kind;
	const struct stacks *stacks;
	uint64_t begun_wall_ns, duration_ns;
	const char *comment; /* may be NULL */
};
MUST_CHECK int capture_encode(
	struct capture_tools *t, const struct capture_made *made, struct text *out);
