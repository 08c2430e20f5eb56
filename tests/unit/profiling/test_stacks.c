#include "base/label.h"
#include "fake.h"
#include "profiling/stacks.h"
#include <errno.h>
#include <string.h>

static struct stack_span span_of(uint32_t id)
{
	struct stack_span s = {.name = "x"};
	memcpy(s.trace_id, &id, sizeof(id));
	s.trace_id[15] = 1;
	memcpy(s.span_id, &id, sizeof(id));
	s.span_id[7] = 1;
	return s;
}

static bool add(struct stacks *s, const struct stack_span *span, uintptr_t pc)
{
	struct stack stack = {
		.label = &label_main, .span = span, .values = {1, 10}, .n = 1, .pcs = &pc};
	return stacks_add(s, &stack);
}

struct sums {
	int64_t linked, unlinked;
	uint32_t rows;
};

static void sum(void *arg, const struct stack *stack)
{
	struct sums *s = arg;
	s->rows++;
	*(stack->span ? &s->linked : &s->unlinked) += stack->values[0];
}

static struct sums sums_of(const struct stacks *s)
{
	struct sums sums = {0};
	stacks_each(s, sum, &sums);
	return sums;
}

START_TEST(spans_beyond_the_most_are_kept_without)
{
	struct fake f = fake_make();
	struct stacks *s = NULL;
	ck_assert_int_eq(stacks_new(f.mem, 1u << 20, &s), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < STACKS_SPANS + 100; i++) {
			struct stack_span span = span_of(i);
			ck_assert_int_eq(add(s, &span, 0x5000), i < STACKS_SPANS);
		}
	ck_assert(add(s, NULL, 0x5000));
	ck_assert_uint_eq(stacks_spans(s), STACKS_SPANS);
	ck_assert_int_eq(stacks_unlinked(s), 200);
	struct sums sums = sums_of(s);
	ck_assert_uint_eq(sums.rows, STACKS_SPANS + 1);
	ck_assert_int_eq(sums.linked, 2 * STACKS_SPANS);
	ck_assert_int_eq(sums.unlinked, 201);
	stacks_clear(s);
	ck_assert_uint_eq(stacks_spans(s), 0);
	struct stack_span again = span_of(7);
	ck_assert(add(s, &again, 0x5000));
	ck_assert_uint_eq(stacks_spans(s), 1);
	(void)stacks_free(s);
	fake_done(&f);
}
END_TEST

static bool is_odd(void *arg, const struct stack_span *span)
{
	uint32_t *asked = arg;
	++*asked;
	return span->span_id[0] & 1;
}

START_TEST(unlinked_stacks_merge_and_nothing_is_lost)
{
	struct fake f = fake_make();
	struct stacks *s = NULL;
	uint32_t asked = 0;
	ck_assert_int_eq(stacks_new(f.mem, 100, &s), 0);
	ck_assert_int_eq(stacks_unlink(&s, is_odd, &asked), 0); /* has no spans: as it was */
	for (uint32_t i = 0; i < 10; i++) {
		struct stack_span span = span_of(i);
		(void)add(s, &span, 0x5000);
		(void)add(s, &span, 0x6000);
	}
	for (uint32_t i = 0; i < 200; i++)
		(void)add(s, NULL, 0x7000 + i); /* more than there is room for */
	int64_t folded = stacks_folded(s)->values[0];
	fake_fail_at(&f, 0);
	ck_assert_int_eq(stacks_unlink(&s, is_odd, &asked), -ENOMEM);
	ck_assert_uint_eq(stacks_spans(s), 10);
	ck_assert_int_eq(stacks_unlink(&s, is_odd, &asked), 0);
	ck_assert_uint_eq(stacks_spans(s), 5);
	ck_assert_int_eq(stacks_unlinked(s), 10);
	struct sums sums = sums_of(s);
	ck_assert_int_eq(sums.linked, 10);
	ck_assert_int_eq(sums.linked + sums.unlinked + stacks_folded(s)->values[0], 220);
	ck_assert_int_eq(stacks_folded(s)->values[0], folded);
	(void)stacks_free(s);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(spans_beyond_the_most_are_kept_without, unlinked_stacks_merge_and_nothing_is_lost)
