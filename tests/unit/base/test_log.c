#include "base/log.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* A log that writes into a pipe, and what came out of it. */
struct setting {
	struct fake fake;
	struct log *log;
	int fds[2];
	char out[65536];
};

static void setting_make(struct setting *s, enum log_level level, bool json)
{
	s->fake = fake_make();
	ck_assert_int_eq(pipe2(s->fds, O_CLOEXEC | O_NONBLOCK), 0);
	struct log_env env = {s->fake.mem, s->fake.clk};
	struct log_conf conf = {s->fds[1], level, json};
	ck_assert_int_eq(log_new(&env, &conf, &s->log), 0);
	nl6_self.log = s->log;
	memcpy(nl6_self.name, "trap-0", 7);
}

static const char *setting_read(struct setting *s)
{
	ssize_t n = read(s->fds[0], s->out, sizeof(s->out) - 1);
	s->out[n > 0 ? n : 0] = 0;
	return s->out;
}

static void setting_done(struct setting *s)
{
	nl6_self.log = NULL;
	s->log = log_free(s->log);
	(void)close(s->fds[0]);
	(void)close(s->fds[1]);
	fake_done(&s->fake);
}

static unsigned count_lines(const char *s)
{
	unsigned n = 0;
	for (; (s = strchr(s, '\n')); s++)
		n++;
	return n;
}

START_TEST(plain_lines)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, false);
	clk_step_ns(s.fake.clk, 1800 * NS_PER_SEC + 125999999);
	log_warn("10.42.0.7", -ECONNREFUSED, "%s refused, retrying", "192.0.2.9:162");
	ck_assert_str_eq(setting_read(&s), "2026-03-01T09:30:00.125Z warn trap-0 10.42.0.7: "
					   "192.0.2.9:162 refused, retrying: ECONNREFUSED\n");
	log_error(NULL, 0, "no subject");
	ck_assert_str_eq(setting_read(&s), "2026-03-01T09:30:00.125Z error trap-0 -: no subject\n");
	log_info("s", -12345, "no such errno");
	ck_assert_str_eq(setting_read(&s),
		"2026-03-01T09:30:00.125Z info trap-0 s: no such errno: -12345\n");
	log_debug("s", 0, "below the level");
	ck_assert_str_eq(setting_read(&s), "");
	setting_done(&s);
}
END_TEST

static uint64_t given_ns(void *arg)
{
	return *(uint64_t *)arg;
}

START_TEST(dates_of_the_calendar)
{
	static const struct {
		uint64_t s;
		const char *date;
	} cases[] = {{0, "1970-01-01T00:00:00"}, {951782399, "2000-02-28T23:59:59"},
		{951782400, "2000-02-29T00:00:00"}, {951868800, "2000-03-01T00:00:00"},
		{1709164800, "2024-02-29T00:00:00"}, {1735689599, "2024-12-31T23:59:59"},
		{1735689600, "2025-01-01T00:00:00"}, {4107542400, "2100-03-01T00:00:00"}};
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, false);
	uint64_t wall_ns;
	struct clk clk = {given_ns, given_ns, &wall_ns};
	struct log_env env = {s.fake.mem, &clk};
	struct log_conf conf = {s.fds[1], LOG_LEVEL_INFO, false};
	AUTO(log) struct log *log = NULL;
	ck_assert_int_eq(log_new(&env, &conf, &log), 0);
	nl6_self.log = log;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct log_site site = {0};
		wall_ns = cases[i].s * NS_PER_SEC;
		log_line(&site, LOG_LEVEL_INFO, NULL, 0, "x");
		setting_read(&s)[19] == '.' ? (void)(s.out[19] = 0) : ck_abort();
		ck_assert_str_eq(s.out, cases[i].date);
	}
	log = log_free(log);
	setting_done(&s);
}
END_TEST

START_TEST(foreign_bytes_are_escaped)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_DEBUG, false);
	log_debug("a\nb", 0, "%s", "x\x1b[2J\\\xc3\xa9\x7f\r\n2026 forged");
	ck_assert_str_eq(setting_read(&s), "2026-03-01T09:00:00.000Z debug trap-0 a\\x0ab: "
					   "x\\x1b[2J\\\\\\xc3\\xa9\\x7f\\x0d\\x0a2026 forged\n");
	setting_done(&s);
}
END_TEST

START_TEST(json_lines)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, true);
	log_warn("10.42.0.7", -EPIPE, "it said \"%s\"", "\xc3\xa9\xff\n");
	ck_assert_str_eq(setting_read(&s),
		"{\"time\":\"2026-03-01T09:00:00.000Z\",\"level\":\"warn\",\"thread\":\"trap-0\","
		"\"subject\":\"10.42.0.7\",\"message\":\"it said \\\"\xc3\xa9\\ufffd\\n\\\"\","
		"\"error\":\"EPIPE\"}\n");
	log_info(NULL, 0, "bare");
	ck_assert_str_eq(setting_read(&s),
		"{\"time\":\"2026-03-01T09:00:00.000Z\",\"level\":\"info\",\"thread\":\"trap-0\","
		"\"message\":\"bare\"}\n");
	setting_done(&s);
}
END_TEST

static void one_site(unsigned n)
{
	log_warn("s", -EIO, "line %u", n);
}

