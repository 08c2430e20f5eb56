#include "fake.h"
#include "net/fetch.h"
#include "net/h2.h"
#include "net/server.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LONG_MS 60000u
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

static const struct fetch_conf plain = {
	.user_agent = "nl6/test", .timeout_ms = LONG_MS, .connections = 5};

struct seen {
	uint32_t calls;
	int status;
	char error[512], body[FETCH_BODY_BYTES + 1], header[64]; /* X-Told */
	size_t body_bytes;
};

static void on_done(void *arg, const struct fetch_answer *a)
{
	struct seen *s = arg;
	size_t keep = MIN(a->body_bytes, sizeof(s->body) - 1);
	const char *told = fetch_header(a, "x-told");
	s->calls++;
	s->status = a->status;
	s->body_bytes = a->body_bytes;
	(void)snprintf(s->error, sizeof(s->error), "%s", a->error ? a->error : "");
	(void)snprintf(s->header, sizeof(s->header), "%s", told ? told : "");
	memcpy(s->body, a->body, keep);
	s->body[keep] = '\0';
}

/* One request of which the address is filled in here, on a fetch that goes on. */
static struct seen ask_on(struct fetch *f, uint16_t port, struct fetch_ask ask)
{
	struct seen seen = {0};
	char url[64];
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/r", port);
	ask.url = url;
	ask.done = on_done;
	ask.arg = &seen;
	ck_assert_int_eq(fetch_post(f, &ask), 0);
	while (!seen.calls)
		fetch_run(f, LONG_MS);
	return seen;
}

static struct seen ask_once(const struct fetch_conf *conf, uint16_t port, struct fetch_ask ask)
{
	struct fetch *f;
	ck_assert_int_eq(fetch_new(&mem_libc, conf, &f), 0);
	struct seen seen = ask_on(f, port, ask);
	(void)fetch_free(f);
	return seen;
}

static const struct fetch_ask raw = {
	.content_type = "application/x-protobuf", .body = "\0\1raw", .body_bytes = 5};

START_TEST(a_raw_body_has_its_type_and_nothing_else)
{
	struct server s = {.answer = OK};
	server_begin(&s);
	ck_assert_int_eq(ask_once(&plain, s.port, raw).status, 200);
	ck_assert_ptr_eq(strstr(s.last, "POST /r HTTP/1.1\r\n"), s.last);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Type: application/x-protobuf\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Length: 5\r\n"));
	ck_assert_ptr_null(strstr(s.last, "Expect:"));
	const char *body = strstr(s.last, "\r\n\r\n");
	ck_assert_ptr_nonnull(body);
	ck_assert_mem_eq(body + 4, "\0\1raw", 6);
	server_end(&s);
}
END_TEST

START_TEST(a_raw_body_may_be_empty)
{
	struct server s = {.answer = OK};
	server_begin(&s);
	struct fetch_ask ask = {.content_type = "application/x-protobuf"};
	ck_assert_int_eq(ask_once(&plain, s.port, ask).status, 200);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Length: 0\r\n"));
	server_end(&s);
}
END_TEST

START_TEST(a_get_has_no_body)
{
	struct server s = {.answer = OK};
	server_begin(&s);
	struct seen seen = ask_once(&plain, s.port, (struct fetch_ask){.get = true});
	ck_assert_int_eq(seen.status, 200);
	ck_assert_str_eq(seen.body, "ok");
	ck_assert_ptr_eq(strstr(s.last, "GET /r HTTP/1.1\r\n"), s.last);
	ck_assert_ptr_null(strstr(s.last, "Content-"));
	server_end(&s);
}
END_TEST

START_TEST(a_connection_may_be_kept)
{
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .keeps = true};
	struct fetch_conf conf = plain;
	struct fetch *f;
	conf.keep_alive = true;
	server_begin(&s);
	ck_assert_int_eq(fetch_new(&mem_libc, &conf, &f), 0);
	for (uint32_t n = 1; n <= 3; n++) {
		ck_assert_int_eq(ask_on(f, s.port, raw).status, 200);
		ck_assert_uint_eq(server_count(&s), n);
	}
	(void)fetch_free(f);
	server_end(&s);
	ck_assert_uint_eq(s.connections, 1);
}
END_TEST

START_TEST(an_answer_has_a_bound_that_the_caller_sets)
{
	struct server fits = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nseven77"};
	struct server more = {.answer = "HTTP/1.1 200 OK\r\n\r\neight888"};
	struct fetch_conf conf = plain;
	conf.answer_max_bytes = 7;
	server_begin(&fits);
	struct seen seen = ask_once(&conf, fits.port, raw);
	ck_assert_int_eq(seen.status, 200);
	ck_assert_uint_eq(seen.body_bytes, 7);
	ck_assert_str_eq(seen.body, "seven77");
	server_end(&fits);
	server_begin(&more);
	seen = ask_once(&conf, more.port, raw);
	ck_assert_int_eq(seen.status, 0);
	ck_assert_str_eq(seen.error, "the answer is over 7 bytes");
	server_end(&more);
}
END_TEST

