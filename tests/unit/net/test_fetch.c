#include "base/clk.h"
#include "base/lock.h"
#include "fake.h"
#include "net/fetch.h"
#include "net/server.h"
#include <curl/curl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_MS 60000u
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

static const struct fetch_conf plain = {
	.user_agent = "nl6/test", .timeout_ms = LONG_MS, .connections = 5};

/* A resolver that hangs, in place of libc's: libcurl asks it for names, not for addresses. */
static struct {
	struct lock lock;
	struct cond changed;
	uint32_t asked, done;
	bool released;
} resolver = {.lock.m = PTHREAD_MUTEX_INITIALIZER, .changed.c = PTHREAD_COND_INITIALIZER};

EXPORT int getaddrinfo(const char *node UNUSED, const char *service UNUSED,
	const struct addrinfo *hints UNUSED, struct addrinfo **ret UNUSED)
{
	LOCK_SCOPE(&resolver.lock);
	resolver.asked++;
	cond_wake_all(&resolver.changed);
	while (!resolver.released)
		cond_wait(&resolver.changed, &resolver.lock);
	resolver.done++;
	cond_wake_all(&resolver.changed);
	return EAI_NONAME;
}

struct seen {
	uint32_t calls;
	int status;
	char error[512], body[FETCH_BODY_BYTES + 1];
	size_t body_bytes;
	uint32_t retry_after_s;
};

static void on_done(void *arg, const struct fetch_answer *a)
{
	struct seen *s = arg;
	s->calls++;
	s->status = a->status;
	(void)snprintf(s->error, sizeof(s->error), "%s", a->error ? a->error : "");
	memcpy(s->body, a->body, a->body_bytes);
	s->body[a->body_bytes] = '\0';
	s->body_bytes = a->body_bytes;
	s->retry_after_s = a->retry_after_s;
}

static int post(struct fetch *f, const char *url, struct seen *seen)
{
	static const char *const headers[] = {"X-Scope-OrgID: t-7", NULL};
	static const struct fetch_part parts[] = {{"a", "a.bin", "\0\1\2", 3}, {"b", "b", "{}", 2}};
	return fetch_post(f, &(struct fetch_ask){.url = url,
				     .user = "u",
				     .password = "geheim",
				     .headers = headers,
				     .parts = parts,
				     .n_parts = ARRAY_SIZE(parts),
				     .done = on_done,
				     .arg = seen});
}

static struct seen ask_url(const struct fetch_conf *conf, const char *url)
{
	struct seen seen = {0};
	struct fetch *f;
	ck_assert_int_eq(fetch_new(&mem_libc, conf, &f), 0);
	ck_assert_int_eq(post(f, url, &seen), 0);
	ck_assert_uint_eq(fetch_count(f), 1);
	while (!seen.calls)
		fetch_run(f, LONG_MS);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_uint_eq(fetch_count(f), 0);
	ck_assert_ptr_null(fetch_free(f));
	ck_assert_ptr_null(strstr(seen.error, "geheim"));
	return seen;
}

static struct seen ask_scheme(const struct fetch_conf *conf, const char *scheme, struct server *s)
{
	char url[64];
	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u/x?y=z", scheme, s->port);
	return ask_url(conf, url);
}

static struct seen ask(const struct fetch_conf *conf, struct server *s)
{
	return ask_scheme(conf, "http", s);
}

/* What one server answers is made of it. */
static struct seen ask_answer(const char *answer)
{
	struct server s = {.answer = answer};
	server_begin(&s);
	struct seen seen = ask(&plain, &s);
	server_end(&s);
	return seen;
}

START_TEST(what_is_asked)
{
	struct server s = {.answer = OK};
	server_begin(&s);
	struct seen seen = ask(&plain, &s);
	ck_assert_int_eq(seen.status, 200);
	ck_assert_str_eq(seen.body, "ok");
	ck_assert_str_eq(seen.error, "");
	ck_assert_ptr_eq(strstr(s.last, "POST /x?y=z HTTP/1.1\r\n"), s.last);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nUser-Agent: nl6/test\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nAuthorization: Basic dTpnZWhlaW0=\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nX-Scope-OrgID: t-7\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nContent-Type: multipart/form-data; boundary="));
	ck_assert_ptr_nonnull(strstr(s.last, "name=\"a\"; filename=\"a.bin\"\r\n"
					     "Content-Type: application/octet-stream\r\n"));
	ck_assert_ptr_null(strstr(s.last, "Expect:"));
	ck_assert_ptr_null(strstr(s.last, "Accept-Encoding:"));
	server_end(&s);
}
END_TEST

