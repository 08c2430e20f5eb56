#include "profiling/heap_stacks.h"
#include <errno.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)16 << 10)
#define HEADS_MIN 512

struct heap_stack_chunk {
	struct heap_stack_chunk *next;
	size_t used; /* bytes, this header included; grows only */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

static uint64_t hash_key(const struct heap_stack_key *k)
{
	uint64_t h = mix(k->n, (uintptr_t)k->label);
	h = mix(h, k->bytes);
	h = mix(h, (unsigned)k->end << 1 | k->is_exact);
	for (unsigned i = 0; i < k->n; i++)
		h = mix(h, k->pcs[i]);
	return h;
}

static bool same(const struct heap_stack *s, uint64_t hash, const struct heap_stack_key *k)
{
	return s->hash == hash && s->label == k->label && s->bytes == k->bytes &&
	       s->is_exact == k->is_exact && s->end == k->end && s->n == k->n &&
	       memcmp(s->pcs, k->pcs, k->n * sizeof(*k->pcs)) == 0;
}

static size_t entry_bytes(unsigned n)
{
	return sizeof(struct heap_stack) + n * sizeof(uintptr_t);
}
_Static_assert(sizeof(struct heap_stack) % sizeof(uintptr_t) == 0, "entries stay aligned");

void heap_stacks_done(struct heap_stacks *s)
{
	for (unsigned i = 0; i < HEAP_STACK_SHARDS; i++) {
		struct heap_stack_shard *h = &s->shards[i];
		for (struct heap_stack_chunk *c = h->chunks, *next; c; c = next) {
			next = c->next;
			heap_own_unmap(s->own, c, CHUNK_BYTES);
		}
		heap_own_unmap(s->own, h->heads, h->room * sizeof(*h->heads));
		h->chunks = NULL;
		h->heads = NULL;
		h->n = h->room = 0;
	}
}

static int grow_heads(struct heap_stacks *s, struct heap_stack_shard *h)
{
	if (h->room && h->n < h->room)
		return 0;
	uint32_t room = h->room ? h->room * 2 : HEADS_MIN;
	struct heap_stack **heads = heap_own_map(s->own, room * sizeof(*heads));
	if (!heads)
		return h->room ? 0 : -ENOMEM; /* longer chains do as well */
	for (uint32_t i = 0; i < h->room; i++)
		for (struct heap_stack *e = h->heads[i], *next; e; e = next) {
			next = e->next;
			e->next = heads[e->hash & (room - 1)];
			heads[e->hash & (room - 1)] = e;
		}
	heap_own_unmap(s->own, h->heads, h->room * sizeof(*heads));
	h->heads = heads;
	h->room = room;
	return 0;
}

static struct heap_stack *add(struct heap_stacks *s, struct heap_stack_shard *h, uint64_t hash,
	const struct heap_stack_key *k)
{
	size_t bytes = entry_bytes(k->n);
	if (grow_heads(s, h) < 0)
		return NULL;
	if (!h->chunks || CHUNK_BYTES - h->chunks->used < bytes) {
		struct heap_stack_chunk *c = heap_own_map(s->own, CHUNK_BYTES);
		if (!c)
			return NULL;
		*c = (struct heap_stack_chunk){h->chunks, sizeof(*c)};
		__atomic_store_n(&h->chunks, c, __ATOMIC_RELEASE); /* pairs with heap_stacks_each */
	}
	struct heap_stack *e = (void *)((char *)h->chunks + h->chunks->used);
	*e = (struct heap_stack){.next = h->heads[hash & (h->room - 1)],
		.hash = hash,
		.label = k->label,
		.bytes = k->bytes,
		.is_exact = k->is_exact,
		.end = k->end,
		.n = k->n};
	memcpy(e->pcs, k->pcs, k->n * sizeof(*k->pcs));
	h->heads[hash & (h->room - 1)] = e;
	h->n++;
	/* Pairs with heap_stacks_each. */
	__atomic_store_n(&h->chunks->used, h->chunks->used + bytes, __ATOMIC_RELEASE);
	return e;
}

struct heap_stack *heap_stacks_find(struct heap_stacks *s, const struct heap_stack_key *key)
{
	uint64_t hash = hash_key(key);
	struct heap_stack_shard *h = &s->shards[hash >> 60];
	heap_lock_take(&h->lock);
	struct heap_stack *e = h->room ? h->heads[hash & (h->room - 1)] : NULL;
	while (e && !same(e, hash, key))
		e = e->next;
	if (!e)
		e = add(s, h, hash, key);
	heap_lock_drop(&h->lock);
	return e;
}
_Static_assert(HEAP_STACK_SHARDS == 1 << (64 - 60), "the top bits choose");

void heap_stacks_each(
	struct heap_stacks *s, void (*fn)(void *arg, const struct heap_stack *stack), void *arg)
{
	for (unsigned i = 0; i < HEAP_STACK_SHARDS; i++) {
		const struct heap_stack_chunk *c =
			__atomic_load_n(&s->shards[i].chunks, __ATOMIC_ACQUIRE);
		for (; c; c = c->next) {
			size_t used = __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
			for (size_t at = sizeof(*c); at < used;) {
				const struct heap_stack *e = (const void *)((const char *)c + at);
				fn(arg, e);
				at += entry_bytes(e->n);
			}
		}
	}
}

uint64_t heap_stacks_count(struct heap_stacks *s)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < HEAP_STACK_SHARDS; i++) {
		heap_lock_take(&s->shards[i].lock);
		n += s->shards[i].n;
		heap_lock_drop(&s->shards[i].lock);
	}
	return n;
}
