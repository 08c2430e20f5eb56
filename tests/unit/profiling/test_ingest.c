#include "fake.h"
#include "profiling/ingest.h"
#include <jansson.h>
#include <string.h>

static void ck_name(const struct upload_tag *tags, uint32_t n, const char *want)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	ingest_name(tags, n, 0xabc, &t);
	ck_assert_str_eq(t.s, want);
}

START_TEST(labels_are_in_order_and_safe)
{
	static const struct upload_tag tags[] = {{"version", "v1, {rc}\n"}, {"hostname", "  h-1 "},
		{"a", ""}, {"Z", "\xff\xc3\xa4\xed\xa0\x80"}};
	ck_name(tags, 0, "nl6{__session_id__=0000000000000abc}");
	ck_name(tags, ARRAY_SIZE(tags),
		"nl6{Z=_\xc3\xa4___,__session_id__=0000000000000abc,a=,hostname=h-1,"
		"version=v1_ _rc__}");
}
END_TEST

START_TEST(values_have_an_end)
{
	char longer[3000];
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + 2047, "\xc3\xa4", 2); /* would be cut in the middle */
	longer[sizeof(longer) - 1] = '\0';
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	ingest_name(&(struct upload_tag){"b", longer}, 1, 1, &t);
	ck_assert_uint_eq(t.len, strlen("nl6{__session_id__=0000000000000001,b=}") + 2047);
	struct upload_tag many[64];
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct upload_tag){"t", "v"};
	text_clear(&t);
	ingest_name(many, ARRAY_SIZE(many), 1, &t);
	ck_assert_str_eq(t.s + t.len - 4, "t=v}");
}
END_TEST

static void ck_url(const char *address, const struct upload_profile *p, const char *want)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	ingest_url(address, "nl6{a=b c}", p, &t);
	ck_assert_str_eq(t.s, want);
}

START_TEST(where_each_kind_goes)
{
	struct upload_profile p = {.kind = PROFILE_CPU,
		.hz = 250,
		.from_ns = 1796086595011657544,
		.until_ns = 1796086610010920232};
	ck_url("http://h:4040", &p,
		"http://h:4040/ingest?aggregationType=sum&from=1796086595011657544&"
		"name=nl6%7Ba%3Db%20c%7D&sampleRate=250&spyName=nl6&units=samples&"
		"until=1796086610010920232");
	p.kind = PROFILE_GOROUTINE;
	ck_url("HTTPS://h/base/", &p,
		"HTTPS://h/base/ingest?aggregationType=average&from=1796086595011657544&"
		"name=nl6%7Ba%3Db%20c%7D&sampleRate=0&spyName=nl6&units=goroutines&"
		"until=1796086610010920232");
	p.kind = PROFILE_HEAP;
	p.until_ns = 5; /* the clock was set back */
	ck_url("http://h//", &p,
		"http://h/ingest?aggregationType=&from=1796086595011657544&"
		"name=nl6%7Ba%3Db%20c%7D&sampleRate=100&spyName=nl6&units=&"
		"until=1796086595011657545");
	p.kind = PROFILE_MUTEX;
	p.from_ns = 1;
	ck_url("http://h", &p,
		"http://h/ingest?aggregationType=&from=1&name=nl6%7Ba%3Db%20c%7D&sampleRate=0&"
		"spyName=nl6&units=&until=5");
}
END_TEST

static const char *display(enum profile_kind kind, const char *type)
{
	static char name[64];
	json_t *j = json_loads(ingest_config(kind), 0, NULL);
	ck_assert_ptr_nonnull(j);
	const char *s =
		json_string_value(json_object_get(json_object_get(j, type), "display-name"));
	(void)snprintf(name, sizeof(name), "%s", s ? s : "");
	json_decref(j);
	return name;
}

START_TEST(the_server_is_told_what_to_call_them)
{
	ck_assert_ptr_null(ingest_config(PROFILE_CPU));
	ck_assert_str_eq(display(PROFILE_GOROUTINE, "goroutine"), "goroutines");
	ck_assert_str_eq(display(PROFILE_MUTEX, "contentions"), "mutex_count");
	ck_assert_str_eq(display(PROFILE_MUTEX, "delay"), "mutex_duration");
	ck_assert_str_eq(display(PROFILE_BLOCK, "contentions"), "block_count");
	ck_assert_str_eq(display(PROFILE_BLOCK, "delay"), "block_duration");
	ck_assert_str_eq(display(PROFILE_HEAP, "inuse_space"), "");
}
END_TEST

UNIT_MAIN(labels_are_in_order_and_safe, values_have_an_end, where_each_kind_goes,
	the_server_is_told_what_to_call_them)
