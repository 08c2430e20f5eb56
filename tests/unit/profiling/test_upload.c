#include "base/lock.h"
#include "base/thread.h"
#include "fake.h"
#include "profiling/upload.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server that answers every request on a connection of its own. */
struct server {
	int fd;
	uint16_t port;
	const char *answer; /* NULL: none, ever */
	struct thread *thread;
	bool over;
	uint32_t requests;
	char last[4096]; /* the head of the last request */
	int held[64];
	uint32_t n_held;
};

/* All of a request with a Content-Length, or what came before its end. */
static size_t read_request(int fd, char *buf, size_t room)
{
	size_t n = 0, want = SIZE_MAX;
	while (n < want && n < room - 1) {
		ssize_t got = read(fd, buf + n, room - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
		buf[n] = '\0';
		const char *end = strstr(buf, "\r\n\r\n"), *len = strstr(buf, "Content-Length: ");
		if (end && len)
			want = (size_t)(end - buf) + 4 + strtoul(len + 16, NULL, 10);
	}
	return n;
}

static void serve_one(struct server *s, int fd)
{
	char buf[4096];
	(void)read_request(fd, buf, sizeof(buf));
	memcpy(s->last, buf, sizeof(buf));
	(void)__atomic_add_fetch(&s->requests, 1, __ATOMIC_RELEASE);
	if (!s->answer && s->n_held < ARRAY_SIZE(s->held)) {
		s->held[s->n_held++] = fd;
		return;
	}
	ck_assert_int_eq(write(fd, s->answer, strlen(s->answer)), (ssize_t)strlen(s->answer));
	(void)close(fd);
}

static void serve(void *arg)
{
	struct server *s = arg;
	while (!__atomic_load_n(&s->over, __ATOMIC_ACQUIRE)) {
		struct pollfd p = {s->fd, POLLIN, 0};
		if (poll(&p, 1, 20) == 1)
			serve_one(s, accept(s->fd, NULL, NULL));
	}
}

static void server_begin(struct server *s, const char *answer)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	*s = (struct server){.answer = answer, .fd = socket(AF_INET, SOCK_STREAM, 0)};
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, len), 0);
	ck_assert_int_eq(listen(s->fd, 64), 0);
	ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	struct thread_conf conf = {"server", NULL, serve, s};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &s->thread), 0);
}

static void server_end(struct server *s)
{
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	(void)thread_join(s->thread);
	for (uint32_t i = 0; i < s->n_held; i++)
		(void)close(s->held[i]);
	(void)close(s->fd);
}

/* One push to a server. */
struct scene {
	struct fake fake;
	struct upload_totals totals;
	struct upload *upload;
	char address[64];
	struct lock lock;
	struct cond changed;
	uint32_t idles;
};

static void on_idle(void *arg)
{
	struct scene *c = arg;
	LOCK_SCOPE(&c->lock);
	c->idles++;
	cond_wake_all(&c->changed);
}

static void scene_begin(struct scene *c, uint16_t port)
{
	*c = (struct scene){.fake = fake_make()};
	lock_init(&c->lock);
	cond_init(&c->changed);
	(void)snprintf(c->address, sizeof(c->address), "http://127.0.0.1:%u", port);
	struct upload_env env = {&mem_libc, &clk_system, &c->totals, on_idle, c};
	struct upload_conf conf = {
		.address = c->address, .user = "u", .password = "geheim", .tenant = "t-7"};
	struct fault f = {0};
	ck_assert_int_eq(upload_start(&env, &conf, &c->upload, &f), 0);
}

static void scene_end(struct scene *c)
{
	ck_assert_ptr_null(upload_stop(c->upload));
	cond_done(&c->changed);
	lock_done(&c->lock);
	fake_done(&c->fake);
}

static void put(struct scene *c, uint64_t until_ns)
{
	struct upload_profile p = {.kind = PROFILE_HEAP,
		.from_ns = until_ns - NS_PER_SEC,
		.until_ns = until_ns,
		.body = TEXT(&mem_libc)};
	text_write(&p.body, "body\0\0\0\0", 8);
	upload_queue(c->upload, &p);
}

static void put_now(struct scene *c)
{
	put(c, clk_wall_ns(&clk_system));
}

