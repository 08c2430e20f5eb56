#include "sim/fleet/fleet.h"
#include "sim/fleet/fleet_impl.h"
#include "sim/fleet/fleet_plan.h"
#include <errno.h>

/* Rows taken out of their pages, in order of address; readers may still hold them. */
struct taken {
	struct device *first, **last;
	uint64_t n;
};

static void take_row(struct taken *t, const struct device **slot)
{
	/* No reader looks at chain, and no reader that comes later finds the row. */
	struct device *d = (struct device *)*slot;
	RCU_SET(*slot, NULL);
	d->chain = NULL;
	*t->last = d;
	t->last = &d->chain;
	t->n++;
}

static bool row_wanted(
	const struct device *d, const struct addr *first, const struct addr *last, uint32_t batch)
{
	return d && (batch == 0 || d->batch == batch) && addr_cmp(&d->addr, first) >= 0 &&
	       addr_cmp(&d->addr, last) <= 0;
}

static void page_take(struct fleet_page *p, const struct addr *first, const struct addr *last,
	uint32_t batch, struct taken *t)
{
	unsigned n = p->room == 256 ? 256 : p->used;
	uint64_t before = t->n;
	for (unsigned i = 0; i < n; i++)
		if (row_wanted(p->row[i], first, last, batch))
			take_row(t, &p->row[i]);
	p->live -= (uint16_t)(t->n - before);
}

static void range_take(struct fleet *f, const struct addr *first, const struct addr *last,
	uint32_t batch, struct taken *t)
{
	struct addr base = fleet_page_base(first);
	const struct fleet_dir *d = f->index.dir;
	uint32_t at = d ? fleet_dir_upto(d, &base) : 0;
	for (at -= at > 0; d && at < d->n && addr_cmp(&d->span[at]->first, last) <= 0; at++) {
		struct fleet_span *s = d->span[at];
		for (uint32_t i = 0; i < s->n; i++)
			if (addr_cmp(&s->page[i]->base, &base) >= 0 &&
				addr_cmp(&s->page[i]->base, last) <= 0)
				page_take(s->page[i], first, last, batch, t);
	}
}

/* Tells the batches, in runs. */
static void tell_gone(const struct taken *t, const struct fleet_gone *gone)
{
	uint64_t n = 0;
	for (const struct device *d = t->first; d && gone; d = d->chain) {
		n++;
		if (d->chain && d->chain->batch == d->batch)
			continue;
		gone->fn(gone->arg, d->batch, n);
		n = 0;
	}
}

static void free_rows(struct fleet *f, struct taken *t)
{
	for (struct device *d = t->first, *next; d; d = next) {
		next = d->chain;
		fleet_setting_of(d)->devices--;
		dev_state_free(f->env.mem, d->state, NULL);
		pool_give(f->rows, d);
	}
	fleet_settings_trim(f);
}

static uint64_t del_locked(struct fleet *f, const struct addr *first, const struct addr *last,
	uint32_t batch, const struct fleet_gone *gone)
{
	struct taken t = {.last = &t.first};
	struct fleet_plan plan;
	range_take(f, first, last, batch, &t);
	if (t.n == 0)
		return 0;
	fleet_plan_sweep(&f->index, first, last, &plan);
	rcu_wait();
	fleet_plan_swept(&f->index, &plan);
	tell_gone(&t, gone);
	free_rows(f, &t);
	f->deleted_ns = fleet_now_ns(f);
	stat_set(&f->devices, f->devices - t.n);
	stat_add(&f->deleted_devices, t.n);
	return t.n;
}

uint64_t fleet_del_range(struct fleet *f, const struct addr *first, const struct addr *last,
	uint32_t batch, const struct fleet_gone *gone)
{
	LOCK_SCOPE(&f->lock);
	uint64_t n = del_locked(f, first, last, batch, gone);
	fleet_tell(f);
	return n;
}

int fleet_del(struct fleet *f, const struct addr *a, const struct fleet_gone *gone)
{
	return fleet_del_range(f, a, a, 0, gone) ? 0 : -ENOENT;
}

/* Unmaps the pools of an empty fleet; where there is no memory for new ones, the old serve on. */
static void renew_memory(struct fleet *f)
{
	struct fleet_index empty;
	struct pool *rows;
	if (fleet_index_init(&empty, f->env.mem) < 0)
		return;
	if (fleet_rows_new(f, &rows) < 0) {
		fleet_index_done(&empty);
		return;
	}
	struct fleet_index old = f->index;
	RCU_SET(f->index.table, NULL);
	RCU_SET(f->index.dir, NULL);
	rcu_wait();
	memcpy(f->index.pages, empty.pages, sizeof(f->index.pages));
	f->index.heap_bytes = 0;
	fleet_index_done(&old);
	(void)pool_free(f->rows);
	f->rows = rows;
}

uint64_t fleet_del_all(struct fleet *f, const struct fleet_gone *gone)
{
	static const struct addr first = {{0}};
	struct addr last;
	memset(&last, 0xff, sizeof(last));
	LOCK_SCOPE(&f->lock);
	uint64_t n = del_locked(f, &first, &last, 0, gone);
	if (n > 0 && f->index.n_pages == 0)
		renew_memory(f);
	fleet_tell(f);
	return n;
}
