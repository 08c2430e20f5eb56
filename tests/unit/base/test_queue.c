#include "base/queue.h"
#include "base/thread.h"
#include "fake.h"
#include <errno.h>
#include <sched.h>

START_TEST(first_in_first_out)
{
	AUTO(queue) struct queue *q = NULL;
	int items[4];
	void *item = NULL;
	ck_assert_int_eq(queue_new(&mem_libc, 3, &q), 0);
	for (unsigned round = 0; round < 5; round++) { /* the ring wraps */
		for (unsigned i = 0; i < 3; i++)
			ck_assert_int_eq(queue_put(q, &items[i]), 0);
		ck_assert_int_eq(queue_put(q, &items[3]), -EAGAIN);
		for (unsigned i = 0; i < 2; i++) {
			ck_assert_int_eq(queue_take(q, &item), 0);
			ck_assert_ptr_eq(item, &items[i]);
		}
		ck_assert_int_eq(queue_put(q, &items[3]), 0);
		ck_assert_int_eq(queue_take(q, &item), 0);
		ck_assert_ptr_eq(item, &items[2]);
		ck_assert_int_eq(queue_take(q, &item), 0);
		ck_assert_ptr_eq(item, &items[3]);
	}
	queue_close(q);
	ck_assert_int_eq(queue_take(q, &item), -EPIPE);
}
END_TEST

START_TEST(closed_refuses_and_drains)
{
	AUTO(queue) struct queue *q = NULL;
	int x, y;
	void *item = &y;
	ck_assert_int_eq(queue_new(&mem_libc, 2, &q), 0);
	ck_assert_int_eq(queue_put(q, &x), 0);
	queue_close(q);
	queue_close(q);
	ck_assert_int_eq(queue_put(q, &y), -EPIPE);
	ck_assert_int_eq(queue_take(q, &item), 0);
	ck_assert_ptr_eq(item, &x);
	ck_assert_int_eq(queue_take(q, &item), -EPIPE);
	ck_assert_ptr_eq(item, &x);
}
END_TEST

#define ITEMS 2000
#define TAKERS 3

struct shared {
	struct queue *q;
	unsigned char seen[ITEMS]; /* one taker each */
};

static void take_all(void *arg)
{
	struct shared *s = arg;
	void *item;
	while (queue_take(s->q, &item) == 0)
		++*(unsigned char *)item;
}

START_TEST(threads_take_each_item_once)
{
	struct fake f = fake_make();
	struct shared s = {0};
	struct thread *threads[TAKERS];
	struct thread_conf conf = {.name = "taker-0", .run = take_all, .arg = &s};
	ck_assert_int_eq(queue_new(f.mem, 16, &s.q), 0);
	for (unsigned i = 0; i < TAKERS; i++)
		ck_assert_int_eq(thread_start(f.mem, &conf, &threads[i]), 0);
	for (unsigned i = 0; i < ITEMS;) {
		int r = queue_put(s.q, &s.seen[i]);
		ck_assert(r == 0 || r == -EAGAIN);
		if (r == 0)
			i++;
		else
			sched_yield();
	}
	queue_close(s.q); /* wakes those who wait for more */
	for (unsigned i = 0; i < TAKERS; i++)
		threads[i] = thread_join(threads[i]);
	for (unsigned i = 0; i < ITEMS; i++)
		ck_assert_uint_eq(s.seen[i], 1);
	s.q = queue_free(s.q);
	fake_done(&f);
}
END_TEST

static int make_queue(struct fake *f, void *arg UNUSED)
{
	AUTO(queue) struct queue *q = NULL;
	return queue_new(f->mem, QUEUE_ROOM_MAX, &q);
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_queue, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(first_in_first_out, closed_refuses_and_drains, threads_take_each_item_once,
	each_allocation_may_fail)
