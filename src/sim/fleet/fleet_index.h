/* The index of the fleet: pages of row pointers, a hash table from page to find one device, and
 * sorted spans of pages to walk them all. Readers take no lock; the one writer (the fleet's lock)
 * publishes whole pieces and frees what it replaced after rcu_wait. Only fleet*.c include this. */
#pragma once
#include "base/mem.h"
#include "base/pool.h"
#include "base/rcu.h"
#include "base/rnd.h"
#include "sim/fleet/fleet.h"

/* Devices of 256 consecutive addresses. A page with room for all is indexed by the last byte; a
 * smaller one lists its bytes in order of arrival, and a byte once listed stays, with or without a
 * row, until the page is replaced. */
struct fleet_page {
	struct addr base;	    /* last byte 0 */
	uint16_t room;		    /* 4, 16, 64 or 256 rows */
	uint16_t used;		    /* bytes listed; published with release after row and byte */
	uint16_t live;		    /* rows; the writer's */
	const struct device *row[]; /* room, then (room < 256) uint8_t low[room] */
};
#define FLEET_PAGE_KINDS 4
#define FLEET_SPAN_PAGES 256

struct fleet_span {		  /* sorted pages */
	struct fleet_span *chain; /* for the writer */
	struct addr first;	  /* of page[0]; never changes */
	uint32_t n;
	struct fleet_page *page[]; /* may be swapped for one of the same base */
};
struct fleet_dir { /* sorted spans */
	uint32_t room;
	uint32_t n;
	struct fleet_span *span[];
};
/* Open addressing; the key of an entry never changes once set, so that a reader who saw it may read
 * the page after it. An entry whose page is NULL was deleted and may be reused for the same key. */
struct fleet_entry {
	uint64_t key;  /* of the base, by page_key; 0: never used */
	uintptr_t ptr; /* struct fleet_page *, with bit 0 set when it has all 256 rows */
};
struct fleet_table {
	unsigned shift; /* 64 - log2(entries) */
	uint32_t used;	/* keys set */
	struct fleet_entry entry[];
};
struct fleet_index {
	const struct mem *mem;
	struct fleet_table *table; /* NULL: empty */
	struct fleet_dir *dir;	   /* NULL: empty */
	struct pool *pages[FLEET_PAGE_KINDS];
	uint64_t n_pages;
	uint64_t heap_bytes; /* of table, dir and spans */
};

static inline struct addr fleet_page_base(const struct addr *a)
{
	struct addr base = *a;
	base.b[15] = 0;
	return base;
}

static inline uint8_t *fleet_page_low(const struct fleet_page *p)
{
	return (uint8_t *)&p->row[p->room];
}

/* For IPv4 exact, for IPv6 a hash; never 0. */
static inline uint64_t fleet_page_key(const struct addr *a)
{
	uint64_t hi, lo;
	memcpy(&hi, a->b, 8);
	memcpy(&lo, a->b + 8, 8);
	lo = __builtin_bswap64(lo) >> 8;
	if (hi)
		lo ^= rnd_mix(hi);
	return lo | 1ull << 63;
}

static inline size_t fleet_table_at(const struct fleet_table *t, uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15ull >> t->shift);
}
static inline size_t fleet_table_mask(const struct fleet_table *t)
{
	return ((size_t)1 << (64 - t->shift)) - 1;
}

/* The place of the row in a small page, or -1. */
static inline int fleet_page_place(const struct fleet_page *p, uint8_t low)
{
	const uint8_t *lows = fleet_page_low(p);
	unsigned used = __atomic_load_n(&p->used, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < used; i++)
		if (lows[i] == low)
			return (int)i;
	return -1;
}

/* The slot that holds the row of a, or NULL. */
static inline const struct device *const *fleet_index_slot(uintptr_t ptr, uint8_t low)
{
	const struct fleet_page *p = (const struct fleet_page *)(ptr & ~(uintptr_t)1);
	if (LIKELY(ptr & 1))
		return &p->row[low];
	int place = fleet_page_place(p, low);
	return place < 0 ? NULL : &p->row[place];
}

/* The entry of the address's page or of one with the same key: *at is where to go on when it was
 * another's; start with SIZE_MAX. 0: there is none. */
static inline uintptr_t fleet_index_probe(const struct fleet_table *t, uint64_t key, size_t *at)
{
	size_t mask = fleet_table_mask(t), i = *at == SIZE_MAX ? fleet_table_at(t, key) : *at;
	for (;; i = (i + 1) & mask) {
		uint64_t k = __atomic_load_n(&t->entry[i].key, __ATOMIC_ACQUIRE);
		if (k == 0)
			return 0;
		if (k != key)
			continue;
		uintptr_t ptr = __atomic_load_n(&t->entry[i].ptr, __ATOMIC_ACQUIRE);
		if (ptr) {
			*at = (i + 1) & mask;
			return ptr;
		}
	}
}

/* For readers. */
static inline const struct device *fleet_index_find(
	const struct fleet_index *ix, const struct addr *a)
{
	const struct fleet_table *t = RCU_GET(ix->table);
	if (!t)
		return NULL;
	uint64_t key = fleet_page_key(a);
	size_t at = SIZE_MAX;
	for (uintptr_t ptr; (ptr = fleet_index_probe(t, key, &at));) {
		const struct device *const *slot = fleet_index_slot(ptr, a->b[15]);
		const struct device *d = slot ? RCU_GET(*slot) : NULL;
		if (d && addr_eq(&d->addr, a))
			return d;
	}
	return NULL;
}
const struct device *fleet_index_next(const struct fleet_index *ix, const struct addr *after);

/* For the writer. */
MUST_CHECK int fleet_index_init(struct fleet_index *ix, const struct mem *mem);
void fleet_index_done(struct fleet_index *ix); /* rows are the caller's */
uint64_t fleet_index_bytes(const struct fleet_index *ix);
/* The page with this base, or NULL. */
struct fleet_page *fleet_index_page(const struct fleet_index *ix, const struct addr *base);
const struct device *fleet_page_row(const struct fleet_page *p, uint8_t low); /* or NULL */
/* The page must have room and no row there. */
void fleet_page_put(struct fleet_page *p, uint8_t low, const struct device *row);

/* Table and directory, for fleet_plan. */
struct fleet_table *fleet_table_new(struct fleet_index *ix, uint64_t pages); /* NULL: no memory */
void fleet_table_put(struct fleet_table *t, struct fleet_page *p); /* needs a free entry */
/* The entry of page p gets page to, or none (NULL). */
void fleet_table_swap(struct fleet_table *t, const struct fleet_page *p, struct fleet_page *to);
bool fleet_table_has_room(const struct fleet_table *t, uint64_t more_pages);
void fleet_table_free(struct fleet_index *ix, struct fleet_table *t);
/* Spans of d whose first base is <= base, pages of s whose base is. */
uint32_t fleet_dir_upto(const struct fleet_dir *d, const struct addr *base);
uint32_t fleet_span_upto(const struct fleet_span *s, const struct addr *base);
struct fleet_page *fleet_page_new(struct fleet_index *ix, const struct addr *base, uint32_t rows);
void fleet_page_free(struct fleet_index *ix, struct fleet_page *p); /* takes NULL */
