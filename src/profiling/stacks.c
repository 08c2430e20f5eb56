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
	struct stack folded;
};

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
	return mem_free(s->mem, s);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

static uint32_t hash_stack(const struct stack *s)
{
	uint64_t h = mix(s->n, (uintptr_t)s->label);
	h = mix(h, s->number << 8 | s->end);
	if (s->span) {
		uint64_t id;
		memcpy(&id, s->span->span_id, sizeof(id));
		h = mix(h, id);
	}
	for (unsigned i = 0; i < s->n; i++)
		h = mix(h, s->pcs[i]);
	return (uint32_t)(h ^ h >> 32);
}

static bool same_span(const struct stacks *s, uint32_t i, const struct stack_span *span)
{
	if (!i || !span)
		return !i && !span;
	return memcmp(&s->spans[i - 1], span, offsetof(struct stack_span, name)) == 0;
}

static bool same(const struct stacks *s, const struct entry *e, const struct stack *add)
{
	return e->s.label == add->label && e->s.number == add->number && e->s.end == add->end &&
	       e->s.n == add->n && same_span(s, e->span, add->span) &&
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
	size_t room = s->room, spans_room = s->spans_room;
	int r = grow(s->mem, &s->words, &s->words_room, s->words_n + add->n, sizeof(*s->words));
	if (r == 0)
		r = grow(s->mem, &s->entries, &room, s->n + 1u, sizeof(*s->entries));
	if (r == 0)
		s->room = (uint32_t)room;
	if (r == 0 && add->span)
		r = grow(s->mem, &s->spans, &spans_room, s->spans_n + 1u, sizeof(*s->spans));
	if (r == 0)
		s->spans_room = (uint32_t)spans_room;
	if (r == 0 && s->n >= s->slots_n)
		r = grow_slots(s);
	return r;
}

static uint32_t intern_span(struct stacks *s, const struct stack_span *span)
{
	if (!span)
		return 0;
	for (uint32_t i = s->spans_n; i > 0 && i + 16 > s->spans_n; i--)
		if (same_span(s, i, span))
			return i;
	s->spans[s->spans_n++] = *span;
	return s->spans_n;
}

static void add_values(struct stack *to, const struct stack *add)
{
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		to->values[i] += add->values[i];
}

void stacks_add(struct stacks *s, const struct stack *add)
{
	uint32_t hash = hash_stack(add);
	for (uint32_t i = s->slots_n ? s->slots[hash & (s->slots_n - 1)] : 0; i;
		i = s->entries[i - 1].next)
		if (s->entries[i - 1].hash == hash && same(s, &s->entries[i - 1], add)) {
			add_values(&s->entries[i - 1].s, add);
			return;
		}
	if (s->n == s->max || make_room(s, add) < 0) {
		add_values(&s->folded, add);
		return;
	}
	struct entry *e = &s->entries[s->n++];
	*e = (struct entry){.hash = hash, .pcs_at = (uint32_t)s->words_n, .s = *add};
	e->span = intern_span(s, add->span);
	if (add->n)
		memcpy(s->words + s->words_n, add->pcs, add->n * sizeof(*add->pcs));
	s->words_n += add->n;
	e->next = s->slots[hash & (s->slots_n - 1)];
	s->slots[hash & (s->slots_n - 1)] = s->n;
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
	s->folded = (struct stack){0};
}

uint64_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + s->slots_n * sizeof(*s->slots) + s->room * sizeof(*s->entries) +
	       s->words_room * sizeof(*s->words) + s->spans_room * sizeof(*s->spans);
}

void stacks_add_said(struct stacks *s, enum said what, const struct label *label,
	const int64_t values[STACKS_VALUES])
{
	uintptr_t pc = said_pc(what);
	struct stack add = {.label = label, .end = UNWIND_ENTRY, .n = 1, .pcs = &pc};
	memcpy(add.values, values, sizeof(add.values));
	stacks_add(s, &add);
}

static void add_entry(void *arg, const struct stack *stack)
{
	stacks_add(arg, stack);
}

void stacks_add_all(struct stacks *s, const struct stacks *from)
{
	stacks_each(from, add_entry, s);
}
