#include "sim/fleet/fleet_plan.h"
#include <assert.h>
#include <errno.h>

static size_t span_bytes(uint32_t pages)
{
	return sizeof(struct fleet_span) + pages * sizeof(struct fleet_page *);
}

static size_t dir_bytes(uint32_t spans)
{
	return sizeof(struct fleet_dir) + spans * sizeof(struct fleet_span *);
}

static struct fleet_span *span_new(struct fleet_index *ix, uint32_t pages)
{
	struct fleet_span *s = mem_zalloc(ix->mem, span_bytes(pages));
	if (!s)
		return NULL;
	s->n = pages;
	ix->heap_bytes += span_bytes(pages);
	return s;
}

static void span_free(struct fleet_index *ix, struct fleet_span *s)
{
	ix->heap_bytes -= span_bytes(s->n);
	(void)mem_free(ix->mem, s);
}

static struct fleet_dir *dir_new(struct fleet_index *ix, uint32_t room)
{
	struct fleet_dir *d = mem_zalloc(ix->mem, dir_bytes(room));
	if (d) {
		d->room = room;
		ix->heap_bytes += dir_bytes(room);
	}
	return d;
}

static void dir_free(struct fleet_index *ix, struct fleet_dir *d)
{
	if (!d)
		return;
	ix->heap_bytes -= dir_bytes(d->room);
	(void)mem_free(ix->mem, d);
}

static void spans_free(struct fleet_index *ix, struct fleet_span *chain)
{
	for (struct fleet_span *next; chain; chain = next) {
		next = chain->chain;
		span_free(ix, chain);
	}
}

static void chain_to(struct fleet_span **chain, struct fleet_span *s)
{
	s->chain = *chain;
	*chain = s;
}

/* The next change that brings a page with a new base, from *at on, before limit (NULL: none). */
static struct fleet_page *next_new(
	const struct fleet_plan *plan, uint32_t *at, const struct addr *limit)
{
	while (*at < plan->n && plan->changes[*at].old)
		++*at;
	if (*at == plan->n || (limit && addr_cmp(&plan->changes[*at].base, limit) >= 0))
		return NULL;
	return plan->changes[*at].page;
}

/* Appends spans with the pages of s (NULL: none) and the new ones before limit, merged. */
static int dir_merge(struct fleet_index *ix, struct fleet_plan *plan, struct fleet_dir *d,
	struct fleet_span *s, uint32_t *at, const struct addr *limit)
{
	uint32_t more = 0, from = *at;
	for (uint32_t i = from; next_new(plan, &i, limit); i++)
		more++;
	if (more == 0) {
		if (s)
			d->span[d->n++] = s;
		return 0;
	}
	if (s)
		chain_to(&plan->replaced, s);
	uint32_t all = more + (s ? s->n : 0), taken = 0;
	uint32_t spans = (all + FLEET_SPAN_PAGES - 1) / FLEET_SPAN_PAGES;
	for (uint32_t k = 0, filled = 0; k < spans; k++) {
		uint32_t upto = (uint32_t)((uint64_t)all * (k + 1) / spans);
		struct fleet_span *to = span_new(ix, upto - filled);
		if (!to)
			return -ENOMEM;
		chain_to(&plan->fresh, to);
		for (uint32_t i = 0; filled < upto; filled++, i++) {
			struct fleet_page *p = next_new(plan, at, limit);
			if (s && taken < s->n &&
				(!p || addr_cmp(&s->page[taken]->base, &p->base) < 0))
				p = s->page[taken++];
			else
				++*at;
			to->page[i] = p;
		}
		to->first = to->page[0]->base;
		assert(d->n < d->room);
		d->span[d->n++] = to;
	}
	return 0;
}

/* The directory with the new pages of the plan in it. */
static int plan_dir(struct fleet_index *ix, struct fleet_plan *plan, uint32_t new_pages)
{
	uint32_t old = ix->dir ? ix->dir->n : 0, at = 0;
	/* Each old span may split in two, and each 256 new pages make at most one more. */
	uint32_t touched = MIN(old, new_pages);
	struct fleet_dir *d = dir_new(ix, old + touched + new_pages / FLEET_SPAN_PAGES + 1);
	int r = d ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < MAX(old, 1u); i++)
		r = dir_merge(ix, plan, d, old ? ix->dir->span[i] : NULL, &at,
			i + 1 < old ? &ix->dir->span[i + 1]->first : NULL);
	plan->dir = d;
	return r;
}

/* A page for the change's rows, with the rows of the old one. */
static int change_page(struct fleet_index *ix, struct fleet_change *c)
{
	c->page = c->old;
	if (c->adds == 0 ||
		(c->old && (c->old->room == 256 || c->old->used + c->adds <= c->old->room)))
		return 0;
	struct fleet_page *p = fleet_page_new(ix, &c->base, c->adds + (c->old ? c->old->live : 0));
	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; c->old && i < c->old->used; i++)
		if (c->old->row[i])
			fleet_page_put(p, fleet_page_low(c->old)[i], c->old->row[i]);
	c->page = p;
	return 0;
}

static void plan_undo_pages(struct fleet_index *ix, struct fleet_plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->changes[i].page != plan->changes[i].old)
			fleet_page_free(ix, plan->changes[i].page);
}

