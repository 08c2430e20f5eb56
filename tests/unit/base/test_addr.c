#include "base/addr.h"
#include "fake.h"
#include <errno.h>

START_TEST(text_round_trip)
{
	static const char *const good[] = {"0.0.0.0", "127.10.0.1", "255.255.255.255", "::", "::1",
		"2001:db8::1", "fe80::1:2:3:4"};
	char buf[ADDR_TEXT_BYTES];
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		struct addr a;
		ck_assert_int_eq(addr_parse(good[i], &a), 0);
		ck_assert_str_eq(addr_text(&a, buf), good[i]);
	}
	struct addr a;
	static const char *const bad[] = {
		"", "1.2.3", "1.2.3.4.5", "256.0.0.1", "g::", "1.2.3.4/8", " 1.2.3.4"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(addr_parse(bad[i], &a), -EINVAL);
}
END_TEST

START_TEST(order_and_distance)
{
	struct addr a = addr_from_v4(0x0a0000ff), b = addr_add(&a, 1), c;
	ck_assert_uint_eq(addr_v4_u32(&b), 0x0a000100);
	ck_assert_int_lt(addr_cmp(&a, &b), 0);
	ck_assert_uint_eq(addr_distance(&a, &b), 1);
	ck_assert_uint_eq(addr_distance(&b, &a), UINT64_MAX);
	ck_assert_int_eq(addr_parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &c), 0);
	b = addr_add(&c, 1);
	char buf[ADDR_TEXT_BYTES];
	ck_assert_str_eq(addr_text(&b, buf), "::");
	ck_assert_uint_eq(addr_distance(&b, &c), UINT64_MAX);
}
END_TEST

START_TEST(prefixes)
{
	struct prefix p, q;
	char buf[PREFIX_TEXT_BYTES];
	ck_assert_int_eq(prefix_parse("10.42.0.0/16", &p), 0);
	ck_assert_uint_eq(p.len, 112);
	ck_assert_str_eq(prefix_text(&p, buf), "10.42.0.0/16");
	ck_assert_int_eq(prefix_parse("10.0.0.0/8", &q), 0);
	ck_assert(prefix_overlaps(&p, &q) && prefix_overlaps(&q, &p));
	struct addr in = addr_from_v4(0x0a2affff), out = addr_from_v4(0x0a2b0000);
	ck_assert(prefix_has(&p, &in));
	ck_assert(!prefix_has(&p, &out));
	static const char *const bad[] = {
		"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "::1/64", "/8", "::/129"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(prefix_parse(bad[i], &p), -EINVAL);
	ck_assert_int_eq(prefix_parse("0.0.0.0/0", &p), 0);
	ck_assert(prefix_has(&p, &in));
	ck_assert_int_eq(prefix_parse("2001:db8::/33", &p), 0);
	ck_assert_str_eq(prefix_text(&p, buf), "2001:db8::/33");
}
END_TEST

START_TEST(a_prefix_ends)
{
	static const char *const ends[][2] = {{"10.42.0.0/16", "10.42.255.255"},
		{"10.0.0.0/30", "10.0.0.3"}, {"10.0.0.7/32", "10.0.0.7"},
		{"0.0.0.0/0", "255.255.255.255"},
		{"2001:db8::/33", "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff"},
		{"::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}};
	char buf[ADDR_TEXT_BYTES];
	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
		struct prefix p;
		ck_assert_int_eq(prefix_parse(ends[i][0], &p), 0);
		struct addr last = prefix_last(&p);
		ck_assert_str_eq(addr_text(&last, buf), ends[i][1]);
	}
}
END_TEST

UNIT_MAIN(a_prefix_ends, text_round_trip, order_and_distance, prefixes)
