#include "base/lock.h"
#include "fake.h"
#include "net/h2.h"
#include "net/server.h"
#include "trace/export.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define ANSWER(status, more) \
	"HTTP/1.1 " status "\r\n" more "Content-Length: 0\r\nConnection: close\r\n\r\n"

/* One export to a server. */
struct scene {
	struct export_totals totals;
	struct export *export;
	struct lock lock;
	struct cond changed;
	uint32_t accepted, given_up;
	bool last;
};

static void on_done(void *arg, bool accepted)
{
	struct scene *c = arg;
	LOCK_SCOPE(&c->lock);
	c->accepted += accepted;
	c->given_up += !accepted;
	c->last = accepted;
	cond_wake_all(&c->changed);
}

static const char *const some_headers[] = {"X-Scope-OrgID: t-7", NULL};

static void scene_begin_with(struct scene *c, uint16_t port, struct export_conf conf)
{
	char url[64];
	struct fault f = {0};
	*c = (struct scene){0};
	lock_init(&c->lock);
	cond_init(&c->changed);
	(void)snprintf(
		url, sizeof(url), "http://127.0.0.1:%u%s", port, conf.grpc ? "" : "/v1/traces");
	conf.url = url;
	conf.timeout_ms = conf.timeout_ms ? conf.timeout_ms : 60000;
	conf.user_agent = "nl6/test";
	struct export_env env = {&mem_libc, &clk_system, &c->totals, on_done, c};
	ck_assert_int_eq(export_start(&env, &conf, &c->export, &f), 0);
}

static void scene_begin(struct scene *c, uint16_t port)
{
	scene_begin_with(c, port, (struct export_conf){.headers = some_headers});
}

static void scene_end(struct scene *c, uint64_t flush_ns)
{
	ck_assert_ptr_null(export_stop(c->export, flush_ns));
	cond_done(&c->changed);
	lock_done(&c->lock);
}

static void put(struct scene *c, const char *bytes, uint32_t items)
{
	struct text body = TEXT(&mem_libc);
	text_put(&body, bytes);
	export_queue(c->export, &body, items);
	ck_assert_ptr_null(body.s);
}

static void wait_done(struct scene *c, uint32_t n)
{
	LOCK_SCOPE(&c->lock);
	while (c->accepted + c->given_up < n)
		cond_wait(&c->changed, &c->lock);
}

static struct export_status status(struct scene *c)
{
	struct export_status st;
	export_status(c->export, &st);
	return st;
}

static void wait_failing(struct scene *c)
{
	while (!status(c).failing)
		(void)usleep(2000);
}

START_TEST(what_is_accepted_is_counted)
{
	struct server s = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .keeps = true};
	struct scene c;
	server_begin(&s);
	scene_begin(&c, s.port);
	put(&c, "spans", 5);
	wait_done(&c, 1);
	ck_assert_ptr_eq(strstr(s.last, "POST /v1/traces HTTP/1.1\r\n"), s.last);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Type: application/x-protobuf\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nX-Scope-OrgID: t-7\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nUser-Agent: nl6/test\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Length: 5\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\n\r\nspans"));
	ck_assert_ptr_null(strstr(s.last, "Encoding"));
	put(&c, "others", 2);
	wait_done(&c, 2);
	struct export_status st = status(&c);
	ck_assert_uint_eq(st.queued, 0);
	ck_assert_uint_eq(st.queued_items, 0);
	ck_assert(!st.failing);
	ck_assert_str_eq(st.last_error, "");
	ck_assert_uint_gt(st.last_accepted_ns, 0);
	scene_end(&c, 0);
	server_end(&s);
	ck_assert_uint_eq(s.connections, 1);
	ck_assert_uint_eq(c.totals.requests, 2);
	ck_assert_uint_eq(c.totals.accepted, 2);
	ck_assert_uint_eq(c.totals.accepted_items, 7);
	ck_assert_uint_eq(c.totals.accepted_bytes, 11);
	ck_assert_uint_eq(c.totals.retried + c.totals.failed + c.totals.dropped, 0);
	ck_assert_uint_eq(c.totals.last_accepted_s, st.last_accepted_ns / NS_PER_SEC);
}
END_TEST

static void ck_gunzip(const void *bytes, size_t len, const char *want)
{
	char plain[64];
	z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes,
		.avail_in = (uInt)len,
		.next_out = (Bytef *)plain,
		.avail_out = sizeof(plain)};
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.avail_in, 0);
	ck_assert_uint_eq(z.total_out, strlen(want));
	ck_assert_mem_eq(plain, want, z.total_out);
	(void)inflateEnd(&z);
}

