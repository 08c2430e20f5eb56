#include "fake.h"
#include "sim/fleet/fleet_range.h"
#include <errno.h>

static struct addr at(const char *s)
{
	struct addr a;
	ck_assert_msg(addr_parse(s, &a) == 0, "%s", s);
	return a;
}

START_TEST(nth_address_skips_what_the_netmask_says)
{
	static const struct {
		const char *start;
		uint8_t len;
		uint32_t i;
		const char *want; /* NULL: -ERANGE */
	} rows[] = {
		{"10.0.0.1", 24, 0, "10.0.0.1"},
		{"10.0.0.1", 24, 253, "10.0.0.254"},
		{"10.0.0.1", 24, 254, "10.0.1.1"},
		{"10.0.0.1", 24, 254 * 3 + 1, "10.0.3.2"},
		{"10.0.0.0", 24, 0, "10.0.0.0"}, /* the start is used as given */
		{"10.0.0.0", 24, 1, "10.0.0.1"},
		{"10.0.0.255", 24, 0, "10.0.0.255"},
		{"10.0.0.255", 24, 1, "10.0.1.1"},
		{"10.0.0.254", 24, 1, "10.0.1.1"},
		{"10.0.0.1", 16, 254, "10.0.0.255"}, /* a host of a /16 */
		{"10.0.0.1", 16, 255, "10.0.1.0"},
		{"10.0.0.1", 16, 65533, "10.0.255.254"},
		{"10.0.0.1", 16, 65534, "10.1.0.1"},
		{"127.10.0.1", 16, 999999, "127.25.66.94"},
		{"10.0.0.1", 30, 1, "10.0.0.2"},
		{"10.0.0.1", 30, 2, "10.0.0.5"},
		{"10.0.0.3", 30, 1, "10.0.0.5"},
		{"10.0.0.1", 31, 255, "10.0.1.0"},
		{"10.0.0.1", 32, 255, "10.0.1.0"},
		{"10.0.0.255", 8, 1, "10.0.1.0"},
		{"0.0.0.0", 0, 1, "0.0.0.1"},
		{"255.255.255.253", 0, 1, "255.255.255.254"},
		{"255.255.255.253", 0, 2, NULL},
		{"255.255.255.254", 24, 1, NULL},
		{"255.255.255.254", 32, 1, "255.255.255.255"},
		{"255.255.255.255", 32, 1, NULL},
		{"2001:db8::1", 64, 1, "2001:db8::2"},
		{"2001:db8::ffff", 64, 1, "2001:db8::1:0"},
		{"2001:db8::ffff:ffff:ffff:fffe", 64, 1, "2001:db8:0:1::1"},
		{"2001:db8::fffe", 112, 1, "2001:db8::1:1"},
		{"2001:db8::fffe", 0, 2, "2001:db8::1:0"},
		{"2001:db8::fe", 127, 2, "2001:db8::100"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 0, 1, NULL},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 64, 1, NULL},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 128, 1,
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 128, 1, NULL},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr start = at(rows[i].start), a;
		char buf[ADDR_TEXT_BYTES];
		int r = fleet_nth_addr(&start, rows[i].len, rows[i].i, &a);
		ck_assert_msg(r == (rows[i].want ? 0 : -ERANGE), "row %u: %d", i, r);
		if (r == 0)
			ck_assert_msg(strcmp(addr_text(&a, buf), rows[i].want) == 0,
				"row %u: %s, not %s", i, buf, rows[i].want);
	}
	struct addr v4 = at("10.0.0.1"), v6 = at("2001:db8::1"), a;
	ck_assert_int_eq(fleet_nth_addr(&v4, 33, 0, &a), -EINVAL);
	ck_assert_int_eq(fleet_nth_addr(&v6, 129, 0, &a), -EINVAL);
}
END_TEST

START_TEST(stepping_agrees_with_nth)
{
	static const char *const starts[] = {"10.0.0.0", "10.0.0.250", "10.255.255.200",
		"2001:db8::", "2001:db8::ffff:ffff:ffff:ff00"};
	static const uint8_t lens[][2] = {{0, 0}, {8, 48}, {16, 64}, {24, 112}, {26, 120},
		{29, 124}, {30, 126}, {31, 127}, {32, 128}};
	for (unsigned s = 0; s < ARRAY_SIZE(starts); s++)
		for (unsigned l = 0; l < ARRAY_SIZE(lens); l++) {
			struct addr start = at(starts[s]), a = start, want;
			uint8_t len = lens[l][!addr_is_v4(&start)];
			for (uint32_t i = 0; i < 2000; i++) {
				ck_assert_int_eq(fleet_nth_addr(&start, len, i, &want), 0);
				ck_assert_msg(addr_eq(&a, &want), "%s/%u at %u", starts[s], len, i);
				a = fleet_next_addr(&a, len);
			}
		}
}
END_TEST

