/* What each thread did when, for a while: its label scopes and, where perf allows, when it was on a
 * processor and why it left. Told as Trace Event JSON, for Perfetto's page and speedscope. One
 * thread starts, polls, stops, reads and frees it. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct timeline;
struct timeline_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
};
struct timeline_conf {
	uint32_t
		max_events; /* what comes later is counted as dropped; at least 64, 32 bytes each */
	bool switches;	    /* of threads, by perf */
};
#define TIMELINE_END (-1)

/* Recording begins; threads that are born meanwhile are recorded as well. At most one at a time in
 * a process. -ENOMEM. */
MUST_CHECK int timeline_start(const struct timeline_env *env, const struct timeline_conf *conf,
	struct timeline **ret_timeline);
/* Takes over what the threads noted: about every 50 ms, or they run out of room, which is counted.
 */
void timeline_poll(struct timeline *t);
/* Recording ends; nothing of it is left in any thread. */
void timeline_stop(struct timeline *t);
/* Once stopped: writes the next 1..room bytes of the JSON and returns their number; TIMELINE_END
 * at the end. -ENOMEM. The text is made while it is read. */
ssize_t timeline_read(struct timeline *t, char *buf, size_t room);
/* Stops and frees it; takes NULL, returns NULL. */
struct timeline *timeline_free(struct timeline *t);
CLEANUP(timeline);
/* The same before there is a timeline. */
void timeline_switches_probe(const struct mem *mem, char *buf, size_t bytes);
/* Are switches recorded, and if not, why: "recorded", "not asked for", "not permitted (EACCES)", …
 * Valid as long as the timeline. */
const char *timeline_switches_state(const struct timeline *t);
