#include "api/http.h"
#include "base/label.h"
#include "base/self.h"
#include "base/thread.h"
#include "client.h"
#include "fake.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define END "Host: localhost\r\nConnection: close\r\n\r\n"

/* What the handlers below do work with. */
struct scene {
	struct fake f;
	struct stats *stats;
	struct router *router;
	struct guard *guard;
	struct http *http;
	uint16_t port;
	struct later *later; /* atomic: of the request that waits */
	uint32_t streamed;
};
static struct scene *scene_of(struct request *rq)
{
	return (struct scene *)rq->api;
}

static int echo(struct request *rq)
{
	struct text *t = reply_raw(rq, 200, NULL);
	text_put(t, "{");
	text_kv_str(t, "body", rq->body);
	text_kv_str(t, "x", request_query(rq, "x"));
	text_kv_str(t, "label", label_get(nl6_self.label, "subsystem"));
	text_put(t, "}");
	return 0;
}

static int refuse(struct request *rq)
{
	return fault_set(&rq->fault, -EBUSY, "/x", "y", "busy \"now\"");
}

static int resume(struct request *rq)
{
	reply_message(rq, 200, "woken");
	return 0;
}

static int wait_for_it(struct request *rq)
{
	struct scene *s = scene_of(rq);
	int r = later_new(rq->mem, &rq->later);
	if (r < 0)
		return r;
	rq->resume = resume;
	__atomic_store_n(&s->later, later_ref(rq->later), __ATOMIC_RELEASE);
	return -EINPROGRESS;
}

/* Is woken before it can be parked. */
static int wait_for_nothing(struct request *rq)
{
	int r = later_new(rq->mem, &rq->later);
	if (r < 0)
		return r;
	rq->resume = resume;
	later_wake(rq->later, false);
	return -EINPROGRESS;
}

static ssize_t count_down(void *arg, char *buf, size_t room)
{
	struct scene *s = arg;
	uint32_t left = __atomic_load_n(&s->streamed, __ATOMIC_RELAXED);
	if (left == 0)
		return REPLY_STREAM_END;
	size_t n = MIN((size_t)left, room);
	memset(buf, 'x', n);
	__atomic_store_n(&s->streamed, left - (uint32_t)n, __ATOMIC_RELAXED);
	return (ssize_t)n;
}

static void count_down_done(void *arg)
{
	(void)arg;
}

static int stream(struct request *rq)
{
	struct reply_stream st = {count_down, count_down_done, scene_of(rq)};
	__atomic_store_n(
		&scene_of(rq)->streamed, (uint32_t)atoi(request_query(rq, "n")), __ATOMIC_RELAXED);
	reply_streamed(rq, "text/plain", &st);
	return 0;
}

static const struct route_query echo_query[] = {{"x", "x", "str"}, {0}};
static const struct route_query stream_query[] = {{"n", "n", "int"}, {0}};
static const struct route routes[] = {
	{POST, "/echo", echo, 1000, "Echo", .query = echo_query},
	{GET, "/echo", echo, 0, "Echo", .query = echo_query},
	{GET, "/busy", refuse, 0, "Busy"},
	{GET, "/wait", wait_for_it, 0, "Wait"},
	{GET, "/nowait", wait_for_nothing, 0, "Do not wait"},
	{GET, "/stream", stream, 0, "Stream", .query = stream_query},
	{0},
};

static void scene_up(struct scene *s, uint64_t receive_ns, uint64_t send_ns, uint32_t per_address)
{
	static const struct route *const tables[] = {routes, NULL};
	*s = (struct scene){.f = fake_make()};
	struct guard_conf guard_conf = {0};
	ck_assert_int_eq(stats_new(s->f.mem, &s->stats), 0);
	ck_assert_int_eq(router_new(s->f.mem, tables, &s->router), 0);
	ck_assert_int_eq(guard_new(s->f.mem, &guard_conf, &s->guard, NULL), 0);
	struct http_env env = {
		s->f.mem, &clk_system, s->stats, s->router, s->guard, (struct api *)s};
	struct http_conf conf = {.listen = addr_from_v4(0x7f000001),
		.connections = 64,
		.connections_per_address = per_address,
		.idle_ns = receive_ns,
		.receive_ns = receive_ns,
		.send_ns = send_ns};
	struct fault fault = {0};
	ck_assert_int_eq(http_new(&env, &conf, &s->http), 0);
	ck_assert_msg(http_start(s->http, &fault) == 0, "%s", fault.text);
	s->port = http_port(s->http);
	ck_assert_uint_ne(s->port, 0);
}

