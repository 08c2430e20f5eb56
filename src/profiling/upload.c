#include "profiling/upload.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/span.h"
#include "base/thread.h"
#include "net/fetch.h"
#include "profiling/ingest.h"
#include "wire/traceparent.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* On average; the server takes 4 MiB a second from a tenant, who may have other labs. */
#define BYTES_A_SECOND (2u << 20)
#define HOLD_MAX_S 60u /* that a server may ask for */
#define WAIT_MAX_MS 60000u
#define TENANT_HEADER "X-Scope-OrgID: "

#define TOTAL(field, name, kind, text) \
	{ \
		"push", name, text, offsetof(struct upload_totals, field), kind \
	}
const struct counter upload_counters[] = {
	TOTAL(uploads, "uploads", STAT_COUNTER, "Profiles that a Pyroscope server accepted"),
	TOTAL(bytes, "bytes", STAT_COUNTER, "Bytes of the profiles that were accepted"),
	TOTAL(errors, "errors", STAT_COUNTER,
		"Uploads that failed, profiles dropped, windows without CPU"),
	TOTAL(dropped, "dropped", STAT_COUNTER,
		"Profiles never sent: the queue was full, or too old"),
	TOTAL(last_upload_s, "last_upload_timestamp_seconds", STAT_GAUGE,
		"When a profile was last accepted, since 1970; 0: never"),
	{0},
};

struct sending {	       /* one upload */
	struct upload *upload; /* NULL: none */
	size_t bytes;
	struct span *span;
};
struct upload {
	struct upload_env env;
	struct sending sendings[UPLOAD_CONNECTIONS]; /* the thread's own */
	/* Copies, which are overwritten before they are freed: there are secrets among them. */
	char *address, *user, *password, *tenant_header, *ca_file, *cert_file, *key_file, *proxy;
	struct text name; /* of the series */
	struct fetch *fetch;
	struct thread *thread;
	struct lock lock; /* guards all below */
	bool stopping;
	struct upload_profile queue[UPLOAD_QUEUE];
	uint32_t first, queued, on_way;
	uint64_t next_ns; /* monotonic: no upload begins before */
	struct upload_status status;
};

