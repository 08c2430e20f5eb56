#include "profiling/stacks.h"
#include <errno.h>
#include <string.h>

struct entry {
	uint32_t hash, next; /* 1-based chain */
	uint32_t pcs_at;     /* in words */
	uint32_t span;	     /* 1-based; 0: none */
	struct stack s;
};
struct stacks {
	const struct mem *mem;
	uint32_t max, n, room, slots_n;
	uint32_t *slots; /* 1-based heads of the chains */
	struct entry *entries;
	uintptr_t *words;
	size_t words_n, words_room;
	struct stack_span *spans;
	uint32_t spans_n, spans_room;
	uint32_t *span_slots; /* 1-based, of SPAN_SLOTS; NULL: there was no span yet */
	int64_t unlinked;
	struct stack folded;
};
#define SPAN_SLOTS (2u * STACKS_SPANS)
#define SPAN_IDS_BYTES offsetof(struct stack_span, name)

int stacks_new(const struct mem *mem, uint32_t max, struct stacks **ret_stacks)
{
	struct stacks *s = mem_zalloc(mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->mem = mem;
	s->max = max;
	*ret_stacks = s;
	return 0;
}

struct stacks *stacks_free(struct stacks *s)
{
	if (!s)
		return NULL;
	mem_free(s->mem, s->slots);
	mem_free(s->mem, s->entries);
	mem_free(s->mem, s->words);
	mem_free(s->mem, s->spans);
	mem_free(s->mem, s->span_slots);
	return mem_free(s->mem, s);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

static uint32_t hash_stack(const struct stack *s, uint32_t span)
{
	uint64_t h = mix(s->n, (uintptr_t)s->label);
	h = mix(h, s->number << 8 | s->end);
	h = mix(h, span);
	for (unsigned i = 0; i < s->n; i++)
		h = mix(h, s->pcs[i]);
	return (uint32_t)(h ^ h >> 32);
}

/* Where the span is, or is to be, in span_slots. */
static uint32_t span_slot(const struct stacks *s, const struct stack_span *span)
{
	uint64_t id;
	memcpy(&id, span->span_id, sizeof(id));
	uint32_t at = (uint32_t)mix(0, id) & (SPAN_SLOTS - 1), i;
	while ((i = s->span_slots[at]) && memcmp(&s->spans[i - 1], span, SPAN_IDS_BYTES) != 0)
		at = (at + 1) & (SPAN_SLOTS - 1);
	return at;
}

static bool same(
	const struct stacks *s, const struct entry *e, const struct stack *add, uint32_t span)
{
	return e->s.label == add->label && e->s.number == add->number && e->s.end == add->end &&
	       e->s.n == add->n && e->span == span &&
	       (add->n == 0 ||
		       memcmp(s->words + e->pcs_at, add->pcs, add->n * sizeof(*add->pcs)) == 0);
}

/* Doubles an array so that it holds at least need. */
static int grow(const struct mem *mem, void *array, size_t *room, size_t need, size_t bytes)
{
	size_t n = *room ? *room : 64;
	while (n < need)
		n *= 2;
	if (n == *room)
		return 0;
	void *p = mem_resize(mem, *(void **)array, n, bytes);
	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	*room = n;
	return 0;
}

static int grow_slots(struct stacks *s)
{
	uint32_t n = s->slots_n ? s->slots_n * 2 : 256;
	uint32_t *slots = mem_array(s->mem, n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		struct entry *e = &s->entries[i];
		e->next = slots[e->hash & (n - 1)];
		slots[e->hash & (n - 1)] = i + 1;
	}
	mem_free(s->mem, s->slots);
	s->slots = slots;
	s->slots_n = n;
	return 0;
}

static int make_room(struct stacks *s, const struct stack *add)
{
	size_t room = s->room;
	int r = grow(s->mem, &s->words, &s->words_room, s->words_n + add->n, sizeof(*s->words));
	if (r == 0)
		r = grow(s->mem, &s->entries, &room, s->n + 1u, sizeof(*s->entries));
	if (r == 0)
		s->room = (uint32_t)room;
	if (r == 0 && s->n >= s->slots_n)
		r = grow_slots(s);
	return r;
}

static int make_span_room(struct stacks *s)
{
	size_t room = s->spans_room;
	if (!s->span_slots)
		s->span_slots = mem_array(s->mem, SPAN_SLOTS, sizeof(*s->span_slots));
	if (!s->span_slots)
		return -ENOMEM;
	int r = grow(s->mem, &s->spans, &room, s->spans_n + 1u, sizeof(*s->spans));
	if (r == 0)
		s->spans_room = (uint32_t)room;
	return r;
}

/* Its index, from 1; 0: none, or there is no room for it. */
static uint32_t intern_span(struct stacks *s, const struct stack_span *span)
{
	if (!span)
		return 0;
	if (s->span_slots) {
		uint32_t i = s->span_slots[span_slot(s, span)];
		if (i)
			return i;
	}
	if (s->spans_n == STACKS_SPANS || make_span_room(s) < 0)
		return 0;
	s->spans[s->spans_n++] = *span;
	s->span_slots[span_slot(s, span)] = s->spans_n;
	return s->spans_n;
}

static void add_values(struct stack *to, const struct stack *add)
{
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		to->values[i] += add->values[i];
}

static void add_with(struct stacks *s, const struct stack *add, uint32_t span)
{
	uint32_t hash = hash_stack(add, span);
	for (uint32_t i = s->slots_n ? s->slots[hash & (s->slots_n - 1)] : 0; i;
		i = s->entries[i - 1].next)
		if (s->entries[i - 1].hash == hash && same(s, &s->entries[i - 1], add, span)) {
			add_values(&s->entries[i - 1].s, add);
			return;
		}
	if (s->n == s->max || make_room(s, add) < 0) {
		add_values(&s->folded, add);
		return;
	}
	struct entry *e = &s->entries[s->n++];
	*e = (struct entry){.hash = hash, .pcs_at = (uint32_t)s->words_n, .span = span, .s = *add};
	if (add->n)
		memcpy(s->words + s->words_n, add->pcs, add->n * sizeof(*add->pcs));
	s->words_n += add->n;
	e->next = s->slots[hash & (s->slots_n - 1)];
	s->slots[hash & (s->slots_n - 1)] = s->n;
}

bool stacks_add(struct stacks *s, const struct stack *add)
{
	uint32_t span = intern_span(s, add->span);
	bool kept = span || !add->span;
	if (!kept)
		s->unlinked += add->values[0];
	add_with(s, add, span);
	return kept;
}

void stacks_each(
	const struct stacks *s, void (*fn)(void *arg, const struct stack *stack), void *arg)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct stack out = s->entries[i].s;
		out.pcs = s->words + s->entries[i].pcs_at;
		out.span = s->entries[i].span ? &s->spans[s->entries[i].span - 1] : NULL;
		fn(arg, &out);
	}
}

