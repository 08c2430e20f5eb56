/* Create batches: a queue of jobs, at most four threads, ranges that may not meet. They also keep
 * the books of what was prepared (routes, sockets) for the devices they made, and undo it when the
 * last device of a batch is deleted: deletes go through here. */
#pragma once
#include "base/fault.h"
#include "base/text.h"
#include "sim/fleet/fleet.h"

#define BATCH_WAITING_MAX 1024
#define BATCH_HISTORY 256

struct batches;
enum batch_state { BATCH_WAITING, BATCH_RUNNING, BATCH_DONE, BATCH_FAILED };
struct batch_run { /* of devices of a range, by number */
	uint32_t first, n;
};
struct batch_ask {
	struct fleet_add add; /* types: an array that batch_submit copies, taking references; batch
				 is set by batch_submit */
	bool detached;	      /* the span that it is asked in does not wait for it */
	/* A create of an earlier start, which comes back from the store: its id, and the devices it
	 * still has (copied; NULL: all). 0: a new one. */
	uint32_t id;
	const struct batch_run *runs;
	uint32_t n_runs;
	/* Of the fleet that the -auto flags ask for: those flags (copied). The store keeps them
	 * with it, and its port as that of all agents. NULL: another. */
	const char *auto_flags;
};
struct batch_info {
	uint64_t id; /* from 1 */
	enum batch_state state;
	struct addr first, last;
	uint32_t requested, done;		 /* done: devices looked at so far */
	struct fleet_added added;		 /* of a failed batch: nothing created is left */
	uint64_t asked_ns, started_ns, ended_ns; /* monotonic; 0: not yet */
	struct fault fault;			 /* if failed */
};
struct batches_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	struct fleet *fleet;
	/* Makes routes and sockets for first..last before a row exists; may wait. Negative errno
	 * and a fault when it cannot be done. From a job thread, several at a time. */
	int (*prepare)(void *arg, const struct addr *first, const struct addr *last,
		uint16_t snmp_port, struct fault *reterr_fault);
	/* The range is no longer wanted (failed create, all devices of the batch deleted): once for
	 * each prepare that succeeded, from a job thread or the one that deletes. */
	void (*undo)(
		void *arg, const struct addr *first, const struct addr *last, uint16_t snmp_port);
	void *arg;
	/* Bytes that may still be taken from the system, see batch_memory.h. NULL: no limit. */
	uint64_t (*available_bytes)(void *arg);
	/* Creates and deletes are kept; both NULL: they are not. */
	struct keeper *keeper;
	struct store *store;
};
extern const struct counter batches_counters[];
MUST_CHECK int batches_new(const struct batches_env *env, struct batches **ret_batches);
/* Stops first. What is prepared for living devices stays so. */
struct batches *batches_free(struct batches *b);
CLEANUP(batches);
MUST_CHECK int batches_start(struct batches *b);
/* Creates of earlier starts, with ids up to last_id, are to come back: until batches_restored,
 * nothing else is taken, and nothing is deleted (-EAGAIN). */
void batches_restore(struct batches *b, uint32_t last_id);
void batches_restored(struct batches *b);
/* Lets the slice in work end; what runs or waits fails, its done is called. */
void batches_stop(struct batches *b);

/* Checks the range (fits, memory suffices, meets no batch in progress) and queues it. done (may be
 * NULL) is called once from a job thread when it ended, or from the thread that stops or deletes
 * all. Any thread. -EINVAL, -EBUSY (meets another: the fault says which), -ENOMEM, -ENOSPC (memory:
 * the fault has the numbers), -EAGAIN (too many wait), -ESHUTDOWN (not started). */
MUST_CHECK int batch_submit(struct batches *b, const struct batch_ask *ask,
	void (*done)(void *arg, uint64_t id), void *done_arg, uint64_t *ret_id,
	struct fault *reterr_fault);
/* The last BATCH_HISTORY ended ones are kept. -ENOENT. */
MUST_CHECK int batch_get(struct batches *b, uint64_t id, struct batch_info *ret_info);
/* Batches that wait or run, in order of id; fn must not call back. */
void batch_each_active(
	struct batches *b, void (*fn)(void *arg, const struct batch_info *info), void *arg);

/* The batches whose devices live and whose creates have ended, in order of id; the caller frees
 * *ret_ids. -ENOMEM. */
MUST_CHECK int batches_living(
	struct batches *b, const struct mem *mem, uint32_t **ret_ids, uint32_t *ret_n);
/* What such a batch was asked for, as store_create.h writes it. -ENOENT; -ENOMEM. */
MUST_CHECK int batches_asked(struct batches *b, uint32_t id, struct text *t);

/* Deletes a device. -ENOENT; with a store also its errors and those of keeper_submit, with a fault,
 * and the device stays. Any thread but the keeper's, not within RCU_SCOPE. */
MUST_CHECK int batches_delete(struct batches *b, const struct addr *a, struct fault *reterr_fault);
/* The two halves of that for a change which is alone, of one's own: within its apply, and in its
 * done when it came about. Errors of the store. */
struct change;
struct keeping;
MUST_CHECK int batches_forget(struct batches *b, struct keeping *k, const struct device *d);
void batches_take(struct batches *b, const struct addr *a);
/* May devices be deleted now? -EAGAIN with a fault while creates of earlier starts come back. */
MUST_CHECK int batches_may_delete(struct batches *b, struct fault *reterr_fault);
/* Deletes every device; batches in progress fail first ("all devices are being deleted"), so that
 * the fleet is empty when this returns, but for what was submitted since. *ret_n: how many went.
 * Errors as above: all devices stay, but for those of the batches. */
MUST_CHECK int batches_delete_all(struct batches *b, uint64_t *ret_n, struct fault *reterr_fault);
