/* The CPU sampler: a timer on each thread's CPU clock or, for stacks in the kernel, an event of
 * perf, a handler that writes program counters, label and weight into that thread's ring, and one
 * thread that drains the rings to any number of readers. Between sampler_open and sampler_close it
 * exists; it samples only while it has a reader.
 */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "profiling/stacks.h"
#include "profiling/walker.h"

struct sampler;
struct sampler_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct walker *walker; /* refreshed by the sampler while it is open */
};
struct sampler_conf {
	uint32_t hz; /* 1..1000 */
	bool kernel; /* with the stacks in the kernel, where that is permitted (CAP_PERFMON) */
};
enum sampler_lost {
	SAMPLER_LOST_RING_FULL,	    /* the thread's ring was not drained in time */
	SAMPLER_LOST_FOREIGN_STACK, /* the thread ran on a stack that is not its own */
	SAMPLER_LOST_N
};
struct sampler_status {
	uint32_t hz;
	bool sampling;
	uint32_t threads, threads_unarmed; /* unarmed: no timer could be had (RLIMIT_SIGPENDING), or
					      no memory */
	char unarmed_name[16];		   /* one of them */
	uint64_t samples;		   /* weights summed since opened */
	uint64_t links, unlinked; /* in profiles so far: spans; samples kept without their span */
	uint64_t lost[SAMPLER_LOST_N];
	uint64_t ends[UNWIND_ENDS]; /* walks by how they ended, since opened */
	uint64_t bytes;		    /* rings and what readers gathered */
	uint32_t threads_kernel;    /* whose stacks in the kernel are sampled */
	/* "not asked for", "sampled", or why not of all threads. */
	char kernel_state[64];
};
extern const char *const sampler_lost_text[SAMPLER_LOST_N];

/* Installs the handler, starts the thread. At most one may be open in a process: the caller sees to
 * it. -ENOMEM, -EAGAIN (no thread). */
MUST_CHECK int sampler_open(const struct sampler_env *env, const struct sampler_conf *conf,
	struct sampler **ret_sampler);
/* Stops all timers and frees everything; readers must be gone. SIGPROF stays handled (a stray one
 * would kill the process). Takes NULL. */
struct sampler *sampler_close(struct sampler *s);
void sampler_status(struct sampler *s, struct sampler_status *ret_status);

/* A reader gathers samples from now on: values[0] counts samples, values[1] nanoseconds. */
struct sampler_reader;
MUST_CHECK int sampler_read_start(
	struct sampler *s, uint32_t max_stacks, struct sampler_reader **ret_reader);
/* Drains, and hands over what was gathered; the reader is freed. The caller frees *ret_stacks. */
void sampler_read_stop(
	struct sampler_reader *r, struct stacks **ret_stacks, uint64_t *ret_duration_ns);
/* The same but goes on gathering into an empty table. -ENOMEM: nothing was changed. */
MUST_CHECK int sampler_read_turn(
	struct sampler_reader *r, struct stacks **ret_stacks, uint64_t *ret_duration_ns);
uint32_t sampler_readers(struct sampler *s);

/* The stack of every thread now, each once; values[0] is 1. A thread that does not answer within
 * 2 s (it blocks the signal, or gets no processor) has an empty stack. For the goroutine profile.
 * fn sees each thread's kernel id and name.
 */
struct sampler_thread_info {
	int tid;
	char name[16];
	const struct label *label;
	bool answered;
	const uintptr_t *pcs;
	unsigned n;
	enum unwind_end end;
	const uintptr_t *birth; /* where it was made: call sites */
	unsigned birth_n;
};
MUST_CHECK int sampler_threads(struct sampler *s,
	void (*fn)(void *arg, const struct sampler_thread_info *info), void *arg);
