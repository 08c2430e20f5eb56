#include "fake.h"
#include "otlp_service.pb-c.h"
#include "rpc_status.pb-c.h"
#include "trace/otlp_answer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTOBUF "application/x-protobuf"

static struct otlp_answer hear(const struct otlp_heard *heard)
{
	struct otlp_answer a;
	memset(&a, 0x5a, sizeof(a));
	otlp_answer_read(&mem_libc, heard, &a);
	for (const char *c = a.told.text; *c; c++)
		ck_assert_msg(*c >= ' ' && *c <= '~', "%s", a.told.text);
	return a;
}

/* Of HTTP, with a body of text. */
static struct otlp_answer http(
	int status, uint32_t retry_after_s, const char *type, const char *body)
{
	return hear(&(struct otlp_heard){.status = status,
		.retry_after_s = retry_after_s,
		.type = type,
		.body = body,
		.body_bytes = strlen(body)});
}

START_TEST(any_2xx_is_accepted)
{
	for (int status = 200; status < 300; status++) {
		struct otlp_answer a = http(status, 9, "text/plain", "thanks");
		ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
		ck_assert_uint_eq(a.rejected, 0);
		ck_assert_uint_eq(a.wait_ns, 0);
		ck_assert_str_eq(a.told.text, "");
	}
}
END_TEST

START_TEST(four_statuses_may_be_tried_again)
{
	for (int status = 100; status < 600; status++) {
		bool retry = status == 429 || status == 502 || status == 503 || status == 504;
		bool ok = status >= 200 && status < 300;
		struct otlp_answer a = http(status, 7, NULL, "");
		ck_assert_int_eq(a.verdict, retry ? OTLP_RETRY : ok ? OTLP_ACCEPTED : OTLP_REFUSED);
		if (retry)
			ck_assert_uint_eq(a.wait_ns, 7 * NS_PER_SEC);
	}
	ck_assert_uint_eq(http(503, UINT32_MAX, NULL, "").wait_ns, OTLP_ANSWER_WAIT_MAX_NS);
}
END_TEST

START_TEST(a_failure_tells_why)
{
	ck_assert_str_eq(http(413, 0, NULL, "").told.text, "HTTP status 413");
	ck_assert_str_eq(http(400, 0, "text/plain", "bad\x01 span\xff\r\n").told.text,
		"HTTP status 400: bad? span?");
	uint8_t bytes[64];
	Rpc__Status s = RPC__STATUS__INIT;
	s.code = 3;
	s.message = (char *)(uintptr_t) "no such tenant";
	size_t n = rpc__status__pack(&s, bytes);
	struct otlp_heard heard = {.status = 400,
		.type = PROTOBUF "; charset=x",
		.body = (char *)bytes,
		.body_bytes = n};
	ck_assert_str_eq(hear(&heard).told.text, "HTTP status 400: no such tenant");
	heard.body_bytes--;
	ck_assert_str_eq(hear(&heard).told.text, "HTTP status 400");
}
END_TEST

START_TEST(no_answer_is_tried_again_unless_it_had_no_end)
{
	struct otlp_heard heard = {.error = "Connection refused", .body = ""};
	for (unsigned grpc = 0; grpc < 2; grpc++) {
		heard.grpc = grpc;
		heard.too_long = false;
		ck_assert_int_eq(hear(&heard).verdict, OTLP_RETRY);
		ck_assert_str_eq(hear(&heard).told.text, "Connection refused");
		heard.too_long = true;
		ck_assert_int_eq(hear(&heard).verdict, OTLP_REFUSED);
	}
}
END_TEST

static size_t pack_partial(
	enum export_signal signal, int64_t rejected, const char *message, uint8_t *to)
{
	char *text = (char *)(uintptr_t)message;
	if (signal == EXPORT_TRACES) {
		Otlp__ExportTracePartialSuccess p = OTLP__EXPORT_TRACE_PARTIAL_SUCCESS__INIT;
		Otlp__ExportTraceServiceResponse r = OTLP__EXPORT_TRACE_SERVICE_RESPONSE__INIT;
		p.rejected_spans = rejected;
		p.error_message = text;
		r.partial_success = &p;
		return otlp__export_trace_service_response__pack(&r, to);
	}
	Otlp__ExportProfilesPartialSuccess p = OTLP__EXPORT_PROFILES_PARTIAL_SUCCESS__INIT;
	Otlp__ExportProfilesServiceResponse r = OTLP__EXPORT_PROFILES_SERVICE_RESPONSE__INIT;
	p.rejected_profiles = rejected;
	p.error_message = text;
	r.partial_success = &p;
	return otlp__export_profiles_service_response__pack(&r, to);
}