static void scene_down(struct scene *s)
{
	s->http = http_free(s->http);
	s->later = later_unref(s->later);
	s->guard = guard_free(s->guard);
	s->router = router_free(s->router);
	s->stats = stats_free(s->stats);
	fake_done(&s->f);
}

struct wanted {
	const char *owner, *field;
	uint64_t value;
};
static void pick(void *arg, const struct counter *c, const char *name UNUSED, uint64_t value)
{
	struct wanted *w = arg;
	if (strcmp(c->owner, w->owner) == 0 && strcmp(c->field, w->field) == 0)
		w->value += value;
}
static uint64_t counted(struct scene *s, const char *owner, const char *field)
{
	struct wanted w = {owner, field, 0};
	stats_each(s->stats, pick, &w);
	return w.value;
}

START_TEST(answers_what_handlers_say)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	ck_assert_uint_eq(
		client_ask(s.port, "POST /echo?x=%41 HTTP/1.1\r\nContent-Length: 5\r\n" END "hello",
			buf, sizeof(buf)),
		200);
	ck_assert_str_eq(client_body(buf), "{\"body\":\"hello\",\"x\":\"A\",\"label\":\"api\"}");
	ck_assert_ptr_nonnull(strstr(buf, "X-Content-Type-Options: nosniff"));
	ck_assert_ptr_nonnull(strstr(buf, "Content-Security-Policy: default-src 'none'"));
	ck_assert_ptr_nonnull(strstr(buf, "Cache-Control: no-store"));
	ck_assert_ptr_nonnull(strstr(buf, "Content-Type: application/json"));
	ck_assert_uint_eq(client_ask(s.port,
				  "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END
				  "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
				  buf, sizeof(buf)),
		200);
	ck_assert_ptr_nonnull(strstr(buf, "{\"body\":\"hello\","));
	/* HTTP/1.0 needs no Host. */
	ck_assert_uint_eq(client_ask(s.port, "GET /echo HTTP/1.0\r\n\r\n", buf, sizeof(buf)), 200);
	ck_assert_uint_eq(client_ask(s.port, "HEAD /echo HTTP/1.1\r\n" END, buf, sizeof(buf)), 200);
	ck_assert_str_eq(client_body(buf), "");
	ck_assert_ptr_nonnull(strstr(buf, "Content-Length: "));
	ck_assert_uint_eq(client_ask(s.port, "GET /busy HTTP/1.1\r\n" END, buf, sizeof(buf)), 409);
	ck_assert_str_eq(client_body(buf),
		"{\"success\":false,\"message\":\"x: busy \\\"now\\\"\",\"detail\":{\"code\":"
		"\"EBUSY\",\"field\":\"/x\",\"allowed\":\"y\"}}\n");
	ck_assert_ptr_nonnull(strstr(buf, "Retry-After: 5\r\n"));
	ck_assert_uint_eq(
		client_ask(s.port, "GET /nowait HTTP/1.1\r\n" END, buf, sizeof(buf)), 200);
	scene_down(&s);
}
END_TEST

