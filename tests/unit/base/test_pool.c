#include "base/pool.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

START_TEST(objects_are_apart_and_aligned)
{
	static const size_t sizes[] = {1, 8, 24, 100, 256, 4096, POOL_OBJECT_BYTES_MAX};
	static const size_t aligns[] = {1, 8, 64, 4096};
	for (unsigned s = 0; s < ARRAY_SIZE(sizes); s++)
		for (unsigned a = 0; a < ARRAY_SIZE(aligns); a++) {
			AUTO(pool) struct pool *p = NULL;
			unsigned char *taken[100];
			ck_assert_int_eq(pool_new(&mem_libc, "test", sizes[s], aligns[a], &p), 0);
			for (unsigned i = 0; i < 100; i++) {
				taken[i] = pool_take(p);
				ck_assert_ptr_nonnull(taken[i]);
				ck_assert_uint_eq((uintptr_t)taken[i] % aligns[a], 0);
				memset(taken[i], (int)i, sizes[s]);
			}
			ck_assert_uint_ge(pool_mapped_bytes(p), 100 * sizes[s]);
			for (unsigned i = 0; i < 100; i++)
				ck_assert(taken[i][0] == i &&
					  memcmp(taken[i], taken[i] + 1, sizes[s] - 1) == 0);
		}
}
END_TEST

START_TEST(given_objects_are_taken_again)
{
	AUTO(pool) struct pool *p = NULL;
	void *taken[5000];
	ck_assert_int_eq(pool_new(&mem_libc, "test", 64, 64, &p), 0);
	ck_assert_uint_eq(pool_mapped_bytes(p), 0);
	for (unsigned i = 0; i < 5000; i++)
		taken[i] = pool_take(p);
	uint64_t mapped = pool_mapped_bytes(p);
	pool_give(p, NULL);
	for (unsigned i = 0; i < 5000; i++)
		pool_give(p, taken[i]);
	for (unsigned i = 0; i < 5000; i++) {
		taken[i] = pool_take(p);
		memset(taken[i], 1, 64);
	}
	ck_assert_uint_eq(pool_mapped_bytes(p), mapped);
	/* 320,000 bytes of objects: chunks double, so less than as much again is unused. */
	ck_assert_uint_lt(mapped, 2 * 5000 * 64 + (64 << 10));
}
END_TEST

START_TEST(chunks_grow_to_two_mebibytes)
{
	static const uint64_t kib[] = {64, 192, 448, 960, 1984, 4032, 6080, 8128};
	AUTO(pool) struct pool *p = NULL;
	unsigned chunks = 0;
	uint64_t before = 0;
	ck_assert_int_eq(pool_new(&mem_libc, "test", 1024, 1, &p), 0);
	while (chunks < ARRAY_SIZE(kib)) {
		ck_assert_ptr_nonnull(pool_take(p));
		if (pool_mapped_bytes(p) == before)
			continue;
		before = pool_mapped_bytes(p);
		ck_assert_uint_eq(before, kib[chunks++] << 10);
	}
}
END_TEST

static int make_pool(struct fake *f, void *arg UNUSED)
{
	AUTO(pool) struct pool *p = NULL;
	int r = pool_new(f->mem, "test", 8, 8, &p);
	/* Two chunks. */
	for (unsigned i = 0; r == 0 && i <= (64 << 10) / 8; i++)
		r = pool_take(p) ? 0 : -ENOMEM;
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_pool, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(objects_are_apart_and_aligned, given_objects_are_taken_again,
	chunks_grow_to_two_mebibytes, each_allocation_may_fail)
