#include "base/lock.h"
#include "fake.h"
#include "net/server.h"
#include "profiling/upload.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void scene_begin_at(struct scene *c, uint16_t port, bool stands_still)
{
	*c = (struct scene){.fake = fake_make()};
	lock_init(&c->lock);
	cond_init(&c->changed);
	(void)snprintf(c->address, sizeof(c->address), "http://127.0.0.1:%u", port);
	const struct clk *clk = stands_still ? c->fake.clk : &clk_system;
	struct upload_env env = {&mem_libc, clk, &c->totals, on_idle, c};
	struct upload_conf conf = {
		.address = c->address, .user = "u", .password = "geheim", .tenant = "t-7"};
	struct fault f = {0};
	ck_assert_int_eq(upload_start(&env, &conf, &c->upload, &f), 0);
}

static void scene_begin(struct scene *c, uint16_t port)
{
	scene_begin_at(c, port, false);
}

static void scene_end(struct scene *c)
{
	ck_assert_ptr_null(upload_stop(c->upload));
	cond_done(&c->changed);
	lock_done(&c->lock);
	fake_done(&c->fake);
}

/* plain_bytes: what the end of the gzip member tells, in bytes before compression. */
static void put_plain(struct upload *u, uint64_t until_ns, uint32_t plain_bytes)
{
	struct upload_profile p = {.kind = PROFILE_HEAP,
		.from_ns = until_ns - NS_PER_SEC,
		.until_ns = until_ns,
		.body = TEXT(&mem_libc)};
	const uint8_t end[] = {(uint8_t)plain_bytes, (uint8_t)(plain_bytes >> 8),
		(uint8_t)(plain_bytes >> 16), (uint8_t)(plain_bytes >> 24)};
	text_write(&p.body, "body", 4);
	text_write(&p.body, end, sizeof(end));
	upload_queue(u, &p);
}

static void put(struct scene *c, uint64_t until_ns)
{
	put_plain(c->upload, until_ns, 0);
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
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
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
	struct server s = {
		.answer = "HTTP/1.1 422 No\r\nContent-Length: 14\r\nConnection: close\r\n\r\n"
			  "bad\x01profile!\r\n"};
	struct scene c;
	server_begin(&s);
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
	struct server s = {
		.answer = "HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n"
			  "Connection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
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
	struct server s = {.answer = ""};
	struct scene c;
	server_begin(&s);
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
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
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

START_TEST(a_server_that_never_answers_holds_up_to_its_share)
{
	struct server s = {.answer = NULL};
	struct scene c;
	struct upload_status st;
	server_begin(&s);
	scene_begin(&c, s.port);
	for (unsigned i = 0; i < UPLOAD_CONNECTIONS; i++)
		put_now(&c);
	while (server_count(&s) < UPLOAD_CONNECTIONS)
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
	struct server s = {.answer =
				   "HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n"
				   "Connection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
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

/* Nothing can be seen not to happen: the thread is given time for it. */
static void ck_stays(struct scene *c, uint32_t queued)
{
	struct upload_status st;
	for (unsigned i = 0; i < 20; i++) {
		(void)usleep(1000);
		upload_status(c->upload, &st);
		ck_assert_uint_eq(st.queued, queued);
	}
}

static void wait_queued(struct scene *c, uint32_t queued)
{
	struct upload_status st;
	for (upload_status(c->upload, &st); st.queued != queued; upload_status(c->upload, &st))
		(void)usleep(1000);
}

START_TEST(a_large_profile_holds_back_the_next)
{
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
	scene_begin_at(&c, s.port, true);
	const uint64_t now_ns = clk_wall_ns(c.fake.clk);
	for (unsigned i = 0; i < 3; i++)
		put_plain(c.upload, now_ns, 1 << 20);
	wait_queued(&c, 2);
	ck_stays(&c, 2);
	clk_step_ns(c.fake.clk, NS_PER_SEC / 2 - 1); /* 2 MiB a second */
	put_plain(c.upload, now_ns, 0); /* wakes the thread, as the end of a window does */
	ck_stays(&c, 3);
	clk_step_ns(c.fake.clk, 1);
	put_plain(c.upload, now_ns, 0);
	wait_queued(&c, 3);
	ck_stays(&c, 3);
	clk_step_ns(c.fake.clk, NS_PER_SEC);
	put_plain(c.upload, now_ns, 0);
	wait_queued(&c, 3); /* the last large one went */
	clk_step_ns(c.fake.clk, NS_PER_SEC);
	put_plain(c.upload, now_ns, 0);
	wait_queued(&c, 0);
	ck_assert_uint_eq(server_count(&s), 7);
	scene_end(&c);
	server_end(&s);
}
END_TEST

START_TEST(a_server_is_not_left_alone_for_more_than_a_minute)
{
	struct server s = {.answer = "HTTP/1.1 503 No\r\nRetry-After: 3600\r\n"
				     "Content-Length: 0\r\nConnection: close\r\n\r\n"};
	struct scene c;
	server_begin(&s);
	scene_begin_at(&c, s.port, true);
	const uint64_t now_ns = clk_wall_ns(c.fake.clk);
	put(&c, now_ns);
	wait_queued(&c, 0);
	clk_step_ns(c.fake.clk, 60 * NS_PER_SEC - 1);
	put(&c, now_ns);
	ck_stays(&c, 1);
	clk_step_ns(c.fake.clk, 1);
	put(&c, now_ns);
	wait_queued(&c, 0);
	ck_assert_uint_eq(server_count(&s), 3);
	scene_end(&c);
	server_end(&s);
}
END_TEST

static int upload_one(struct fake *f, void *arg)
{
	struct scene c = {.fake = *f};
	struct upload_env env = {f->mem, f->clk, &c.totals, on_idle, &c};
	struct upload_conf conf = {.address = arg, .user = "u", .password = "p", .tenant = "t"};
	struct fault fault = {0};
	struct upload_status st;
	int r = upload_start(&env, &conf, &c.upload, &fault);
	if (r < 0)
		return r;
	lock_init(&c.lock);
	cond_init(&c.changed);
	put(&c, clk_wall_ns(f->clk));
	st = wait_idle(&c);
	ck_assert_uint_eq(st.uploads + st.dropped, 1);
	ck_assert_uint_eq(st.dropped, st.errors);
	(void)upload_stop(c.upload);
	cond_done(&c.changed);
	lock_done(&c.lock);
	return 0;
}

START_TEST(each_allocation_of_an_upload_may_fail)
{
	struct fake f = fake_make();
	struct server s = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	char address[64];
	server_begin(&s);
	(void)snprintf(address, sizeof(address), "http://127.0.0.1:%u", s.port);
	fake_fail_each(&f, upload_one, address);
	server_end(&s);
	fake_done(&f);
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
	a_server_is_left_alone_when_it_says_so, a_large_profile_holds_back_the_next,
	a_server_is_not_left_alone_for_more_than_a_minute, each_allocation_of_an_upload_may_fail,
	each_allocation_may_fail)