START_TEST(ranges_that_do_not_fit_name_the_last_address)
{
	static const struct {
		const char *start;
		uint8_t len;
		bool given;
		uint32_t count;
		const char *last;  /* NULL: refused */
		const char *field; /* of the fault */
		const char *word;  /* in its text */
	} rows[] = {
		{"127.10.0.1", 16, false, 1000000, "127.25.66.94", NULL, NULL},
		{"127.10.0.1", 16, true, 1000, "127.10.3.232", NULL, NULL},
		{"127.10.0.1", 16, true, 65534, "127.10.255.254", NULL, NULL},
		{"127.10.0.1", 16, true, 65535, NULL, "/device_count", "127.10.255.254"},
		{"10.0.0.1", 24, true, 254, "10.0.0.254", NULL, NULL},
		{"10.0.0.1", 24, true, 1000, NULL, "/device_count", "10.0.0.254"},
		{"10.0.0.1", 24, false, 1000, "10.0.3.238", NULL, NULL},
		{"10.0.0.255", 24, true, 2, NULL, "/device_count", "10.0.0.255"},
		{"10.0.0.1", 0, true, 16000000, "10.244.36.0", NULL, NULL},
		{"10.0.0.1", 32, true, 1, "10.0.0.1", NULL, NULL},
		{"10.0.0.1", 32, true, 2, NULL, "/device_count", "10.0.0.1,"},
		{"127.255.255.250", 32, false, 5, "127.255.255.254", NULL, NULL},
		{"127.255.255.250", 32, false, 6, NULL, "/device_count", "127.255.255.254"},
		{"126.255.255.250", 8, false, 10, NULL, "/device_count", "126.255.255.254"},
		{"223.255.255.1", 32, false, 16000000, NULL, "/device_count", "223.255.255.255"},
		{"0.0.0.1", 8, false, 1, NULL, "/start_ip", "0.0.0.1"},
		{"224.0.0.1", 8, false, 1, NULL, "/start_ip", "224.0.0.1"},
		{"255.255.255.255", 8, false, 1, NULL, "/start_ip", "255.255.255.255"},
		{"127.0.0.0", 8, false, 1, NULL, "/start_ip", "127.0.0.0"},
		{"127.255.255.255", 8, false, 1, NULL, "/start_ip", "127.255.255.255"},
		{"::", 64, false, 1, NULL, "/start_ip", "::"},
		{"::1", 64, false, 1, NULL, "/start_ip", "::1"},
		{"fe80::1", 64, false, 1, NULL, "/start_ip", "fe80::1"},
		{"ff02::1", 64, false, 1, NULL, "/start_ip", "ff02::1"},
		{"2001:db8::1", 64, false, 16000000, "2001:db8::f4:2400", NULL, NULL},
		{"2001:db8::1", 120, true, 254, "2001:db8::fe", NULL, NULL},
		{"2001:db8::1", 120, true, 255, NULL, "/device_count", "2001:db8::fe"},
		{"::fffe:ffff:fffe", 128, false, 3, NULL, "/device_count", "::fffe:ffff:ffff"},
		{"feff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 128, false, 3, NULL, "/device_count",
			"feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, device 2"},
		{"10.0.0.1", 33, false, 1, NULL, "/netmask", "33"},
		{"2001:db8::1", 129, false, 1, NULL, "/netmask", "129"},
		{"10.0.0.1", 16, false, 0, NULL, "/device_count", "below 1"},
		{"10.0.0.1", 16, false, 16000001, NULL, "/device_count", "above 16000000"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr start = at(rows[i].start), last;
		struct fault fault = {0};
		char buf[ADDR_TEXT_BYTES];
		int r = fleet_range_check(
			&start, rows[i].len, rows[i].given, rows[i].count, &last, &fault);
		ck_assert_msg(r == (rows[i].last ? 0 : -EINVAL), "row %u: %d %s", i, r, fault.text);
		if (rows[i].last) {
			ck_assert_msg(strcmp(addr_text(&last, buf), rows[i].last) == 0,
				"row %u: %s, not %s", i, buf, rows[i].last);
			continue;
		}
		ck_assert_msg(
			strcmp(fault.field, rows[i].field) == 0, "row %u: %s", i, fault.field);
		ck_assert_msg(strstr(fault.text, rows[i].word), "row %u: %s", i, fault.text);
	}
}
END_TEST

UNIT_MAIN(nth_address_skips_what_the_netmask_says, stepping_agrees_with_nth,
	ranges_that_do_not_fit_name_the_last_address)
