#include "api/guard.h"
#include "fake.h"
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef"
struct ask {
	const char *path, *host, *origin, *site, *type, *auth;
};

static const char *header_of(void *arg, const char *name)
{
	const struct ask *a = arg;
	return strcasecmp(name, "Host") == 0		 ? a->host
	       : strcasecmp(name, "Origin") == 0	 ? a->origin
	       : strcasecmp(name, "Sec-Fetch-Site") == 0 ? a->site
	       : strcasecmp(name, "Content-Type") == 0	 ? a->type
	       : strcasecmp(name, "Authorization") == 0	 ? a->auth
							 : NULL;
}

static unsigned check(const struct guard *g, const struct ask *a, struct request *ret_rq)
{
	static char target[128];
	strcpy(target, a->path ? a->path : "/api/v1/devices");
	*ret_rq = (struct request){.header = header_of, .header_arg = (void *)(uintptr_t)a};
	ck_assert_int_eq(url_parse(target, &ret_rq->url, NULL), 0);
	return guard_check(g, ret_rq);
}

static struct guard *make(struct fake *f, const char *token)
{
	static const char *const hosts[] = {"lab.example", "Other"};
	struct guard_conf conf = {token, hosts, 2};
	struct guard *g = NULL;
	ck_assert_int_eq(guard_new(f->mem, &conf, &g, NULL), 0);
	return g;
}