static int copy(const struct mem *mem, const char *from, char **to)
{
	*to = from ? mem_strdup(mem, from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static int copy_conf(struct upload *u, const struct upload_conf *c)
{
	const struct mem *mem = u->env.mem;
	int r = copy(mem, c->address, &u->address);
	if (r == 0)
		r = copy(mem, c->user, &u->user);
	if (r == 0)
		r = copy(mem, c->password, &u->password);
	if (r == 0)
		r = copy(mem, c->ca_file, &u->ca_file);
	if (r == 0)
		r = copy(mem, c->cert_file, &u->cert_file);
	if (r == 0)
		r = copy(mem, c->key_file, &u->key_file);
	if (r == 0)
		r = copy(mem, c->proxy, &u->proxy);
	if (r < 0 || !c->tenant)
		return r;
	size_t room = sizeof(TENANT_HEADER) + strlen(c->tenant);
	u->tenant_header = mem_alloc(mem, room);
	if (!u->tenant_header)
		return -ENOMEM;
	(void)snprintf(u->tenant_header, room, "%s%s", TENANT_HEADER, c->tenant);
	return 0;
}

static void wipe(const struct mem *mem, char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	(void)mem_free(mem, s);
}

/* Counts and shows what went wrong, and logs it if it is the first. */
static void fail(struct upload *u, bool dropped, const struct fault *why)
{
	bool first;
	{
		LOCK_SCOPE(&u->lock);
		first = u->status.errors++ == 0;
		stat_add(&u->env.totals->errors, 1);
		memcpy(u->status.last_error, why->text, sizeof(u->status.last_error));
		if (dropped) {
			u->status.dropped++;
			stat_add(&u->env.totals->dropped, 1);
		}
	}
	if (first)
		log_warn(NULL, 0, "[profiling] push to %s failing: %s", u->address, why->text);
}

static void count_success(struct upload *u, size_t bytes)
{
	LOCK_SCOPE(&u->lock);
	u->status.uploads++;
	u->status.bytes += bytes;
	u->status.last_upload_ns = clk_wall_ns(u->env.clk);
	stat_add(&u->env.totals->uploads, 1);
	stat_add(&u->env.totals->bytes, bytes);
	stat_set(&u->env.totals->last_upload_s, u->status.last_upload_ns / NS_PER_SEC);
}

/* A server that is asked too much says for how long it wants to be left alone. */
static void hold(struct upload *u, uint32_t seconds)
{
	LOCK_SCOPE(&u->lock);
	uint64_t until_ns = clk_ns(u->env.clk) + MIN(seconds, HOLD_MAX_S) * NS_PER_SEC;
	u->next_ns = MAX(u->next_ns, until_ns);
}

static void end_span(struct sending *s, const char *why)
{
	if (why)
		span_fail(s->span, why);
	span_end(TAKE(s->span));
}

static void on_answer(void *arg, const struct fetch_answer *a)
{
	struct sending *s = arg;
	struct upload *u = s->upload;
	struct fault why = {0};
	if (a->status == 200) {
		count_success(u, s->bytes);
	} else if (a->status) {
		size_t bytes = MIN(a->body_bytes, sizeof(why.text));
		while (bytes && strchr("\r\n \t", a->body[bytes - 1])) /* bodies end in a newline */
			bytes--;
		(void)fault_set(&why, -EIO, "", NULL,
			"upload profile: failed to upload: (%d) '%.*s'", a->status, (int)bytes,
			a->body);
		if (a->status == 429 || a->status == 503)
			hold(u, a->retry_after_s);
	} else {
		(void)fault_set(
			&why, -EIO, "", NULL, "upload profile: do http request: %s", a->error);
	}
	if (a->status)
		span_set_int(s->span, "http.response.status_code", a->status);
	end_span(s, why.code ? why.text : NULL);
	if (why.code)
		fail(u, false, &why);
	s->upload = NULL;
	LOCK_SCOPE(&u->lock);
	u->on_way--;
}

static struct span *begin_span(const struct upload *u, const struct upload_profile *profile)
{
	struct span *s =
		span_begin(&(struct span_ask){.name = "push profile", .kind = SPAN_CLIENT});
	span_set_str(s, "http.request.method", "POST");
	span_set_str(s, "server.address", u->address);
	span_set_str(s, "nl6.profile", profile_name(profile->kind));
	span_set_int(s, "http.request.body.size", (int64_t)profile->body.len);
	return s;
}

/* Bytes before compression: the end of a gzip member (RFC 1952 2.3.1). */
static uint32_t plain_bytes(const struct text *body)
{
	const unsigned char *end = (const unsigned char *)body->s + body->len;
	return body->len < 4 ? 0
			     : end[-4] | (uint32_t)end[-3] << 8 | (uint32_t)end[-2] << 16 |
				       (uint32_t)end[-1] << 24;
}

/* The next that may be sent now. Else false and when to ask again, monotonic. */
static bool take_next(struct upload *u, struct upload_profile *ret, uint64_t *ret_again_ns)
{
	LOCK_SCOPE(&u->lock);
	uint64_t now_ns = clk_ns(u->env.clk);
	*ret_again_ns = UINT64_MAX;
	if (u->stopping || !u->queued || u->on_way >= UPLOAD_CONNECTIONS)
		return false;
	if (u->next_ns > now_ns) {
		*ret_again_ns = u->next_ns;
		return false;
	}
	*ret = u->queue[u->first];
	u->first = (u->first + 1) % UPLOAD_QUEUE;
	u->queued--;
	u->on_way++;
	u->next_ns = now_ns + plain_bytes(&ret->body) * NS_PER_SEC / BYTES_A_SECOND;
	return true;
}

static int post(struct upload *u, struct upload_profile *profile)
{
	AUTO_TEXT struct text url = TEXT(u->env.mem);
	const char *config = ingest_config(profile->kind);
	const char *headers[3] = {NULL};
	unsigned n_headers = 0;
	char parent[TRACEPARENT_HEADER_BYTES];
	struct fetch_part parts[2] = {
		{"profile", "profile.pprof", profile->body.s, profile->body.len},
		{"sample_type_config", "sample_type_config.json", config,
			config ? strlen(config) : 0}};
	ingest_url(u->address, u->name.s, profile, &url);
	if (url.err)
		return url.err;
	struct sending *s = u->sendings;
	while (s->upload) /* there is one: no more are on their way at once */
		s++;
	*s = (struct sending){u, profile->body.len, begin_span(u, profile)};
	if (u->tenant_header)
		headers[n_headers++] = u->tenant_header;
	if (s->span)
		headers[n_headers++] = traceparent_header(&s->span->context, parent);
	int r = fetch_post(u->fetch, &(struct fetch_ask){.url = url.s,
					     .user = u->user,
					     .password = u->password,
					     .headers = headers,
					     .parts = parts,
					     .n_parts = config ? 2 : 1,
					     .done = on_answer,
					     .arg = s});
	if (r < 0) {
		end_span(s, "no memory");
		s->upload = NULL;
	}
	return r;
}

static void send_profile(struct upload *u, struct upload_profile *profile)
{
	struct fault why = {0};
	uint64_t now_ns = clk_wall_ns(u->env.clk);
	bool old = now_ns > profile->until_ns && now_ns - profile->until_ns > UPLOAD_MAX_AGE_NS;
	if (old)
		(void)fault_set(&why, -ETIME, "", NULL,
			"a %s profile is over an hour old and is dropped",
			profile_name(profile->kind));
	else if (post(u, profile) < 0)
		(void)fault_set(&why, -ENOMEM, "", NULL, "no memory to upload a %s profile",
			profile_name(profile->kind));
	text_done(&profile->body);
	if (!why.code)
		return;
	fail(u, true, &why);
	LOCK_SCOPE(&u->lock);
	u->on_way--;
}

static uint32_t wait_ms(const struct upload *u, uint64_t again_ns)
{
	uint64_t now_ns = clk_ns(u->env.clk);
	if (again_ns == UINT64_MAX)
		return WAIT_MAX_MS;
	uint64_t ms = again_ns <= now_ns ? 1 : (again_ns - now_ns) / NS_PER_MS + 1;
	return (uint32_t)MIN(ms, (uint64_t)WAIT_MAX_MS);
}

static bool is_stopping(struct upload *u)
{
	LOCK_SCOPE(&u->lock);
	return u->stopping;
}

static void run(void *arg)
{
	struct upload *u = arg;
	bool was_idle = true;
	while (!is_stopping(u)) {
		struct upload_profile profile;
		uint64_t again_ns;
		while (take_next(u, &profile, &again_ns)) {
			was_idle = false;
			send_profile(u, &profile);
		}
		bool idle = upload_is_idle(u);
		if (idle && !was_idle)
			u->env.idle(u->env.arg);
		was_idle = idle;
		fetch_run(u->fetch, wait_ms(u, again_ns));
	}
}

static int start(struct upload *u, const struct upload_conf *conf)
{
	uint64_t session;
	if (getrandom(&session, sizeof(session), GRND_NONBLOCK) != sizeof(session))
		session = clk_wall_ns(u->env.clk);
	ingest_name(conf->tags, conf->n_tags, session, &u->name);
	int r = copy_conf(u, conf);
	if (r < 0 || u->name.err)
		return -ENOMEM;
	struct fetch_conf fetch = {.user_agent = "nl6",
		.ca_file = u->ca_file,
		.cert_file = u->cert_file,
		.key_file = u->key_file,
		.proxy = u->proxy,
		.timeout_ms = UPLOAD_TIMEOUT_NS / NS_PER_MS,
		.connections = UPLOAD_CONNECTIONS};
	r = fetch_new(u->env.mem, &fetch, &u->fetch);
	struct thread_conf thread = {"profiling-push", &label_main, run, u};
	return r < 0 ? r : thread_start(u->env.mem, &thread, &u->thread);
}

int upload_start(const struct upload_env *env, const struct upload_conf *conf,
	struct upload **ret_upload, struct fault *reterr_fault)
{
	struct upload *u = mem_zalloc(env->mem, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->env = *env;
	u->name = (struct text)TEXT(env->mem);
	lock_init(&u->lock);
	int r = start(u, conf);
	if (r == -EAGAIN)
		(void)fault_set(reterr_fault, r, "", NULL, "no thread can be started");
	if (r < 0) {
		(void)upload_stop(u);
		return r;
	}
	*ret_upload = u;
	return 0;
}

/* Those on their way are not waited for: they may have arrived or not. */
static void forget(struct upload *u)
{
	stat_add(&u->env.totals->errors, u->on_way);
	for (unsigned i = 0; i < UPLOAD_CONNECTIONS; i++)
		end_span(&u->sendings[i], "given up");
	for (; u->queued; u->queued--, u->first = (u->first + 1) % UPLOAD_QUEUE) {
		text_done(&u->queue[u->first].body);
		stat_add(&u->env.totals->errors, 1);
		stat_add(&u->env.totals->dropped, 1);
	}
}

struct upload *upload_stop(struct upload *u)
{
	if (!u)
		return NULL;
	{
		LOCK_SCOPE(&u->lock);
		u->stopping = true;
	}
	if (u->thread)
		fetch_wake(u->fetch);
	u->thread = thread_join(u->thread);
	u->fetch = fetch_free(u->fetch);
	forget(u);
	const struct mem *mem = u->env.mem;
	char *texts[] = {u->address, u->user, u->password, u->tenant_header, u->ca_file,
		u->cert_file, u->key_file, u->proxy};
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		wipe(mem, texts[i]);
	text_done(&u->name);
	lock_done(&u->lock);
	return mem_free(mem, u);
}

void upload_queue(struct upload *u, struct upload_profile *profile)
{
	bool room;
	{
		LOCK_SCOPE(&u->lock);
		room = u->queued < UPLOAD_QUEUE && !profile->body.err;
		if (room)
			u->queue[(u->first + u->queued++) % UPLOAD_QUEUE] = *profile;
	}
	if (room) {
		fetch_wake(u->fetch);
		return;
	}
	struct fault why = {0};
	(void)fault_set(&why, -ENOBUFS, "", NULL,
		"the upload queue is full: a %s profile is dropped", profile_name(profile->kind));
	text_done(&profile->body);
	fail(u, true, &why);
}

void upload_note(struct upload *u, const char *text)
{
	struct fault why = {0};
	(void)fault_set(&why, -EIO, "", NULL, "%s", text);
	fail(u, false, &why);
}

bool upload_is_idle(struct upload *u)
{
	LOCK_SCOPE(&u->lock);
	return !u->queued && !u->on_way;
}

void upload_status(struct upload *u, struct upload_status *ret_status)
{
	LOCK_SCOPE(&u->lock);
	*ret_status = u->status;
	ret_status->queued = u->queued + u->on_way;
}
