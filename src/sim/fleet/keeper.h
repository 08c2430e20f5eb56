/* The keeper: the one thread that changes devices which exist. Changes come from any thread and are
 * applied in order, in groups: a group is made durable as a whole, then shown to readers, then
 * whoever asked is told. So what was tested holds when it is applied, and nobody sees what may yet
 * be lost. */
#pragma once
#include "base/clk.h"
#include "base/stats.h"
#include "base/wheel.h"
#include "sim/fleet/dev_state.h"
#include "sim/fleet/fleet.h"

struct keeper;
struct keeper_store { /* both are called by the keeper's thread only */
	/* Makes durable what the changes of a group have put since the last commit; nothing: 0.
	 * A failure leaves nothing of the group behind. */
	int (*commit)(void *arg);
	void (*rollback)(void *arg);
	void *arg;
};
struct keeper_env {	       /* borrowed */
	const struct mem *mem; /* the fleet's */
	const struct clk *clk;
	struct stats *stats;
	struct fleet *fleet;
	const struct keeper_store *store; /* NULL: nothing survives the program */
};
#define KEEPER_ROOM 65536u /* changes that may wait */
#define KEEPER_GROUP 1024u /* changes of one commit, at most */
extern const struct counter keeper_counters[];

struct keeping; /* a group in work */
/* Embedded in what the asker allocates; the keeper's from keeper_submit until done is called. */
struct change {
	struct change *next; /* the keeper's */
	struct addr addr;    /* of the device; all zero: of none */
	bool alone;	     /* in a group of its own: what comes next sees what done has done */
	/* Judges and carries out, within RCU_SCOPE: puts what is to survive into the store, and
	 * replaces the device's state by keeping_put. d is NULL when there is no such device.
	 * Negative: refused, and nothing was put or replaced. */
	int (*apply)(struct change *c, struct keeping *k, const struct device *d);
	/* Told once, after the readers' view has changed: what apply returned, or why the group
	 * was not made durable, or -ESHUTDOWN. Not within RCU_SCOPE. May free c and submit. */
	void (*done)(struct change *c, int r);
	int result; /* the keeper's */
};

MUST_CHECK int keeper_new(const struct keeper_env *env, struct keeper **ret_keeper);
struct keeper *keeper_free(struct keeper *k); /* stops first; armed timers are forgotten */
CLEANUP(keeper);
/* -ENOMEM, -EAGAIN, -EMFILE. */
MUST_CHECK int keeper_start(struct keeper *k);
/* Carries out what was submitted, then ends. */
void keeper_stop(struct keeper *k);

/* Any thread, the keeper's own too. -EAGAIN: KEEPER_ROOM changes wait; -ESHUTDOWN: not started or
 * stopping. Then done is not called. */
MUST_CHECK int keeper_submit(struct keeper *k, struct change *c);
/* Submits, and waits until it is done; c->done is not used. Not from the keeper's thread, not
 * within RCU_SCOPE. Errors of keeper_submit and what done would be told. */
MUST_CHECK int keeper_run(struct keeper *k, struct change *c);

/* The rest is for the keeper's thread: apply, done and the timers that it runs. */
/* Timers on the monotonic clock of env; their callbacks submit changes. */
struct wheel *keeper_wheel(struct keeper *k);
/* Fleet time of the group. */
uint64_t keeping_now_ns(const struct keeping *k);
/* Memory that parts of a device's state come from. */
const struct mem *keeping_mem(const struct keeping *k);
/* The device's state as the changes before this one leave it; NULL: nothing deviates. */
const struct dev_state *keeping_state(struct keeping *k, const struct device *d);
/* Replaces the state by one of these parts, each of which is new or what keeping_state had; takes
 * new ones over, also on failure. -ENOMEM. */
MUST_CHECK int keeping_put(struct keeping *k, const struct device *d, const struct dev_sets *sets,
	const struct dev_ifs *ifs);
/* The store failed with r: the whole group will be undone and refused with it. Returns r. */
int keeping_fail(struct keeping *k, int r);
