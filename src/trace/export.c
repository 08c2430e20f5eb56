#include "trace/export.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/rnd.h"
#include "base/thread.h"
#include "net/fetch.h"
#include "trace/export_conf.h"
#include "wire/gzip.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define WAIT_MAX_MS 60000u
#define SAY_NS (60 * NS_PER_SEC) /* between two lines of the log of one kind */
#define FRAME_BYTES 5

static const char *const signal_names[] = {"traces", "profiles"};
#define TOTAL(field_, kind, text) \
	{ \
		"otlp", #field_, text, offsetof(struct export_totals, field_), kind \
	}
const struct counter export_counters[] = {
	TOTAL(requests, STAT_COUNTER, "Requests to receivers of OTLP"),
	TOTAL(retried, STAT_COUNTER, "Requests with a body that had been sent before"),
	TOTAL(accepted, STAT_COUNTER, "Exports that a receiver accepted"),
	TOTAL(accepted_items, STAT_COUNTER, "Spans or profiles of accepted exports"),
	TOTAL(accepted_bytes, STAT_COUNTER, "Bytes of accepted exports as they were sent"),
	TOTAL(rejected_items, STAT_COUNTER,
		"Spans or profiles that a receiver rejected in an export that it accepted"),
	TOTAL(warnings, STAT_COUNTER, "Exports that a receiver accepted with a warning"),
	TOTAL(failed, STAT_COUNTER, "Exports that were refused, or given up"),
	TOTAL(failed_items, STAT_COUNTER, "Spans or profiles of exports that failed"),
	TOTAL(dropped, STAT_COUNTER, "Exports never sent: no room in the queue, or no time left"),
	TOTAL(dropped_items, STAT_COUNTER, "Spans or profiles of exports that were never sent"),
	{"otlp", "last_accepted_timestamp_seconds",
		"When an export was last accepted, since 1970; 0: never",
		offsetof(struct export_totals, last_accepted_s), STAT_GAUGE},
	{0},
};

struct body {
	struct text bytes;
	uint32_t items;
};
/* The body that is being sent: the thread's own, but for active and items. */
struct sending {
	bool active, on_way;
	struct text bytes; /* as they go over the wire */
	uint32_t items, tries;
	uint64_t first_ns; /* when it was first sent */
};
struct export
{
	struct export_env env;
	struct export_conf conf; /* a copy of our own */
	struct fetch *fetch;
	struct thread *thread;
	struct sending now;
	/* The thread's own. */
	uint64_t seed, pauses;
	uint64_t pause_ns;	     /* the last; 0: all is well */
	uint64_t next_ns;	     /* monotonic: no request before */
	bool told;		     /* next_ns is of the receiver's word */
	uint64_t failures, noted;    /* since the last success; warnings not logged yet */
	uint64_t said_ns, warned_ns; /* when a line was last logged; 0: never */
	bool said;		     /* that it fails, since the last success */
	struct lock lock;	     /* guards all below */
	bool stopping;
	uint64_t stop_ns; /* then: monotonic, the end of the flush */
	struct body queue[EXPORT_QUEUE];
	uint32_t first, queued;
	uint64_t queued_bytes, queued_items;
	struct export_status status; /* all but queued */
};

static bool stop_wanted(struct export *x, uint64_t *ret_until_ns)
{
	LOCK_SCOPE(&x->lock);
	*ret_until_ns = x->stop_ns;
	return x->stopping;
}

static void drop_counted(struct export *x, uint32_t items)
{
	stat_add(&x->env.totals->dropped, 1);
	stat_add(&x->env.totals->dropped_items, items);
}

static void add_body(struct export *x, struct text *body, uint32_t items, bool *ret_room)
{
	LOCK_SCOPE(&x->lock);
	*ret_room = !body->err && !x->stopping && x->queued < EXPORT_QUEUE &&
		    body->len <= EXPORT_QUEUE_BYTES - x->queued_bytes;
	if (!*ret_room) {
		drop_counted(x, items);
		return;
	}
	x->queue[(x->first + x->queued++) % EXPORT_QUEUE] = (struct body){*body, items};
	x->queued_bytes += body->len;
	x->queued_items += items;
	*body = (struct text)TEXT(body->mem);
}

void export_queue(struct export *x, struct text *body, uint32_t items)
{
	bool room;
	add_body(x, body, items, &room);
	text_done(body);
	if (room)
		fetch_wake(x->fetch);
}

