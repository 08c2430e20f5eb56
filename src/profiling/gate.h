/* The gate of the profiler: closed until a flag or a request opens it, and then nothing of it
 * exists. While it is open a thread of its own carries out what was asked, one thing after the
 * other: opening, closing, timed reverts, captures. Requests never wait on the caller's thread. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "net/address.h"
#include "profiling/cpu_sink.h"
#include "profiling/heap.h"
#include "profiling/push_conf.h"
#include "profiling/sampler.h"
#include "profiling/symbol.h"

struct gate;
struct gate_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	const char *version;	     /* of the program, for what is pushed; NULL: unknown */
	const struct cpu_sink *sink; /* NULL: none */
};
struct gate_conf {
	struct push_conf push;
	uint32_t cpu_hz; /* 1..1000 */
	bool kernel;	 /* sample stacks in the kernel, too */
	bool share_cpu;
	uint64_t heap_rate_bytes; /* mean bytes between samples, >= 1 */
	bool heap_at_boot;	  /* from gate_new on, whether or not the gate is open */
	uint32_t mutex_fraction;  /* see contention.h; 0: off */
	uint64_t block_rate_ns;
};
extern const struct flag gate_flags[];
extern const struct counter gate_counters[];
/* The capabilities that the program must keep for what is asked, see net/caps.h. */
uint64_t gate_caps(const struct gate_conf *conf);

#define GATE_DURATION_MAX_NS (24 * 3600 * NS_PER_SEC)
/* What the longest capture may take: a request is answered within 30 s. */
#define GATE_CAPTURE_MAX_NS (30 * NS_PER_SEC)

MUST_CHECK int gate_new(
	const struct gate_env *env, const struct gate_conf *conf, struct gate **ret_gate);
struct gate *gate_free(struct gate *g); /* stops first; takes NULL */
CLEANUP(gate);
/* Opens the gate if a flag says so, and returns when it is open. -ENOMEM, -EAGAIN (no thread). */
MUST_CHECK int gate_start(struct gate *g);
/* Closes it for good; what is asked from now on is refused with -ESHUTDOWN. */
void gate_stop(struct gate *g);

enum capture_kind {
	CAPTURE_CPU,
	CAPTURE_HEAP,
	CAPTURE_ALLOCS,
	CAPTURE_GOROUTINE,
	CAPTURE_THREADCREATE,
	CAPTURE_MUTEX,
	CAPTURE_BLOCK,
	CAPTURE_OFFCPU,
	CAPTURE_DELTA_HEAP,
	CAPTURE_DELTA_MUTEX,
	CAPTURE_DELTA_BLOCK,
	CAPTURE_SYMBOL,
	CAPTURE_TRACE,
	CAPTURE_KINDS
};
enum gate_opener { GATE_BY_FLAG, GATE_BY_REST, GATE_BY_REVERT };
struct gate_status {
	/* In the order of the contract. */
	bool enabled;
	const char *startup_flag; /* never NULL */
	char server_address[ADDRESS_BYTES];
	bool pushing;
	uint64_t sdk_errors; /* of this push */
	char last_error[320];
	bool revert_pending;
	uint64_t revert_at_ns; /* since 1970 */
	bool revert_to;
	char revert_to_address[ADDRESS_BYTES];
	bool has_push; /* not while one push is exchanged for another */
	struct upload_status push;
	bool sinking; /* the sink gets windows of the CPU */
	/* Of the profiler, while it is open. */
	enum gate_opener opened_by;
	char peer[64]; /* who asked, "" unless by REST */
	uint64_t opened_at_ns;
	uint32_t captures; /* under way */
	struct sampler_status sampler;
	char switches[96]; /* of threads: recorded or, at the opening, why not */
	struct unwind_info unwind;
	uint32_t mutex_fraction;
	uint64_t block_rate_ns;
	struct symbols_info symbols;
	struct heap_status heap;
	uint64_t bytes; /* tables and rings; not what libdw has read of debug information */
};
/* Any thread; does not wait for what is under way. */
void gate_status(struct gate *g, struct gate_status *ret_status);

bool gate_is_open(struct gate *g);
/* Kinds that are nothing but what happens meanwhile: they need a duration. */
bool capture_lasts(enum capture_kind kind);
/* How many entries the profile of a kind has about now, for an index. */
uint64_t gate_count(const struct gate_status *st, enum capture_kind kind);

/* What was asked of the gate and its outcome; any thread. The asker owns one reference. */
struct gate_job;
struct timeline;
struct gate_done {
	void (*done)(void *arg); /* once, on the gate's thread, when there is an outcome */
	void *arg;
};
/* The asker has no more interest: what is under way for it alone ends. Takes NULL, returns NULL. */
struct gate_job *gate_job_drop(struct gate_job *j);

struct gate_ask {
	bool enabled;
	const char *address;  /* NULL: not given; "": pull-only */
	uint64_t duration_ns; /* 0: for good */
	const char *peer;     /* who asks; NULL: nobody that can be named */
	bool by_flag;
};
/* Queues a turn of the gate; what can be judged at once is: -EINVAL with a fault, -ESHUTDOWN,
 * -ENOMEM, -EAGAIN. */
MUST_CHECK int gate_turn(struct gate *g, const struct gate_ask *ask, const struct gate_done *done,
	struct gate_job **ret_job, struct fault *reterr_fault);
/* After done: 0, or why it could not be opened; the state after it, valid with the job. A push that
 * did not start is not an error here: enabled, not pushing, a last_error. */
int gate_turned(const struct gate_job *j, const struct gate_status **ret_status);

struct capture_ask {
	enum capture_kind kind;
	/* CPU, OFFCPU, TRACE: how long; others: 0 is now, else what changes within. */
	uint64_t duration_ns;
	unsigned debug;	      /* 0: profile.proto; 1, 2: text */
	const uintptr_t *pcs; /* SYMBOL; copied */
	uint32_t n_pcs;
};
/* Queues a capture. -ENOENT: the gate is closed; -EBUSY: one of the kind goes on, and the
 * kind lasts and is not shared; -EOPNOTSUPP: no such form of this kind;
 * -ESHUTDOWN, -ENOMEM. */
MUST_CHECK int gate_capture(struct gate *g, const struct capture_ask *ask,
	const struct gate_done *done, struct gate_job **ret_job);
/* After done: 0 and what was captured, which may be taken out of *ret_body; else -ENOENT (closed
 * before it began), -ENOMEM. */
int gate_captured(struct gate_job *j, struct text **ret_body);
/* Of a TRACE, instead: the caller frees it. */
struct timeline *gate_traced(struct gate_job *j);
