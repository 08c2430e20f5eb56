/* Waits by stack and label: contention of locks (mutex), waits on locks, conditions and queues
 * (block), and all of our own waits for the time of a capture (off-CPU). It hangs into base/waits.h
 * while it is open and has something to measure; at most one may be open in a process. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "profiling/stacks.h"
#include <stdint.h>

struct walker;
struct sampler;
struct contention;
struct contention_env {	       /* borrowed, outlives it */
	const struct mem *mem; /* called while locks of the program are held: must not take them */
	const struct clk *clk;
	struct walker *walker;
};
struct contention_conf {
	uint32_t mutex_fraction; /* one of so many contentions is noted; 1: each; 0: none */
	/* A wait of at least so long is noted, a shorter one with the probability of its share; 1:
	 * each; 0: none. */
	uint64_t block_rate_ns;
};
/* Values of all: [0] contentions, [1] delay in nanoseconds, scaled up where one was noted for many.
 */
enum contention_kind {
	CONTENTION_MUTEX, /* by the stack and label of the unlock that let the waiter in */
	CONTENTION_BLOCK, /* by the stack and label of the one who waited */
	CONTENTION_OFFCPU,
	CONTENTION_KINDS
};
/* -ENOMEM. */
MUST_CHECK int contention_open(const struct contention_env *env, const struct contention_conf *conf,
	struct contention **ret_c);
/* Measures nothing any more and frees everything; nobody may be in another call. Takes NULL. */
struct contention *contention_close(struct contention *c);

/* Adds what was counted since opening (off-CPU: since the start of the last capture) to *to, which
 * may be any table of the caller's. Any thread. */
void contention_read(struct contention *c, enum contention_kind kind, struct stacks *to);

/* Between the two all own waits count, clipped to the time between. -EBUSY: one is running. */
MUST_CHECK int contention_offcpu_start(struct contention *c);
/* Waits that go on are counted up to now, with the stack that the thread shows to sampler (NULL:
 * without a stack). Then contention_read has the capture, until the next starts. Takes up to 2 s
 * when a thread does not answer. -ENOMEM: those that go on are missing. */
MUST_CHECK int contention_offcpu_stop(struct contention *c, struct sampler *sampler);
bool contention_offcpu_running(struct contention *c);

uint64_t contention_bytes(struct contention *c); /* of its tables */
