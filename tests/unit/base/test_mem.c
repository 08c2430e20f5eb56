#include "base/mem.h"
#include "fake.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

START_TEST(zeroed_copied_resized)
{
	struct fake f = fake_make();
	unsigned char *p = mem_zalloc(f.mem, 64);
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(p[i], 0);
	memset(p, 7, 64);
	unsigned char *q = mem_resize(f.mem, p, 100, 10);
	ck_assert_ptr_nonnull(q);
	ck_assert_uint_eq(q[0], 7);
	ck_assert_uint_eq(q[63], 7);
	ck_assert_int_eq(fake_live(&f), 1);
	ck_assert_ptr_null(mem_free(f.mem, q));
	ck_assert_ptr_null(mem_free(f.mem, NULL));
	char *s = mem_strdup(f.mem, "text");
	ck_assert_str_eq(s, "text");
	s = mem_free(f.mem, s);
	void *none = mem_alloc(f.mem, 0); /* something to free, not a failure */
	ck_assert_ptr_nonnull(none);
	none = mem_free(f.mem, none);
	fake_done(&f);
}
END_TEST

START_TEST(products_that_overflow_are_refused)
{
	struct fake f = fake_make();
	char *p = mem_alloc(f.mem, 8);
	ck_assert_ptr_null(mem_array(f.mem, SIZE_MAX / 2, 3));
	ck_assert_ptr_null(mem_resize(f.mem, p, SIZE_MAX / 8 + 1, 8));
	ck_assert_ptr_null(mem_resize(f.mem, p, 0, 8)); /* p stays valid */
	p[7] = 1;
	p = mem_free(f.mem, p);
	fake_done(&f);
}
END_TEST

START_TEST(the_real_allocator)
{
	char *p = mem_array(&mem_libc, 10, 10);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(p[99], 0);
	p = mem_free(&mem_libc, p);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(descriptors_close_at_the_end_of_their_scope)
{
	int fds[2], kept;
	ck_assert_int_eq(pipe(fds), 0);
	{
		AUTO_FD int first = fds[0], second = fds[1], none = -1;
		kept = TAKE_FD(second);
		ck_assert_int_eq(second, -1);
		ck_assert_int_eq(none, -1);
		ck_assert_int_eq(first, fds[0]);
	}
	ck_assert_int_eq(close(fds[0]), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(close(kept), 0);
}
END_TEST

UNIT_MAIN(zeroed_copied_resized, products_that_overflow_are_refused, the_real_allocator,
	descriptors_close_at_the_end_of_their_scope)
