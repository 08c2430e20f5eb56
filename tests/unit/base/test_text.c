#include "base/text.h"
#include "fake.h"
#include <errno.h>
#include <math.h>

START_TEST(grows_and_keeps_what_was_written)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	for (unsigned i = 0; i < 1000; i++)
		text_printf(&t, "%03u,", i);
	ck_assert_int_eq(t.err, 0);
	ck_assert_uint_eq(t.len, 4000);
	ck_assert_uint_eq(strlen(t.s), 4000);
	ck_assert_str_eq(t.s + 3996, "999,");
	text_clear(&t);
	ck_assert_str_eq(t.s, "");
	text_write(&t, "a\0b", 3);
	ck_assert_uint_eq(t.len, 3);
	ck_assert_mem_eq(t.s, "a\0b", 4);
	text_done(&t);
	ck_assert_ptr_null(t.s);
	fake_done(&f);
}
END_TEST

START_TEST(error_is_sticky_until_cleared)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	text_put(&t, "kept");
	fake_fail_at(&f, 0);
	text_printf(&t, "%0200d", 1);
	ck_assert_int_eq(t.err, -ENOMEM);
	text_put(&t, "x"); /* would fit */
	ck_assert_str_eq(t.s, "kept");
	text_clear(&t);
	text_put(&t, "x");
	ck_assert_int_eq(t.err, 0);
	ck_assert_str_eq(t.s, "x");
	text_done(&t);
	fake_done(&f);
}
END_TEST

START_TEST(json_strings_are_escaped)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"", "\"\""},
		{"plain ~", "\"plain ~\""},
		{"a\"b\\c/", "\"a\\\"b\\\\c/\""},
		{"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
		{"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
		{"S\xc3\xa3o \xe2\x82\xac \xf0\x9f\x90\xa7",
			"\"S\xc3\xa3o \xe2\x82\xac \xf0\x9f\x90\xa7\""},
		{"\xff", "\"\\ufffd\""},
		{"\x80z", "\"\\ufffdz\""},
		{"\xc3", "\"\\ufffd\""},		       /* cut short */
		{"\xc3(", "\"\\ufffd(\""},		       /* no continuation */
		{"\xc0\xaf", "\"\\ufffd\\ufffd\""},	       /* overlong */
		{"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""}, /* overlong */
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
		{"\xe2\x82", "\"\\ufffd\\ufffd\""},
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* above U+10FFFF */
		{"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
		{"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
			"\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\""},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT struct text t = TEXT(&mem_libc);
		text_json(&t, cases[i].in);
		ck_assert_str_eq(t.s, cases[i].out);
	}
}
END_TEST

START_TEST(utf8_characters_are_measured)
{
	static const struct {
		const char *s;
		unsigned bytes;
	} of[] = {{"", 1}, {"a", 1}, {"\x7f", 1}, {"\xc3\xa4", 2}, {"\xe0\xa0\x80", 3},
		{"\xed\x9f\xbf", 3}, {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4},
		/* A tail alone, overlong, a surrogate, too high, cut. */
		{"\x80", 0}, {"\xc1\xbf", 0}, {"\xe0\x9f\xbf", 0}, {"\xf0\x8f\xbf\xbf", 0},
		{"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0}, {"\xc3", 0},
		{"\xe2\x82", 0}, {"\xf0\x90\x80", 0}, {"\xe2\x82z", 0}};
	for (unsigned i = 0; i < ARRAY_SIZE(of); i++)
		ck_assert_uint_eq(text_utf8_bytes(of[i].s), of[i].bytes);
}
END_TEST

START_TEST(pairs_are_separated)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	text_put(&t, "{");
	text_kv_str(&t, "s", "x");
	text_kv_str(&t, "n", NULL);
	text_kv_u64(&t, "u", UINT64_MAX);
	text_kv_i64(&t, "i", INT64_MIN);
	text_kv_bool(&t, "b", true);
	text_kv_bool(&t, "c", false);
	text_key(&t, "o");
	text_put(&t, "{");
	text_kv_u64(&t, "k\"", 0);
	text_put(&t, "}}");
	ck_assert_str_eq(t.s,
		"{\"s\":\"x\",\"n\":null,\"u\":18446744073709551615,\"i\":-9223372036854775808,"
		"\"b\":true,\"c\":false,\"o\":{\"k\\\"\":0}}");
}
END_TEST

START_TEST(doubles_are_json_numbers)
{
	static const struct {
		double in;
		const char *out;
	} cases[] = {{0, "0"}, {-12.5, "-12.5"}, {48.8566, "48.8566"}, {1e300, "1e+300"},
		{1.0 / 3, "0.333333"}, {NAN, "null"}, {INFINITY, "null"}, {-INFINITY, "null"}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT struct text t = TEXT(&mem_libc);
		text_kv_f64(&t, "d", cases[i].in);
		ck_assert_str_eq(t.s + 4, cases[i].out);
	}
}
END_TEST

static int write_some(struct fake *f, void *arg UNUSED)
{
	AUTO_TEXT struct text t = TEXT(f->mem);
	for (unsigned i = 0; i < 100; i++)
		text_kv_u64(&t, "key", i);
	return t.err;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, write_some, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(grows_and_keeps_what_was_written, error_is_sticky_until_cleared, json_strings_are_escaped,
	utf8_characters_are_measured, pairs_are_separated, doubles_are_json_numbers,
	each_allocation_may_fail)
