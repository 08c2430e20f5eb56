#include "sim/fleet/fleet_index.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

static const uint16_t rooms[FLEET_PAGE_KINDS] = {4, 16, 64, 256};

static size_t page_bytes(uint16_t room)
{
	return sizeof(struct fleet_page) + room * sizeof(const struct device *) +
	       (room < 256 ? room : 0);
}

static unsigned kind_for(uint32_t rows)
{
	assert(rows <= 256);
	unsigned kind = 0;
	while (rooms[kind] < rows)
		kind++;
	return kind;
}

int fleet_index_init(struct fleet_index *ix, const struct mem *mem)
{
	*ix = (struct fleet_index){.mem = mem};
	for (unsigned k = 0; k < FLEET_PAGE_KINDS; k++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "fleet pages of %u", rooms[k]);
		int r = pool_new(mem, name, page_bytes(rooms[k]), 64, &ix->pages[k]);
		if (r < 0) {
			fleet_index_done(ix);
			return r;
		}
	}
	return 0;
}

void fleet_index_done(struct fleet_index *ix)
{
	for (uint32_t i = 0; ix->dir && i < ix->dir->n; i++)
		(void)mem_free(ix->mem, ix->dir->span[i]);
	(void)mem_free(ix->mem, ix->dir);
	(void)mem_free(ix->mem, ix->table);
	for (unsigned k = 0; k < FLEET_PAGE_KINDS; k++)
		(void)pool_free(ix->pages[k]);
	*ix = (struct fleet_index){.mem = ix->mem};
}

uint64_t fleet_index_bytes(const struct fleet_index *ix)
{
	uint64_t bytes = ix->heap_bytes;
	for (unsigned k = 0; k < FLEET_PAGE_KINDS; k++)
		bytes += pool_mapped_bytes(ix->pages[k]);
	return bytes;
}

struct fleet_page *fleet_page_new(struct fleet_index *ix, const struct addr *base, uint32_t rows)
{
	unsigned kind = kind_for(rows);
	struct fleet_page *p = pool_take(ix->pages[kind]);
	if (!p)
		return NULL;
	memset(p, 0, page_bytes(rooms[kind]));
	p->base = *base;
	p->room = rooms[kind];
	return p;
}

void fleet_page_free(struct fleet_index *ix, struct fleet_page *p)
{
	if (p)
		pool_give(ix->pages[kind_for(p->room)], p);
}

const struct device *fleet_page_row(const struct fleet_page *p, uint8_t low)
{
	if (p->room == 256)
		return RCU_GET(p->row[low]);
	int place = fleet_page_place(p, low);
	return place < 0 ? NULL : RCU_GET(p->row[place]);
}

void fleet_page_put(struct fleet_page *p, uint8_t low, const struct device *row)
{
	p->live++;
	if (p->room == 256) {
		RCU_SET(p->row[low], row);
		return;
	}
	int place = fleet_page_place(p, low);
	if (place >= 0) {
		RCU_SET(p->row[place], row);
		return;
	}
	assert(p->used < p->room);
	fleet_page_low(p)[p->used] = low;
	RCU_SET(p->row[p->used], row);
	/* Pairs with the acquire in fleet_page_place. */
	__atomic_store_n(&p->used, p->used + 1, __ATOMIC_RELEASE);
}

/* The row with the lowest last byte >= low, or NULL. */
static const struct device *page_from(const struct fleet_page *p, unsigned low)
{
	const struct device *best = NULL, *d;
	if (p->room == 256) {
		for (; low < 256; low++)
			if ((d = RCU_GET(p->row[low])))
				return d;
		return NULL;
	}
	unsigned used = __atomic_load_n(&p->used, __ATOMIC_ACQUIRE), best_low = 256;
	const uint8_t *lows = fleet_page_low(p);
	for (unsigned i = 0; i < used; i++)
		if (lows[i] >= low && lows[i] < best_low && (d = RCU_GET(p->row[i]))) {
			best = d;
			best_low = lows[i];
		}
	return best;
}