START_TEST(any_status_is_an_answer)
{
	ck_assert_int_eq(ask_answer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n").status, 404);
	ck_assert_int_eq(ask_answer("HTTP/1.0 503 No\r\n\r\nbusy").status, 503);
	struct server s = {
		.answer = "HTTP/1.1 302 Go\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"};
	server_begin(&s);
	ck_assert_int_eq(ask(&plain, &s).status, 302);
	ck_assert_uint_eq(server_count(&s), 1);
	server_end(&s);
}
END_TEST

START_TEST(an_answer_that_is_none_is_told)
{
	static const char *const bad[] = {"", "SSH-2.0-none\r\n", "HTTP/1.1 200", "\x01\x02\x03",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\xff\x1b[2Jz\r\n"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct seen seen = ask_answer(bad[i]);
		ck_assert_msg(seen.status == 0, "%u: %d", i, seen.status);
		ck_assert_msg(seen.error[0], "%u", i);
		for (const char *c = seen.error; *c; c++)
			ck_assert_msg(*c >= ' ' && *c <= '~', "%u: %s", i, seen.error);
	}
}
END_TEST

START_TEST(a_body_is_read_up_to_a_bound)
{
	char chunk[4097];
	memset(chunk, 'x', sizeof(chunk));
	chunk[sizeof(chunk) - 1] = '\0';
	struct server s = {.answer = "HTTP/1.1 500 No\r\n\r\n", .again = chunk};
	server_begin(&s);
	struct seen seen = ask(&plain, &s); /* its end would never come */
	ck_assert_int_eq(seen.status, 500);
	ck_assert_uint_eq(seen.body_bytes, FETCH_BODY_BYTES);
	ck_assert_uint_eq(strspn(seen.body, "x"), FETCH_BODY_BYTES);
	server_end(&s);
}
END_TEST

static void ck_deadline(struct server *s)
{
	struct fetch_conf conf = plain;
	conf.timeout_ms = 300;
	server_begin(s);
	uint64_t begun_ns = clk_ns(&clk_system);
	struct seen seen = ask(&conf, s);
	ck_assert_uint_ge(clk_ns(&clk_system) - begun_ns, 299 * NS_PER_MS);
	ck_assert_int_eq(seen.status, 0);
	ck_assert_ptr_nonnull(strstr(seen.error, "timed out"));
	server_end(s);
}

START_TEST(a_slow_server_meets_the_deadline)
{
	struct server silent = {.answer = NULL};
	ck_deadline(&silent);
	struct server head = {.answer = "HTTP/1.1 200 OK\r\nX: ", .again = "x", .again_us = 10000};
	ck_deadline(&head);
	struct server body = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n",
		.again = "x",
		.again_us = 10000};
	ck_deadline(&body);
	struct server wait = {
		.answer = "", .again = "HTTP/1.1 100 Go on\r\n\r\n", .again_us = 9000};
	ck_deadline(&wait);
}
END_TEST

static uint32_t retry_after(const char *value)
{
	char answer[256];
	(void)snprintf(answer, sizeof(answer),
		"HTTP/1.1 429 No\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", value);
	struct seen seen = ask_answer(answer);
	ck_assert_int_eq(seen.status, 429);
	return seen.retry_after_s;
}

START_TEST(when_to_ask_again)
{
	ck_assert_uint_eq(retry_after("7"), 7);
	ck_assert_uint_eq(retry_after("0"), 0);
	ck_assert_uint_eq(retry_after("-5"), 0);
	ck_assert_uint_eq(retry_after("soon"), 0);
	ck_assert_uint_eq(retry_after(""), 0);
	ck_assert_uint_eq(retry_after("99999999999"), UINT32_MAX);
	ck_assert_uint_eq(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
	ck_assert_uint_gt(retry_after("Wed, 01 Jan 2110 00:00:00 GMT"), 3600);
}
END_TEST

START_TEST(only_http_and_no_credentials_in_the_url)
{
	static const char *const bad[] = {"file:///etc/passwd", "ftp://127.0.0.1:1/",
		"http://u:geheim@127.0.0.1:1/", "gopher://127.0.0.1:1/", "http://127.0.0.1:70000/",
		"http://"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct seen seen = ask_url(&plain, bad[i]);
		ck_assert_int_eq(seen.status, 0);
		ck_assert_str_ne(seen.error, "");
	}
}
END_TEST

/* A request as libcurl makes it by itself: does the variable mean anything to it? */
static void ask_obediently(const char *scheme, struct server *s)
{
	char url[64];
	CURL *e = curl_easy_init();
	ck_assert_ptr_nonnull(e);
	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u/", scheme, s->port);
	(void)curl_easy_setopt(e, CURLOPT_URL, url);
	(void)curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	(void)curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	(void)curl_easy_perform(e);
	curl_easy_cleanup(e);
}

START_TEST(no_proxy_is_taken_from_the_environment)
{
	static const struct {
		const char *name, *scheme;
		bool obeyed;
	} vars[] = {{"http_proxy", "http", true}, {"all_proxy", "http", true},
		{"ALL_PROXY", "http", true}, {"HTTP_PROXY", "http", false},
		{"https_proxy", "https", true}, {"HTTPS_PROXY", "https", true},
		{"ALL_PROXY", "https", true}};
	for (unsigned i = 0; i < ARRAY_SIZE(vars); i++) {
		struct server s = {.answer = OK}, proxy = {.answer = OK};
		char url[64];
		server_begin(&s);
		server_begin(&proxy);
		(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", proxy.port);
		ck_assert_int_eq(setenv(vars[i].name, url, 1), 0);
		struct seen seen = ask_scheme(&plain, vars[i].scheme, &s);
		ck_assert_msg(server_count(&proxy) == 0, "%s is obeyed", vars[i].name);
		ck_assert_uint_eq(server_count(&s), 1);
		/* The server knows no TLS. */
		ck_assert_int_eq(seen.status, strcmp(vars[i].scheme, "http") == 0 ? 200 : 0);
		ask_obediently(vars[i].scheme, &s);
		ck_assert_msg((server_count(&proxy) == 1) == vars[i].obeyed, "%s", vars[i].name);
		ck_assert_int_eq(unsetenv(vars[i].name), 0);
		server_end(&s);
		server_end(&proxy);
	}
}
END_TEST

START_TEST(a_proxy_that_is_given_is_used_whatever_the_environment_says)
{
	static const char *const vars[] = {"no_proxy", "NO_PROXY"};
	for (unsigned i = 0; i < ARRAY_SIZE(vars); i++) {
		struct server s = {.answer = OK}, proxy = {.answer = OK};
		char url[64], want[128];
		server_begin(&s);
		server_begin(&proxy);
		(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", proxy.port);
		(void)snprintf(want, sizeof(want), "POST http://127.0.0.1:%u/x?y=z ", s.port);
		struct fetch_conf conf = plain;
		conf.proxy = url;
		ck_assert_int_eq(setenv(vars[i], "127.0.0.1,*", 1), 0);
		ck_assert_int_eq(ask(&conf, &s).status, 200);
		ck_assert_int_eq(unsetenv(vars[i]), 0);
		ck_assert_uint_eq(server_count(&s), 0);
		ck_assert_ptr_eq(strstr(proxy.last, want), proxy.last);
		server_end(&s);
		server_end(&proxy);
	}
}
END_TEST

/* Without a user: one of .netrc would be another's. */
static void post_as_nobody(struct server *s)
{
	struct seen seen = {0};
	struct fetch *f;
	char url[64];
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", s->port);
	ck_assert_int_eq(fetch_new(&mem_libc, &plain, &f), 0);
	struct fetch_part part = {"a", "a", "a", 1};
	struct fetch_ask ask = {
		.url = url, .parts = &part, .n_parts = 1, .done = on_done, .arg = &seen};
	ck_assert_int_eq(fetch_post(f, &ask), 0);
	while (!seen.calls)
		fetch_run(f, LONG_MS);
	ck_assert_int_eq(seen.status, 200);
	(void)fetch_free(f);
}

START_TEST(no_credentials_are_taken_from_a_home)
{
	static const char *const names[] = {".netrc", ".curlrc"};
	char dir[] = "/tmp/nl6-fetch-XXXXXX", path[64];
	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		FILE *to = fopen(path, "w");
		ck_assert_ptr_nonnull(to);
		(void)fputs(i ? "user = a:b\n" : "default login a password b\n", to);
		(void)fclose(to);
	}
	const char *home = getenv("HOME");
	char *before = home ? strdup(home) : NULL;
	struct server s = {.answer = OK};
	server_begin(&s);
	ck_assert_int_eq(setenv("HOME", dir, 1) | setenv("CURL_HOME", dir, 1), 0);
	post_as_nobody(&s);
	ck_assert_ptr_null(strcasestr(s.last, "Authorization"));
	ask_obediently("http", &s);
	ck_assert_ptr_nonnull(strcasestr(s.last, "Authorization"));
	ck_assert_int_eq(before ? setenv("HOME", before, 1) : unsetenv("HOME"), 0);
	ck_assert_int_eq(unsetenv("CURL_HOME"), 0);
	server_end(&s);
	free(before);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}
END_TEST

static void wait_resolver(const uint32_t *count, uint32_t n)
{
	LOCK_SCOPE(&resolver.lock);
	while (*count < n)
		cond_wait(&resolver.changed, &resolver.lock);
}

START_TEST(a_resolver_that_hangs_holds_nobody_up)
{
	struct seen seen = {0};
	struct fetch *f;
	struct fetch_conf conf = plain;
	conf.timeout_ms = 100;
	seen = ask_url(&conf, "http://name.test/"); /* ends, though the resolver does not */
	ck_assert_int_eq(seen.status, 0);
	ck_assert_ptr_nonnull(strstr(seen.error, "imed out"));
	ck_assert_int_eq(fetch_new(&mem_libc, &plain, &f), 0);
	seen.calls = 0;
	ck_assert_int_eq(post(f, "http://name.test/", &seen), 0);
	fetch_run(f, 1);
	wait_resolver(&resolver.asked, 2);
	ck_assert_ptr_null(fetch_free(f));
	ck_assert_uint_eq(seen.calls, 0);
	{
		LOCK_SCOPE(&resolver.lock);
		ck_assert_uint_eq(resolver.done, 0);
		resolver.released = true;
		cond_wake_all(&resolver.changed);
	}
	wait_resolver(&resolver.done, 2);
	/* Names are still asked for anew. */
	ck_assert_ptr_nonnull(strstr(ask_url(&plain, "http://name.test/").error, "name.test"));
}
END_TEST

static void wait_long(void *arg)
{
	fetch_run(arg, LONG_MS);
}

START_TEST(another_thread_ends_the_wait)
{
	struct fetch *f;
	struct thread *t;
	ck_assert_int_eq(fetch_new(&mem_libc, &plain, &f), 0);
	uint64_t begun_ns = clk_ns(&clk_system);
	struct thread_conf conf = {"waiter", NULL, wait_long, f};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	fetch_wake(f);
	(void)thread_join(t);
	ck_assert_uint_lt(clk_ns(&clk_system) - begun_ns, LONG_MS * NS_PER_MS / 2);
	(void)fetch_free(f);
}
END_TEST

START_TEST(a_request_is_sent_once)
{
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .cuts = true};
	struct seen seen = {0};
	struct fetch *f;
	char url[64];
	server_begin(&s);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", s.port);
	ck_assert_int_eq(fetch_new(&mem_libc, &plain, &f), 0);
	for (uint32_t n = 1; n <= 3; n++) {
		ck_assert_int_eq(post(f, url, &seen), 0);
		while (seen.calls < n)
			fetch_run(f, LONG_MS);
		ck_assert_int_eq(seen.status, 200);
		ck_assert_uint_eq(server_count(&s), n);
	}
	(void)fetch_free(f);
	server_end(&s);
}
END_TEST

START_TEST(the_end_cancels)
{
	struct server s = {.answer = NULL};
	struct seen seen = {0};
	struct fetch *f;
	char url[64];
	server_begin(&s);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", s.port);
	ck_assert_int_eq(fetch_new(&mem_libc, &plain, &f), 0);
	for (unsigned i = 0; i < 8; i++)
		ck_assert_int_eq(post(f, url, &seen), 0);
	while (server_count(&s) < plain.connections)
		fetch_run(f, 1);
	for (unsigned i = 0; i < 50; i++)
		fetch_run(f, 1);
	ck_assert_uint_eq(server_count(&s), plain.connections);
	ck_assert_uint_eq(fetch_count(f), 8);
	ck_assert_ptr_null(fetch_free(f));
	ck_assert_ptr_null(fetch_free(NULL));
	ck_assert_uint_eq(seen.calls, 0);
	server_end(&s);
}
END_TEST

static int begin_and_end(struct fake *f, void *arg)
{
	struct fetch *fetch;
	struct seen seen = {0};
	int r = fetch_new(f->mem, &plain, &fetch);
	if (r < 0)
		return r;
	r = post(fetch, arg, &seen);
	while (r == 0 && !seen.calls)
		fetch_run(fetch, LONG_MS);
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
	fake_fail_each(&f, begin_and_end, url);
	server_end(&s);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(what_is_asked, any_status_is_an_answer, an_answer_that_is_none_is_told,
	a_body_is_read_up_to_a_bound, a_slow_server_meets_the_deadline, when_to_ask_again,
	only_http_and_no_credentials_in_the_url, no_proxy_is_taken_from_the_environment,
	a_proxy_that_is_given_is_used_whatever_the_environment_says,
	no_credentials_are_taken_from_a_home, a_resolver_that_hangs_holds_nobody_up,
	another_thread_ends_the_wait, a_request_is_sent_once, the_end_cancels,
	each_allocation_may_fail)
