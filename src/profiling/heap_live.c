#include "profiling/heap_live.h"
#include <errno.h>

#define ROOM_MIN 128

static uint64_t hash(uintptr_t p)
{
	return (p >> 4) * 0xff51afd7ed558ccdull;
}

static struct heap_live_shard *shard_of(struct heap_live *l, uint64_t h)
{
	return &l->shards[h >> 58];
}
_Static_assert(HEAP_LIVE_SHARDS == 1 << (64 - 58), "the top bits choose");

static uint32_t home(uint64_t h, uint32_t room)
{
	return (uint32_t)(h >> 26) & (room - 1);
}

void heap_live_done(struct heap_live *l)
{
	for (unsigned i = 0; i < HEAP_LIVE_SHARDS; i++) {
		struct heap_live_shard *s = &l->shards[i];
		heap_own_unmap(l->own, s->slots, s->room * sizeof(*s->slots));
		s->slots = NULL;
		s->n = s->room = 0;
	}
}

/* The slot of p, or the free one where it belongs; there is one. */
static struct heap_live_entry *slot(struct heap_live_shard *s, uintptr_t p)
{
	uint32_t i = home(hash(p), s->room);
	while (s->slots[i].p && s->slots[i].p != p)
		i = (i + 1) & (s->room - 1);
	return &s->slots[i];
}

/* At most three quarters are taken. */
static int make_room(struct heap_live *l, struct heap_live_shard *s)
{
	if (s->room && s->n < s->room / 4 * 3)
		return 0;
	struct heap_live_shard wide = {.room = s->room ? s->room * 2 : ROOM_MIN};
	wide.slots = wide.room ? heap_own_map(l->own, wide.room * sizeof(*wide.slots)) : NULL;
	if (!wide.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->room; i++)
		if (s->slots[i].p)
			*slot(&wide, s->slots[i].p) = s->slots[i];
	heap_own_unmap(l->own, s->slots, s->room * sizeof(*s->slots));
	s->slots = wide.slots;
	s->room = wide.room;
	return 0;
}

int heap_live_put(
	struct heap_live *l, const struct heap_live_entry *e, struct heap_live_entry *reterr_old)
{
	struct heap_live_shard *s = shard_of(l, hash(e->p));
	heap_lock_take(&s->lock);
	int r = make_room(l, s);
	if (r == 0) {
		struct heap_live_entry *at = slot(s, e->p);
		if (at->p) {
			*reterr_old = *at;
			r = -EEXIST;
		} else {
			s->n++;
		}
		*at = *e;
	}
	heap_lock_drop(&s->lock);
	return r;
}

/* Moves later entries of the run down, so that no gap ends a search too early. */
static void close_gap(struct heap_live_shard *s, uint32_t gap)
{
	uint32_t mask = s->room - 1;
	for (uint32_t i = (gap + 1) & mask; s->slots[i].p; i = (i + 1) & mask) {
		uint32_t from_home = (i - home(hash(s->slots[i].p), s->room)) & mask;
		if (from_home >= ((i - gap) & mask)) {
			s->slots[gap] = s->slots[i];
			gap = i;
		}
	}
	s->slots[gap] = (struct heap_live_entry){0};
}

bool heap_live_take(struct heap_live *l, uintptr_t p, struct heap_live_entry *ret_e)
{
	struct heap_live_shard *s = shard_of(l, hash(p));
	heap_lock_take(&s->lock);
	struct heap_live_entry *at = s->n ? slot(s, p) : NULL;
	bool found = p && at && at->p;
	if (found) {
		*ret_e = *at;
		s->n--;
		close_gap(s, (uint32_t)(at - s->slots));
	}
	heap_lock_drop(&s->lock);
	return found;
}

uint64_t heap_live_count(struct heap_live *l)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < HEAP_LIVE_SHARDS; i++) {
		heap_lock_take(&l->shards[i].lock);
		n += l->shards[i].n;
		heap_lock_drop(&l->shards[i].lock);
	}
	return n;
}
