/* Windows of the CPU, one after the other without a gap: for the push and for the sink of the gate.
 * On the gate's thread. */
#pragma once
#include "profiling/capture.h"

struct cpu_windows_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	/* May the CPU be sampled from now on? Then until drop. */
	bool (*take)(void *arg);
	void (*drop)(void *arg);
	/* A window has no CPU, or another fault. */
	void (*note)(void *arg, const char *text);
	void *arg;
};
struct cpu_windows {
	struct cpu_windows_env env;
	struct sampler_reader *reader; /* NULL: this window has no CPU */
	uint64_t begun_wall_ns;
};
/* Begins a window, if none is under way. A capture that samples is not disturbed: the window has no
 * CPU then, and the next one tries again. */
void cpu_windows_begin(struct cpu_windows *w, struct capture_tools *t);
/* Ends it, goes_on: and begins the next. False: there was none. The caller frees ret_made->stacks;
 * *ret_until_wall_ns is since 1970. */
bool cpu_windows_end(struct cpu_windows *w, struct capture_tools *t, bool goes_on,
	struct capture_made *ret_made, struct stacks **ret_stacks, uint64_t *ret_until_wall_ns);
/* "what: error" to note. */
void cpu_windows_note(const struct cpu_windows *w, const char *what, int r);
