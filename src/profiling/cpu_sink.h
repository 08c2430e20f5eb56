/* Who is handed the windows of the CPU beside the push, while the gate is open and was not asked to
 * be pull-only. The profiler's public side for src/trace. */
#pragma once
#include "profiling/profile_walk.h"

#define CPU_SINK_WINDOW_NS (15 * NS_PER_SEC)

struct cpu_window {		     /* borrowed for the call */
	struct symbols *symbols;     /* refreshed; for profile_walk */
	const struct stacks *stacks; /* values[0]: samples, values[1]: nanoseconds */
	uint64_t from_ns, until_ns;  /* since 1970 */
	uint64_t period_ns;	     /* between samples */
};
/* On the gate's thread, but for carries. None may wait. */
struct cpu_sink {
	void (*window)(void *arg, const struct cpu_window *w);
	/* A window has no CPU, or another fault. */
	void (*missed)(void *arg, const char *why);
	/* Do the windows arrive where they are sent, so that the push need not have them, too? */
	bool (*carries)(void *arg);
	void *arg;
};
