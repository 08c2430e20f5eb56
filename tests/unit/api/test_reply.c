#include "api/reply.h"
#include "api/request.h"
#include "fake.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

static const char *header_of(void *arg, const char *name)
{
	return strcasecmp(name, "Prefer") == 0 ? arg : NULL;
}

static struct request make(struct fake *f)
{
	struct request rq = {.mem = f->mem};
	reply_init(&rq.reply, f->mem);
	return rq;
}

START_TEST(errors_have_their_status)
{
	static const struct {
		int r;
		unsigned status;
	} rows[] = {
		{-EINVAL, 400},
		{-ERANGE, 400},
		{-E2BIG, 400},
		{-EEXIST, 400},
		{-EAFNOSUPPORT, 400},
		{-ENOENT, 404},
		{-EBUSY, 409},
		{-EFBIG, 413},
		{-EAGAIN, 503},
		{-ESHUTDOWN, 503},
		{-ENOSPC, 507},
		{-EPERM, 500},
		{-EACCES, 500},
		{-EADDRINUSE, 500},
		{-ENOMEM, 500},
		{-EIO, 500},
	};
	struct fake f = fake_make();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request rq = make(&f);
		reply_error(&rq, rows[i].r);
		ck_assert_uint_eq(rq.reply.status, rows[i].status);
		bool again = rows[i].status == 409 || rows[i].status == 503;
		ck_assert_uint_eq(rq.reply.n_headers, again);
		request_done(&rq);
	}
	fake_done(&f);
}
END_TEST

START_TEST(an_error_tells_its_fault_and_no_other)
{
	struct fake f = fake_make();
	struct request rq = make(&f);
	(void)fault_set(&rq.fault, -EINVAL, "/a/b", "1..2", "\"%s\" is wrong", "x");
	reply_error(&rq, -EINVAL);
	ck_assert_str_eq(rq.reply.body.s,
		"{\"success\":false,\"message\":\"a/b: \\\"x\\\" is wrong\",\"detail\":{\"code\":"
		"\"EINVAL\",\"field\":\"/a/b\",\"allowed\":\"1..2\"}}\n");
	/* The fault is about something else that was got over. */
	reply_error(&rq, -EIO);
	ck_assert_str_eq(rq.reply.body.s, "{\"success\":false,\"message\":\"Input/output "
					  "error\",\"detail\":{\"code\":\"EIO\"}}"
					  "\n");
	reply_error_as(&rq, 418, -EPERM);
	ck_assert_uint_eq(rq.reply.status, 418);
	request_done(&rq);
	fake_done(&f);
}
END_TEST

START_TEST(an_error_needs_no_memory)
{
	struct fake f = fake_make();
	struct request rq = make(&f);
	fake_fail_at(&f, 0);
	reply_error(&rq, -EINVAL);
	ck_assert(fake_has_failed(&f));
	ck_assert_uint_eq(rq.reply.status, 500);
	ck_assert_ptr_nonnull(rq.reply.fixed);
	ck_assert_ptr_nonnull(strstr(rq.reply.fixed, "\"ENOMEM\""));
	ck_assert_uint_eq(strlen(rq.reply.fixed), rq.reply.fixed_bytes);
	request_done(&rq);
	fake_done(&f);
}
END_TEST

START_TEST(envelopes_keep_their_order)
{
	struct fake f = fake_make();
	struct request rq = make(&f);
	struct text *t = reply_data(&rq, 200, NULL);
	text_put(t, "[1]");
	reply_page(t, "127.0.0.1", 7);
	reply_data_end(&rq);
	ck_assert_str_eq(rq.reply.body.s,
		"{\"success\":true,\"message\":\"Success\",\"data\":[1],\"page\":{\"next\":"
		"\"127.0.0.1\",\"total\":7}}\n");
	t = reply_data(&rq, 200, "m");
	text_put(t, "[]");
	reply_page(t, NULL, UINT64_MAX);
	reply_data_end(&rq);
	ck_assert_str_eq(rq.reply.body.s,
		"{\"success\":true,\"message\":\"m\",\"data\":[],\"page\":{\"next\":null}}\n");
	reply_message(&rq, 200, "%s", "gone");
	ck_assert_str_eq(rq.reply.body.s, "{\"success\":true,\"message\":\"gone\"}\n");
	request_done(&rq);
	fake_done(&f);
}
END_TEST

static void count_done(void *arg)
{
	(*(unsigned *)arg)++;
}

START_TEST(a_stream_is_freed_once)
{
	struct fake f = fake_make();
	struct request rq = make(&f);
	unsigned freed = 0;
	struct reply_stream stream = {NULL, count_done, &freed};
	reply_streamed(&rq, NULL, &stream);
	reply_error(&rq, -EIO);
	ck_assert_uint_eq(freed, 1);
	request_done(&rq);
	ck_assert_uint_eq(freed, 1);
	fake_done(&f);
}
END_TEST

START_TEST(preferences_are_found)
{
	static const char *const yes[] = {"respond-async", "Respond-Async", "wait=5, respond-async",
		"respond-async;x=1", "respond-async,wait=5", "a,b ,\trespond-async"};
	static const char *const no[] = {"", "respond", "respond-asynchronously", "x-respond-async",
		"wait=respond-async", "respond-sync"};
	struct request rq = {.header = header_of};
	ck_assert(!request_prefers(&rq, "respond-async"));
	for (unsigned i = 0; i < ARRAY_SIZE(yes); i++) {
		rq.header_arg = (void *)(uintptr_t)yes[i];
		ck_assert_msg(request_prefers(&rq, "respond-async"), "%s", yes[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(no); i++) {
		rq.header_arg = (void *)(uintptr_t)no[i];
		ck_assert_msg(!request_prefers(&rq, "respond-async"), "%s", no[i]);
	}
}
END_TEST

START_TEST(methods_have_names)
{
	static const char *const names[] = {
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_str_eq(method_name(method_of(names[i])), names[i]);
	ck_assert_int_eq(method_of("get"), METHOD_OTHER);
	ck_assert_int_eq(method_of(""), METHOD_OTHER);
	ck_assert_str_eq(method_name(METHOD_OTHER), "?");
}
END_TEST

UNIT_MAIN(errors_have_their_status, an_error_tells_its_fault_and_no_other, an_error_needs_no_memory,
	envelopes_keep_their_order, a_stream_is_freed_once, preferences_are_found,
	methods_have_names)
