/* A bounded ring of records from one writer to one reader, without a lock. Its user owns it, with
 * the memory it works on. Inline: the writer may be a signal handler, whose file is compiled
 * without sanitizers. */
#pragma once
#include "base/attr.h"
#include <stdint.h>

/* A record is a whole number of 64-bit words in one piece; its first 32 bits are the ring's. */
struct ring {
	uint64_t *words; /* borrowed */
	uint32_t room;	 /* of words, a power of two */
	/* Writer and reader each have a cache line of their own. Both counts only grow. */
	uint64_t head; /* words written; stored by the writer */
	uint64_t pad_[7];
	uint64_t tail; /* words read; stored by the reader */
	uint64_t pad2_[7];
};

static inline struct ring ring_make(uint64_t *words, uint32_t room)
{
	return (struct ring){.words = words, .room = room};
}

static inline uint32_t *ring_length_(const struct ring *r, uint64_t at)
{
	return (uint32_t *)&r->words[at & (r->room - 1)];
}

/* For the writer: room for a record of at most words (<= room / 2), or NULL when there is none now.
 * The caller fills it but for the first 32 bits, then calls ring_put; or leaves it. */
static inline void *ring_reserve(struct ring *r, uint32_t words)
{
	uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE); /* pairs with ring_next */
	uint64_t head = r->head, left = r->room - (head & (r->room - 1));
	uint64_t skip = left < words ? left : 0;
	if (r->room - (head - tail) < words + skip)
		return NULL;
	if (skip) {
		*ring_length_(r, head) = 0; /* sends the reader to the start */
		head += skip;
		__atomic_store_n(&r->head, head, __ATOMIC_RELEASE); /* pairs with ring_peek */
	}
	return ring_length_(r, head);
}

/* Hands the record of the last ring_reserve over; words, at least 1, may be fewer than reserved. */
static inline void ring_put(struct ring *r, uint32_t words)
{
	*ring_length_(r, r->head) = words;
	__atomic_store_n(&r->head, r->head + words, __ATOMIC_RELEASE); /* pairs with ring_peek */
}

/* For the reader: the oldest record, valid until ring_next, or NULL when there is none. */
static inline const void *ring_peek(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE); /* pairs with ring_put */
	while (r->tail != head) {
		if (*ring_length_(r, r->tail))
			return ring_length_(r, r->tail);
		uint64_t left = r->room - (r->tail & (r->room - 1));
		__atomic_store_n(&r->tail, r->tail + left, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Gives the room of the record that ring_peek told back to the writer. */
static inline void ring_next(struct ring *r)
{
	uint64_t next = r->tail + *ring_length_(r, r->tail);
	__atomic_store_n(&r->tail, next, __ATOMIC_RELEASE); /* pairs with ring_reserve */
}