int fleet_plan_prepare(struct fleet_index *ix, struct fleet_change *changes, uint32_t n,
	struct fleet_plan *ret_plan)
{
	struct fleet_plan plan = {.changes = changes};
	uint32_t new_pages = 0;
	int r = 0;
	for (; r == 0 && plan.n < n; plan.n += r == 0) {
		r = change_page(ix, &changes[plan.n]);
		new_pages += !changes[plan.n].old;
	}
	if (r == 0 && new_pages && !fleet_table_has_room(ix->table, new_pages) &&
		!(plan.table = fleet_table_new(ix, ix->n_pages + new_pages)))
		r = -ENOMEM;
	if (r == 0 && new_pages)
		r = plan_dir(ix, &plan, new_pages);
	if (r < 0) {
		spans_free(ix, plan.fresh);
		dir_free(ix, plan.dir);
		fleet_table_free(ix, plan.table);
		plan_undo_pages(ix, &plan);
		return r;
	}
	*ret_plan = plan;
	return 0;
}

static void dir_swap_page(struct fleet_dir *d, const struct fleet_page *p, struct fleet_page *to)
{
	struct fleet_span *s = d->span[fleet_dir_upto(d, &p->base) - 1];
	uint32_t at = fleet_span_upto(s, &p->base) - 1;
	assert(s->page[at] == p);
	RCU_SET(s->page[at], to);
}

static void commit_table(struct fleet_index *ix, struct fleet_plan *plan)
{
	if (!plan->table) {
		for (uint32_t i = 0; i < plan->n; i++) {
			struct fleet_change *c = &plan->changes[i];
			if (!c->old)
				fleet_table_put(ix->table, c->page);
			else if (c->page != c->old)
				fleet_table_swap(ix->table, c->old, c->page);
		}
		return;
	}
	for (uint32_t i = 0; i < ix->dir->n; i++)
		for (uint32_t k = 0; k < ix->dir->span[i]->n; k++)
			fleet_table_put(plan->table, ix->dir->span[i]->page[k]);
	struct fleet_table *old = ix->table;
	RCU_SET(ix->table, plan->table);
	plan->table = old;
}

static void publish_dir(struct fleet_index *ix, struct fleet_plan *plan)
{
	struct fleet_dir *old = ix->dir;
	RCU_SET(ix->dir, plan->dir);
	plan->dir = old;
}

void fleet_plan_commit(struct fleet_index *ix, struct fleet_plan *plan)
{
	struct fleet_dir *d = plan->dir ? plan->dir : ix->dir;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct fleet_change *c = &plan->changes[i];
		if (!c->old)
			ix->n_pages++;
		else if (c->page != c->old)
			dir_swap_page(d, c->old, c->page);
	}
	if (plan->dir)
		publish_dir(ix, plan);
	commit_table(ix, plan);
}

bool fleet_plan_waits(const struct fleet_plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->changes[i].old && plan->changes[i].page != plan->changes[i].old)
			return true;
	return plan->dir || plan->table;
}

void fleet_plan_retire(struct fleet_index *ix, struct fleet_plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->changes[i].page != plan->changes[i].old)
			fleet_page_free(ix, plan->changes[i].old);
	spans_free(ix, plan->replaced);
	dir_free(ix, plan->dir);
	fleet_table_free(ix, plan->table);
	*plan = (struct fleet_plan){0};
}

static uint32_t live_pages(const struct fleet_span *s)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		n += s->page[i]->live > 0;
	return n;
}

/* Appends s without its empty pages; s itself where there is no memory. */
static void sweep_span(
	struct fleet_index *ix, struct fleet_plan *plan, struct fleet_dir *d, struct fleet_span *s)
{
	uint32_t live = live_pages(s);
	struct fleet_span *to = NULL;
	if (live == s->n || (live > 0 && !(to = span_new(ix, live)))) {
		d->span[d->n++] = s;
		return;
	}
	chain_to(&plan->replaced, s);
	for (uint32_t i = 0, at = 0; i < s->n; i++) {
		if (s->page[i]->live > 0) {
			to->page[at++] = s->page[i];
			continue;
		}
		fleet_table_swap(ix->table, s->page[i], NULL);
		ix->n_pages--;
	}
	if (!to)
		return;
	to->first = to->page[0]->base;
	d->span[d->n++] = to;
}

void fleet_plan_sweep(struct fleet_index *ix, const struct addr *first, const struct addr *last,
	struct fleet_plan *ret_plan)
{
	*ret_plan = (struct fleet_plan){0};
	if (!ix->dir)
		return;
	uint32_t lo = fleet_dir_upto(ix->dir, first), hi = fleet_dir_upto(ix->dir, last), at;
	lo -= lo > 0;
	for (at = lo; at < hi; at++)
		if (live_pages(ix->dir->span[at]) < ix->dir->span[at]->n)
			break;
	struct fleet_dir *d = at < hi ? dir_new(ix, ix->dir->n) : NULL;
	if (!d)
		return;
	for (uint32_t i = 0; i < ix->dir->n; i++)
		if (i >= at && i < hi)
			sweep_span(ix, ret_plan, d, ix->dir->span[i]);
		else
			d->span[d->n++] = ix->dir->span[i];
	ret_plan->dir = d;
	publish_dir(ix, ret_plan);
}

void fleet_plan_swept(struct fleet_index *ix, struct fleet_plan *plan)
{
	for (struct fleet_span *s = plan->replaced; s; s = s->chain)
		for (uint32_t i = 0; i < s->n; i++)
			if (s->page[i]->live == 0)
				fleet_page_free(ix, s->page[i]);
	fleet_plan_retire(ix, plan);
}
