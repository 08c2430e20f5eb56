#include "base/stats.h"
#include "base/thread.h"
#include "fake.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct box {
	uint64_t in_items, out_items, level_items;
};
static const struct counter box_counters[] = {
	COUNTER(struct box, in_items, "Items put in"),
	COUNTER(struct box, out_items, "Items taken out"),
	GAUGE(struct box, level_items, "Items within"),
	{0},
};
struct lamp {
	uint64_t flashes;
};
static const struct counter lamp_counters[] = {
	COUNTER(struct lamp, flashes, "Flashes"),
	{0},
};

static void write_down(void *arg, const struct counter *c, const char *name, uint64_t value)
{
	char *out = arg;
	size_t at = strlen(out);
	(void)snprintf(out + at, 1000 - at, "%s.%s%s%s=%" PRIu64 " ", c->owner, c->field,
		name ? ":" : "", name ? name : "", value);
}

static const char *all(struct stats *s, char out[static 1000])
{
	out[0] = 0;
	stats_each(s, write_down, out);
	return out;
}

START_TEST(named_instances)
{
	struct fake f = fake_make();
	struct stats *s;
	char out[1000];
	struct box a = {1, 2, 3}, b = {10, 20, 30};
	struct lamp l = {7};
	ck_assert_int_eq(stats_new(f.mem, &s), 0);
	char name[2] = "a";
	ck_assert_int_eq(stats_attach(s, box_counters, name, &a), 0);
	name[0] = '!'; /* the name was copied */
	ck_assert_int_eq(stats_attach(s, lamp_counters, NULL, &l), 0);
	ck_assert_int_eq(stats_attach(s, box_counters, "b", &b), 0);
	stat_add(&a.in_items, 4);
	stat_set(&b.level_items, 31);
	ck_assert_str_eq(all(s, out),
		"box.in_items:a=5 box.in_items:b=10 box.out_items:a=2 box.out_items:b=20 "
		"box.level_items:a=3 box.level_items:b=31 lamp.flashes=7 ");
	stats_detach(s, &a);
	ck_assert_str_eq(all(s, out),
		"box.in_items:b=10 box.in_items:(gone)=5 box.out_items:b=20 box.out_items:(gone)=2 "
		"box.level_items:b=31 lamp.flashes=7 ");
	stats_detach(s, &b);
	stats_detach(s, &b);
	ck_assert_str_eq(
		all(s, out), "box.in_items:(gone)=15 box.out_items:(gone)=22 lamp.flashes=7 ");
	a.in_items = 0;
	ck_assert_int_eq(stats_attach(s, box_counters, "c", &a), 0);
	ck_assert_str_eq(all(s, out),
		"box.in_items:c=0 box.in_items:(gone)=15 box.out_items:c=2 box.out_items:(gone)=22 "
		"box.level_items:c=3 lamp.flashes=7 ");
	s = stats_free(s);
	fake_done(&f);
}
END_TEST

START_TEST(unnamed_instances_count_as_one)
{
	AUTO(stats) struct stats *s = NULL;
	char out[1000];
	struct lamp l = {7}, m = {3};
	ck_assert_int_eq(stats_new(&mem_libc, &s), 0);
	ck_assert_int_eq(stats_attach(s, lamp_counters, NULL, &l), 0);
	ck_assert_int_eq(stats_attach(s, lamp_counters, NULL, &m), 0);
	ck_assert_str_eq(all(s, out), "lamp.flashes=10 ");
	stats_detach(s, &l);
	ck_assert_str_eq(all(s, out), "lamp.flashes=10 ");
	stats_detach(s, &m);
	ck_assert_str_eq(all(s, out), "lamp.flashes=10 ");
	l.flashes = 0; /* stopped and started again: the sum does not fall */
	ck_assert_int_eq(stats_attach(s, lamp_counters, NULL, &l), 0);
	stat_add(&l.flashes, 1);
	ck_assert_str_eq(all(s, out), "lamp.flashes=11 ");
	stats_detach(s, &l);
}
END_TEST

static int attach_two(struct fake *f, void *arg UNUSED)
{
	AUTO(stats) struct stats *s = NULL;
	struct box a = {1};
	struct lamp l = {1};
	int r = stats_new(f->mem, &s);
	if (r < 0)
		return r;
	r = stats_attach(s, box_counters, "a", &a);
	if (r == 0)
		r = stats_attach(s, lamp_counters, NULL, &l);
	if (r < 0) {
		char out[1000];
		ck_assert_ptr_null(strstr(all(s, out), "lamp"));
	}
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, attach_two, NULL);
	fake_done(&f);
}
END_TEST

#define ROUNDS 300

static void come_and_go(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct lamp l = {0};
		ck_assert_int_eq(stats_attach(arg, lamp_counters, NULL, &l), 0);
		stat_add(&l.flashes, 2);
		stats_detach(arg, &l);
	}
}

static void take_value(
	void *arg, const struct counter *c UNUSED, const char *name UNUSED, uint64_t value)
{
	*(uint64_t *)arg = value;
}

START_TEST(sums_never_fall_while_instances_come_and_go)
{
	AUTO(stats) struct stats *s = NULL;
	ck_assert_int_eq(stats_new(&mem_libc, &s), 0);
	struct thread_conf conf = {.name = "lamp-0", .run = come_and_go, .arg = s};
	struct thread *threads[3];
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &threads[i]), 0);
	uint64_t before = 0, now = 0;
	while (now < 2 * ROUNDS * ARRAY_SIZE(threads)) {
		stats_each(s, take_value, &now);
		ck_assert_uint_ge(now, before);
		before = now;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = thread_join(threads[i]);
	stats_each(s, take_value, &now);
	ck_assert_uint_eq(now, 2 * ROUNDS * ARRAY_SIZE(threads));
}
END_TEST

UNIT_MAIN(named_instances, unnamed_instances_count_as_one, each_allocation_may_fail,
	sums_never_fall_while_instances_come_and_go)
