#include "base/addr.h"
#include "fake.h"
#include <errno.h>
#include <netinet/in.h>

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

START_TEST(ipv6_is_written_as_rfc_5952)
{
	static const struct {
		const char *in, *out;
	} cases[] = {{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
		{"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
		{"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"}, {"::ffff:10.1.2.3", "10.1.2.3"},
		{"::FFFF:a01:203", "10.1.2.3"}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a;
		char buf[ADDR_TEXT_BYTES];
		ck_assert_int_eq(addr_parse(cases[i].in, &a), 0);
		ck_assert_str_eq(addr_text(&a, buf), cases[i].out);
	}
}
END_TEST

START_TEST(socket_addresses)
{
	static const struct {
		const char *text, *with_port;
		int family;
		bool loopback;
	} cases[] = {{"127.10.0.1", "127.10.0.1:161", AF_INET, true},
		{"128.0.0.1", "128.0.0.1:161", AF_INET, false},
		{"::1", "[::1]:161", AF_INET6, true}, {"::2", "[::2]:161", AF_INET6, false}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a, back;
		struct sockaddr_storage sa;
		uint16_t port = 0;
		char buf[ADDR_PORT_TEXT_BYTES];
		ck_assert_int_eq(addr_parse(cases[i].text, &a), 0);
		socklen_t len = addr_to_sockaddr(&a, 161, &sa);
		ck_assert_uint_eq(len, cases[i].family == AF_INET ? sizeof(struct sockaddr_in)
								  : sizeof(struct sockaddr_in6));
		ck_assert_int_eq(sa.ss_family, cases[i].family);
		ck_assert_int_eq(addr_from_sockaddr((struct sockaddr *)&sa, &back, &port), 0);
		ck_assert(addr_eq(&a, &back));
		ck_assert_uint_eq(port, 161);
		ck_assert_str_eq(addr_port_text(&a, 161, buf), cases[i].with_port);
		ck_assert_int_eq(addr_is_loopback(&a), cases[i].loopback);
	}
	struct sockaddr unix_address = {.sa_family = AF_UNIX};
	struct addr a;
	uint16_t port;
	ck_assert_int_eq(addr_from_sockaddr(&unix_address, &a, &port), -EAFNOSUPPORT);
}
END_TEST

UNIT_MAIN(text_round_trip, order_and_distance, prefixes, a_prefix_ends, ipv6_is_written_as_rfc_5952,
	socket_addresses)
