/* Sends exports of one signal to a receiver of OTLP, over HTTP or gRPC: they are queued here, and
 * sent one after the other by a thread that exists from export_start to export_stop. Nothing here
 * waits for the network but export_stop, and that not long. What the receiver lets be sent again
 * is, with growing pauses, for EXPORT_RETRY_NS; nothing else is ever. Source: the OTLP
 * specification. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "trace/export_conf.h"

#define EXPORT_QUEUE 64			   /* bodies that wait; the newest beyond is dropped */
#define EXPORT_QUEUE_BYTES (16u << 20)	   /* of all that wait, uncompressed */
#define EXPORT_ANSWER_MAX_BYTES (4u << 20) /* a longer answer is none */
#define EXPORT_RETRY_NS (300 * NS_PER_SEC) /* since a body was first sent; then it is given up */
#define EXPORT_PAUSE_FIRST_NS NS_PER_SEC   /* between the first two tries; then doubled, up to */
#define EXPORT_PAUSE_MAX_NS (30 * NS_PER_SEC)

/* Of all exports of a signal there ever were; the caller's, who attaches it to the metrics by the
 * name of the signal. */
struct export_totals {
	uint64_t requests;				   /* tries */
	uint64_t retried;				   /* of these: not a body's first */
	uint64_t accepted, accepted_items, accepted_bytes; /* bodies; bytes as sent */
	uint64_t rejected_items;	 /* of accepted bodies: not taken all the same */
	uint64_t warnings;		 /* accepted with a word to say */
	uint64_t failed, failed_items;	 /* bodies that were refused or given up */
	uint64_t dropped, dropped_items; /* never sent: no room, or the end came */
	uint64_t last_accepted_s;	 /* since 1970; 0: never */
};
extern const struct counter export_counters[]; /* of struct export_totals */
struct export_env {			       /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct export_totals *totals;
	/* On the export's thread, no lock held, in the order of export_queue: a body was accepted,
	 * or was sent and given up. Not for what is dropped. May be NULL. */
	void (*done)(void *arg, bool accepted);
	void *arg;
};
struct export;
/* conf is copied. Does not touch the network: what is wrong with a certificate is told when it is
 * first used. -ENOMEM; -EAGAIN (no thread) with a fault. */
MUST_CHECK int export_start(const struct export_env *env, const struct export_conf *conf,
	struct export **ret_export, struct fault *reterr_fault);
/* Goes on sending for at most flush_ns, as long as all is accepted; drops and counts the rest, ends
 * the thread. Takes NULL. */
struct export *export_stop(struct export *x, uint64_t flush_ns);
/* body: a request message, uncompressed, of items (spans, profiles); taken over. One with an error
 * is dropped. Any thread; never waits. */
void export_queue(struct export *x, struct text *body, uint32_t items);

struct export_status {
	uint32_t queued, queued_items; /* waiting or on their way: bodies, what is in them */
	bool failing;		       /* the last try failed */
	uint64_t last_accepted_ns;     /* since 1970; 0: none */
	char last_error[320];	       /* printable ASCII; "": none yet */
};
/* Any thread; does not wait. */
void export_status(struct export *x, struct export_status *ret_status);
