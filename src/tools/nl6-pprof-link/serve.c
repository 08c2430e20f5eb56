#include "serve.h"
#include "base/addr.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/num.h"
#include "base/protobuf.h"
#include "wire/gunzip.h"
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROFILES_PATH "/v1development/profiles"
#define PROTOBUF "application/x-protobuf"
#define QUEUE 16 /* inputs that were answered and wait for their turn */
#define CONNECTIONS 64u
#define IDLE_S 30u
#define RETRY_AFTER_S "5"
#define BACKLOG 128

/* Inputs are judged when they have come, on the server's thread, and linked and put into the sink
 * by the thread of serve_run, which may wait there for the receiver. */
struct serve {
	struct work *work;
	struct halt *halt;
	struct MHD_Daemon *daemon;
	/* Guarded by the halt's lock. */
	struct text inputs[QUEUE];
	uint32_t first, n;
	uint64_t bytes;	  /* of inputs, and of what is being received */
	uint64_t refused; /* the server's thread's own */
};
struct request {
	struct serve *serve;
	struct text body;
	uint64_t reserved;
	bool is_too_large, is_without_room;
};

/* google.rpc.Status, as receivers of OTLP answer errors. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, int code, const char *why)
{
	AUTO_TEXT struct text body = TEXT(&mem_libc);
	if (why) {
		protobuf_uint(&body, 1, (uint64_t)code);
		protobuf_bytes(&body, 2, why, strlen(why));
	}
	struct MHD_Response *r =
		MHD_create_response_from_buffer(body.len, body.s, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, PROTOBUF);
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "POST");
	enum MHD_Result done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

enum { INVALID_ARGUMENT = 3, NOT_FOUND = 5, EXHAUSTED = 8, UNIMPLEMENTED = 12, UNAVAILABLE = 14 };

static enum MHD_Result refuse(
	struct serve *s, struct MHD_Connection *c, unsigned status, int code, const char *why)
{
	s->refused++;
	log_warn(NULL, 0, "answered %u: %s", status, why);
	return answer(c, status, code, why);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Room for bytes more of what waits and comes: as much as one input may have. An input that is
 * alone always has it. */
static bool reserve(struct request *rq, uint64_t bytes)
{
	struct serve *s = rq->serve;
	LOCK_SCOPE(&s->halt->lock);
	if (s->halt->is_on || s->n == QUEUE || s->bytes + bytes > s->work->conf->max_bytes)
		return false;
	s->bytes += bytes;
	rq->reserved += bytes;
	return true;
}

static void release(struct serve *s, uint64_t bytes)
{
	LOCK_SCOPE(&s->halt->lock);
	s->bytes -= bytes;
}

static bool is_gzip(struct MHD_Connection *c)
{
	const char *encoding = header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
	return encoding && strcasecmp(encoding, "gzip") == 0;
}

/* What the headers tell; NULL: go on. */
static const char *judge_headers(struct serve *s, struct MHD_Connection *c, const char *path,
	const char *method, unsigned *ret_status, int *ret_code)
{
	const char *type = header(c, MHD_HTTP_HEADER_CONTENT_TYPE);
	const char *encoding = header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
	const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t bytes;
	*ret_code = INVALID_ARGUMENT;
	if (strcmp(path, PROFILES_PATH) != 0) {
		*ret_code = NOT_FOUND;
		*ret_status = MHD_HTTP_NOT_FOUND;
		return "profiles are posted to " PROFILES_PATH;
	}
	if (strcmp(method, MHD_HTTP_METHOD_POST) != 0) {
		*ret_code = UNIMPLEMENTED;
		*ret_status = MHD_HTTP_METHOD_NOT_ALLOWED;
		return "profiles are posted";
	}
	*ret_status = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	if (!type || strcmp(type, PROTOBUF) != 0)
		return "the Content-Type is not " PROTOBUF;
	if (encoding && !is_gzip(c) && strcasecmp(encoding, "identity") != 0)
		return "the Content-Encoding is neither gzip nor identity";
	if (length && num_u64(length, 0, s->work->conf->max_bytes, &bytes) < 0) {
		*ret_code = EXHAUSTED;
		*ret_status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "the body is larger than -max-size allows";
	}
	return NULL;
}