struct fleet_page *fleet_index_page(const struct fleet_index *ix, const struct addr *base)
{
	const struct fleet_table *t = RCU_GET(ix->table);
	if (!t)
		return NULL;
	size_t at = SIZE_MAX;
	for (uintptr_t ptr; (ptr = fleet_index_probe(t, fleet_page_key(base), &at));) {
		struct fleet_page *p = (struct fleet_page *)(ptr & ~(uintptr_t)1);
		if (addr_eq(&p->base, base))
			return p;
	}
	return NULL;
}

uint32_t fleet_dir_upto(const struct fleet_dir *d, const struct addr *base)
{
	uint32_t lo = 0, hi = d->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (addr_cmp(&d->span[mid]->first, base) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t fleet_span_upto(const struct fleet_span *s, const struct addr *base)
{
	uint32_t lo = 0, hi = s->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct fleet_page *p = RCU_GET(s->page[mid]);
		if (addr_cmp(&p->base, base) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct device *fleet_index_next(const struct fleet_index *ix, const struct addr *after)
{
	const struct device *d;
	struct addr base = {{0}};
	if (after) {
		base = fleet_page_base(after);
		const struct fleet_page *p = fleet_index_page(ix, &base);
		if (p && (d = page_from(p, after->b[15] + 1u)))
			return d;
	}
	const struct fleet_dir *dir = RCU_GET(ix->dir);
	if (!dir)
		return NULL;
	uint32_t at = after ? fleet_dir_upto(dir, &base) : 0, page = 0;
	if (at > 0) {
		at--;
		page = fleet_span_upto(dir->span[at], &base);
	}
	for (; at < dir->n; at++, page = 0) {
		const struct fleet_span *s = dir->span[at];
		for (; page < s->n; page++)
			if ((d = page_from(RCU_GET(s->page[page]), 0)))
				return d;
	}
	return NULL;
}

#define TABLE_SHIFT_MAX 58 /* at least 64 entries */

struct fleet_table *fleet_table_new(struct fleet_index *ix, uint64_t pages)
{
	unsigned shift = TABLE_SHIFT_MAX;
	while ((1ull << (64 - shift)) < pages * 2)
		shift--;
	size_t bytes = sizeof(struct fleet_table) + (sizeof(struct fleet_entry) << (64 - shift));
	struct fleet_table *t = mem_zalloc(ix->mem, bytes);
	if (!t)
		return NULL;
	t->shift = shift;
	ix->heap_bytes += bytes;
	return t;
}

void fleet_table_free(struct fleet_index *ix, struct fleet_table *t)
{
	if (!t)
		return;
	ix->heap_bytes -= sizeof(*t) + (fleet_table_mask(t) + 1) * sizeof(struct fleet_entry);
	(void)mem_free(ix->mem, t);
}

bool fleet_table_has_room(const struct fleet_table *t, uint64_t more_pages)
{
	return t && (t->used + more_pages) * 4 <= (fleet_table_mask(t) + 1) * 3;
}

static uintptr_t entry_ptr(const struct fleet_page *p)
{
	return (uintptr_t)p | (p && p->room == 256);
}

void fleet_table_put(struct fleet_table *t, struct fleet_page *p)
{
	uint64_t key = fleet_page_key(&p->base);
	size_t mask = fleet_table_mask(t), i = fleet_table_at(t, key);
	while (t->entry[i].key && (t->entry[i].key != key || t->entry[i].ptr))
		i = (i + 1) & mask;
	if (t->entry[i].key == 0)
		t->used++;
	/* A reader that sees the key sees the page: release pairs with the probe's acquire. */
	__atomic_store_n(&t->entry[i].ptr, entry_ptr(p), __ATOMIC_RELEASE);
	__atomic_store_n(&t->entry[i].key, key, __ATOMIC_RELEASE);
}

void fleet_table_swap(struct fleet_table *t, const struct fleet_page *p, struct fleet_page *to)
{
	uint64_t key = fleet_page_key(&p->base);
	size_t mask = fleet_table_mask(t), i = fleet_table_at(t, key);
	while (t->entry[i].key != key || t->entry[i].ptr != entry_ptr(p)) {
		assert(t->entry[i].key != 0);
		i = (i + 1) & mask;
	}
	__atomic_store_n(&t->entry[i].ptr, entry_ptr(to), __ATOMIC_RELEASE);
}