START_TEST(a_body_may_be_compressed)
{
	struct server s = {.answer = ANSWER("200 OK", "")};
	struct scene c;
	server_begin(&s);
	scene_begin_with(&c, s.port, (struct export_conf){.gzip = true});
	put(&c, "many many many spans", 1);
	wait_done(&c, 1);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Encoding: gzip\r\n"));
	const char *body = strstr(s.last, "\r\n\r\n") + 4;
	ck_gunzip(body, c.totals.accepted_bytes, "many many many spans");
	scene_end(&c, 0);
	server_end(&s);
}
END_TEST

static const char *const grpc_headers[] = {"content-type", "application/grpc", NULL};
static const char *const grpc_ok[] = {"grpc-status", "0", NULL};

static void ck_frame(const struct h2 *s, bool gzip, const char *want)
{
	ck_assert_uint_gt(s->last_bytes, 5);
	ck_assert_uint_eq(s->last[0], gzip);
	ck_assert_uint_eq((size_t)s->last[3] << 8 | s->last[4], s->last_bytes - 5);
	if (gzip)
		ck_gunzip(s->last + 5, s->last_bytes - 5, want);
	else
		ck_assert_mem_eq(s->last + 5, want, strlen(want));
}

START_TEST(grpc_has_frames)
{
	for (unsigned gzip = 0; gzip < 2; gzip++) {
		struct h2 s = {.status = 200,
			.headers = grpc_headers,
			.body = "\0\0\0\0\0",
			.body_bytes = 5,
			.trailers = grpc_ok};
		struct scene c;
		h2_begin(&s);
		scene_begin_with(&c, s.port, (struct export_conf){.grpc = true, .gzip = gzip});
		for (uint32_t n = 1; n <= 3; n++) {
			put(&c, "spans", 1);
			wait_done(&c, n);
			ck_assert_msg(c.accepted == n, "%s", status(&c).last_error);
		}
		scene_end(&c, 0);
		h2_end(&s);
		ck_frame(&s, gzip, "spans");
		ck_assert_uint_eq(c.totals.accepted_items, 3);
		ck_assert_uint_eq(c.totals.warnings, 0);
	}
}
END_TEST

START_TEST(grpc_tells_of_failures)
{
	static const char *const refused[] = {"content-type", "application/grpc", "grpc-status",
		"3", "grpc-message", "no%21", NULL};
	struct h2 s = {.status = 200, .headers = refused};
	struct scene c;
	h2_begin(&s);
	scene_begin_with(&c, s.port, (struct export_conf){.grpc = true});
	put(&c, "spans", 4);
	wait_done(&c, 1);
	ck_assert_str_eq(status(&c).last_error, "gRPC status 3 INVALID_ARGUMENT: no!");
	scene_end(&c, 0);
	h2_end(&s);
	ck_assert_uint_eq(s.requests, 1);
	ck_assert_uint_eq(c.totals.failed_items, 4);
}
END_TEST

START_TEST(what_is_refused_is_not_sent_again)
{
	static const char *const answers[] = {ANSWER("400 No", ""), ANSWER("413 No", ""),
		ANSWER("500 No", ""), ANSWER("301 Go", "Location: http://127.0.0.1:1/\r\n"),
		ANSWER("401 No", "")};
	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++) {
		struct server s = {.answer = answers[i]};
		struct scene c;
		server_begin(&s);
		scene_begin(&c, s.port);
		put(&c, "spans", 3);
		wait_done(&c, 1);
		put(&c, "others", 1);
		wait_done(&c, 2);
		struct export_status st = status(&c);
		ck_assert(st.failing);
		ck_assert_int_eq(strncmp(st.last_error, "HTTP status ", 12), 0);
		scene_end(&c, 0);
		server_end(&s);
		ck_assert_uint_eq(s.requests, 2);
		ck_assert_uint_eq(c.given_up, 2);
		ck_assert_uint_eq(c.totals.failed, 2);
		ck_assert_uint_eq(c.totals.failed_items, 4);
		ck_assert_uint_eq(c.totals.retried, 0);
	}
}
END_TEST