static enum MHD_Result begin(struct serve *s, struct MHD_Connection *c, const char *path,
	const char *method, void **ret_request)
{
	unsigned status;
	int code;
	const char *why = judge_headers(s, c, path, method, &status, &code);
	if (why)
		return refuse(s, c, status, code, why);
	struct request *rq = mem_zalloc(&mem_libc, sizeof(*rq));
	if (!rq)
		return MHD_NO;
	rq->serve = s;
	rq->body = (struct text)TEXT(&mem_libc);
	*ret_request = rq;
	return MHD_YES;
}

static void receive(struct request *rq, const char *bytes, size_t n)
{
	if (rq->is_too_large || rq->is_without_room)
		return;
	if (rq->body.len + n > rq->serve->work->conf->max_bytes)
		rq->is_too_large = true;
	else if (!reserve(rq, n))
		rq->is_without_room = true;
	else
		text_write(&rq->body, bytes, n);
	if (rq->is_too_large || rq->is_without_room)
		text_done(&rq->body);
}

static int unpack(struct request *rq, struct fault *f)
{
	struct text raw = TEXT(&mem_libc);
	size_t max = rq->serve->work->conf->max_bytes;
	int r = gunzip_read(rq->body.s ? rq->body.s : "", rq->body.len, max, &raw, f);
	text_done(&rq->body);
	rq->body = raw;
	if (r == 0 && raw.len > rq->reserved && !reserve(rq, raw.len - rq->reserved))
		r = -EAGAIN;
	return r;
}

static bool enqueue(struct request *rq)
{
	struct serve *s = rq->serve;
	LOCK_SCOPE(&s->halt->lock);
	if (s->n == QUEUE || s->halt->is_on)
		return false;
	/* What it takes while it waits is its own size. */
	s->bytes -= rq->reserved - rq->body.len;
	rq->reserved = 0;
	s->inputs[(s->first + s->n++) % QUEUE] = rq->body;
	rq->body = (struct text)TEXT(&mem_libc);
	cond_wake_all(&s->halt->changed);
	return true;
}

static enum MHD_Result finish(struct request *rq, struct MHD_Connection *c)
{
	struct serve *s = rq->serve;
	struct fault f = {0};
	char why[512];
	int r = rq->is_too_large ? -EFBIG : rq->is_without_room ? -EAGAIN : rq->body.err;
	if (r == 0 && is_gzip(c))
		r = unpack(rq, &f);
	if (r == 0)
		r = work_judge(s->work, rq->body.s ? rq->body.s : "", rq->body.len, &f);
	if (r == 0 && rq->body.len > 0 && !enqueue(rq))
		r = -EAGAIN;
	if (r == 0)
		return answer(c, MHD_HTTP_OK, 0, NULL);
	if (r == -EFBIG)
		return refuse(s, c, MHD_HTTP_CONTENT_TOO_LARGE, EXHAUSTED,
			"the body is larger than -max-size allows");
	if (r == -EAGAIN || r == -ENOMEM)
		return refuse(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, UNAVAILABLE,
			"what came before has not been sent yet");
	(void)snprintf(why, sizeof(why), "%.100s: %.320s", f.field, f.text);
	return refuse(s, c, MHD_HTTP_BAD_REQUEST, INVALID_ARGUMENT, why);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
	const char *method, const char *version UNUSED, const char *upload, size_t *upload_bytes,
	void **request)
{
	if (!*request)
		return begin(arg, c, path, method, request);
	if (*upload_bytes == 0)
		return finish(*request, c);
	receive(*request, upload, *upload_bytes);
	*upload_bytes = 0;
	return MHD_YES;
}

static void on_completed(void *arg UNUSED, struct MHD_Connection *c UNUSED, void **request,
	enum MHD_RequestTerminationCode why UNUSED)
{
	struct request *rq = *request;
	if (!rq)
		return;
	release(rq->serve, rq->reserved);
	text_done(&rq->body);
	*request = mem_free(&mem_libc, rq);
}