/* Over HTTP, or in a frame of gRPC. */
static struct otlp_answer partial(
	enum export_signal signal, bool grpc, int64_t rejected, const char *message)
{
	uint8_t bytes[256] = {0};
	size_t n = pack_partial(signal, rejected, message, bytes + 5);
	bytes[4] = (uint8_t)n;
	return hear(&(struct otlp_heard){.signal = signal,
		.grpc = grpc,
		.status = 200,
		.type = grpc ? "application/grpc" : PROTOBUF,
		.grpc_status = grpc ? "0" : NULL,
		.body = (char *)bytes + (grpc ? 0 : 5),
		.body_bytes = n + (grpc ? 5 : 0)});
}

START_TEST(a_partial_success_is_one)
{
	for (unsigned i = 0; i < 4; i++) {
		enum export_signal signal = i & 1 ? EXPORT_PROFILES : EXPORT_TRACES;
		bool grpc = i & 2;
		struct otlp_answer a = partial(signal, grpc, 3, "too old");
		ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
		ck_assert_uint_eq(a.rejected, 3);
		ck_assert_str_eq(a.told.text, "3 rejected: too old");
		a = partial(signal, grpc, 0, "old schema");
		ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
		ck_assert_uint_eq(a.rejected, 0);
		ck_assert_str_eq(a.told.text, "warning: old schema");
		a = partial(signal, grpc, 0, "");
		ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
		ck_assert_str_eq(a.told.text, "");
		a = partial(signal, grpc, INT64_MIN, "");
		ck_assert_uint_eq(a.rejected, 0);
		ck_assert_str_eq(a.told.text, "");
	}
}
END_TEST

START_TEST(an_acceptance_that_cannot_be_read_is_one)
{
	struct otlp_answer a = http(200, 0, PROTOBUF, "\x0a\x7f");
	ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
	ck_assert_str_eq(a.told.text, "accepted, but the answer cannot be read");
	static const struct {
		const char *bytes;
		size_t n;
	} frames[] = {{"", 0}, {"\0\0\0\0", 4}, {"\0\0\0\0\1", 5}, {"\1\0\0\0\0", 5},
		{"\0\xff\xff\xff\xffzz", 7}};
	for (unsigned i = 0; i < ARRAY_SIZE(frames); i++) {
		a = hear(&(struct otlp_heard){.grpc = true,
			.status = 200,
			.grpc_status = "0",
			.body = frames[i].bytes,
			.body_bytes = frames[i].n});
		ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
		ck_assert_str_eq(a.told.text, "accepted, but the answer cannot be read");
	}
}
END_TEST

/* Fields of two bytes that nobody knows, each of which costs more once it is unpacked. */
START_TEST(what_an_answer_costs_is_bounded)
{
	enum { BYTES = 4 << 20 };
	struct fake f = fake_make();
	char *body = malloc(BYTES);
	ck_assert_ptr_nonnull(body);
	for (size_t i = 0; i < BYTES; i += 2) {
		body[i] = 0x78;
		body[i + 1] = 1;
	}
	struct otlp_heard heard = {
		.status = 200, .type = PROTOBUF, .body = body, .body_bytes = BYTES};
	struct otlp_answer a;
	otlp_answer_read(f.mem, &heard, &a);
	ck_assert_int_eq(a.verdict, OTLP_ACCEPTED);
	ck_assert_str_eq(a.told.text, "accepted, but the answer cannot be read");
	free(body);
	fake_done(&f);
}
END_TEST

static struct otlp_answer code(const char *status, const char *message, const char *details)
{
	return hear(&(struct otlp_heard){.grpc = true,
		.status = 200,
		.type = "application/grpc",
		.body = "",
		.grpc_status = status,
		.grpc_message = message,
		.grpc_details = details});
}

START_TEST(codes_of_grpc)
{
	static const bool retry[17] = {
		[1] = true, [4] = true, [10] = true, [11] = true, [14] = true, [15] = true};
	for (unsigned i = 1; i < 17; i++) {
		char status[4];
		(void)snprintf(status, sizeof(status), "%u", i);
		ck_assert_int_eq(
			code(status, NULL, NULL).verdict, retry[i] ? OTLP_RETRY : OTLP_REFUSED);
	}
	ck_assert_int_eq(code("17", NULL, NULL).verdict, OTLP_REFUSED);
	ck_assert_int_eq(code("2147483648", NULL, NULL).verdict, OTLP_REFUSED);
	ck_assert_int_eq(code("", NULL, NULL).verdict, OTLP_REFUSED);
	ck_assert_int_eq(code("-1", NULL, NULL).verdict, OTLP_REFUSED);
	ck_assert_int_eq(code(NULL, NULL, NULL).verdict, OTLP_REFUSED);
	ck_assert_str_eq(code("14", "too%20busy%0a%4", NULL).told.text,
		"gRPC status 14 UNAVAILABLE: too busy?%4");
	ck_assert_str_eq(code("99", NULL, NULL).told.text, "gRPC status 99");
}
END_TEST

