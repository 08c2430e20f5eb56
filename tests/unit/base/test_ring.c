#include "base/ring.h"
#include "base/rnd.h"
#include "base/thread.h"
#include "fake.h"
#include <sched.h>

#define ROOM 64

struct record {
	uint32_t words;
	uint32_t n; /* in order of writing */
	uint64_t payload[];
};

/* Reserves as much as may be needed, uses some of it. */
static bool write_record(struct ring *r, uint32_t n)
{
	uint32_t most = 1 + rnd_below(1, 0, n, ROOM / 2), words = 1 + rnd_below(1, 1, n, most);
	struct record *rec = ring_reserve(r, most);
	if (!rec)
		return false;
	rec->n = n;
	for (uint32_t i = 0; i + 1 < words; i++)
		rec->payload[i] = rnd_u64(1, n, i);
	ring_put(r, words);
	return true;
}

static bool read_record(struct ring *r, uint32_t n)
{
	const struct record *rec = ring_peek(r);
	if (!rec)
		return false;
	ck_assert_uint_eq(rec->n, n);
	ck_assert_uint_eq(rec->words, 1 + rnd_below(1, 1, n, 1 + rnd_below(1, 0, n, ROOM / 2)));
	for (uint32_t i = 0; i + 1 < rec->words; i++)
		ck_assert_uint_eq(rec->payload[i], rnd_u64(1, n, i));
	ring_next(r);
	return true;
}

START_TEST(records_come_out_as_they_went_in)
{
	uint64_t words[ROOM];
	struct ring r = ring_make(words, ROOM);
	uint32_t in = 0, out = 0, refused = 0;
	for (uint64_t step = 0; step < 100000; step++) {
		if (rnd_u64(2, 0, step) % 2) {
			if (write_record(&r, in))
				in++;
			else
				refused++;
		} else if (read_record(&r, out)) {
			out++;
		} else {
			ck_assert_uint_eq(in, out);
		}
	}
	while (read_record(&r, out))
		out++;
	ck_assert_uint_eq(in, out);
	ck_assert_uint_gt(in, 10000);
	ck_assert_uint_gt(refused, 1000);
}
END_TEST

START_TEST(a_full_ring_refuses_and_keeps)
{
	uint64_t words[8];
	struct ring r = ring_make(words, 8);
	for (uint32_t n = 0; n < 8; n++) {
		struct record *rec = ring_reserve(&r, 1);
		ck_assert_ptr_nonnull(rec);
		rec->n = n;
		ring_put(&r, 1);
	}
	ck_assert_ptr_null(ring_reserve(&r, 1));
	for (uint32_t n = 0; n < 3; n++) {
		const struct record *rec = ring_peek(&r);
		ck_assert_uint_eq(rec->n, n);
		ring_next(&r);
	}
	/* Three words are free, at the start. */
	ck_assert_ptr_null(ring_reserve(&r, 4));
	ck_assert_ptr_eq(ring_reserve(&r, 3), words);
	ring_put(&r, 3);
	ck_assert_ptr_null(ring_reserve(&r, 1));
}
END_TEST

START_TEST(what_does_not_fit_at_the_end_goes_to_the_start)
{
	uint64_t words[8];
	struct ring r = ring_make(words, 8);
	ck_assert_ptr_nonnull(ring_reserve(&r, 4));
	ring_put(&r, 3);
	ck_assert_ptr_nonnull(ring_reserve(&r, 3));
	ring_put(&r, 3);
	ck_assert_ptr_null(ring_reserve(&r, 3)); /* two words at the end, none at the start */
	ring_next(&r);
	ck_assert_ptr_eq(ring_reserve(&r, 3), words);
	ck_assert_ptr_eq(ring_peek(&r), words + 3);
	ring_next(&r);
	ck_assert_ptr_null(
		ring_peek(&r)); /* the reader went on behind the mark, nothing is there */
	ck_assert_ptr_eq(ring_reserve(&r, 4), words); /* asked again, as nothing was put */
	ring_put(&r, 1);
	ck_assert_ptr_eq(ring_peek(&r), words);
}
END_TEST

#define RECORDS 20000

static void write_all(void *arg)
{
	for (uint32_t n = 0; n < RECORDS;)
		if (write_record(arg, n))
			n++;
		else
			sched_yield();
}

START_TEST(two_threads_agree)
{
	uint64_t words[ROOM];
	struct ring r = ring_make(words, ROOM);
	struct thread *t;
	struct thread_conf conf = {.name = "writer-0", .run = write_all, .arg = &r};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	for (uint32_t n = 0; n < RECORDS;)
		if (read_record(&r, n))
			n++;
		else
			sched_yield();
	t = thread_join(t);
	ck_assert_ptr_null(ring_peek(&r));
}
END_TEST

UNIT_MAIN(records_come_out_as_they_went_in, a_full_ring_refuses_and_keeps,
	what_does_not_fit_at_the_end_goes_to_the_start, two_threads_agree)