/* ADDR:PORT, an IPv6 address in brackets. */
static int parse_listen(const char *text, struct addr *ret_addr, uint16_t *ret_port)
{
	char host[64];
	const char *colon = strrchr(text, ':');
	uint64_t port;
	size_t n = colon ? (size_t)(colon - text) : 0;
	if (n == 0 || n >= sizeof(host) || num_u64(colon + 1, 0, UINT16_MAX, &port) < 0)
		return -EINVAL;
	bool bracketed = n > 2 && text[0] == '[' && text[n - 1] == ']';
	(void)snprintf(host, sizeof(host), "%.*s", (int)(bracketed ? n - 2 : n),
		bracketed ? text + 1 : text);
	*ret_port = (uint16_t)port;
	return addr_parse(host, ret_addr);
}

static int listen_on(const char *text, int *ret_fd, struct fault *f)
{
	struct addr addr;
	uint16_t port;
	struct sockaddr_storage sa;
	if (parse_listen(text, &addr, &port) < 0)
		return fault_set(f, -EINVAL, "-listen", "127.0.0.1:4318, [::1]:4318",
			"%.100s is no address with a port", text);
	socklen_t len = addr_to_sockaddr(&addr, port, &sa);
	AUTO_FD int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0) {
		int r = -errno;
		return fault_set(f, r, "-listen", NULL, "cannot listen on %.100s: %s", text,
			strerrordesc_np(-r));
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void tell_ready(int fd, const struct link_conf *conf)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct addr addr;
	uint16_t port;
	char buf[ADDR_PORT_TEXT_BYTES];
	bool is_output = conf->out && strcmp(conf->out, "-") == 0;
	if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0 &&
		addr_from_sockaddr((struct sockaddr *)&sa, &addr, &port) == 0 && !is_output &&
		(printf("ready otlp=%s\n", addr_port_text(&addr, port, buf)) < 0 ||
			fflush(stdout) != 0))
		log_warn(NULL, -errno, "cannot tell on standard output that it is ready");
	if (notify_send(getenv("NOTIFY_SOCKET"), "READY=1") < 0)
		log_warn(NULL, 0, "cannot tell the service manager READY=1");
}

/* The next input; false: the end is asked for and none waits. */
static bool next_input(struct serve *s, struct text *ret_input)
{
	LOCK_SCOPE(&s->halt->lock);
	while (s->n == 0 && !s->halt->is_on)
		(void)cond_wait_until(
			&s->halt->changed, &s->halt->lock, clk_ns(&clk_system) + 60 * NS_PER_SEC);
	if (s->n == 0)
		return false;
	*ret_input = s->inputs[s->first];
	s->first = (s->first + 1) % QUEUE;
	s->n--;
	return true;
}

static int work_off(struct serve *s)
{
	struct text input;
	uint64_t lost = 0;
	int worst = 0;
	while (next_input(s, &input)) {
		struct fault f = {0};
		int r = work_otlp(s->work, input.s, input.len, &f);
		if (r == -ECANCELED)
			lost++;
		else if (r < 0)
			log_error(f.field, r, "%s", f.text);
		worst = r < 0 ? r : worst;
		release(s, input.len);
		text_done(&input);
		work_log_minute(s->work);
	}
	if (lost)
		log_warn(NULL, 0, "%llu inputs were not sent on", (unsigned long long)lost);
	return worst;
}

int serve_run(struct work *w, struct halt *halt, struct fault *reterr_fault)
{
	struct serve s = {.work = w, .halt = halt};
	AUTO_FD int fd = -1;
	int r = listen_on(w->conf->listen, &fd, reterr_fault);
	if (r < 0)
		return r;
	/* Not epoll, whose edges libmicrohttpd loses: a client that sends and leaves at once would
	 * keep its connection until it is idle for too long. */
	s.daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, &s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, &s, MHD_OPTION_END);
	if (!s.daemon)
		return fault_set(reterr_fault, -ENOMEM, "-listen", NULL, "cannot start a server");
	tell_ready(fd, w->conf);
	(void)TAKE_FD(fd); /* the daemon's */
	r = work_off(&s);
	MHD_stop_daemon(s.daemon);
	return r;
}