START_TEST(refuses_by_status)
{
	static const struct {
		unsigned status;
		const char *request, *holds;
		size_t body_bytes;
	} rows[] = {
		{404, "GET /nothing HTTP/1.1\r\n" END, "no such path"},
		{404, "GET /echo/ HTTP/1.1\r\n" END, "no such path"},
		{404, "GET /api/v1/traps/status HTTP/1.1\r\n" END, "not in this build: traps"},
		{405, "DELETE /echo HTTP/1.1\r\n" END, "Allow: GET, HEAD, POST, OPTIONS\r\n"},
		{405, "BREW /echo HTTP/1.1\r\n" END, "BREW is not a method"},
		{204, "OPTIONS /echo HTTP/1.1\r\n" END, "Allow: GET, HEAD, POST, OPTIONS\r\n"},
		{400, "GET /%zz HTTP/1.1\r\n" END, "percent"},
		{400, "GET /echo?y=1 HTTP/1.1\r\n" END, "unknown query parameter"},
		{403, "GET /echo HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
			"no name of this server"},
		{403, "GET /echo HTTP/1.1\r\nOrigin: http://evil\r\n" END, "origin"},
		{413, "GET /echo HTTP/1.1\r\nContent-Length: 1\r\n" END, "takes no body", 1},
		{413, "POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n" END, "over 1000 bytes",
			1001},
		{413, "POST /echo HTTP/1.1\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n" END,
			"over 1000 bytes"},
		{413, "POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n" END,
			"over 1000 bytes"},
		/* libmicrohttpd's own */
		{400, "GET /echo HTTP/1.1\r\n\r\n", ""},
	};
	struct scene s;
	char buf[8192], request[2048];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)snprintf(request, sizeof(request), "%s", rows[i].request);
		size_t n = strlen(request);
		memset(request + n, 'x', rows[i].body_bytes);
		request[n + rows[i].body_bytes] = 0;
		unsigned status = client_ask(s.port, request, buf, sizeof(buf));
		ck_assert_msg(status == rows[i].status && strstr(buf, rows[i].holds), "row %u: %s",
			i, buf);
	}
	/* A chunked body over the limit is read to its end and then refused. */
	(void)snprintf(request, sizeof(request),
		"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END
		"3e9\r\n%01001d\r\n0\r\n\r\n",
		0);
	ck_assert_uint_eq(client_ask(s.port, request, buf, sizeof(buf)), 413);
	char *headers = calloc(1, HTTP_HEADER_BYTES + 200);
	ck_assert_ptr_nonnull(headers);
	(void)sprintf(headers, "GET /echo HTTP/1.1\r\nX: %0*d\r\n" END, (int)HTTP_HEADER_BYTES, 0);
	ck_assert_uint_eq(client_ask(s.port, headers, buf, sizeof(buf)), 431);
	free(headers);
	ck_assert_uint_eq(counted(&s, "http", "guarded_requests"), 2);
	scene_down(&s);
}
END_TEST

START_TEST(one_connection_serves_many_requests)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	int fd = client_connect(s.port);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_int_eq(client_send(fd, "GET /echo HTTP/1.1\r\nHost: [::1]\r\n\r\n"), 0);
		(void)client_read(fd, buf, sizeof(buf), 1);
		ck_assert_uint_eq(client_status(buf), 200);
	}
	(void)close(fd);
	ck_assert_uint_eq(counted(&s, "http", "requests"), 100);
	scene_down(&s);
}
END_TEST

static struct later *await_later(struct scene *s)
{
	struct later *l = NULL;
	for (unsigned i = 0; i < 20000 && !l; i++) {
		l = __atomic_exchange_n(&s->later, NULL, __ATOMIC_ACQ_REL);
		if (!l)
			(void)poll(NULL, 0, 1);
	}
	ck_assert_ptr_nonnull(l);
	return l;
}

START_TEST(an_answer_may_come_later)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, NS_PER_SEC / 5, 20 * NS_PER_SEC, 16);
	int fd = client_connect(s.port);
	ck_assert_int_eq(client_send(fd, "GET /wait HTTP/1.1\r\n" END), 0);
	struct later *l = await_later(&s);
	/* Others are served meanwhile; the wait is longer than a request may take to come. */
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(
			client_ask(s.port, "GET /echo HTTP/1.1\r\n" END, buf, sizeof(buf)), 200);
		(void)poll(NULL, 0, 100);
	}
	later_wake(l, false);
	(void)later_unref(l);
	(void)client_read(fd, buf, sizeof(buf), 0);
	ck_assert_uint_eq(client_status(buf), 200);
	ck_assert_ptr_nonnull(strstr(buf, "woken"));
	(void)close(fd);
	scene_down(&s);
}
END_TEST