START_TEST(before_the_service_the_status_of_http_counts)
{
	struct otlp_heard heard = {.grpc = true, .status = 503, .body = "", .retry_after_s = 2};
	ck_assert_int_eq(hear(&heard).verdict, OTLP_RETRY);
	ck_assert_uint_eq(hear(&heard).wait_ns, 2 * NS_PER_SEC);
	heard.status = 404;
	ck_assert_int_eq(hear(&heard).verdict, OTLP_REFUSED);
}
END_TEST

/* grpc-status-details-bin with a detail of that type. */
static const char *details(const char *type, int64_t seconds, int32_t nanos, bool pad, char *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t info[64], bytes[256] = {0};
	Rpc__Duration d = RPC__DURATION__INIT;
	Rpc__RetryInfo retry = RPC__RETRY_INFO__INIT;
	Rpc__Any other = RPC__ANY__INIT, any = RPC__ANY__INIT;
	Rpc__Any *list[] = {&other, &any};
	Rpc__Status s = RPC__STATUS__INIT;
	d.seconds = seconds;
	d.nanos = nanos;
	retry.retry_delay = &d;
	any.type_url = (char *)(uintptr_t)type;
	any.value.len = rpc__retry_info__pack(&retry, info);
	any.value.data = info;
	s.code = 8;
	s.details = list;
	s.n_details = 2;
	size_t n = rpc__status__pack(&s, bytes), out = 0;
	for (size_t i = 0; i < n * 8; i += 6) {
		uint32_t pair = (uint32_t)bytes[i / 8] << 8 | bytes[i / 8 + 1];
		to[out++] = digits[pair >> (10 - i % 8) & 63];
	}
	while (pad && out % 4)
		to[out++] = '=';
	to[out] = '\0';
	return to;
}

START_TEST(exhausted_is_tried_again_when_it_says_when)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	char buf[512];
	ck_assert_int_eq(code("8", NULL, NULL).verdict, OTLP_REFUSED);
	for (unsigned pad = 0; pad < 2; pad++) {
		struct otlp_answer a = code("8", NULL, details(type, 2, 500000000, pad, buf));
		ck_assert_int_eq(a.verdict, OTLP_RETRY);
		ck_assert_uint_eq(a.wait_ns, 2500 * NS_PER_MS);
	}
	ck_assert_uint_eq(code("14", NULL, details(type, 3, 0, true, buf)).wait_ns, 3 * NS_PER_SEC);
	ck_assert_int_eq(code("3", NULL, details(type, 3, 0, true, buf)).verdict, OTLP_REFUSED);
	/* A delay that is none is still leave to try. */
	struct otlp_answer a = code("8", NULL, details(type, -3, 0, true, buf));
	ck_assert_int_eq(a.verdict, OTLP_RETRY);
	ck_assert_uint_eq(a.wait_ns, 0);
	a = code("8", NULL, details(type, INT64_MAX, INT32_MAX, true, buf));
	ck_assert_uint_eq(a.wait_ns, OTLP_ANSWER_WAIT_MAX_NS);
	(void)details("type.googleapis.com/google.rpc.ErrorInfo", 2, 0, true, buf);
	ck_assert_int_eq(code("8", NULL, buf).verdict, OTLP_REFUSED);
	static const char *const bad[] = {"", "=", "A", "!!!!", "AAAA=A", "CAgSBG", "////"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(code("8", NULL, bad[i]).verdict, OTLP_REFUSED);
}
END_TEST

static int hear_exhausted(struct fake *f, void *arg)
{
	struct otlp_answer a;
	otlp_answer_read(f->mem, arg, &a);
	return a.verdict == OTLP_RETRY ? 0 : -ENOMEM;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	char buf[512];
	(void)details("google.rpc.RetryInfo", 1, 0, true, buf);
	struct otlp_heard heard = {
		.grpc = true, .status = 200, .body = "", .grpc_status = "8", .grpc_details = buf};
	fake_fail_each(&f, hear_exhausted, &heard);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(any_2xx_is_accepted, four_statuses_may_be_tried_again, a_failure_tells_why,
	no_answer_is_tried_again_unless_it_had_no_end, a_partial_success_is_one,
	an_acceptance_that_cannot_be_read_is_one, what_an_answer_costs_is_bounded, codes_of_grpc,
	before_the_service_the_status_of_http_counts, exhausted_is_tried_again_when_it_says_when,
	each_allocation_may_fail)
