/* Hierarchical timer wheel. One thread owns each; the owner asks when the next tick is due and
 * calls wheel_run. Timers are embedded by their users; no allocation after wheel_new. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

struct wheel;
struct wheel_timer { /* zero at first; the user sets fire and arg, the wheel the rest */
	struct wheel_timer *next, **prev; /* prev NULL: not armed */
	uint64_t at_tick;
	void (*fire)(void *arg); /* the timer is not armed any more: may free it */
	void *arg;
};
/* tick_ns > 0; now_ns is the monotonic start. */
MUST_CHECK int wheel_new(
	const struct mem *mem, uint64_t tick_ns, uint64_t now_ns, struct wheel **ret_w);
struct wheel *wheel_free(struct wheel *w); /* armed timers are forgotten */
CLEANUP(wheel);
/* Arms (again) for the first tick at or after at_ns; a past time fires at the next run, not in the
 * one that is under way. */
void wheel_arm(struct wheel *w, struct wheel_timer *t, uint64_t at_ns);
void wheel_disarm(struct wheel *w, struct wheel_timer *t); /* takes an unarmed one */
/* Fires all that is due by now_ns, in order of tick (those armed for the past first; within a tick
 * in any order); a callback may arm and disarm any timer, but not run the wheel. */
void wheel_run(struct wheel *w, uint64_t now_ns);
/* Monotonic ns of the next possible firing (never later than the true one, and not
 * after the last run's now_ns when a timer was armed for the past); UINT64_MAX: none. */
uint64_t wheel_next_ns(const struct wheel *w);