static struct upload_status wait_idle(struct scene *c)
{
	struct upload_status st;
	{
		LOCK_SCOPE(&c->lock);
		while (!upload_is_idle(c->upload))
			(void)cond_wait_until(
				&c->changed, &c->lock, clk_ns(&clk_system) + 5 * NS_PER_MS);
	}
	upload_status(c->upload, &st);
	return st;
}

START_TEST(what_is_accepted_is_counted)
{
	struct server s;
	struct scene c;
	server_begin(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	scene_begin(&c, s.port);
	put_now(&c);
	put_now(&c);
	struct upload_status st = wait_idle(&c);
	ck_assert_uint_eq(st.uploads, 2);
	ck_assert_uint_eq(st.bytes, 16);
	ck_assert_uint_eq(st.errors, 0);
	ck_assert_uint_eq(st.queued, 0);
	ck_assert_uint_gt(st.last_upload_ns, 0);
	ck_assert_str_eq(st.last_error, "");
	ck_assert_uint_eq(c.totals.uploads, 2);
	ck_assert_uint_eq(c.totals.last_upload_s, st.last_upload_ns / NS_PER_SEC);
	ck_assert_uint_eq(s.requests, 2);
	ck_assert_ptr_eq(strstr(s.last, "POST /ingest?aggregationType=&from="), s.last);
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nX-Scope-OrgID: t-7\r\n"));
	ck_assert_ptr_nonnull(strstr(s.last, "\r\nAuthorization: Basic dTpnZWhlaW0=\r\n"));
	ck_assert_ptr_null(strstr(s.last, "Expect:"));
	ck_assert_ptr_nonnull(strstr(s.last, "name=\"profile\"; filename=\"profile.pprof\""));
	/* Behind the profile, which has zeros. */
	static const char config[] =
		"name=\"sample_type_config\"; filename=\"sample_type_config.json\"";
	ck_assert_ptr_nonnull(memmem(s.last, sizeof(s.last), config, sizeof(config) - 1));
	scene_end(&c);
	server_end(&s);
}
END_TEST

START_TEST(what_is_refused_is_told_and_not_tried_again)
{
	struct server s;
	struct scene c;
	server_begin(&s, "HTTP/1.1 422 No\r\nContent-Length: 12\r\nConnection: close\r\n\r\n"
			 "bad\x01profile!");
	scene_begin(&c, s.port);
	put_now(&c);
	struct upload_status st = wait_idle(&c);
	ck_assert_uint_eq(st.uploads, 0);
	ck_assert_uint_eq(st.errors, 1);
	ck_assert_uint_eq(st.dropped, 0);
	ck_assert_str_eq(st.last_error, "upload profile: failed to upload: (422) 'bad?profile!'");
	ck_assert_uint_eq(s.requests, 1);
	ck_assert_uint_eq(c.totals.errors, 1);
	scene_end(&c);
	server_end(&s);
}
END_TEST

START_TEST(a_redirect_is_an_error_and_is_not_followed)
{
	struct server s;
	struct scene c;
	server_begin(&s, "HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n"
			 "Connection: close\r\n\r\n");
	scene_begin(&c, s.port);
	put_now(&c);
	struct upload_status st = wait_idle(&c);
	ck_assert_str_eq(st.last_error, "upload profile: failed to upload: (307) ''");
	ck_assert_uint_eq(s.requests, 1);
	scene_end(&c);
	server_end(&s);
}
END_TEST

START_TEST(nobody_there_is_an_error)
{
	struct server s;
	struct scene c;
	server_begin(&s, "");
	uint16_t port = s.port;
	server_end(&s);
	scene_begin(&c, port);
	put_now(&c);
	struct upload_status st = wait_idle(&c);
	const char *start = "upload profile: do http request: ";
	ck_assert_msg(strncmp(st.last_error, start, strlen(start)) == 0, "%s", st.last_error);
	ck_assert_ptr_null(strstr(st.last_error, "geheim"));
	upload_note(c.upload, "another");
	upload_status(c.upload, &st);
	ck_assert_uint_eq(st.errors, 2);
	ck_assert_str_eq(st.last_error, "another");
	scene_end(&c);
}
END_TEST

START_TEST(what_is_too_old_is_not_sent)
{
	struct server s;
	struct scene c;
	server_begin(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	scene_begin(&c, s.port);
	put(&c, clk_wall_ns(&clk_system) - UPLOAD_MAX_AGE_NS - NS_PER_SEC);
	struct upload_status st = wait_idle(&c);
	ck_assert_uint_eq(st.uploads, 0);
	ck_assert_uint_eq(st.dropped, 1);
	ck_assert_ptr_nonnull(strstr(st.last_error, "over an hour old"));
	put(&c, clk_wall_ns(&clk_system) - UPLOAD_MAX_AGE_NS + 60 * NS_PER_SEC);
	st = wait_idle(&c);
	ck_assert_uint_eq(st.uploads, 1);
	scene_end(&c);
	server_end(&s);
}
END_TEST

static bool are_there(struct server *s, uint32_t n)
{
	return __atomic_load_n(&s->requests, __ATOMIC_ACQUIRE) == n;
}

START_TEST(a_server_that_never_answers_holds_up_to_its_share)
{
	struct server s;
	struct scene c;
	struct upload_status st;
	server_begin(&s, NULL);
	scene_begin(&c, s.port);
	for (unsigned i = 0; i < UPLOAD_CONNECTIONS; i++)
		put_now(&c);
	while (!are_there(&s, UPLOAD_CONNECTIONS))
		(void)usleep(1000);
	for (unsigned i = 0; i < UPLOAD_QUEUE + 3; i++)
		put_now(&c);
	upload_status(c.upload, &st);
	ck_assert_uint_eq(st.queued, UPLOAD_CONNECTIONS + UPLOAD_QUEUE);
	ck_assert_uint_eq(st.dropped, 3);
	ck_assert_uint_eq(st.errors, 3);
	ck_assert_ptr_nonnull(strstr(st.last_error, "queue is full"));
	ck_assert(!upload_is_idle(c.upload));
	uint64_t begun_ns = clk_ns(&clk_system);
	scene_end(&c); /* does not wait for it */
	ck_assert_uint_lt(clk_ns(&clk_system) - begun_ns, UPLOAD_TIMEOUT_NS / 2);
	ck_assert_uint_eq(s.requests, UPLOAD_CONNECTIONS);
	ck_assert_uint_eq(c.totals.dropped, UPLOAD_QUEUE + 3);
	ck_assert_uint_eq(c.totals.errors, UPLOAD_QUEUE + 3 + UPLOAD_CONNECTIONS);
	server_end(&s);
}
END_TEST

START_TEST(a_server_is_left_alone_when_it_says_so)
{
	struct server s;
	struct scene c;
	server_begin(&s, "HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n"
			 "Connection: close\r\n\r\n");
	scene_begin(&c, s.port);
	put_now(&c);
	(void)wait_idle(&c);
	put_now(&c);
	struct upload_status st;
	for (unsigned i = 0; i < 50; i++)
		(void)usleep(1000);
	upload_status(c.upload, &st);
	ck_assert_uint_eq(st.queued, 1);
	ck_assert_uint_eq(st.errors, 1);
	ck_assert_uint_eq(s.requests, 1);
	scene_end(&c);
	server_end(&s);
}
END_TEST

static int start_stop(struct fake *f, void *arg UNUSED)
{
	struct upload_totals totals = {0};
	struct upload_env env = {f->mem, f->clk, &totals, on_idle, NULL};
	struct upload_tag tags[] = {{"a", "b"}};
	struct upload_conf conf = {.address = "http://127.0.0.1:1",
		.user = "u",
		.password = "p",
		.tenant = "t",
		.ca_file = "c",
		.cert_file = "c",
		.key_file = "k",
		.proxy = "http://127.0.0.1:1",
		.tags = tags,
		.n_tags = 1};
	struct fault fault = {0};
	struct upload *u;
	int r = upload_start(&env, &conf, &u, &fault);
	if (r == 0)
		(void)upload_stop(u);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, start_stop, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(what_is_accepted_is_counted, what_is_refused_is_told_and_not_tried_again,
	a_redirect_is_an_error_and_is_not_followed, nobody_there_is_an_error,
	what_is_too_old_is_not_sent, a_server_that_never_answers_holds_up_to_its_share,
	a_server_is_left_alone_when_it_says_so, each_allocation_may_fail)
