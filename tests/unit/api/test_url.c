#include "api/url.h"
#include "fake.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int parse(const char *target, struct url *u)
{
	static char buf[4096];
	ck_assert_uint_lt(strlen(target), sizeof(buf));
	strcpy(buf, target);
	return url_parse(buf, u, NULL);
}

START_TEST(segments_and_query_are_decoded_once)
{
	struct url u;
	ck_assert_int_eq(parse("/api/a%2Fb/%2541?x=1%2B1+1&y&z=&q=%c3%a9", &u), 0);
	ck_assert_uint_eq(u.n_segments, 3);
	ck_assert_str_eq(u.segments[0], "api");
	ck_assert_str_eq(u.segments[1], "a/b");
	ck_assert_str_eq(u.segments[2], "%41");
	ck_assert_str_eq(url_query(&u, "x"), "1+1 1");
	ck_assert_str_eq(url_query(&u, "y"), "");
	ck_assert_str_eq(url_query(&u, "z"), "");
	ck_assert_str_eq(url_query(&u, "q"), "\xc3\xa9");
	ck_assert_ptr_null(url_query(&u, "w"));
	ck_assert_ptr_null(u.authority);
}
END_TEST

START_TEST(slashes_count)
{
	struct url u;
	ck_assert_int_eq(parse("/", &u), 0);
	ck_assert_uint_eq(u.n_segments, 0);
	ck_assert_int_eq(parse("/a/", &u), 0);
	ck_assert_uint_eq(u.n_segments, 2);
	ck_assert_str_eq(u.segments[1], "");
	ck_assert_int_eq(parse("//a", &u), 0);
	ck_assert_uint_eq(u.n_segments, 2);
	ck_assert_str_eq(u.segments[0], "");
	ck_assert_int_eq(parse("*", &u), 0);
	ck_assert_uint_eq(u.n_segments, 0);
}
END_TEST

START_TEST(the_absolute_form_names_its_host)
{
	struct url u;
	ck_assert_int_eq(parse("http://lab:8080/a/b?c=d", &u), 0);
	ck_assert_str_eq(u.authority, "lab:8080");
	ck_assert_uint_eq(u.n_segments, 2);
	ck_assert_str_eq(u.segments[1], "b");
	ck_assert_str_eq(url_query(&u, "c"), "d");
	ck_assert_int_eq(parse("HTTPS://lab", &u), 0);
	ck_assert_str_eq(u.authority, "lab");
	ck_assert_uint_eq(u.n_segments, 0);
	ck_assert_int_eq(parse("http://lab?x=1", &u), 0);
	ck_assert_str_eq(url_query(&u, "x"), "1");
	ck_assert_int_eq(parse("http://", &u), 0);
	ck_assert_str_eq(u.authority, "");
}
END_TEST

START_TEST(what_is_malformed_is_refused)
{
	static const char *const bad[] = {"/%", "/%4", "/%4g", "/%zz", "/%00", "/a%0a", "/%7f",
		"/\x01", "/%ff", "/%c0%80", "/%e0%80%80", "/%ed%a0%80", "/%f4%90%80%80", "/%c3",
		"/a?x=%", "/a?%=1", "/a?x=%00", "/a?x=1&x=2", "/a?x&x", "a", "", "?x", "ftp://a/b"};
	struct url u;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(parse(bad[i], &u) == -EINVAL, "%s", bad[i]);
}
END_TEST

START_TEST(too_many_parts_are_refused)
{
	char path[2 * URL_SEGMENTS + 3] = "", query[4 * URL_QUERY + 16] = "/?";
	struct url u;
	for (unsigned i = 0; i < URL_SEGMENTS; i++)
		strcat(path, "/a");
	ck_assert_int_eq(parse(path, &u), 0);
	strcat(path, "/a");
	ck_assert_int_eq(parse(path, &u), -E2BIG);
	for (unsigned i = 0; i < URL_QUERY; i++)
		sprintf(query + strlen(query), "%c%c&", 'a' + i / 16, 'a' + i % 16);
	ck_assert_int_eq(parse(query, &u), 0);
	strcat(query, "zz");
	ck_assert_int_eq(parse(query, &u), -E2BIG);
}
END_TEST

UNIT_MAIN(segments_and_query_are_decoded_once, slashes_count, the_absolute_form_names_its_host,
	what_is_malformed_is_refused, too_many_parts_are_refused)
