#include "base/rnd.h"
#include "sim/fleet/engine.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/fleet_impl.h"
#include "sim/fleet/fleet_plan.h"
#include <assert.h>
#include <errno.h>

/* One call of fleet_add_slice. */
struct slice {
	struct fleet *f;
	const struct fleet_add *add;
	struct addr start; /* of device `first` */
	uint32_t first, n;
	uint64_t now_ns;
	struct fleet_setting **settings; /* one a type */
	struct fleet_change *changes;
	uint32_t n_changes, changes_room;
	struct device *rows;	 /* chain, taken for what is missing */
	uint32_t created_before; /* by earlier slices */
	struct fleet_added added;
};

static int take_settings(struct slice *s)
{
	const struct fleet_add *add = s->add;
	s->settings = mem_array(s->f->env.mem, add->n_types, sizeof(struct fleet_setting *));
	if (!s->settings)
		return -ENOMEM;
	for (uint32_t i = 0; i < add->n_types; i++) {
		struct device_conf conf = add->conf;
		if (!add->types[i])
			continue;
		conf.type = add->types[i];
		conf.if_scenario = s->f->if_scenario;
		conf.if_failure_pct = s->f->if_failure_pct;
		s->settings[i] = fleet_setting_get(s->f, &conf);
		if (!s->settings[i])
			return -ENOMEM;
	}
	return 0;
}

/* NULL: the device is left out. */
static struct fleet_setting *setting_for(const struct slice *s, uint32_t i)
{
	return s->settings[(s->first + i) % s->add->n_types];
}

static void ranges_add(struct fleet_ranges *r, uint32_t device, const struct addr *a)
{
	bool longer = r->n > 0 && r->next == device;
	if (!longer)
		r->n++;
	r->next = device + 1;
	if (r->n > FLEET_RANGES_KEPT)
		return;
	if (!longer)
		r->range[r->n - 1].first = *a;
	r->range[r->n - 1].last = *a;
}

/* Counts device i of the slice: the page's change grows, or the row that is there is judged. */
static void survey_one(struct slice *s, uint32_t i, const struct addr *a, struct fleet_change *c)
{
	const struct device *there = c->old ? fleet_page_row(c->old, a->b[15]) : NULL;
	if (!there) {
		c->adds++;
		s->added.created++;
	} else if (fleet_setting_of(there) == setting_for(s, i)) {
		s->added.existing++;
	} else {
		s->added.differing++;
		ranges_add(&s->added.differing_ranges, s->first + i, a);
	}
}

/* Pages that are not there and get no rows. */
static void drop_empty(struct slice *s)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].old || s->changes[i].adds)
			s->changes[n++] = s->changes[i];
	s->n_changes = n;
}

/* Lists the pages that the slice meets, and what is missing in each. */
static int survey(struct slice *s)
{
	struct addr last, base = fleet_page_base(&s->start);
	int r = fleet_nth_addr(
		&s->add->start, s->add->conf.netmask_len, s->first + (s->n - 1), &last);
	if (r < 0)
		return r;
	s->changes_room = (uint32_t)MIN(addr_distance(&base, &last) / 256 + 1, s->n);
	s->changes = mem_array(s->f->env.mem, s->changes_room, sizeof(*s->changes));
	if (!s->changes)
		return -ENOMEM;
	struct addr a = s->start;
	struct fleet_change *c = NULL;
	for (uint32_t i = 0; i < s->n; i++, a = fleet_next_addr(&a, s->add->conf.netmask_len)) {
		base = fleet_page_base(&a);
		if (!c || !addr_eq(&c->base, &base)) {
			assert(s->n_changes < s->changes_room);
			c = &s->changes[s->n_changes++];
			c->base = base;
			c->old = fleet_index_page(&s->f->index, &base);
		}
		if (setting_for(s, i))
			survey_one(s, i, &a, c);
	}
	drop_empty(s);
	return 0;
}

static int take_rows(struct slice *s, uint32_t n)
{
	while (n--) {
		struct device *d = pool_take(s->f->rows);
		if (!d)
			return -ENOMEM;
		d->chain = s->rows;
		s->rows = d;
	}
	return 0;
}

static void give_rows(struct slice *s)
{
	for (struct device *d; (d = s->rows);) {
		s->rows = d->chain;
		pool_give(s->f->rows, d);
	}
}

static struct device device_made(
	const struct slice *s, const struct addr *a, const struct device_conf *conf)
{
	uint64_t hi, lo, seed = s->f->seed;
	memcpy(&hi, a->b, 8);
	memcpy(&lo, a->b + 8, 8);
	hi = __builtin_bswap64(hi);
	lo = __builtin_bswap64(lo);
	return (struct device){.addr = *a,
		.conf = conf,
		.seed = rnd_u64(seed, hi, lo),
		.boot_ns = s->now_ns,
		.batch = s->add->batch,
		.site = (uint32_t)rnd_u64(~seed, hi, lo >> 4)};
}

/* Puts a row wherever the survey found none. */
static void place_rows(struct slice *s)
{
	struct addr a = s->start;
	struct fleet_change *c = s->changes;
	for (uint32_t i = 0; i < s->n; i++, a = fleet_next_addr(&a, s->add->conf.netmask_len)) {
		struct fleet_setting *setting = setting_for(s, i);
		if (!setting)
			continue;
		while (memcmp(a.b, c->base.b, 15) != 0)
			c++;
		if (fleet_page_row(c->page, a.b[15]))
			continue;
		struct device *d = s->rows;
		s->rows = d->chain;
		setting->devices++;
		*d = device_made(s, &a, &setting->conf);
		engine_set(d, s->f->engine.start_ns, s->f->deleted_ns, s->now_ns);
		if (s->add->state)
			d->state = s->add->state(s->add->state_arg, d);
		fleet_page_put(c->page, a.b[15], d);
	}
}

static int add_locked(struct slice *s)
{
	struct fleet *f = s->f;
	int r = take_settings(s);
	if (r == 0)
		r = survey(s);
	if (r == 0)
		r = take_rows(s, s->added.created - s->created_before);
	struct fleet_plan plan;
	if (r == 0)
		r = fleet_plan_prepare(&f->index, s->changes, s->n_changes, &plan);
	if (r < 0) {
		give_rows(s);
		return r;
	}
	place_rows(s);
	fleet_plan_commit(&f->index, &plan);
	if (fleet_plan_waits(&plan))
		rcu_wait();
	fleet_plan_retire(&f->index, &plan);
	return 0;
}

int fleet_add_slice(struct fleet *f, const struct fleet_add *add, uint32_t first, uint32_t n,
	struct fleet_added *added)
{
	assert(add->n_types > 0);
	if (n == 0)
		return 0;
	struct slice s = {.f = f, .add = add, .first = first, .n = n, .added = *added};
	s.created_before = added->created;
	int r = fleet_nth_addr(&add->start, add->conf.netmask_len, first, &s.start);
	if (r < 0)
		return r;
	LOCK_SCOPE(&f->lock);
	s.now_ns = fleet_now_ns(f);
	r = add_locked(&s);
	fleet_settings_trim(f);
	if (r == 0) {
		stat_add(&f->devices, s.added.created - s.created_before);
		stat_add(&f->created_devices, s.added.created - s.created_before);
		*added = s.added;
	}
	fleet_tell(f);
	(void)mem_free(f->env.mem, s.settings);
	(void)mem_free(f->env.mem, s.changes);
	return r;
}