START_TEST(a_partial_success_is_not_sent_again)
{
	struct server s = {.answer = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
				     "Content-Length: 9\r\nConnection: "
				     "close\r\n\r\n\x0a\x07\x08\x02\x12\x03old"};
	struct scene c;
	server_begin(&s);
	scene_begin(&c, s.port);
	put(&c, "spans", 5);
	wait_done(&c, 1);
	ck_assert_str_eq(status(&c).last_error, "2 rejected: old");
	ck_assert(!status(&c).failing);
	scene_end(&c, 0);
	server_end(&s);
	ck_assert_uint_eq(s.requests, 1);
	ck_assert_uint_eq(c.totals.accepted, 1);
	ck_assert_uint_eq(c.totals.accepted_items, 3);
	ck_assert_uint_eq(c.totals.rejected_items, 2);
	ck_assert_uint_eq(c.totals.warnings, 1);
}
END_TEST

/* The server changes its mind between two tries. */
static void ck_retried(const char *answer, uint64_t at_least_ns, const char *why)
{
	struct server s = {.answer = answer};
	struct scene c;
	server_begin(&s);
	uint16_t port = s.port;
	scene_begin(&c, port);
	uint64_t begun_ns = clk_ns(&clk_system);
	put(&c, "spans", 2);
	wait_failing(&c);
	ck_assert_msg(strstr(status(&c).last_error, why), "%s", status(&c).last_error);
	ck_assert_uint_eq(status(&c).queued, 1);
	ck_assert_uint_eq(status(&c).queued_items, 2);
	__atomic_store_n(&s.answer, ANSWER("200 OK", ""), __ATOMIC_RELEASE);
	wait_done(&c, 1);
	ck_assert_uint_ge(clk_ns(&clk_system) - begun_ns, at_least_ns);
	scene_end(&c, 0);
	server_end(&s);
	ck_assert_uint_eq(c.accepted, 1);
	ck_assert_uint_eq(c.totals.requests, 2);
	ck_assert_uint_eq(c.totals.retried, 1);
	ck_assert_uint_eq(c.totals.accepted_items, 2);
	ck_assert_uint_eq(c.totals.failed, 0);
}

START_TEST(a_busy_receiver_is_asked_again)
{
	ck_retried(ANSWER("503 Busy", ""), 500 * NS_PER_MS, "HTTP status 503");
	ck_retried(ANSWER("429 Slow", "Retry-After: 2\r\n"), 2 * NS_PER_SEC, "HTTP status 429");
}
END_TEST

START_TEST(a_cut_connection_is_tried_again)
{
	ck_retried("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", 500 * NS_PER_MS, "");
	ck_retried("", 500 * NS_PER_MS, "");
}
END_TEST

/* A request is on its way and stays so. */
static void begin_silence(struct server *s, struct scene *c)
{
	server_begin(s);
	scene_begin(c, s->port);
	put(c, "on its way", 1);
	while (server_count(s) == 0)
		(void)usleep(2000);
}

START_TEST(a_full_queue_drops_the_newest)
{
	struct server s = {.answer = NULL};
	struct scene c;
	begin_silence(&s, &c);
	for (unsigned i = 0; i < EXPORT_QUEUE; i++)
		put(&c, "waits", 2);
	ck_assert_uint_eq(status(&c).queued, EXPORT_QUEUE + 1);
	ck_assert_uint_eq(status(&c).queued_items, 2 * EXPORT_QUEUE + 1);
	for (unsigned i = 0; i < 10; i++)
		put(&c, "too much", 3);
	ck_assert_uint_eq(c.totals.dropped, 10);
	ck_assert_uint_eq(c.totals.dropped_items, 30);
	uint64_t begun_ns = clk_ns(&clk_system);
	scene_end(&c, 200 * NS_PER_MS);
	uint64_t took_ns = clk_ns(&clk_system) - begun_ns;
	ck_assert_uint_ge(took_ns, 200 * NS_PER_MS);
	ck_assert_uint_lt(took_ns, 20 * NS_PER_SEC);
	server_end(&s);
	ck_assert_uint_eq(c.totals.failed, 1); /* perhaps it arrived */
	ck_assert_uint_eq(c.totals.dropped, 10 + EXPORT_QUEUE);
	ck_assert_uint_eq(c.totals.dropped_items, 30 + 2 * EXPORT_QUEUE);
}
END_TEST

START_TEST(the_queue_is_bounded_in_bytes)
{
	struct server s = {.answer = NULL};
	struct scene c;
	begin_silence(&s, &c);
	for (unsigned i = 0; i < 3; i++) {
		struct text body = TEXT(&mem_libc);
		char *half = mem_zalloc(&mem_libc, EXPORT_QUEUE_BYTES / 2);
		ck_assert_ptr_nonnull(half);
		text_write(&body, half, EXPORT_QUEUE_BYTES / 2);
		(void)mem_free(&mem_libc, half);
		export_queue(c.export, &body, 1);
	}
	ck_assert_uint_eq(c.totals.dropped, 1);
	struct text bad = {.mem = &mem_libc, .err = -ENOMEM};
	export_queue(c.export, &bad, 1);
	ck_assert_uint_eq(c.totals.dropped, 2);
	scene_end(&c, 0);
	server_end(&s);
}
END_TEST

