#include "base/wheel.h"
#include <assert.h>
#include <errno.h>

/* A timer's level is the highest base-64 digit in which its tick differs from the current one, its
 * slot that digit. So the slots in use of a level lie behind the current digit, a lower level is
 * due before a higher one, and eleven levels reach every 64-bit tick. When the wheel comes to a
 * slot of a higher level, its timers move down. */
#define DIGIT_BITS 6
#define SLOTS (1u << DIGIT_BITS)
#define LEVELS 11

struct wheel {
	const struct mem *mem;
	uint64_t tick_ns, start_ns, tick; /* tick: all before and itself have fired */
	struct wheel_timer *late;	  /* armed for a tick not after the current one */
	uint64_t used[LEVELS];		  /* a bit for each slot that is not empty */
	struct wheel_timer *slots[LEVELS][SLOTS];
};

int wheel_new(const struct mem *mem, uint64_t tick_ns, uint64_t now_ns, struct wheel **ret_w)
{
	assert(tick_ns > 0);
	struct wheel *w = mem_zalloc(mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->mem = mem;
	w->tick_ns = tick_ns;
	w->start_ns = now_ns;
	*ret_w = w;
	return 0;
}

struct wheel *wheel_free(struct wheel *w)
{
	return w ? mem_free(w->mem, w) : NULL;
}

static unsigned level_of(const struct wheel *w, uint64_t tick)
{
	return (63 - (unsigned)__builtin_clzll((tick ^ w->tick) | (SLOTS - 1))) / DIGIT_BITS;
}

static unsigned digit_of(uint64_t tick, unsigned level)
{
	return tick >> level * DIGIT_BITS & (SLOTS - 1);
}

static void push(struct wheel_timer **head, struct wheel_timer *t)
{
	t->next = *head;
	t->prev = head;
	if (t->next)
		t->next->prev = &t->next;
	*head = t;
}

static void unlink_timer(struct wheel_timer *t)
{
	*t->prev = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->prev = NULL;
}

static void place(struct wheel *w, struct wheel_timer *t)
{
	if (t->at_tick <= w->tick) {
		push(&w->late, t);
		return;
	}
	unsigned level = level_of(w, t->at_tick), digit = digit_of(t->at_tick, level);
	push(&w->slots[level][digit], t);
	w->used[level] |= 1ull << digit;
}

void wheel_arm(struct wheel *w, struct wheel_timer *t, uint64_t at_ns)
{
	wheel_disarm(w, t);
	uint64_t after_ns = at_ns > w->start_ns ? at_ns - w->start_ns : 0;
	t->at_tick = after_ns / w->tick_ns + (after_ns % w->tick_ns != 0);
	place(w, t);
}

void wheel_disarm(struct wheel *w, struct wheel_timer *t)
{
	if (!t->prev)
		return;
	unlink_timer(t);
	if (t->at_tick <= w->tick) /* late, or about to fire: in no slot */
		return;
	unsigned level = level_of(w, t->at_tick), digit = digit_of(t->at_tick, level);
	if (!w->slots[level][digit])
		w->used[level] &= ~(1ull << digit);
}

/* First tick of the first slot in use; false: none is. */
static bool next_slot(const struct wheel *w, unsigned *ret_level, uint64_t *ret_tick)
{
	for (unsigned level = 0; level < LEVELS; level++)
		if (w->used[level]) {
			unsigned shift = level * DIGIT_BITS;
			uint64_t digit = (uint64_t)__builtin_ctzll(w->used[level]);
			uint64_t above = shift + DIGIT_BITS >= 64
						 ? 0
						 : w->tick >> (shift + DIGIT_BITS)
								      << (shift + DIGIT_BITS);
			*ret_level = level;
			*ret_tick = above | digit << shift;
			return true;
		}
	return false;
}

static void take_list(struct wheel_timer **from, struct wheel_timer **to)
{
	*to = *from;
	*from = NULL;
	if (*to)
		(*to)->prev = to;
}

/* A callback may take timers off the list, too. */
static void fire_list(struct wheel_timer **head)
{
	for (struct wheel_timer *t; (t = *head);) {
		unlink_timer(t);
		t->fire(t->arg);
	}
}

/* Makes the first tick of a slot the current one. */
static void enter_slot(struct wheel *w, unsigned level, uint64_t tick)
{
	unsigned digit = digit_of(tick, level);
	struct wheel_timer *list, *due = NULL;
	take_list(&w->slots[level][digit], &list);
	w->used[level] &= ~(1ull << digit);
	w->tick = tick;
	for (struct wheel_timer *t; (t = list);) {
		unlink_timer(t);
		if (t->at_tick == tick)
			push(&due, t);
		else
			place(w, t);
	}
	fire_list(&due);
}

void wheel_run(struct wheel *w, uint64_t now_ns)
{
	uint64_t now_tick = now_ns > w->start_ns ? (now_ns - w->start_ns) / w->tick_ns : 0;
	struct wheel_timer *late;
	take_list(&w->late, &late);
	fire_list(&late);
	unsigned level;
	uint64_t tick;
	while (next_slot(w, &level, &tick) && tick <= now_tick)
		enter_slot(w, level, tick);
	w->tick = MAX(w->tick, now_tick);
}

uint64_t wheel_next_ns(const struct wheel *w)
{
	unsigned level;
	uint64_t tick = w->tick, ns;
	if (!w->late && !next_slot(w, &level, &tick))
		return UINT64_MAX;
	if (__builtin_mul_overflow(tick, w->tick_ns, &ns) ||
		__builtin_add_overflow(ns, w->start_ns, &ns))
		return UINT64_MAX - 1; /* of an armed timer that no clock will reach */
	return ns;
}