START_TEST(a_site_is_held_back)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, false);
	for (unsigned i = 0; i < 51; i++)
		one_site(i);
	ck_assert_uint_eq(count_lines(setting_read(&s)), LOG_SITE_LINES);
	ck_assert_ptr_nonnull(strstr(s.out, "line 9:"));
	ck_assert_ptr_null(strstr(s.out, "line 10:"));
	log_warn("s", 0, "another site");
	ck_assert_uint_eq(count_lines(setting_read(&s)), 1);
	clk_step_ns(s.fake.clk, LOG_SITE_NS - 1);
	one_site(51);
	ck_assert_str_eq(setting_read(&s), "");
	clk_step_ns(s.fake.clk, 1);
	one_site(52);
	ck_assert_str_eq(
		setting_read(&s), "2026-03-01T09:00:10.000Z warn trap-0 s: line 52: EIO (+42)\n");
	one_site(53);
	ck_assert_str_eq(
		setting_read(&s), "2026-03-01T09:00:10.000Z warn trap-0 s: line 53: EIO\n");
	setting_done(&s);
	setting_make(&s, LOG_LEVEL_INFO, true);
	for (unsigned i = 0; i < 12; i++) {
		clk_step_ns(s.fake.clk, i == 11 ? LOG_SITE_NS : 0);
		log_info(NULL, 0, "x");
	}
	ck_assert_ptr_nonnull(strstr(setting_read(&s), "\"message\":\"x\",\"held\":1}\n"));
	setting_done(&s);
}
END_TEST

START_TEST(long_lines_are_cut)
{
	char subject[3000], message[20000];
	memset(subject, '\x01', sizeof(subject));
	memset(message, '\x02', sizeof(message));
	subject[sizeof(subject) - 1] = message[sizeof(message) - 1] = 0;
	for (int json = 0; json <= 1; json++) {
		struct setting s;
		setting_make(&s, LOG_LEVEL_INFO, json);
		struct log_site site = {0, 4294967295u};
		log_line(&site, LOG_LEVEL_ERROR, subject, -EPROTONOSUPPORT, "%s", message);
		size_t len = strlen(setting_read(&s));
		ck_assert_uint_le(len, LOG_LINE_BYTES);
		ck_assert_uint_gt(len, LOG_LINE_BYTES - 200);
		ck_assert_ptr_nonnull(strstr(s.out, "..."));
		ck_assert_ptr_nonnull(strstr(s.out, "EPROTONOSUPPORT"));
		ck_assert_ptr_nonnull(strstr(s.out, "4294967295"));
		ck_assert_uint_eq(count_lines(s.out), 1);
		if (json) {
			json_t *j = json_loads(s.out, JSON_REJECT_DUPLICATES, NULL);
			ck_assert_ptr_nonnull(j);
			json_decref(j);
		}
		setting_done(&s);
	}
}
END_TEST

START_TEST(without_a_log_nothing_is_written)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_DEBUG, false);
	nl6_self.log = NULL;
	ck_assert(!log_wants(LOG_LEVEL_ERROR));
	log_error(NULL, 0, "x");
	struct log_site site = {0};
	log_line(&site, LOG_LEVEL_ERROR, NULL, 0, "x");
	ck_assert_str_eq(setting_read(&s), "");
	setting_done(&s);
}
END_TEST

START_TEST(errno_survives_and_a_full_pipe_loses_lines)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, false);
	char fill[4096] = {0};
	while (write(s.fds[1], fill, sizeof(fill)) > 0)
		;
	errno = ENOTTY;
	log_info(NULL, 0, "lost");
	ck_assert_int_eq(errno, ENOTTY);
	setting_done(&s);
}
END_TEST

#define LOGGERS 4
#define LINES_EACH 500

static void log_much(void *arg)
{
	struct log_site *site = arg;
	for (unsigned i = 0; i < LINES_EACH; i++)
		log_line(site, LOG_LEVEL_INFO, NULL, 0, "together");
}

START_TEST(threads_share_the_limit_exactly)
{
	struct setting s;
	setting_make(&s, LOG_LEVEL_INFO, false);
	struct log_site site = {0};
	struct thread *threads[LOGGERS];
	struct thread_conf conf = {.name = "logger-0", .run = log_much, .arg = &site};
	for (unsigned i = 0; i < LOGGERS; i++)
		ck_assert_int_eq(thread_start(s.fake.mem, &conf, &threads[i]), 0);
	for (unsigned i = 0; i < LOGGERS; i++)
		threads[i] = thread_join(threads[i]);
	ck_assert_uint_eq(count_lines(setting_read(&s)), LOG_SITE_LINES);
	ck_assert_ptr_nonnull(strstr(s.out, " logger-0 -: together\n"));
	ck_assert_uint_eq(site.held, LOGGERS * LINES_EACH - LOG_SITE_LINES);
	setting_done(&s);
}
END_TEST

static int make_log(struct fake *f, void *arg UNUSED)
{
	struct log_env env = {f->mem, f->clk};
	struct log_conf conf = {2, LOG_LEVEL_INFO, false};
	AUTO(log) struct log *l = NULL;
	return log_new(&env, &conf, &l);
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_log, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(plain_lines, dates_of_the_calendar, foreign_bytes_are_escaped, json_lines,
	a_site_is_held_back, long_lines_are_cut, without_a_log_nothing_is_written,
	errno_survives_and_a_full_pipe_loses_lines, threads_share_the_limit_exactly,
	each_allocation_may_fail)
