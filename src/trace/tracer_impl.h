/* Inside of the tracer, shared by tracer*.c. */
#pragma once
#include "base/lock.h"
#include "base/thread.h"
#include "trace/tracer.h"

#define TRACER_TEXT_BYTES 896
#define TRACER_SLOTS 4096 /* of the table of local roots; a power of 2 */
/* Short spans that ended with samples are remembered until profiles have been written. */
#define TRACER_SHORT 8192

struct traced {
	struct tracer_span out;	     /* first; out.begun_ns and ended_ns since 1970 */
	struct traced *root;	     /* local; itself if it is one */
	struct traced *next;	     /* in the list of the held, or of the queued */
	struct traced *chain;	     /* roots in one slot of the table */
	uint64_t begun_ns, ended_ns; /* monotonic */
	uint32_t live;		     /* root: it and what is below it, as far as not ended */
	bool has_samples;
	char *state;
	struct tracer_attr attrs[TRACER_ATTRS];
	uint32_t text_bytes;
	char text[TRACER_TEXT_BYTES]; /* of attributes, id of the profile, failure */
};
struct traced_list {
	struct traced *first, **end;
	uint32_t n;
};
struct tracer {
	struct tracer_env env;
	struct tracer_conf conf;
	struct span_sink sink;
	struct thread *thread;
	struct lock lock; /* taken within the sampler's; guards all below */
	struct cond changed;
	bool stopping, sampling;
	uint64_t seed, drawn; /* of ids */
	uint32_t live;
	struct traced *roots[TRACER_SLOTS]; /* by span id; from their begin until they are queued */
	struct traced_list held, queue;
	uint64_t *shorts; /* ids of TRACER_SHORT short spans, or NULL */
	uint64_t spans, dropped_spans;
};

/* tracer_roots.c; with the lock */
void tracer_roots_add(struct tracer *t, struct traced *s);
void tracer_roots_del(struct tracer *t, struct traced *s);
struct traced *tracer_roots_find(const struct tracer *t, const uint64_t link[3]);
void tracer_shorts_add(struct tracer *t, const struct traced *s);
bool tracer_shorts_has(const struct tracer *t, const uint64_t link[3]);