START_TEST(only_our_own_names_are_hosts)
{
	static const char *const good[] = {"127.0.0.1:8080", "10.0.0.1", "[::1]:8080",
		"[2001:db8::1]", "localhost", "LocalHost:1", "localhost.",
		"127.0.0.1:", "lab.example", "LAB.example:80", "other", "", NULL};
	static const char *const bad[] = {"evil.example", "evil.example:8080",
		"localhost.evil.example", "lab.example.evil", "127.0.0.1.evil.example",
		"127.0.0.1:x", "127.0.0.1:99999", "[::1", "[evil]", "[::1]x", "a b",
		"user@localhost", ":8080", "localhost,evil"};
	struct fake f = fake_make();
	struct guard *g = make(&f, NULL);
	struct request rq;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(check(g, &(struct ask){.host = good[i]}, &rq) == 0, "%s", good[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(check(g, &(struct ask){.host = bad[i]}, &rq) == 403, "%s", bad[i]);
	char own[256] = "";
	ck_assert_int_eq(gethostname(own, sizeof(own) - 1), 0);
	ck_assert_uint_eq(check(g, &(struct ask){.host = own}, &rq), 0);
	/* The host of an absolute target counts, not the header beside it. */
	ck_assert_uint_eq(
		check(g, &(struct ask){.path = "http://evil.example/", .host = "localhost"}, &rq),
		403);
	ck_assert_uint_eq(
		check(g, &(struct ask){.path = "http://localhost/", .host = "x"}, &rq), 0);
	g = guard_free(g);
	fake_done(&f);
}
END_TEST

START_TEST(foreign_pages_are_refused)
{
	static const struct {
		const char *host, *origin, *site, *type;
		unsigned status;
	} rows[] = {
		{"127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", "application/json", 0},
		{"127.0.0.1:8080", "http://127.0.0.1:8081", NULL, NULL, 403},
		{"127.0.0.1:8080", "http://127.0.0.1", NULL, NULL, 403},
		{"127.0.0.1:8080", "http://localhost:8080", NULL, NULL, 403},
		{"127.0.0.1:8080", "null", NULL, NULL, 403},
		{"127.0.0.1:8080", "", NULL, NULL, 403},
		{"127.0.0.1:8080", "http://evil.example", NULL, NULL, 403},
		{"127.0.0.1:8080", "ftp://127.0.0.1:8080", NULL, NULL, 403},
		{"127.0.0.1:8080", "http://127.0.0.1:8080/x", NULL, NULL, 403},
		{"[::1]:80", "http://[::1]", NULL, NULL, 0},
		{"lab.example", "http://lab.example", NULL, NULL, 0},
		{"lab.example", "https://LAB.example", NULL, NULL, 0},
		{"lab.example:443", "https://lab.example", NULL, NULL, 0},
		{"lab.example:80", "https://lab.example", NULL, NULL, 403},
		{NULL, "http://evil.example", NULL, NULL, 403},
		{"localhost", NULL, "cross-site", NULL, 403},
		{"localhost", NULL, "same-site", NULL, 403},
		{"localhost", NULL, "", NULL, 403},
		{"localhost", NULL, "same-origin", NULL, 0},
		{"localhost", NULL, "none", NULL, 0},
		{"localhost", NULL, "none", "text/plain", 415},
		{"localhost", NULL, "same-origin", "Multipart/form-data; boundary=x", 415},
		{"localhost", "http://localhost", NULL, "application/x-www-form-urlencoded", 415},
		{"localhost", "http://localhost", NULL, " text/plain;charset=UTF-8", 415},
		{"localhost", "http://localhost", NULL, "application/json", 0},
		{"localhost", NULL, NULL, "application/x-www-form-urlencoded", 0},
		{"localhost", NULL, NULL, "text/plain", 0},
	};
	struct fake f = fake_make();
	struct guard *g = make(&f, NULL);
	struct request rq;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ask a = {.host = rows[i].host,
			.origin = rows[i].origin,
			.site = rows[i].site,
			.type = rows[i].type};
		ck_assert_msg(check(g, &a, &rq) == rows[i].status, "row %u", i);
		ck_assert(rows[i].status == 0 || rq.fault.text[0] != 0);
		/* Static files are no exception. */
		a.path = "/";
		ck_assert_uint_eq(check(g, &a, &rq), rows[i].status);
	}
	g = guard_free(g);
	fake_done(&f);
}
END_TEST

START_TEST(the_token_guards_the_api)
{
	static const char *const guarded[] = {"/api", "/api/", "/api/v1/version", "/%61pi/v1/x",
		"/metrics", "/debug/pprof", "/debug/pprof/heap"};
	static const char *const free_paths[] = {"/", "/health", "/ui", "/web/app.js", "/apix",
		"/debug", "/debug/x", "//api/v1/version"};
	static const char *const wrong[] = {NULL, "", "Bearer", "Bearer ",
		"Bearer 0123456789abcdee", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0",
		"Basic " TOKEN, TOKEN, "Bearer 0123456789abcdef0123456789abcdef",
		"Bearer " TOKEN " "};
	struct fake f = fake_make();
	struct guard *g = make(&f, TOKEN);
	struct request rq;
	for (unsigned i = 0; i < ARRAY_SIZE(guarded); i++) {
		struct ask a = {.path = guarded[i]};
		for (unsigned k = 0; k < ARRAY_SIZE(wrong); k++) {
			a.auth = wrong[k];
			ck_assert_msg(check(g, &a, &rq) == 401, "%s %s", a.path, a.auth);
			ck_assert_uint_eq(rq.reply.n_headers, 1);
			ck_assert_str_eq(rq.reply.headers[0].name, "WWW-Authenticate");
		}
		a.auth = "Bearer " TOKEN;
		ck_assert_uint_eq(check(g, &a, &rq), 0);
		a.auth = "bearer  " TOKEN;
		ck_assert_uint_eq(check(g, &a, &rq), 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(free_paths); i++)
		ck_assert_uint_eq(check(g, &(struct ask){.path = free_paths[i]}, &rq), 0);
	g = guard_free(g);
	fake_done(&f);
}
END_TEST

START_TEST(weak_settings_are_refused)
{
	static const char *const tokens[] = {"", "short", "0123456789abcde", "0123456789abcdef\n",
		"0123456789 abcdef", "0123456789abcde\xc3\xa9"};
	static const char *const hosts[] = {"", "a:80", "a b", "http://a"};
	struct fake f = fake_make();
	struct guard *g = NULL;
	struct fault fault;
	for (unsigned i = 0; i < ARRAY_SIZE(tokens); i++) {
		struct guard_conf conf = {.token = tokens[i]};
		ck_assert_int_eq(guard_new(f.mem, &conf, &g, &fault), -EINVAL);
		ck_assert_str_eq(fault.field, "api-token");
		ck_assert(!*tokens[i] || !strstr(fault.text, tokens[i]));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct guard_conf conf = {.allowed_hosts = &hosts[i], .n_allowed_hosts = 1};
		ck_assert_int_eq(guard_new(f.mem, &conf, &g, &fault), -EINVAL);
	}
	fake_done(&f);
}
END_TEST

static int make_one(struct fake *f, void *arg UNUSED)
{
	static const char *const hosts[] = {"a", "b"};
	struct guard_conf conf = {TOKEN, hosts, 2};
	struct guard *g = NULL;
	int r = guard_new(f->mem, &conf, &g, NULL);
	g = guard_free(g);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_one, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(only_our_own_names_are_hosts, foreign_pages_are_refused, the_token_guards_the_api,
	weak_settings_are_refused, each_allocation_may_fail)
