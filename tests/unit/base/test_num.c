#include "base/num.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

START_TEST(u64_is_strict)
{
	uint64_t n = 7;
	static const char *const bad[] = {
		"", " 1", "1 ", "+1", "-1", "0x10", "1e3", "1.0", "99999999999999999999999x"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(num_u64(bad[i], 0, UINT64_MAX, &n), -EINVAL);
	ck_assert_int_eq(num_u64("18446744073709551616", 0, UINT64_MAX, &n), -ERANGE);
	ck_assert_int_eq(num_u64("36893488147419103232", 0, UINT64_MAX, &n), -ERANGE);
	ck_assert_int_eq(num_u64("4", 5, 10, &n), -ERANGE);
	ck_assert_int_eq(num_u64("11", 5, 10, &n), -ERANGE);
	ck_assert_uint_eq(n, 7);
	ck_assert_int_eq(num_u64("10", 5, 10, &n), 0);
	ck_assert_uint_eq(n, 10);
	ck_assert_int_eq(num_u64("18446744073709551615", 0, UINT64_MAX, &n), 0);
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert_int_eq(num_u64("007", 0, 10, &n), 0);
	ck_assert_uint_eq(n, 7);
}
END_TEST

START_TEST(hex_bytes)
{
	uint8_t b[4] = {9, 9, 9, 9};
	size_t n = 77;
	ck_assert_int_eq(num_hex("", b, 4, &n), -EINVAL);
	ck_assert_int_eq(num_hex("0x", b, 4, &n), -EINVAL);
	ck_assert_int_eq(num_hex("abc", b, 4, &n), -EINVAL);
	ck_assert_int_eq(num_hex("ag", b, 4, &n), -EINVAL);
	ck_assert_int_eq(num_hex("0102030405", b, 4, &n), -ERANGE);
	ck_assert_uint_eq(n, 77);
	ck_assert_uint_eq(b[0], 9);
	ck_assert_int_eq(num_hex("0x00fFA9", b, 4, &n), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_mem_eq(b, "\x00\xff\xa9\x09", 4);
	ck_assert_int_eq(num_hex("01020304", b, 4, &n), 0);
	ck_assert_mem_eq(b, "\1\2\3\4", 4);
}
END_TEST

START_TEST(ratios_read)
{
	static const struct {
		const char *s;
		uint64_t millionths;
	} good[] = {{"0", 0}, {"1", 1000000}, {"0.5", 500000}, {"1.000000", 1000000},
		{"0.000001", 1}, {"00.25", 250000}};
	static const char *const bad[] = {
		"", ".5", "1.", "-1", "0.5x", "0..5", "0.0000001", "1e-1", " 1", "50%"};
	static const char *const far[] = {
		"1.1", "2", "1.000001", "99999999999999999999999999999999"};
	uint64_t n = 7;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(num_ratio(bad[i], &n) == -EINVAL, "%s", bad[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++)
		ck_assert_msg(num_ratio(far[i], &n) == -ERANGE, "%s", far[i]);
	ck_assert_uint_eq(n, 7);
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_msg(num_ratio(good[i].s, &n) == 0, "%s", good[i].s);
		ck_assert_uint_eq(n, good[i].millionths);
	}
}
END_TEST

START_TEST(durations_read)
{
	static const struct {
		const char *s;
		uint64_t ns;
	} good[] = {{"0", 0}, {"10", 10000000000}, {"10s", 10000000000}, {"1m30s", 90000000000},
		{"250ms", 250000000}, {"1.5h", 5400000000000}, {"1h1m1s1ms1us1ns", 3661001001001},
		{".5s", 500000000}, {"1.s", 1000000000}, {"3\xc2\xb5s", 3000}, {"3\xce\xbcs", 3000},
		{"0.0000000019s", 1}, {"9223372036854775807ns", INT64_MAX},
		{"2562047h47m16.854775807s", INT64_MAX}, {"0.99999999999999999999999s", 999999999}};
	uint64_t ns;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_msg(num_duration(good[i].s, &ns) == 0, "%s", good[i].s);
		ck_assert_msg(ns == good[i].ns, "%s gave %llu", good[i].s, (unsigned long long)ns);
	}
	static const char *const bad[] = {"", "s", ".s", "-1s", "+1s", "1.5", "1m30", "1 s", "1sm",
		"1d", "1S", "1..5s", "1s "};
	ns = 7;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(num_duration(bad[i], &ns) == -EINVAL, "%s", bad[i]);
	static const char *const far[] = {"9223372036854775808ns", "9223372037", "2562048h",
		"99999999999999999999h", "2562047h2562047h", "99999999999999999999"};
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++)
		ck_assert_msg(num_duration(far[i], &ns) == -ERANGE, "%s", far[i]);
	ck_assert_uint_eq(ns, 7);
}
END_TEST

START_TEST(durations_written)
{
	static const struct {
		uint64_t ns;
		const char *s;
	} cases[] = {{0, "0s"}, {1, "1ns"}, {1500, "1.5us"}, {250000000, "250ms"}, {1000000, "1ms"},
		{1000001, "1.000001ms"}, {1000000000, "1s"}, {90000000000, "1m30s"},
		{3600000000000, "1h"}, {3601000000000, "1h1s"}, {5400000000000, "1h30m"},
		{1020000000, "1.02s"}, {UINT64_MAX, "5124095h34m33.709551615s"}};
	char buf[DURATION_TEXT_BYTES];
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_str_eq(num_duration_text(cases[i].ns, buf), cases[i].s);
		uint64_t back;
		if (cases[i].ns <= INT64_MAX) {
			ck_assert_int_eq(num_duration(buf, &back), 0);
			ck_assert_uint_eq(back, cases[i].ns);
		}
	}
}
END_TEST

START_TEST(nearest_word)
{
	static const char *const words[] = {"port", "snmp-port", "auto-count", "auto-start-ip"};
	ck_assert_str_eq(num_nearest("prot", words, 4), "port");
	ck_assert_str_eq(num_nearest("snmp-prot", words, 4), "snmp-port");
	ck_assert_str_eq(num_nearest("auto-cuont", words, 4), "auto-count");
	ck_assert_str_eq(num_nearest("auto_start_ip", words, 4), "auto-start-ip");
	ck_assert_str_eq(num_nearest("port", words, 4), "port");
	ck_assert_ptr_null(num_nearest("xyzzy", words, 4));
	ck_assert_ptr_null(num_nearest("", words, 4));
	ck_assert_ptr_null(num_nearest("port", words, 0));
	/* 1 + 4/3 edits are near, one more is not. */
	ck_assert_str_eq(num_nearest("poxx", words, 4), "port");
	ck_assert_ptr_null(num_nearest("pxxx", words, 4));
	char huge[200];
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = 0;
	ck_assert_ptr_null(num_nearest(huge, words, 4));
}
END_TEST

UNIT_MAIN(u64_is_strict, hex_bytes, ratios_read, durations_read, durations_written, nearest_word)