static bool take_body(struct export *x, struct body *ret)
{
	LOCK_SCOPE(&x->lock);
	if (!x->queued)
		return false;
	*ret = x->queue[x->first];
	x->first = (x->first + 1) % EXPORT_QUEUE;
	x->queued--;
	x->queued_bytes -= ret->bytes.len;
	x->queued_items -= ret->items;
	x->now.items = ret->items;
	x->now.active = true;
	return true;
}

/* What a request has: behind the head of its frame (gRPC), compressed if that was asked for. */
static int encode(struct export *x, struct text *plain, struct text *out)
{
	if (!x->conf.grpc && !x->conf.gzip) {
		*out = *plain;
		*plain = (struct text)TEXT(plain->mem);
		return 0;
	}
	static const char head[FRAME_BYTES];
	size_t head_bytes = x->conf.grpc ? FRAME_BYTES : 0;
	text_write(out, head, head_bytes);
	if (!x->conf.gzip)
		text_write(out, plain->s, plain->len);
	else if (gzip_write(out, plain->len ? plain->s : "", plain->len) < 0)
		return -ENOMEM;
	if (out->err)
		return out->err;
	if (head_bytes) {
		uint32_t n = (uint32_t)(out->len - FRAME_BYTES);
		uint8_t *b = (uint8_t *)out->s;
		b[0] = x->conf.gzip;
		for (unsigned i = 0; i < 4; i++)
			b[1 + i] = (uint8_t)(n >> (24 - 8 * i));
	}
	return 0;
}

/* Is it time for a line of its kind? */
static bool may_say(struct export *x, uint64_t *last_ns)
{
	uint64_t now_ns = clk_ns(x->env.clk);
	if (*last_ns && now_ns - *last_ns < SAY_NS)
		return false;
	*last_ns = now_ns;
	return true;
}

static void note_error(struct export *x, bool failing, const struct fault *why)
{
	LOCK_SCOPE(&x->lock);
	x->status.failing = failing;
	memcpy(x->status.last_error, why->text, sizeof(x->status.last_error));
}

static void note_failure(struct export *x, const struct fault *why)
{
	note_error(x, true, why);
	x->failures++;
	if (x->said || !may_say(x, &x->said_ns))
		return;
	x->said = true;
	log_warn(NULL, 0, "[otlp] export of %s to %s failing: %s", signal_names[x->conf.signal],
		x->conf.url, why->text);
}

static void note_success(struct export *x)
{
	if (x->said)
		log_info(NULL, 0, "[otlp] export of %s to %s works again after %llu failures",
			signal_names[x->conf.signal], x->conf.url, (unsigned long long)x->failures);
	x->said = false;
	x->failures = 0;
	LOCK_SCOPE(&x->lock);
	x->status.failing = false;
	x->status.last_accepted_ns = clk_wall_ns(x->env.clk);
	stat_set(&x->env.totals->last_accepted_s, x->status.last_accepted_ns / NS_PER_SEC);
}

static void note_warning(struct export *x, const struct otlp_answer *a)
{
	note_error(x, false, &a->told);
	x->noted++;
	if (!may_say(x, &x->warned_ns))
		return;
	log_warn(NULL, 0, "[otlp] export of %s to %s accepted, but (%llu times): %s",
		signal_names[x->conf.signal], x->conf.url, (unsigned long long)x->noted,
		a->told.text);
	x->noted = 0;
}

/* The body is over; the next may go. */
static void finish(struct export *x, bool accepted)
{
	text_done(&x->now.bytes);
	{
		LOCK_SCOPE(&x->lock);
		x->now = (struct sending){.bytes = TEXT(x->env.mem)};
	}
	if (x->env.done)
		x->env.done(x->env.arg, accepted);
}

static void fail(struct export *x, const struct fault *why)
{
	note_failure(x, why);
	{
		LOCK_SCOPE(&x->lock);
		stat_add(&x->env.totals->failed, 1);
		stat_add(&x->env.totals->failed_items, x->now.items);
	}
	finish(x, false);
}

static void succeed(struct export *x, const struct otlp_answer *a)
{
	struct export_totals *t = x->env.totals;
	uint64_t rejected = MIN(a->rejected, (uint64_t)x->now.items);
	stat_add(&t->accepted, 1);
	stat_add(&t->accepted_items, x->now.items - rejected);
	stat_add(&t->accepted_bytes, x->now.bytes.len);
	stat_add(&t->rejected_items, rejected);
	note_success(x);
	if (a->told.code) {
		stat_add(&t->warnings, 1);
		note_warning(x, a);
	}
	x->pause_ns = 0;
	x->told = false;
	finish(x, true);
}

