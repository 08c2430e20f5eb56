/* Linked profiles: windows of the CPU as OTLP profiles, whose samples within a span are linked with
 * it. The sink of the profiler's gate (profiling/cpu_sink.h). */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "profiling/cpu_sink.h"

/* Of one export: what Pyroscope takes of a profile, with room to spare. */
#define LINKED_MAX_SAMPLES 15000
#define LINKED_MAX_BYTES (2u << 20)
/* So many windows that did not arrive, and the push has the CPU again. */
#define LINKED_FAILED_WINDOWS 3

struct linked_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	const void *resource; /* an encoded Resource message */
	size_t resource_bytes;
	const char *version;
	/* Takes the message of profiles over; see export_queue. */
	void (*send)(void *arg, struct text *body, uint32_t profiles);
	void *arg;
};
struct linked_totals {
	uint64_t windows, samples; /* sent, or tried to */
	uint64_t linked_samples;   /* of these: within a span */
	uint64_t missed_windows;   /* the CPU could not be sampled, or no memory was left */
};
extern const struct counter linked_counters[]; /* of struct linked_totals */
struct linked;
MUST_CHECK int linked_new(
	const struct linked_env *env, struct linked_totals *totals, struct linked **ret_linked);
struct linked *linked_free(struct linked *l); /* takes NULL */
CLEANUP(linked);
/* In place as long as l. */
const struct cpu_sink *linked_sink(struct linked *l);
/* What became of a message. Any thread. */
void linked_done(struct linked *l, bool accepted);
/* Do windows arrive? Any thread. */
bool linked_carries(struct linked *l);
/* Why the last window was missed, "" if none was. */
#define LINKED_WHY_BYTES 96
void linked_missed(struct linked *l, char why[static LINKED_WHY_BYTES]);
