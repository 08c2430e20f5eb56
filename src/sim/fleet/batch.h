/* Create batches: a queue of jobs, at most four threads, ranges that may not meet. */
#pragma once
#include "base/fault.h"
#include "sim/fleet/fleet.h"

struct batches;
enum batch_state { BATCH_WAITING, BATCH_RUNNING, BATCH_DONE, BATCH_FAILED };
struct batch_ask {
	struct fleet_add add; /* types: an array that batch_submit copies, taking references */
};
struct batch_info {
	uint64_t id; /* from 1 */
	enum batch_state state;
	struct addr first, last;
	uint32_t requested, done; /* done: rows looked at so far */
	struct fleet_added added;
	uint64_t started_ns, ended_ns; /* monotonic; 0: not yet */
	struct fault fault;	       /* if failed */
};
struct batches_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	struct fleet *fleet;
	/* Makes routes and sockets for first..last before a row exists; may wait. Negative errno
	 * and a fault when it cannot be done. */
	int (*prepare)(void *arg, const struct addr *first, const struct addr *last,
		uint16_t snmp_port, struct fault *reterr_fault);
	/* The range is no longer wanted (failed create, all its devices deleted). */
	void (*undo)(void *arg, const struct addr *first, const struct addr *last);
	void *arg;
};
MUST_CHECK int batches_new(const struct batches_env *env, struct batches **ret_batches);
struct batches *batches_free(struct batches *b); /* stops first */
CLEANUP(batches);
MUST_CHECK int batches_start(struct batches *b);
void batches_stop(struct batches *b); /* lets the slice in work end, fails the waiting */

/* Checks the range (fits, memory suffices, meets no batch in progress) and queues it. done (may be
 * NULL) is called once from a job thread when it ended. -EINVAL, -EBUSY (meets another: the fault
 * says which), -ENOMEM, -ENOSPC (memory: the fault has the numbers), -ESHUTDOWN. */
MUST_CHECK int batch_submit(struct batches *b, const struct batch_ask *ask,
	void (*done)(void *arg, uint64_t id), void *done_arg, uint64_t *ret_id,
	struct fault *reterr_fault);
/* The last 256 ended ones are kept. -ENOENT. */
MUST_CHECK int batch_get(struct batches *b, uint64_t id, struct batch_info *ret_info);
/* Batches that wait or run; fn must not call back. */
void batch_each_active(
	struct batches *b, void (*fn)(void *arg, const struct batch_info *info), void *arg);