uint32_t stacks_count(const struct stacks *s)
{
	return s->n;
}

uint32_t stacks_spans(const struct stacks *s)
{
	return s->spans_n;
}

int64_t stacks_unlinked(const struct stacks *s)
{
	return s->unlinked;
}

const struct stack *stacks_folded(const struct stacks *s)
{
	return &s->folded;
}

void stacks_clear(struct stacks *s)
{
	s->n = s->spans_n = 0;
	s->words_n = 0;
	if (s->slots)
		memset(s->slots, 0, s->slots_n * sizeof(*s->slots));
	if (s->span_slots)
		memset(s->span_slots, 0, SPAN_SLOTS * sizeof(*s->span_slots));
	s->unlinked = 0;
	s->folded = (struct stack){0};
}

uint64_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + s->slots_n * sizeof(*s->slots) + s->room * sizeof(*s->entries) +
	       s->words_room * sizeof(*s->words) + s->spans_room * sizeof(*s->spans) +
	       (s->span_slots ? SPAN_SLOTS * sizeof(*s->span_slots) : 0);
}

void stacks_add_said(struct stacks *s, enum said what, const struct label *label,
	const int64_t values[STACKS_VALUES])
{
	uintptr_t pc = said_pc(what);
	struct stack add = {.label = label, .end = UNWIND_ENTRY, .n = 1, .pcs = &pc};
	memcpy(add.values, values, sizeof(add.values));
	(void)stacks_add(s, &add);
}

static void add_entry(void *arg, const struct stack *stack)
{
	(void)stacks_add(arg, stack);
}

void stacks_add_all(struct stacks *s, const struct stacks *from)
{
	stacks_each(from, add_entry, s);
}

struct unlinking {
	struct stacks *to;
	bool (*drop)(void *arg, const struct stack_span *span);
	void *arg;
	const struct stack_span *last; /* what was asked for last, and the answer */
	bool last_drops;
};

static void copy_entry(void *arg, const struct stack *stack)
{
	struct unlinking *u = arg;
	struct stack out = *stack;
	if (out.span && out.span != u->last) {
		u->last = out.span;
		u->last_drops = u->drop(u->arg, out.span);
	}
	if (out.span && u->last_drops) {
		u->to->unlinked += out.values[0];
		out.span = NULL;
	}
	(void)stacks_add(u->to, &out);
}

int stacks_unlink(
	struct stacks **s, bool (*drop)(void *arg, const struct stack_span *span), void *arg)
{
	struct stacks *from = *s;
	if (!from->spans_n)
		return 0;
	AUTO(stacks) struct stacks *to = NULL;
	int r = stacks_new(from->mem, from->max, &to);
	if (r < 0)
		return r;
	struct unlinking u = {.to = to, .drop = drop, .arg = arg};
	stacks_each(from, copy_entry, &u);
	to->unlinked += from->unlinked;
	to->folded = from->folded;
	*s = TAKE(to);
	(void)stacks_free(from);
	return 0;
}