START_TEST(a_client_that_leaves_is_noticed)
{
	struct scene s;
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	int fd = client_connect(s.port);
	ck_assert_int_eq(client_send(fd, "GET /wait HTTP/1.1\r\n" END), 0);
	struct later *l = await_later(&s);
	(void)close(fd);
	for (unsigned i = 0; i < 20000 && counted(&s, "watch", "connections") > 0; i++)
		(void)poll(NULL, 0, 1);
	ck_assert_uint_eq(counted(&s, "watch", "connections"), 0);
	ck_assert_uint_eq(counted(&s, "watch", "left_clients"), 1);
	/* The work ends after the connection is long gone. */
	later_wake(l, false);
	(void)later_unref(l);
	scene_down(&s);
}
END_TEST

START_TEST(stopping_answers_who_waits)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	int fd = client_connect(s.port);
	ck_assert_int_eq(client_send(fd, "GET /wait HTTP/1.1\r\n" END), 0);
	struct later *l = await_later(&s);
	http_stop(s.http);
	(void)client_read(fd, buf, sizeof(buf), 0);
	ck_assert_uint_eq(client_status(buf), 503);
	(void)close(fd);
	later_wake(l, false);
	(void)later_unref(l);
	/* Start may follow stop. */
	ck_assert_int_eq(http_start(s.http, NULL), 0);
	ck_assert_uint_eq(
		client_ask(http_port(s.http), "GET /echo HTTP/1.1\r\n" END, buf, sizeof(buf)), 200);
	scene_down(&s);
}
END_TEST

START_TEST(a_dripping_client_is_cut)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, NS_PER_SEC, 20 * NS_PER_SEC, 16);
	int fd = client_connect(s.port), r = 0;
	ck_assert_int_eq(client_send(fd, "GET /echo HTTP/1.1\r\nX: "), 0);
	for (unsigned i = 0; i < 2000 && r == 0; i++) {
		r = client_send(fd, "x");
		ck_assert_uint_eq(
			i % 20 ? 200
			       : client_ask(s.port, "GET /echo HTTP/1.1\r\n" END, buf, sizeof(buf)),
			200);
		(void)poll(NULL, 0, 10);
	}
	ck_assert_int_ne(r, 0);
	ck_assert_uint_eq(counted(&s, "watch", "receive_timeouts"), 1);
	(void)close(fd);
	scene_down(&s);
}
END_TEST

/* The server's end of a connection is in this process, too: what its buffer and ours hold counts as
 * sent, so both are made small. */
static void shrink_buffers(int client)
{
	struct sockaddr_in ours, peer;
	int small = 4096;
	socklen_t len = sizeof(ours);
	ck_assert_int_eq(getsockname(client, (struct sockaddr *)&ours, &len), 0);
	ck_assert_int_eq(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	for (int fd = 3; fd < 1024; fd++) {
		len = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0 ||
			peer.sin_port != ours.sin_port)
			continue;
		ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		return;
	}
	ck_abort_msg("the server's end is not open");
}

