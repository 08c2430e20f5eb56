/* Spans: pieces of work that a trace tells of (OpenTelemetry's trace API, as far as it is used
 * here). What becomes of them is the sink's business (trace/tracer.h); while there is none, no span
 * begins, and every call takes the NULL that there is instead. A thread works in at most one span;
 * its samples are linked with that span's local root: the first of its trace in this process, or
 * one that may outlive what began it. */
#pragma once
#include "base/attr.h"
#include "base/self.h"
#include <stdbool.h>
#include <stdint.h>

enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER, SPAN_CLIENT }; /* as in trace.proto */
/* Of W3C Trace Context level 2. */
#define SPAN_SAMPLED 0x01
#define SPAN_RANDOM 0x02
struct span_context {
	uint8_t trace_id[16], span_id[8], flags;
};
/* The sink makes it and knows more of it. In place until span_end. */
struct span {
	struct span_context context;
	uint64_t link[3];      /* trace id and the local root's span id; [2] 0: not to be linked */
	const char *link_name; /* of the local root */
};
struct span_ask {
	const char *name; /* lives as long as the process */
	enum span_kind kind;
	struct span *parent;		   /* in this process; NULL: none */
	const struct span_context *remote; /* then: of a parent elsewhere, or NULL */
	const char *state;		   /* its tracestate; NULL: none */
	bool detached;			   /* may go on after its parent has ended */
};

/* All may be called by any thread, none may wait. */
struct span_sink {
	struct span *(*begin)(void *arg, const struct span_ask *ask); /* NULL: not sampled */
	void (*end)(void *arg, struct span *s);
	void (*attr)(void *arg, struct span *s, const char *key, const char *str, int64_t num);
	void (*fail)(void *arg, struct span *s, const char *why);
	/* Of the sampler: whether it samples; a span has got samples; all samples that were taken
	 * before ns (monotonic) have been told. */
	void (*sampling)(void *arg, bool on);
	void (*sampled)(void *arg, const uint64_t link[3]);
	void (*drained)(void *arg, uint64_t ns);
	/* Is the span, as far as it has come, too short for its samples to be linked with it? NULL:
	 * none is. */
	bool (*is_short)(void *arg, const uint64_t link[3]);
	void *arg;
};
extern const struct span_sink *span_sink; /* read it with span_sink_now */
static inline const struct span_sink *span_sink_now(void)
{
	return __atomic_load_n(&span_sink, __ATOMIC_ACQUIRE); /* pairs with span_set_sink */
}
/* Borrowed until it is replaced; NULL: none. While other threads may have spans it stays. */
void span_set_sink(const struct span_sink *sink);

/* NULL: it is not sampled, and neither is anything below it. The caller ends it. */
struct span *span_begin(const struct span_ask *ask);
/* Below the span that the thread works in; NULL when it works in none. */
struct span *span_begin_child(const char *name, enum span_kind kind);
void span_end(struct span *s); /* no thread works in it any more */
void span_set_str(struct span *s, const char *key, const char *value); /* copied, may be cut */
void span_set_int(struct span *s, const char *key, int64_t value);
/* It ended in an error; why is copied. */
void span_fail(struct span *s, const char *why);

/* From now on the calling thread works in s (NULL: in none); the one before. */
struct span *span_swap(struct span *s);
/* The thread's label has changed: what profilers outside of the process read follows. */
void span_relabel(void);

struct span_scope {
	struct span *old, *own; /* own: ends with the scope */
	bool entered;
};
static inline struct span_scope span_scope_begin_(struct span *s, bool owned)
{
	return s ? (struct span_scope){span_swap(s), owned ? s : NULL, true}
		 : (struct span_scope){NULL, NULL, false};
}
static inline void span_scope_end_(struct span_scope *scope)
{
	if (UNLIKELY(scope->entered))
		(void)span_swap(scope->old);
	if (UNLIKELY(scope->own != NULL))
		span_end(scope->own);
}
/* For the duration of a scope the thread works in s; with NULL nothing changes. */
#define SPAN_SCOPE(s) \
	struct span_scope UNIQUE(span_scope_) __attribute__((cleanup(span_scope_end_), unused)) = \
		span_scope_begin_((s), false)
/* The same with a child of the thread's span, which the scope begins and ends. */
#define SPAN_WORK(name) \
	struct span_scope UNIQUE(span_scope_) __attribute__((cleanup(span_scope_end_), unused)) = \
		span_scope_begin_(span_begin_child((name), SPAN_INTERNAL), true)
