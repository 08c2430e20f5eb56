#include "pull.h"
#include "base/log.h"
#include "base/num.h"
#include "net/fetch.h"
#include "peer.h"
#include <errno.h>
#include <string.h>

#define TRIES 5		    /* without an interval */
#define PAUSE_NS NS_PER_SEC /* after the first; then doubled */
#define RETRY_MAX_S 3600u
#define PACKED_SLACK_BYTES 4096 /* what gzip adds at most to what cannot be packed */

struct pull {
	struct work *work;
	struct halt *halt;
	struct peer peer;
	struct fetch *fetch;
	/* Of the last answer. */
	int result;
	uint32_t retry_after_s;
	bool was_answered;
	struct fault fault;
	uint64_t pulls, failed;
};

/* The answer as what is wrong with it; a body that is not a profile is never looked at. */
static void on_answer(void *arg, const struct fetch_answer *a)
{
	struct pull *p = arg;
	const char *url = p->work->conf->pull.url;
	p->was_answered = true;
	p->retry_after_s = MIN(a->retry_after_s, RETRY_MAX_S);
	if (a->status == 0)
		p->result = fault_set(&p->fault, a->code == -EFBIG ? -EFBIG : -EIO, "-url", NULL,
			"%.200s: %s", url, a->error);
	else if (a->status != 200)
		p->result = fault_set(
			&p->fault, -EIO, "-url", NULL, "%.200s answered %d", url, a->status);
	else
		p->result = work_pprof(p->work, a->body, a->body_bytes, &p->fault);
}

static void set_fetch(struct pull *p, struct fetch *fetch)
{
	LOCK_SCOPE(&p->halt->lock);
	p->halt->fetch = fetch;
}

static int pull_once(struct pull *p)
{
	const struct link_peer_conf *c = &p->work->conf->pull;
	struct fetch_ask ask = {.url = c->url,
		.user = p->peer.user,
		.password = p->peer.password,
		.headers = p->peer.headers,
		.get = true,
		.done = on_answer,
		.arg = p};
	p->fault = (struct fault){0};
	p->was_answered = false;
	p->retry_after_s = 0;
	p->pulls++;
	int r = fetch_post(p->fetch, &ask);
	while (r == 0 && fetch_count(p->fetch) > 0 && !halt_is_on(p->halt))
		fetch_run(p->fetch, 1000);
	if (r < 0)
		return r;
	return p->was_answered ? p->result : -ECANCELED;
}

static int new_fetch(struct pull *p)
{
	const struct link_peer_conf *c = &p->work->conf->pull;
	struct fetch_conf conf = {.user_agent = "nl6-pprof-link/" NL6_VERSION,
		.ca_file = c->ca,
		.cert_file = c->cert,
		.key_file = c->key,
		.proxy = c->proxy,
		.timeout_ms = (uint32_t)(c->timeout_ns / NS_PER_MS),
		.connections = 1,
		.answer_max_bytes = p->work->conf->max_bytes + PACKED_SLACK_BYTES};
	return fetch_new(&mem_libc, &conf, &p->fetch);
}

/* The fault of an input is told by the caller; one on the way is told here. */
static bool is_worth_a_try(int r)
{
	return r == -EIO;
}

static int run_once(struct pull *p)
{
	uint64_t pause_ns = PAUSE_NS;
	int r;
	for (unsigned try = 1;; try++, pause_ns *= 2) {
		r = pull_once(p);
		if (!is_worth_a_try(r) || try == TRIES)
			return r;
		p->failed++;
		log_warn(NULL, 0, "%s; trying again", p->fault.text);
		uint64_t wait_ns = MAX(pause_ns, p->retry_after_s * NS_PER_SEC);
		if (!halt_wait_until(p->halt, clk_ns(&clk_system) + wait_ns))
			return -ECANCELED;
	}
}

static int run_interval(struct pull *p)
{
	uint64_t interval_ns = p->work->conf->interval_ns, next_ns = clk_ns(&clk_system);
	do {
		next_ns += interval_ns;
		int r = pull_once(p);
		if (r == -ECANCELED)
			break;
		if (r < 0) {
			p->failed++;
			log_warn(p->fault.field[0] ? p->fault.field : NULL,
				p->fault.text[0] ? 0 : r, "%s",
				p->fault.text[0] ? p->fault.text : "a pull failed");
		}
		work_log_minute(p->work);
		uint64_t now_ns = clk_ns(&clk_system);
		/* A pull that took longer than the interval is not caught up with. */
		next_ns = MAX(next_ns, now_ns + p->retry_after_s * NS_PER_SEC);
	} while (halt_wait_until(p->halt, next_ns));
	return 0;
}

int pull_run(struct work *w, struct halt *halt, struct fault *reterr_fault)
{
	struct pull p = {.work = w, .halt = halt};
	int r = peer_init(&p.peer, &w->conf->pull);
	if (r == 0)
		r = new_fetch(&p);
	if (r == 0) {
		set_fetch(&p, p.fetch);
		r = w->conf->interval_ns ? run_interval(&p) : run_once(&p);
		set_fetch(&p, NULL);
		log_info(NULL, 0, "pulls %llu, failed %llu", (unsigned long long)p.pulls,
			(unsigned long long)p.failed);
	}
	*reterr_fault = p.fault;
	(void)fetch_free(p.fetch);
	peer_done(&p.peer);
	return r;
}