/* Doubled, and somewhere in its upper half, so that many senders do not come back at once. */
static uint64_t pause_ns(struct export *x)
{
	x->pause_ns =
		x->pause_ns ? MIN(x->pause_ns * 2, EXPORT_PAUSE_MAX_NS) : EXPORT_PAUSE_FIRST_NS;
	uint32_t half = (uint32_t)(x->pause_ns / 2 / NS_PER_MS);
	return x->pause_ns / 2 + rnd_below(x->seed, 0, x->pauses++, half + 1) * NS_PER_MS;
}

static void retry(struct export *x, const struct otlp_answer *a)
{
	uint64_t now_ns = clk_ns(x->env.clk), until_ns;
	uint64_t wait_ns = MAX(pause_ns(x), a->wait_ns);
	x->told = a->wait_ns > 0;
	/* Others are not sent before either; but nothing is held back for longer than this. */
	x->next_ns = now_ns + MIN(wait_ns, EXPORT_RETRY_NS);
	if (stop_wanted(x, &until_ns) || now_ns + wait_ns - x->now.first_ns > EXPORT_RETRY_NS)
		fail(x, &a->told);
	else
		note_failure(x, &a->told);
}

static void on_answer(void *arg, const struct fetch_answer *answer)
{
	struct export *x = arg;
	struct otlp_heard heard = {.signal = x->conf.signal,
		.grpc = x->conf.grpc,
		.status = answer->status,
		.error = answer->error,
		.too_long = answer->code == -EFBIG,
		.body = answer->body,
		.body_bytes = answer->body_bytes,
		.retry_after_s = answer->retry_after_s,
		.type = fetch_header(answer, "content-type"),
		.grpc_status = fetch_header(answer, "grpc-status"),
		.grpc_message = fetch_header(answer, "grpc-message"),
		.grpc_details = fetch_header(answer, "grpc-status-details-bin")};
	struct otlp_answer a;
	otlp_answer_read(x->env.mem, &heard, &a);
	x->now.on_way = false;
	if (a.verdict == OTLP_ACCEPTED) {
		succeed(x, &a);
	} else if (a.verdict == OTLP_RETRY) {
		retry(x, &a);
	} else {
		x->pause_ns = 0;
		fail(x, &a.told);
	}
}

static void post(struct export *x)
{
	x->now.first_ns = x->now.tries ? x->now.first_ns : clk_ns(x->env.clk);
	int r = fetch_post(
		x->fetch, &(struct fetch_ask){.url = x->conf.url,
				  .user = x->conf.user,
				  .password = x->conf.password,
				  .headers = x->conf.headers,
				  .content_type = x->conf.grpc ? "application/grpc"
							       : "application/x-protobuf",
				  .body = x->now.bytes.s,
				  .body_bytes = x->now.bytes.len,
				  .done = on_answer,
				  .arg = x});
	struct fault why = {0};
	if (r < 0) {
		(void)fault_set(&why, r, "", NULL, "no memory for a request");
		fail(x, &why);
		return;
	}
	stat_add(&x->env.totals->requests, 1);
	if (x->now.tries++)
		stat_add(&x->env.totals->retried, 1);
	x->now.on_way = true;
}

/* The next body becomes the one that is being sent. */
static void load(struct export *x)
{
	struct body body;
	struct fault why = {0};
	if (!take_body(x, &body))
		return;
	int r = encode(x, &body.bytes, &x->now.bytes);
	text_done(&body.bytes);
	if (r == 0)
		return;
	(void)fault_set(&why, r, "", NULL, "no memory to encode an export");
	fail(x, &why);
}

static uint32_t wait_ms(const struct export *x, bool stopping, uint64_t stop_ns)
{
	uint64_t now_ns = clk_ns(x->env.clk), until_ns = now_ns + WAIT_MAX_MS * NS_PER_MS;
	if (x->now.active && !x->now.on_way)
		until_ns = MIN(until_ns, x->next_ns);
	if (stopping)
		until_ns = MIN(until_ns, stop_ns);
	return until_ns <= now_ns ? 0 : (uint32_t)((until_ns - now_ns) / NS_PER_MS + 1);
}

