#include "api/schema.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

START_TEST(notation_becomes_json_schema)
{
	static const struct {
		const char *notation, *json;
	} rows[] = {
		{"str", "{\"type\":\"string\"}"},
		{"~int", "{\"type\":\"integer\",\"nullable\":true}"},
		{"any", "{}"},
		{"bool 'Is it?'", "{\"type\":\"boolean\",\"description\":\"Is it?\"}"},
		{"[num]", "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"},
		{"map<[int]>", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\","
			       "\"items\":"
			       "{\"type\":\"integer\"}}}"},
		{"{}", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{}}"},
		{"{a:str, b_2?:Thing 'x'}",
			"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"a\":"
			"{"
			"\"type\":\"string\"},\"b_2\":{\"allOf\":[{\"$ref\":\"#/components/schemas/"
			"Thing\"}],\"description\":\"x\"}},\"required\":[\"a\"]}"},
	};
	struct fake f = fake_make();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_TEXT struct text t = TEXT(f.mem);
		ck_assert_int_eq(schema_write(&t, rows[i].notation), 0);
		ck_assert_str_eq(t.s, rows[i].json);
	}
	AUTO_TEXT struct text page = TEXT(f.mem);
	ck_assert_int_eq(schema_write(&page, "Page<[str]>"), 0);
	ck_assert_ptr_nonnull(strstr(page.s, "\"page\":{"));
	ck_assert_ptr_nonnull(strstr(page.s, "[\"success\",\"message\",\"data\",\"page\"]"));
	text_done(&page);
	fake_done(&f);
}
END_TEST

START_TEST(malformed_notation_is_refused)
{
	static const char *const bad[] = {"", "strr", "{a}", "{a:}", "{a:str", "{:str}", "[str",
		"Data", "Data<str", "map", "str str", "str 'x", "{a:str,}", "str>",
		"[[[[[[[[[[[[[[[[[str]]]]]]]]]]]]]]]]]"};
	struct fake f = fake_make();
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_TEXT struct text t = TEXT(f.mem);
		ck_assert_msg(schema_write(&t, bad[i]) == -EINVAL, "%s", bad[i]);
	}
	fake_done(&f);
}
END_TEST

static int write_one(struct fake *f, void *arg UNUSED)
{
	AUTO_TEXT struct text t = TEXT(f->mem);
	return schema_write(&t, "{a:str 'what', b:[{c:int, d?:Data<~Name>}]}");
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, write_one, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(notation_becomes_json_schema, malformed_notation_is_refused, each_allocation_may_fail)
