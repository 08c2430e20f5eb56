/* The thread-local record of the calling thread, with two pointers for profilers outside of the
 * process: the writable globals of the program besides the hook table. Read by signal handlers and
 * from outside, so they are local-exec and exported by name. */
#pragma once
#include "base/attr.h"
#include "base/label.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SELF_BIRTH_DEPTH 24
struct log;
struct scopes;
struct span;
struct self {
	const struct label *label; /* never NULL; first: custom_labels_current_set is it as well */
	struct log *log;	   /* where this thread logs; NULL: nowhere */
	char name[16];		   /* as in ps; empty in the threads of libraries */
	unsigned rcu_count;	   /* rcu_thread_init without its rcu_thread_done */
	/* The registry's (threads.h), which guards the links. */
	pid_t tid; /* 0: not registered */
	uintptr_t stack_lo, stack_hi;
	struct self *next, **prev;
	void *sampler;	       /* the profiler's record of the thread, NULL while it is closed */
	uint32_t in_handler;   /* what the handler may use is freed only after this was seen 0 */
	uint32_t in_walk;      /* what a walk of the own stack uses, likewise */
	struct scopes *scopes; /* where changes of the label are noted; NULL: nowhere (scopes.h) */
	uint32_t in_scopes;    /* it is freed only after this was seen 0 */
	/* The span that it works in, NULL: none (span.h). What its samples are linked with: trace
	 * id, span id (0: nothing; else all of this is valid), name. The record for outside. */
	struct span *span;
	uint64_t span_link[3];
	const char *span_name;
	struct label_context span_context;
	/* The allocator's (mem_hook.h). */
	uint64_t mem_bytes; /* asked for by this thread so far */
	uint64_t mem_limit; /* from here on the hook is asked; others may set it to 0 at any time */
	uint64_t mem_due;   /* the thread's own copy, which is never 0 for others' sake */
	uint64_t mem_rnd;   /* the hook's state */
	uint32_t mem_epoch; /* the opening that mem_due and mem_rnd belong to */
	uint32_t mem_busy;  /* in the hook: what it allocates itself is not counted */
	/* Of waits.h: enum wait_kind, and WAIT_CLAIMED; since when, 0: unknown; waits that hooks
	 * saw begin. */
	uint32_t waiting;
	uint64_t waits_since_ns, waits;
	uint64_t offcpu_ns; /* its own waits within the capture under way, or the last */
	uint32_t in_hook;   /* what a hook may use is freed only after this was seen 0 */
	bool hushed;	    /* its waits are not told of */
	unsigned birth_n;
	uintptr_t birth[SELF_BIRTH_DEPTH]; /* return addresses in the thread that made it */
};
#define SELF_TLS __attribute__((tls_model("local-exec"))) EXPORT
extern _Thread_local struct self nl6_self SELF_TLS;
/* OpenTelemetry's thread context (OTEP 4947): the record of nl6_self.label or, within a span, the
 * thread's own. */
extern _Thread_local const struct label_context *otel_thread_ctx_v1 SELF_TLS;

enum label_change { LABEL_SET, LABEL_ENTER, LABEL_LEAVE };
/* scopes.c */
void label_note_(enum label_change how, const struct label *from, const struct label *to);
static inline const struct label *label_change_(enum label_change how, const struct label *l)
{
	const struct label *old = nl6_self.label;
	__atomic_store_n(&nl6_self.label, l, __ATOMIC_RELAXED);
	__atomic_store_n(&otel_thread_ctx_v1, &l->context, __ATOMIC_RELAXED);
	if (UNLIKELY(nl6_self.span || __atomic_load_n(&nl6_self.scopes, __ATOMIC_RELAXED)))
		label_note_(how, old, l);
	return old;
}
/* From now on the calling thread works under label l; the one before. Async-signal-safe. */
static inline const struct label *label_swap(const struct label *l)
{
	return label_change_(LABEL_SET, l);
}
/* For the duration of a scope. */
static inline void label_scope_end_(const struct label **old)
{
	(void)label_change_(LABEL_LEAVE, *old);
}
#define LABEL_SCOPE(l) \
	const struct label *UNIQUE(label_scope_) \
		__attribute__((cleanup(label_scope_end_), unused)) = label_change_(LABEL_ENTER, l)