/* Is there reason to go on until stop_ns? Only if all that was sent since then was accepted, and
 * what waits may be sent in time. */
static bool may_flush(struct export *x, uint64_t stop_ns, bool *begun)
{
	uint64_t now_ns = clk_ns(x->env.clk);
	if (!*begun && !x->told)
		x->next_ns = now_ns; /* one more try, instead of the pause */
	*begun = true;
	return x->now.active && now_ns < stop_ns && (x->now.on_way || x->next_ns < stop_ns) &&
	       !(x->now.tries == 0 && x->pause_ns && x->next_ns > now_ns);
}

static void run(void *arg)
{
	struct export *x = arg;
	bool flushing = false;
	for (;;) {
		uint64_t stop_ns;
		if (!x->now.active)
			load(x);
		bool stopping = stop_wanted(x, &stop_ns);
		if (stopping && !may_flush(x, stop_ns, &flushing))
			return;
		if (x->now.active && !x->now.on_way && x->next_ns <= clk_ns(x->env.clk))
			post(x);
		fetch_run(x->fetch, wait_ms(x, stopping, stop_ns));
	}
}

static int start(struct export *x, const struct export_conf *conf)
{
	if (getrandom(&x->seed, sizeof(x->seed), GRND_NONBLOCK) != sizeof(x->seed))
		x->seed = clk_wall_ns(x->env.clk);
	int r = export_conf_copy(x->env.mem, conf, &x->conf);
	if (r < 0)
		return r;
	struct fetch_conf fetch = {.user_agent = x->conf.user_agent,
		.ca_file = x->conf.ca,
		.cert_file = x->conf.cert,
		.key_file = x->conf.key,
		.proxy = x->conf.proxy,
		.timeout_ms = x->conf.timeout_ms,
		.connections = 1,
		.keep_alive = true,
		.http2 = x->conf.grpc,
		.answer_max_bytes = EXPORT_ANSWER_MAX_BYTES};
	r = fetch_new(x->env.mem, &fetch, &x->fetch);
	struct thread_conf thread = {.label = &label_trace, .run = run, .arg = x};
	(void)snprintf(thread.name, sizeof(thread.name), "export-%s", signal_names[conf->signal]);
	return r < 0 ? r : thread_start(x->env.mem, &thread, &x->thread);
}

int export_start(const struct export_env *env, const struct export_conf *conf,
	struct export **ret_export, struct fault *reterr_fault)
{
	struct export *x = mem_zalloc(env->mem, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->env = *env;
	x->now.bytes = (struct text)TEXT(env->mem);
	lock_init(&x->lock);
	int r = start(x, conf);
	if (r == -EAGAIN)
		(void)fault_set(reterr_fault, r, "", NULL, "no thread can be started");
	if (r < 0) {
		(void)export_stop(x, 0);
		return r;
	}
	*ret_export = x;
	return 0;
}

/* The thread is over. What was sent and has no answer yet may have arrived or not. */
static void forget(struct export *x)
{
	if (x->now.active && x->now.tries) {
		stat_add(&x->env.totals->failed, 1);
		stat_add(&x->env.totals->failed_items, x->now.items);
	} else if (x->now.active) {
		drop_counted(x, x->now.items);
	}
	text_done(&x->now.bytes);
	for (; x->queued; x->queued--, x->first = (x->first + 1) % EXPORT_QUEUE) {
		drop_counted(x, x->queue[x->first].items);
		text_done(&x->queue[x->first].bytes);
	}
}

struct export *export_stop(struct export *x, uint64_t flush_ns)
{
	if (!x)
		return NULL;
	{
		LOCK_SCOPE(&x->lock);
		x->stopping = true;
		x->stop_ns = clk_ns(x->env.clk) + flush_ns;
	}
	if (x->thread)
		fetch_wake(x->fetch);
	x->thread = thread_join(x->thread);
	x->fetch = fetch_free(x->fetch);
	forget(x);
	const struct mem *mem = x->env.mem;
	export_conf_done(mem, &x->conf);
	lock_done(&x->lock);
	return mem_free(mem, x);
}

void export_status(struct export *x, struct export_status *ret_status)
{
	LOCK_SCOPE(&x->lock);
	*ret_status = x->status;
	ret_status->queued = x->queued + x->now.active;
	ret_status->queued_items = (uint32_t)x->queued_items + x->now.items;
}
