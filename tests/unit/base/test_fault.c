#include "base/fault.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

START_TEST(tells_what_is_wrong)
{
	struct fault f = {0};
	ck_assert_int_eq(
		fault_set(&f, -EINVAL, "/device_count", "1..16", "%d is below %d", 0, 1), -EINVAL);
	ck_assert_int_eq(f.code, -EINVAL);
	ck_assert_str_eq(f.field, "/device_count");
	ck_assert_str_eq(f.allowed, "1..16");
	ck_assert_str_eq(f.text, "0 is below 1");
	ck_assert_int_eq(fault_set(&f, -ENOENT, NULL, NULL, "gone"), -ENOENT);
	ck_assert_str_eq(f.field, "");
	ck_assert_str_eq(f.allowed, "");
	ck_assert_int_eq(fault_set(NULL, -EBUSY, NULL, NULL, "nobody asks"), -EBUSY);
}
END_TEST

START_TEST(foreign_bytes_and_lengths_do_no_harm)
{
	char big[1000];
	struct fault f;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	(void)fault_set(&f, -EINVAL, big, big, "%s", big);
	ck_assert_uint_eq(strlen(f.field), sizeof(f.field) - 1);
	ck_assert_uint_eq(strlen(f.allowed), sizeof(f.allowed) - 1);
	ck_assert_uint_eq(strlen(f.text), sizeof(f.text) - 1);
	(void)fault_set(&f, -EINVAL, "a\nb", "\x7f", "%s", "\x1b[2J\xc3\xa9");
	ck_assert_str_eq(f.field, "a?b");
	ck_assert_str_eq(f.allowed, "?");
	ck_assert_str_eq(f.text, "?[2J??");
}
END_TEST

UNIT_MAIN(tells_what_is_wrong, foreign_bytes_and_lengths_do_no_harm)
