#include "fake.h"
#include "wire/traceparent.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

START_TEST(a_traceparent_is_read_and_written)
{
	struct span_context c;
	char out[TRACEPARENT_BYTES];
	ck_assert_int_eq(traceparent_read("00-" TRACE "-" SPAN "-01", &c), 0);
	ck_assert_uint_eq(c.trace_id[0], 0x0a);
	ck_assert_uint_eq(c.trace_id[15], 0x9c);
	ck_assert_uint_eq(c.span_id[7], 0x31);
	ck_assert_uint_eq(c.flags, SPAN_SAMPLED);
	traceparent_write(&c, out);
	ck_assert_str_eq(out, "00-" TRACE "-" SPAN "-01");
	/* Flags that nobody knows are not passed on; of a later version, what is known. */
	ck_assert_int_eq(traceparent_read("00-" TRACE "-" SPAN "-ff", &c), 0);
	ck_assert_uint_eq(c.flags, SPAN_SAMPLED | SPAN_RANDOM);
	ck_assert_int_eq(traceparent_read("cc-" TRACE "-" SPAN "-00", &c), 0);
	ck_assert_int_eq(traceparent_read("cc-" TRACE "-" SPAN "-00-what comes", &c), 0);
	ck_assert_uint_eq(c.flags, 0);
}
END_TEST

START_TEST(what_is_not_a_traceparent_is_taken_for_absent)
{
	static const char *const bad[] = {"", "00", "00-" TRACE "-" SPAN, "00-" TRACE "-" SPAN "-0",
		"00-" TRACE "-" SPAN "-01-", "00-" TRACE "-" SPAN "-011",
		"cc-" TRACE "-" SPAN "-01x", "ff-" TRACE "-" SPAN "-01",
		"00-" TRACE "-0000000000000000-01",
		"00-00000000000000000000000000000000-" SPAN "-01",
		"00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01", "00-" TRACE "-" SPAN "-0g",
		"00_" TRACE "-" SPAN "-01", " 00-" TRACE "-" SPAN "-01",
		"0x-" TRACE "-" SPAN "-01"};
	struct span_context c = {.flags = 77};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(traceparent_read(bad[i], &c) == -EBADMSG, "%s", bad[i]);
	ck_assert_uint_eq(c.flags, 77);
}
END_TEST

static void check_state(const char *a, const char *b, const char *want)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	int r = tracestate_add(&t, a);
	if (r == 0 && b)
		r = tracestate_add(&t, b);
	if (!want) {
		ck_assert_msg(r == -EBADMSG, "%s | %s", a, b ? b : "");
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_str_eq(t.len ? t.s : "", want);
}

START_TEST(a_tracestate_keeps_its_order_and_its_first_of_a_key)
{
	check_state("a=1,b=2", "c=3", "a=1,b=2,c=3");
	check_state(" a=1 ,\tb=2\t,, ,c= x", NULL, "a=1,b=2,c= x");
	check_state("a=1", "b=2,a=3", "a=1,b=2");
	check_state("0tenant-x@sys_1=v", NULL, "0tenant-x@sys_1=v");
	check_state("", NULL, "");
	static const char *const bad[] = {"A=1", "a", "a=", "=1", "a=1=2", "a b=1", "-a=1", "t@=1",
		"@s=1", "t@systemnamethatis=1", "t@0s=1", "t@s@u=1", "a=\x7f", "a=\xc3\xa9",
		"t@S=1"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		check_state(bad[i], NULL, NULL);
	char many[512] = "";
	for (int i = 0; i < 33; i++)
		(void)snprintf(many + strlen(many), sizeof(many) - strlen(many), "k%d=v,", i);
	check_state(many, NULL, NULL);
}
END_TEST

START_TEST(a_long_tracestate_loses_whole_members)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	char value[201];
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	text_printf(&t, "first=1,long=%s,long2=%s", value, value);
	for (int i = 0; i < 20; i++)
		text_printf(&t, ",k%02d=0123456", i);
	tracestate_cut(&t);
	ck_assert_uint_le(t.len, TRACESTATE_MAX_BYTES);
	/* The last long one went, and that was enough. */
	ck_assert_int_eq(strncmp(t.s, "first=1,long=", 13), 0);
	ck_assert_ptr_null(strstr(t.s, "long2"));
	ck_assert_ptr_nonnull(strstr(t.s, ",k19=0123456"));
	text_clear(&t);
	for (int i = 0; i < 32; i++)
		text_printf(&t, "%sk%02d=0123456789012345", i ? "," : "", i);
	tracestate_cut(&t);
	ck_assert_uint_le(t.len, TRACESTATE_MAX_BYTES);
	ck_assert_uint_eq(t.len, strlen(t.s));
	ck_assert_ptr_nonnull(strstr(t.s, "k23="));
	ck_assert_ptr_null(strstr(t.s, "k24="));
}
END_TEST

UNIT_MAIN(a_traceparent_is_read_and_written, what_is_not_a_traceparent_is_taken_for_absent,
	a_tracestate_keeps_its_order_and_its_first_of_a_key, a_long_tracestate_loses_whole_members)