START_TEST(the_end_sends_what_waits)
{
	struct server s = {.answer = ANSWER("200 OK", "")};
	struct scene c;
	server_begin(&s);
	scene_begin(&c, s.port);
	for (unsigned i = 0; i < 20; i++)
		put(&c, "spans", 1);
	scene_end(&c, 60 * NS_PER_SEC);
	server_end(&s);
	ck_assert_uint_eq(s.requests, 20);
	ck_assert_uint_eq(c.totals.accepted, 20);
	ck_assert_uint_eq(c.totals.dropped, 0);
}
END_TEST

START_TEST(the_end_does_not_wait_for_one_who_is_away)
{
	struct server s = {.answer = ""};
	server_begin(&s);
	uint16_t port = s.port;
	server_end(&s);
	struct scene c;
	scene_begin(&c, port);
	for (unsigned i = 0; i < 3; i++)
		put(&c, "spans", 1);
	wait_failing(&c);
	uint64_t begun_ns = clk_ns(&clk_system);
	scene_end(&c, 60 * NS_PER_SEC);
	ck_assert_uint_lt(clk_ns(&clk_system) - begun_ns, 20 * NS_PER_SEC);
	ck_assert_uint_eq(c.totals.failed, 1);
	ck_assert_uint_eq(c.totals.dropped, 2);
	ck_assert_uint_le(c.totals.requests, 3);
}
END_TEST

START_TEST(a_slow_receiver_meets_the_timeout)
{
	struct server s = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n",
		.again = "x",
		.again_us = 10000};
	struct scene c;
	server_begin(&s);
	scene_begin_with(&c, s.port, (struct export_conf){.timeout_ms = 200});
	put(&c, "spans", 1);
	wait_failing(&c);
	ck_assert_ptr_nonnull(strstr(status(&c).last_error, "timed out"));
	scene_end(&c, 0);
	server_end(&s);
}
END_TEST

START_TEST(an_answer_without_an_end_is_none)
{
	static char chunk[65536];
	memset(chunk, 'x', sizeof(chunk) - 1);
	struct server s = {.answer = "HTTP/1.1 200 OK\r\n\r\n", .again = chunk};
	struct scene c;
	server_begin(&s);
	scene_begin(&c, s.port);
	put(&c, "spans", 1);
	wait_done(&c, 1);
	ck_assert_uint_eq(c.given_up, 1);
	ck_assert_ptr_nonnull(strstr(status(&c).last_error, "over 4194304 bytes"));
	scene_end(&c, 0);
	server_end(&s);
}
END_TEST

static int begin_and_end(struct fake *f, void *arg)
{
	struct export_totals totals = {0};
	struct export *x;
	struct fault fault;
	struct export_env env = {f->mem, &clk_system, &totals, NULL, NULL};
	struct export_conf conf = {.url = arg,
		.gzip = true,
		.grpc = true,
		.timeout_ms = 1000,
		.headers = some_headers,
		.user = "u",
		.password = "geheim",
		.ca = "/ca",
		.user_agent = "nl6"};
	int r = export_start(&env, &conf, &x, &fault);
	if (r < 0)
		return r;
	struct text body = TEXT(f->mem);
	text_put(&body, "spans");
	export_queue(x, &body, 1);
	(void)export_stop(x, 2 * NS_PER_SEC);
	ck_assert_uint_eq(totals.accepted + totals.failed + totals.dropped, 1);
	return 0;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	char url[64];
	struct server s = {.answer = ""};
	server_begin(&s);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", s.port);
	server_end(&s);
	fake_fail_each(&f, begin_and_end, url);
	ck_assert_ptr_null(export_stop(NULL, 0));
	fake_done(&f);
}
END_TEST

UNIT_MAIN(what_is_accepted_is_counted, a_body_may_be_compressed, grpc_has_frames,
	grpc_tells_of_failures, what_is_refused_is_not_sent_again,
	a_partial_success_is_not_sent_again, a_busy_receiver_is_asked_again,
	a_cut_connection_is_tried_again, a_full_queue_drops_the_newest,
	the_queue_is_bounded_in_bytes, the_end_sends_what_waits,
	the_end_does_not_wait_for_one_who_is_away, a_slow_receiver_meets_the_timeout,
	an_answer_without_an_end_is_none, each_allocation_may_fail)
