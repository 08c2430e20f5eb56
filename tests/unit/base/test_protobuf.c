#include "base/protobuf.h"
#include "fake.h"
#include <errno.h>

static void check(const struct text *t, const char *bytes, size_t n)
{
	ck_assert_int_eq(t->err, 0);
	ck_assert_uint_eq(t->len, n);
	ck_assert_mem_eq(t->s, bytes, n);
}

START_TEST(varints_are_as_short_as_they_can)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	protobuf_varint(&t, 0);
	protobuf_varint(&t, 127);
	protobuf_varint(&t, 128);
	protobuf_varint(&t, UINT64_MAX);
	check(&t, "\x00\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
}
END_TEST

START_TEST(fields_have_number_and_type)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	protobuf_uint(&t, 1, 150); /* the documentation's example */
	protobuf_uint(&t, 2, 0);   /* left out */
	protobuf_bytes(&t, 2, "testing", 7);
	protobuf_bytes(&t, 16, NULL, 0);
	check(&t, "\x08\x96\x01\x12\x07testing\x82\x01\x00", 15);
}
END_TEST

START_TEST(want_of_memory_sticks)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	fake_fail_at(&f, 0);
	protobuf_uint(&t, 1, 1);
	protobuf_bytes(&t, 2, "x", 1);
	ck_assert_int_eq(t.err, -ENOMEM);
	text_done(&t);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(varints_are_as_short_as_they_can, fields_have_number_and_type, want_of_memory_sticks)
