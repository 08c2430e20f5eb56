#include "fake.h"
#include "net/address.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct address_use use = {"/a", "-x-basic-auth", "/ingest"};

START_TEST(good_ones_pass)
{
	static const char *const good[] = {"http://pyroscope:4040", "https://p.example:443/",
		"HTTP://H", "http://127.0.0.1:0", "http://[::1]:4040/base/path", "http://[fe80::1]",
		"https://a-b_c.d~e/%20"};
	struct fault f = {0};
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(address_check(good[i], &use, &f) == 0, "%s: %s", good[i], f.text);
}
END_TEST

START_TEST(bad_ones_are_told_why)
{
	static const struct {
		const char *address, *words;
	} bad[] = {
		{"", "must use http:// or https://"},
		{"pyroscope:4040", "must use http:// or https://"},
		{"ftp://x", "must use http:// or https://"},
		{"unix:///run/x", "must use http:// or https://"},
		{"http:/x", "must use http:// or https://"},
		{"://x", "not a URL"},
		{"http://a b", "not a URL"},
		{"http://a\nb", "not a URL"},
		{"http://h\xc3\xa4", "not a URL"},
		{"http://h:x", "not a URL"},
		{"http://h:65536", "not a URL"},
		{"http://h:1:2", "not a URL"},
		{"http://[]:1", "not a URL"},
		{"http://[zz]:1", "not a URL"},
		{"http://[::1", "not a URL"},
		{"http://", "no host"},
		{"http:///path", "no host"},
		{"https://:443", "no host"},
		{"http://user:geheim@h", "must not embed credentials"},
		{"http://@h", "must not embed credentials"},
		{"http://h/?a=b", "query or fragment"},
		{"http://h?a", "query or fragment"},
		{"http://h/#f", "query or fragment"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault f = {0};
		ck_assert_int_eq(address_check(bad[i].address, &use, &f), -EINVAL);
		ck_assert_msg(
			strstr(f.text, bad[i].words) != NULL, "%s: %s", bad[i].address, f.text);
		ck_assert_ptr_null(strstr(f.text, "geheim"));
		ck_assert_str_eq(f.field, "/a");
	}
	char *longer = malloc(ADDRESS_BYTES + 1);
	struct fault f = {0};
	memset(longer, 'a', ADDRESS_BYTES);
	memcpy(longer, "http://", 7);
	longer[ADDRESS_BYTES] = 0;
	ck_assert_int_eq(address_check(longer, &use, &f), -EINVAL);
	longer[ADDRESS_BYTES - 1] = 0;
	ck_assert_int_eq(address_check(longer, &use, &f), 0);
	free(longer);
}
END_TEST

START_TEST(the_same_place_is_recognised)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{"http://h:1", "http://h:1", true},
		{"http://h:1", "http://h:1/", true},
		{"HTTP://H:1/p/", "http://h:1/p", true},
		{"http://h/p", "http://h/P", false},
		{"http://h", "https://h", false},
		{"http://h", "http://h:1", false},
		{"http://h", "http://hh", false},
		{"http://hh", "http://h", false},
		{"http://h/a", "http://h", false},
		{"http://h//", "http://h", false},
		{"", "", true},
		{"", "http://h", false},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		ck_assert_msg(address_is_same(pairs[i].a, pairs[i].b) == pairs[i].same, "%s %s",
			pairs[i].a, pairs[i].b);
		ck_assert_msg(address_is_same(pairs[i].b, pairs[i].a) == pairs[i].same, "%s %s",
			pairs[i].b, pairs[i].a);
	}
}
END_TEST

UNIT_MAIN(good_ones_pass, bad_ones_are_told_why, the_same_place_is_recognised)
