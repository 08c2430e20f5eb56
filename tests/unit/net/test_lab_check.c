#include "fake.h"
#include "net/lab_check.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int check(const char *first, const char *last, struct fault *f)
{
	struct addr a, b;
	ck_assert_int_eq(addr_parse(first, &a), 0);
	ck_assert_int_eq(addr_parse(last, &b), 0);
	return lab_check_range(&a, &b, f);
}

START_TEST(unicast_ranges_are_taken)
{
	static const char *const good[][2] = {{"10.0.0.0", "10.255.255.255"},
		{"127.0.0.1", "127.255.255.255"}, {"127.0.0.0", "127.0.0.0"}, {"::1", "::1"},
		{"1.0.0.0", "126.255.255.255"}, {"128.0.0.0", "169.253.255.255"},
		{"169.255.0.0", "223.255.255.255"}, {"240.0.0.0", "255.255.255.254"},
		{"2001:db8::", "2001:db8:ffff::"}, {"fd00::1", "fd00::1"}, {"::2", "::3"}};
	struct fault f = {0};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(check(good[i][0], good[i][1], &f) == 0, "%s: %s", good[i][0], f.text);
}
END_TEST

START_TEST(others_are_refused_by_name)
{
	static const char *const bad[][3] = {
		{"10.0.0.2", "10.0.0.1", "10.0.0.2-10.0.0.1 is no range of addresses"},
		{"10.0.0.2", "2001:db8::", "10.0.0.2-2001:db8:: is no range of addresses"},
		{"126.255.255.255", "127.0.0.1", "126.255.255.255-127.0.0.1 is in part loopback"},
		{"127.255.255.255", "128.0.0.0", "127.255.255.255-128.0.0.0 is in part loopback"},
		{"126.0.0.0", "128.0.0.0", "126.0.0.0-128.0.0.0 is in part loopback"},
		{"::1", "::2", "::1-::2 is in part loopback"},
		{"0.0.0.1", "0.0.0.1", "0.0.0.1 has reserved (0.0.0.0/8) addresses"},
		{"169.253.0.0", "169.254.0.0", "169.253.0.0-169.254.0.0 has link-local addresses"},
		{"223.0.0.0", "224.0.0.0", "223.0.0.0-224.0.0.0 has multicast addresses"},
		{"239.255.255.255", "239.255.255.255", "239.255.255.255 has multicast addresses"},
		{"255.255.255.255", "255.255.255.255", "255.255.255.255 has broadcast addresses"},
		{"::", "::", ":: has unspecified addresses"},
		{"fe80::1", "fe80::1", "fe80::1 has link-local addresses"},
		{"2001:db8::", "ff00::", "2001:db8::-ff00:: has link-local addresses"},
		{"ff02::1", "ff02::1", "ff02::1 has multicast addresses"}};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault f = {0};
		ck_assert_int_eq(check(bad[i][0], bad[i][1], &f), -EINVAL);
		ck_assert_str_eq(f.text, bad[i][2]);
	}
}
END_TEST

static void note(void *arg, const struct addr *a)
{
	char buf[ADDR_TEXT_BYTES], *all = arg;
	(void)strcat(strcat(all, all[0] ? " " : ""), addr_text(a, buf));
}

START_TEST(resolvers_are_read)
{
	static const char conf[] = "# nameserver 9.9.9.9\n"
				   "search example.net\n"
				   "nameserver 192.0.2.1\n"
				   "nameserver\t192.0.2.2 # the second\n"
				   "nameserver  2001:db8::53\r\n"
				   "nameserver fe80::1%eth0\n"
				   "nameserver\n"
				   "nameserver nowhere\n"
				   "nameservers 192.0.2.9\n"
				   " nameserver 192.0.2.8\n"
				   "nameserver 192.0.2.3";
	char all[256] = "";
	lab_check_resolvers(conf, strlen(conf), note, all);
	ck_assert_str_eq(all, "192.0.2.1 192.0.2.2 2001:db8::53 fe80::1 192.0.2.3");
	all[0] = 0;
	lab_check_resolvers("", 0, note, all);
	ck_assert_str_eq(all, "");
	/* Each cut of it, also within a word. */
	for (size_t len = 0; len < sizeof(conf); len++) {
		all[0] = 0;
		lab_check_resolvers(conf, len, note, all);
	}
}
END_TEST

UNIT_MAIN(unicast_ranges_are_taken, others_are_refused_by_name, resolvers_are_read)
