/* When a thread of this process left its processor, why, and when it came back: by the kernel's
 * records of context switches. One thread reads each. */
#pragma once
#include "profiling/perf.h"
#include <stdbool.h>

#define SWITCHES_KERNEL_DEPTH 16
struct switches {
	struct perf_ring ring;
	unsigned kernel_n; /* the stack of the switch to come */
	uint64_t kernel[SWITCHES_KERNEL_DEPTH];
};
struct switches_event {
	uint64_t at_ns; /* monotonic */
	uint64_t lost;	/* records that found no room before this one */
	uint32_t cpu;
	bool out, preempted;	/* of out; else the thread blocked */
	unsigned kernel_n;	/* of out, where permitted: pcs in the kernel, innermost first */
	const uint64_t *kernel; /* valid until the next call */
};
/* kernel: with the kernel's stack, which takes CAP_PERFMON. Errors as perf_ring_open. */
MUST_CHECK int switches_open(pid_t tid, bool kernel, struct switches *ret_switches);
void switches_close(struct switches *s);
/* Does thread tid of this process sleep now? What it does when records begin. */
bool switches_is_asleep(pid_t tid);
/* false: there is no more now. */
bool switches_next(struct switches *s, struct switches_event *ret_event);
