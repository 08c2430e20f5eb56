#include "fake.h"
#include "net/lab_names.h"
#include <string.h>

static struct lab_names names(const char *ns_name, const char *net)
{
	struct prefix p;
	struct lab_names n;
	ck_assert_int_eq(prefix_parse(net, &p), 0);
	lab_names_make(ns_name, &p, &n);
	return n;
}

START_TEST(the_default_has_the_names_of_the_original)
{
	struct lab_names n = names("nl6sim", "10.254.0.0/30");
	char buf[PREFIX_TEXT_BYTES];
	ck_assert_str_eq(n.host_link, "veth-sim-host");
	ck_assert_str_eq(n.ns_link, "veth-sim-ns");
	ck_assert_str_eq(prefix_text(&n.host_v4, buf), "10.254.0.1/30");
	ck_assert_str_eq(prefix_text(&n.ns_v4, buf), "10.254.0.2/30");
	ck_assert_str_eq(prefix_text(&n.host_v6, buf), "fd6e:6c36:afe::1/126");
	ck_assert_str_eq(prefix_text(&n.ns_v6, buf), "fd6e:6c36:afe::2/126");
	ck_assert_str_eq(prefix_text(&n.net_v6, buf), "fd6e:6c36:afe::/126");
}
END_TEST

START_TEST(other_names_differ_in_everything)
{
	static const char *const ns[] = {"nl6sim", "sim", "lab2", "a", "lab-3",
		"a-lab-of-many-bytes", "a-lab-of-many-byteT", "nl6simx", "NL6SIM", "12345",
		"123456"};
	static const char *const want[] = {"veth-sim-host", NULL, "veth-lab2-host", "veth-a-host",
		"veth-lab-3-host", NULL, NULL, NULL, NULL, "veth-12345-host", NULL};
	struct lab_names n[ARRAY_SIZE(ns)];
	for (size_t i = 0; i < ARRAY_SIZE(ns); i++) {
		n[i] = names(ns[i], "172.31.0.0/24");
		ck_assert_uint_lt(strlen(n[i].host_link), 16);
		ck_assert_uint_lt(strlen(n[i].ns_link), 16);
		if (want[i])
			ck_assert_str_eq(n[i].host_link, want[i]);
		/* Unicast, locally administered. */
		ck_assert_uint_eq(n[i].host_mac[0] & 3, 2);
		ck_assert_int_ne(memcmp(n[i].host_mac, n[i].ns_mac, 6), 0);
		ck_assert_uint_ge(n[i].mark, 1u << 30);
		for (size_t k = 0; k < i; k++) {
			ck_assert_str_ne(n[i].host_link, n[k].host_link);
			ck_assert_str_ne(n[i].ns_link, n[k].ns_link);
			ck_assert_int_ne(memcmp(n[i].host_mac, n[k].host_mac, 6), 0);
			ck_assert_uint_ne(n[i].mark, n[k].mark);
		}
	}
}
END_TEST

START_TEST(the_same_every_time)
{
	struct lab_names a = names("a-lab-of-many-bytes", "10.1.2.0/29"),
			 b = names("a-lab-of-many-bytes", "10.1.2.0/29");
	ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);
}
END_TEST

START_TEST(names_are_judged)
{
	static const char *const good[] = {"a", "nl6sim", "Lab_2.b-c", "0",
		"123456789012345678901234567890123456789012345678901234567890"};
	static const char *const bad[] = {"", ".", "..", "-a", ".a", "a/b", "a b", "a\n",
		"\xc3\xa4", "1234567890123456789012345678901234567890123456789012345678901"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert(lab_names_is_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert(!lab_names_is_valid(bad[i]));
}
END_TEST

UNIT_MAIN(the_default_has_the_names_of_the_original, other_names_differ_in_everything,
	the_same_every_time, names_are_judged)
