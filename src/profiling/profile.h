/* Turns counts by stack into profiles: profile.proto, gzipped. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include "profiling/stacks.h"
#include "profiling/symbol.h"

/* What receivers take: Pyroscope's burst and its samples in a profile. */
#define PROFILE_MAX_SAMPLES 16000
#define PROFILE_MAX_BYTES (2u << 20)

enum profile_kind {
	PROFILE_CPU,	      /* values: samples, nanoseconds */
	PROFILE_HEAP,	      /* alloc_objects, alloc_space, inuse_objects, inuse_space */
	PROFILE_ALLOCS,	      /* the same; alloc_space is shown first */
	PROFILE_GOROUTINE,    /* count of threads */
	PROFILE_THREADCREATE, /* count of threads by where they were made */
	PROFILE_MUTEX,	      /* contentions, delay */
	PROFILE_BLOCK,
	PROFILE_OFFCPU, /* contentions, delay: waits of ours during a capture */
	PROFILE_KINDS
};
struct profile_ask {
	enum profile_kind kind;
	const struct stacks *stacks;
	int64_t period;		      /* CPU: nanoseconds; heap: bytes; 0: the kind's own */
	int64_t time_ns, duration_ns; /* end since 1970; 0: none */
	const char *comment;	      /* may be NULL */
};
/* "cpu", "heap", … as in paths and file names. */
const char *profile_name(enum profile_kind kind);
/* Appends to *out one gzip member. What goes over the limits is summed in a sample of its own.
 * The caller has refreshed the symbols. -ENOMEM. */
MUST_CHECK int profile_encode(const struct mem *mem, struct symbols *symbols,
	const struct profile_ask *ask, struct text *out);
