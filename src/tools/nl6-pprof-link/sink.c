#include "sink.h"
#include "base/log.h"
#include "base/num.h"
#include "peer.h"
#include "trace/export.h"
#include "wire/otlp_json.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROFILES_PATH "/v1development/profiles"
#define FLUSH_NS (2 * NS_PER_SEC)

struct sink {
	const struct link_conf *conf;
	struct halt *halt;
	struct peer peer;
	struct export *export;
	struct export_totals sent;
	uint32_t waiting; /* guarded by the halt's lock */
	int fd;
	uint64_t exports, bytes;
};

static void on_done(void *arg, bool accepted UNUSED)
{
	struct sink *s = arg;
	LOCK_SCOPE(&s->halt->lock);
	s->waiting--;
	cond_wake_all(&s->halt->changed);
}

/* http://host:port has no path: OTLP's is added. */
static int complete_url(const char *url, struct text *to)
{
	const char *host = strstr(url, "//") + 2;
	size_t n = strcspn(host, "/?#");
	bool bare = !host[n] || strcmp(host + n, "/") == 0;
	text_write(to, url, bare ? (size_t)(host - url) + n : strlen(url));
	text_put(to, bare ? PROFILES_PATH : "");
	return to->err;
}

static int start_export(struct sink *s, struct fault *f)
{
	AUTO_TEXT struct text url = TEXT(&mem_libc);
	const struct link_peer_conf *c = &s->conf->send;
	int r = complete_url(c->url, &url);
	if (r == 0)
		r = peer_init(&s->peer, c);
	if (r < 0)
		return r;
	struct export_env env = {&mem_libc, &clk_system, &s->sent, on_done, s};
	struct export_conf conf = {.signal = EXPORT_PROFILES,
		.url = url.s,
		.gzip = s->conf->gzip,
		.timeout_ms = (uint32_t)(c->timeout_ns / NS_PER_MS),
		.headers = s->peer.headers,
		.user = s->peer.user,
		.password = s->peer.password,
		.ca = c->ca,
		.cert = c->cert,
		.key = c->key,
		.proxy = c->proxy,
		.user_agent = "nl6-pprof-link/" NL6_VERSION};
	return export_start(&env, &conf, &s->export, f);
}

static int open_file(struct sink *s, struct fault *f)
{
	if (strcmp(s->conf->out, "-") == 0)
		s->fd = dup(STDOUT_FILENO);
	else
		s->fd = open(s->conf->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int r = -errno;
	return s->fd >= 0 ? 0
			  : fault_set(f, r, "-out", NULL, "cannot write %s: %s", s->conf->out,
				    strerrordesc_np(-r));
}

int sink_new(const struct link_conf *conf, struct halt *halt, struct sink **ret_s,
	struct fault *reterr_fault)
{
	AUTO(sink) struct sink *s = mem_zalloc(&mem_libc, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->conf = conf;
	s->halt = halt;
	s->fd = -1;
	int r = conf->out ? open_file(s, reterr_fault) : start_export(s, reterr_fault);
	if (r < 0)
		return r;
	*ret_s = TAKE(s);
	return 0;
}

struct sink *sink_free(struct sink *s)
{
	if (!s)
		return NULL;
	s->export = export_stop(s->export, FLUSH_NS);
	peer_done(&s->peer);
	if (s->fd >= 0)
		(void)close(s->fd);
	return mem_free(&mem_libc, s);
}

static int write_all(int fd, const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)bytes + at, len - at);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int put_file(struct sink *s, const struct text *body)
{
	if (!s->conf->json) {
		uint32_t be = htonl((uint32_t)body->len);
		int r = write_all(s->fd, &be, sizeof(be));
		return r < 0 ? r : write_all(s->fd, body->s, body->len);
	}
	AUTO_TEXT struct text json = TEXT(&mem_libc);
	int r = otlp_json_write(body->s, body->len, &json);
	text_put(&json, "\n");
	if (r == 0)
		r = json.err;
	return r < 0 ? r : write_all(s->fd, json.s, json.len);
}

/* Room for one more is taken. */
static int wait_for_room(struct sink *s)
{
	LOCK_SCOPE(&s->halt->lock);
	while (s->waiting >= SINK_WAITING && !s->halt->is_on)
		cond_wait(&s->halt->changed, &s->halt->lock);
	if (s->halt->is_on && s->waiting >= SINK_WAITING)
		return -ECANCELED;
	s->waiting++;
	return 0;
}

int sink_put(struct sink *s, struct text *body, uint32_t profiles)
{
	s->exports++;
	s->bytes += body->len;
	if (!s->export) {
		int r = put_file(s, body);
		if (r < 0)
			log_error(NULL, r, "cannot write %s", s->conf->out);
		return r;
	}
	int r = wait_for_room(s);
	if (r == 0)
		export_queue(s->export, body, profiles);
	return r;
}

bool sink_has_room(struct sink *s, uint32_t exports)
{
	LOCK_SCOPE(&s->halt->lock);
	return s->waiting + exports <= SINK_WAITING;
}

int sink_flush(struct sink *s)
{
	LOCK_SCOPE(&s->halt->lock);
	while (s->waiting > 0 && !s->halt->is_on)
		cond_wait(&s->halt->changed, &s->halt->lock);
	return s->waiting > 0 ? -ECANCELED : 0;
}

void sink_totals(struct sink *s, struct sink_totals *ret_totals)
{
	*ret_totals = (struct sink_totals){.exports = s->exports,
		.bytes = s->bytes,
		.accepted = s->export ? stat_get(&s->sent.accepted) : s->exports,
		.failed = stat_get(&s->sent.failed) + stat_get(&s->sent.dropped),
		.rejected = stat_get(&s->sent.rejected_items),
		.retried = stat_get(&s->sent.retried)};
}