START_TEST(an_answer_may_be_long)
{
	enum { PIECES = 3000 };
	static const char piece[] = "0123456789";
	static char answer[PIECES * 10 + 100];
	int n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
		PIECES * 10);
	for (unsigned i = 0; i < PIECES; i++)
		memcpy(answer + n + 10 * i, piece, 11);
	struct server s = {.answer = answer};
	struct fetch_conf conf = plain;
	conf.answer_max_bytes = 1u << 20;
	server_begin(&s);
	struct seen seen = ask_once(&conf, s.port, (struct fetch_ask){.get = true});
	ck_assert_uint_eq(seen.body_bytes, PIECES * 10);
	ck_assert_int_eq(strncmp(seen.body, piece, 10), 0);
	server_end(&s);
}
END_TEST

static struct seen ask_answer(const char *answer)
{
	struct server s = {.answer = answer};
	server_begin(&s);
	struct seen seen = ask_once(&plain, s.port, raw);
	server_end(&s);
	return seen;
}

START_TEST(a_header_is_found_in_any_case)
{
	ck_assert_str_eq(ask_answer("HTTP/1.1 204 No\r\nX-TOLD: a b \r\n\r\n").header, "a b");
	ck_assert_str_eq(ask_answer("HTTP/1.1 204 No\r\nX-Tol: a\r\n\r\n").header, "");
	ck_assert_str_eq(ask_answer("").header, "");
	ck_assert_str_eq(ask_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				    "1\r\nx\r\n0\r\nX-Told: late\r\n\r\n")
				 .header,
		"late");
}
END_TEST

START_TEST(http2_without_a_word_before)
{
	static const char *const headers[] = {"content-type", "application/grpc", NULL};
	static const char *const trailers[] = {"grpc-status", "0", "x-told", "at the end", NULL};
	struct h2 s = {.status = 200,
		.headers = headers,
		.body = "\0answer",
		.body_bytes = 7,
		.trailers = trailers};
	struct fetch_conf conf = plain;
	struct fetch *f;
	conf.http2 = conf.keep_alive = true;
	conf.answer_max_bytes = 100;
	h2_begin(&s);
	ck_assert_int_eq(fetch_new(&mem_libc, &conf, &f), 0);
	for (uint32_t n = 1; n <= 3; n++) {
		struct seen seen = ask_on(f, s.port, raw);
		ck_assert_msg(seen.status == 200, "%d %s", seen.status, seen.error);
		ck_assert_uint_eq(seen.body_bytes, 7);
		ck_assert_mem_eq(seen.body, "\0answer", 7);
		ck_assert_str_eq(seen.header, "at the end");
		ck_assert_uint_eq(h2_count(&s), n);
	}
	(void)fetch_free(f);
	h2_end(&s);
	ck_assert_uint_eq(s.last_bytes, 5);
	ck_assert_mem_eq(s.last, "\0\1raw", 5);
}
END_TEST

START_TEST(http2_whose_first_headers_are_its_last)
{
	static const char *const headers[] = {"x-told", "only", NULL};
	struct h2 s = {.status = 200, .headers = headers};
	struct fetch_conf conf = plain;
	conf.http2 = true;
	h2_begin(&s);
	struct seen seen = ask_once(&conf, s.port, raw);
	ck_assert_int_eq(seen.status, 200);
	ck_assert_uint_eq(seen.body_bytes, 0);
	ck_assert_str_eq(seen.header, "only");
	h2_end(&s);
}
END_TEST

START_TEST(http2_needs_a_server_that_speaks_it)
{
	struct server s = {.answer = OK};
	struct fetch_conf conf = plain;
	conf.http2 = true;
	server_begin(&s);
	struct seen seen = ask_once(&conf, s.port, raw);
	ck_assert_int_eq(seen.status, 0);
	ck_assert_str_ne(seen.error, "");
	server_end(&s);
}
END_TEST

START_TEST(a_connection_of_http2_that_ends_is_no_answer)
{
	struct h2 s = {.cuts = true};
	struct fetch_conf conf = plain;
	conf.http2 = conf.keep_alive = true;
	h2_begin(&s);
	struct seen seen = ask_once(&conf, s.port, raw);
	ck_assert_int_eq(seen.status, 0);
	ck_assert_str_ne(seen.error, "");
	h2_end(&s);
}
END_TEST

static int begin_raw_and_end(struct fake *f, void *arg)
{
	struct fetch *fetch;
	struct seen seen = {0};
	struct fetch_conf conf = plain;
	struct fetch_ask ask = raw;
	conf.answer_max_bytes = 100;
	ask.url = arg;
	ask.done = on_done;
	ask.arg = &seen;
	int r = fetch_new(f->mem, &conf, &fetch);
	if (r < 0)
		return r;
	r = fetch_post(fetch, &ask);
	while (r == 0 && !seen.calls)
		fetch_run(fetch, LONG_MS);
	if (r == 0 && seen.status == 0)
		r = strstr(seen.error, "no memory") ? -ENOMEM : -EIO;
	(void)fetch_free(fetch);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct server s = {.answer = OK};
	char url[64];
	server_begin(&s);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", s.port);
	fake_fail_each(&f, begin_raw_and_end, url);
	server_end(&s);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(a_raw_body_has_its_type_and_nothing_else, a_raw_body_may_be_empty, a_get_has_no_body,
	a_connection_may_be_kept, an_answer_has_a_bound_that_the_caller_sets, an_answer_may_be_long,
	a_header_is_found_in_any_case, http2_without_a_word_before,
	http2_whose_first_headers_are_its_last, http2_needs_a_server_that_speaks_it,
	a_connection_of_http2_that_ends_is_no_answer, each_allocation_may_fail)
