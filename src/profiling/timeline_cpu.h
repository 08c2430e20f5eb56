/* When one thread of a timeline was on a processor and when off, from its context switches. Its
 * timeline owns it; one thread at a time. */
#pragma once
#include "profiling/kallsyms.h"
#include "profiling/switches.h"
#include "profiling/timeline_store.h"

enum timeline_switches {
	TIMELINE_SWITCHES_NONE,
	TIMELINE_SWITCHES_USER,	  /* without the kernel's stack */
	TIMELINE_SWITCHES_KERNEL, /* with it: the wait has a name */
};
struct timeline_cpu {
	bool open;
	struct switches switches;
	bool on, off;	   /* since when it is so; neither: not known */
	bool guessed;	   /* off is what /proc told, without the reason */
	uint64_t since_ns; /* monotonic */
	uint32_t cpu;	   /* of on */
	bool preempted;	   /* of off */
	uint64_t wait;	   /* of off: pc in the kernel or 0 */
};
/* What is shared by the threads of a timeline. */
struct timeline_cpus {
	struct timeline_store *store;
	const struct kallsyms *kernel; /* NULL: none */
	uint64_t lost;		       /* records of switches */
	uint32_t n;		       /* one more than the highest processor */
};

/* May switches be recorded at all? The best there is, with the error of what is not: 0 or
 * negative errno. */
enum timeline_switches timeline_cpu_probe(int *ret_error);
/* Begins with thread tid, which is the calling one or not; falls back to less. The error of
 * switches_open when there is nothing. */
MUST_CHECK int timeline_cpu_open(
	struct timeline_cpu *c, int tid, enum timeline_switches most, uint64_t now_ns);
void timeline_cpu_drain(
	struct timeline_cpu *c, struct timeline_cpus *all, const struct timeline_track *track);
/* Drains, and ends what the thread is doing at now_ns. Takes one that was not opened. */
void timeline_cpu_close(struct timeline_cpu *c, struct timeline_cpus *all,
	const struct timeline_track *track, uint64_t now_ns);
