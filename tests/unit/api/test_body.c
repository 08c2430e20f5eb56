#include "api/body.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

struct values {
	struct body_value name, on, count;
};
static const struct body_key keys[] = {
	BODY_KEY_STR(struct values, name, true, NULL, "A name"),
	BODY_KEY_BOOL(struct values, on, "A switch"),
	BODY_KEY_INT(struct values, count, false, -5, 10, "A count"),
	{.name = "traps", .help = "x", .kind = BODY_ABSENT},
	{.name = "scenario", .help = "x", .kind = BODY_CLEAN},
	{0},
};

static int decode(const char *body, struct values *v, json_t **json, struct fault *f)
{
	*f = (struct fault){0};
	return body_decode(body, strlen(body), keys, v, sizeof(*v), json, f);
}

START_TEST(values_are_taken)
{
	AUTO_BODY json_t *json = NULL;
	struct values v;
	struct fault f;
	ck_assert_int_eq(
		decode(" {\"name\":\"x\\u00e9\",\"on\":true,\"count\":-5} ", &v, &json, &f), 0);
	ck_assert_str_eq(v.name.str, "x\xc3\xa9");
	ck_assert(v.on.given && v.on.on && v.count.given);
	ck_assert_int_eq(v.count.num, -5);
}
END_TEST

START_TEST(null_is_as_good_as_absent)
{
	AUTO_BODY json_t *json = NULL;
	struct values v;
	struct fault f;
	ck_assert_int_eq(decode("{\"name\":\"\",\"on\":null,\"count\":null,\"traps\":null,"
				"\"scenario\":null}",
				 &v, &json, &f),
		0);
	ck_assert(v.name.given && !v.on.given && !v.count.given);
	body_done(&json);
	ck_assert_int_eq(decode("{\"name\":null}", &v, &json, &f), -EINVAL);
	ck_assert_str_eq(f.field, "/name");
}
END_TEST

START_TEST(only_a_clean_scenario_is_there)
{
	AUTO_BODY json_t *json = NULL;
	struct values v;
	struct fault f;
	ck_assert_int_eq(decode("{\"name\":\"x\",\"scenario\":\"clean\"}", &v, &json, &f), 0);
	body_done(&json);
	ck_assert_int_eq(decode("{\"name\":\"x\",\"scenario\":\"\"}", &v, &json, &f), 0);
	body_done(&json);
	ck_assert_int_eq(
		decode("{\"name\":\"x\",\"scenario\":\"failing\"}", &v, &json, &f), -EINVAL);
	ck_assert_str_eq(f.text, "not in this build: scenario failing");
	ck_assert_str_eq(f.allowed, "clean");
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *body, *field, *holds;
	} rows[] = {
		{"", "body", "line"},
		{"[]", "body", "not an object"},
		{"1", "body", ""},
		{"null", "body", ""},
		{"{", "body", "line"},
		{"{\"name\":\"x\"} x", "body", "unexpected content"},
		{"{\"name\":\"x\"}{}", "body", "unexpected content"},
		{"{\"name\":\"x\",}", "body", "line"},
		{"{'name':'x'}", "body", "line"},
		{"{\"name\":\"x\",\"name\":\"y\"}", "body", "duplicate"},
		{"{\"name\":\"\\u0000\"}", "body", "line"},
		{"{\"name\":\"\xff\"}", "body", "line"},
		{"{\"name\":\"\\ud800\"}", "body", "line"},
		{"{}", "/name", "is missing"},
		{"{\"name\":1}", "/name", "is not a string"},
		{"{\"name\":\"x\",\"on\":1}", "/on", "true or false"},
		{"{\"name\":\"x\",\"on\":\"true\"}", "/on", "true or false"},
		{"{\"name\":\"x\",\"count\":1.5}", "/count", "whole number"},
		{"{\"name\":\"x\",\"count\":1.0}", "/count", "whole number"},
		{"{\"name\":\"x\",\"count\":\"1\"}", "/count", "whole number"},
		{"{\"name\":\"x\",\"count\":11}", "/count", "11 is above 10"},
		{"{\"name\":\"x\",\"count\":-6}", "/count", "-6 is below -5"},
		{"{\"name\":\"x\",\"count\":99999999999999999999}", "body", "integer"},
		{"{\"name\":\"x\",\"counts\":1}", "/counts", "nearest is count"},
		{"{\"name\":\"x\",\"Name\":\"x\"}", "/Name", "unknown key"},
		{"{\"name\":\"x\",\"a/b~c\":1}", "/a~1b~0c", "unknown key"},
		{"{\"name\":\"x\",\"traps\":{}}", "/traps", "not in this build"},
		{"{\"name\":\"x\",\"traps\":false}", "/traps", "not in this build"},
		{"{\"name\":\"x\",\"scenario\":1}", "/scenario", "is not a string"},
	};
	struct values v;
	struct fault f;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_BODY json_t *json = NULL;
		ck_assert_msg(decode(rows[i].body, &v, &json, &f) == -EINVAL, "row %u", i);
		ck_assert_ptr_null(json);
		ck_assert_str_eq(f.field, rows[i].field);
		ck_assert_msg(strstr(f.text, rows[i].holds), "row %u: %s", i, f.text);
	}
}
END_TEST

START_TEST(bottomless_nesting_is_refused)
{
	enum { DEEP = 60000 };
	static char deep[DEEP + 20] = "{\"name\":";
	struct values v;
	struct fault f;
	json_t *json = NULL;
	memset(deep + 8, '[', DEEP);
	ck_assert_int_eq(decode(deep, &v, &json, &f), -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.text, "depth"));
}
END_TEST

UNIT_MAIN(values_are_taken, null_is_as_good_as_absent, only_a_clean_scenario_is_there,
	what_is_wrong_is_named, bottomless_nesting_is_refused)
