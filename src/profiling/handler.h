/* What runs in the signal handler, and the record of each thread it writes to. Compiled without
 * sanitizers: it may interrupt their run-time. */
#pragma once
#include "base/ring.h"
#include "base/self.h"
#include "profiling/perf.h"
#include "profiling/walker.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define HANDLER_RING_WORDS (1u << 14)

/* In the ring, before the program counters. */
struct handler_record {
	uint32_t words; /* of the whole record; the ring's */
	uint32_t weight;
	uint16_t n;
	uint8_t end, kind; /* enum handler_kind */
	uint32_t request;  /* of a snapshot */
	const struct label *label;
	uint64_t span[3]; /* trace id, span id; 0: none */
	const char *span_name;
	uint64_t perf_from, perf_to; /* of HANDLER_PERF: the samples it goes with */
};
enum handler_kind { HANDLER_CPU, HANDLER_PERF, HANDLER_SNAPSHOT };

struct handler_thread {
	struct self *self;
	const struct walker *walker;
	struct ring ring;	 /* of HANDLER_RING_WORDS, mmapped */
	uint32_t snapshot_asked; /* id of the last request to this thread */
	uint64_t lost_ring_full, lost_foreign_stack;
	uint64_t perf_from, perf_to; /* positions in perf of the last signal's samples */
	/* The sampler's. */
	struct perf_ring perf; /* instead of a timer */
	timer_t timer;
	bool armed, has_timer, gone;
	struct handler_thread *next;
};

/* Installs the handler for SIGPROF, for good. */
int handler_install(void);
/* Returns when the thread is in no handler that began before. */
void handler_wait(const struct self *thread);
/* A signal that asks the thread for its stack; -ESRCH when it is gone. */
int handler_ask(struct handler_thread *t, int pid, int tid, uint32_t request);