START_TEST(a_client_that_does_not_read_is_cut)
{
	struct scene s;
	char buf[4096];
	scene_up(&s, 20 * NS_PER_SEC, NS_PER_SEC / 2, 16);
	int fd = client_connect(s.port);
	ck_assert_int_eq(client_send(fd, "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
	(void)client_read(fd, buf, sizeof(buf), 1); /* now it has been accepted */
	shrink_buffers(fd);
	ck_assert_int_eq(
		client_send(fd, "GET /stream?n=2000000000 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
	for (unsigned i = 0; i < 6000 && counted(&s, "watch", "send_timeouts") == 0; i++)
		(void)poll(NULL, 0, 10);
	ck_assert_uint_eq(counted(&s, "watch", "send_timeouts"), 1);
	(void)close(fd);
	scene_down(&s);
}
END_TEST

START_TEST(streams_come_whole)
{
	struct scene s;
	char *buf = malloc(4 << 20);
	ck_assert_ptr_nonnull(buf);
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	ck_assert_uint_eq(
		client_ask(s.port, "GET /stream?n=3000000 HTTP/1.0\r\n\r\n", buf, 4 << 20), 200);
	ck_assert_uint_eq(strspn(client_body(buf), "x"), 3000000);
	ck_assert_uint_eq(
		client_ask(s.port, "GET /stream?n=100000 HTTP/1.1\r\n" END, buf, 4 << 20), 200);
	ck_assert_ptr_nonnull(strcasestr(buf, "Transfer-Encoding: chunked"));
	ck_assert_ptr_nonnull(strstr(buf, "\r\n0\r\n\r\n"));
	ck_assert_uint_eq(
		client_ask(s.port, "HEAD /stream?n=100000 HTTP/1.1\r\n" END, buf, 4 << 20), 200);
	ck_assert_str_eq(client_body(buf), "");
	free(buf);
	scene_down(&s);
}
END_TEST

START_TEST(connections_of_one_address_are_limited)
{
	struct scene s;
	char buf[4096];
	int fds[4];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, ARRAY_SIZE(fds));
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = client_connect(s.port);
		ck_assert_int_eq(
			client_send(fds[i], "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
		(void)client_read(fds[i], buf, sizeof(buf), 1);
	}
	int fd = client_connect(s.port);
	(void)client_send(fd, "GET /echo HTTP/1.1\r\n" END);
	ck_assert_uint_eq(client_read(fd, buf, sizeof(buf), 0), 0);
	(void)close(fd);
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	scene_down(&s);
}
END_TEST

START_TEST(a_taken_port_is_named)
{
	struct scene s;
	char port[8];
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	struct http_env env = {s.f.mem, &clk_system, s.stats, s.router, s.guard, NULL};
	struct http_conf conf = {.listen = addr_from_v4(0x7f000001),
		.port = s.port,
		.connections = 1,
		.connections_per_address = 1};
	struct http *second = NULL;
	struct fault fault = {0};
	ck_assert_int_eq(http_new(&env, &conf, &second), 0);
	ck_assert_int_eq(http_start(second, &fault), -EADDRINUSE);
	(void)snprintf(port, sizeof(port), ":%u", s.port);
	ck_assert_ptr_nonnull(strstr(fault.text, port));
	second = http_free(second);
	scene_down(&s);
}
END_TEST

static int make_one(struct fake *f, void *arg)
{
	struct scene *s = arg;
	struct stats *stats = NULL;
	int r = stats_new(f->mem, &stats);
	if (r < 0)
		return r;
	struct http_env env = {f->mem, &clk_system, stats, s->router, s->guard, NULL};
	struct http_conf conf = {.connections = 1};
	struct http *h = NULL;
	r = http_new(&env, &conf, &h);
	h = http_free(h);
	stats = stats_free(stats);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct scene s;
	scene_up(&s, 20 * NS_PER_SEC, 20 * NS_PER_SEC, 16);
	struct fake f = fake_make();
	fake_fail_each(&f, make_one, &s);
	fake_done(&f);
	/* In a request: a clean error or a closed connection, and the next one works. */
	for (uint64_t n = 0; n < 20; n++) {
		char buf[4096];
		fake_fail_at(&s.f, n);
		unsigned status = client_ask(s.port,
			"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" END "hello", buf,
			sizeof(buf));
		ck_assert_msg(status == 0 || status == 200 || status == 500, "%s", buf);
		bool failed = fake_has_failed(&s.f);
		fake_fail_at(&s.f, UINT64_MAX);
		ck_assert(failed ? status != 200 : status == 200);
		ck_assert_uint_eq(
			client_ask(s.port, "GET /echo HTTP/1.1\r\n" END, buf, sizeof(buf)), 200);
	}
	scene_down(&s);
}
END_TEST

UNIT_MAIN(answers_what_handlers_say, refuses_by_status, one_connection_serves_many_requests,
	an_answer_may_come_later, a_client_that_leaves_is_noticed, stopping_answers_who_waits,
	a_dripping_client_is_cut, a_client_that_does_not_read_is_cut, streams_come_whole,
	connections_of_one_address_are_limited, a_taken_port_is_named, each_allocation_may_fail)
