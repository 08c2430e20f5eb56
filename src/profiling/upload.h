/* Sends profiles to a Pyroscope server: they are queued here and sent by a thread that exists from
 * upload_start to upload_stop. Nothing here waits for the network but upload_stop, and that not
 * long. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "profiling/profile.h"

#define UPLOAD_QUEUE 20 /* profiles that wait; the newest beyond is dropped */
#define UPLOAD_MAX_AGE_NS \
	(3600 * NS_PER_SEC)		    /* older ones are not sent: the server refuses them \
					     */
#define UPLOAD_TIMEOUT_NS (10 * NS_PER_SEC) /* of one whole upload */
#define UPLOAD_CONNECTIONS 5

/* Of all pushes there ever were; the caller's, attached to the metrics. One upload thread writes.
 */
struct upload_totals {
	uint64_t uploads, bytes; /* accepted by a server (200); bytes of their bodies */
	uint64_t errors;	 /* failed or dropped ones, and what upload_note told */
	uint64_t dropped;	 /* of these: never sent, the queue was full or they were too old */
	uint64_t last_upload_s;	 /* the last accepted one, since 1970; 0: none */
};
extern const struct counter upload_counters[]; /* of struct upload_totals */
struct upload_env {			       /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct upload_totals *totals;
	/* On the upload's thread, whenever it has nothing left to send; no lock is held. */
	void (*idle)(void *arg);
	void *arg;
};
struct upload_tag {
	const char *name, *value;
};
struct upload_conf {				    /* copied */
	const char *address;			    /* as judged by address_check */
	const char *user, *password;		    /* NULL: none */
	const char *tenant;			    /* X-Scope-OrgID; NULL: none */
	const char *ca_file, *cert_file, *key_file; /* PEM; NULL: the system's authorities, none */
	const char *proxy;			    /* NULL: none, whatever the environment says */
	const struct upload_tag *tags; /* labels of the series, names distinct; see ingest.h */
	uint32_t n_tags;
};
struct upload;
/* Does not touch the network: what is wrong with a certificate is told when it is first used.
 * -ENOMEM; -EAGAIN (no thread) with a fault. */
MUST_CHECK int upload_start(const struct upload_env *env, const struct upload_conf *conf,
	struct upload **ret_upload, struct fault *reterr_fault);
/* Cancels what is on its way, forgets (and counts as dropped) what waits, ends the thread. Takes
 * NULL. */
struct upload *upload_stop(struct upload *u);

struct upload_profile {
	enum profile_kind kind;
	uint32_t hz;		    /* CPU: samples a second */
	uint64_t from_ns, until_ns; /* since 1970; from < until is seen to */
	struct text body;	    /* one gzip member; taken over */
};
/* Any thread. What finds no room, or no memory, is freed, counted and told as an error. */
void upload_queue(struct upload *u, struct upload_profile *profile);
/* An error that is not of an upload (a CPU window that could not be sampled): counted, shown, and
 * logged if it is the push's first. Any thread. */
void upload_note(struct upload *u, const char *text);
/* Is nothing left to send? Any thread. */
bool upload_is_idle(struct upload *u);

struct upload_status { /* of this push */
	uint64_t uploads, bytes, errors, dropped;
	uint64_t last_upload_ns; /* since 1970; 0: none */
	uint32_t queued;	 /* waiting or on their way */
	char last_error[320];	 /* printable UTF-8; "" : none */
};
/* Any thread; does not wait. */
void upload_status(struct upload *u, struct upload_status *ret_status);
