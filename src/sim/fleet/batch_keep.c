#include "base/rcu.h"
#include "sim/fleet/batch_impl.h"
#include "sim/fleet/keeper.h"
#include "sim/fleet/store_create.h"
#include <errno.h>
#include <string.h>

struct run {
	struct addr first, last;
};
/* A create on its way into the store. */
struct create {
	struct change change;
	struct batches *b;
	const struct batch_job *j;
	struct text json;
	struct text holes; /* struct run: its devices that others have made */
};

static bool is_of(const struct fleet *f, const struct addr *a, uint32_t batch)
{
	const struct device *d = fleet_find(f, a);
	return d && d->batch == batch;
}

static void add_hole(struct create *c, const struct addr *a, bool goes_on)
{
	struct run run = {*a, *a};
	if (goes_on)
		memcpy(c->holes.s + c->holes.len - sizeof(run.last), a, sizeof(*a));
	else
		text_write(&c->holes, &run, sizeof(run));
}

/* Devices that are deleted meanwhile are holes by their delete. */
static int find_holes(struct create *c)
{
	const struct fleet_add *add = &c->j->add;
	struct addr a = add->start;
	bool was_hole = false;
	for (uint32_t i = 0; i < add->count && c->holes.err == 0;) {
		RCU_SCOPE;
		for (uint32_t end = MIN(i + BATCH_SLICE, add->count); i < end && c->holes.err == 0;
			i++, a = fleet_next_addr(&a, add->conf.netmask_len)) {
			bool hole = !is_of(c->b->env.fleet, &a, add->batch);
			if (hole)
				add_hole(c, &a, was_hole);
			was_hole = hole;
		}
	}
	return c->holes.err;
}

static int create_apply(struct change *change, struct keeping *k, const struct device *d UNUSED)
{
	struct create *c = CONTAINER_OF(change, struct create, change);
	struct store *s = c->b->env.store;
	const struct batch_job *j = c->j;
	const char *flags = j->auto_flags;
	int r = 0;
	if (j->info.added.created > 0)
		r = store_put_create(s, j->add.batch, &c->json);
	if (r == 0 && flags)
		r = store_put(s, STORE_META, STORE_KEY("auto", 4), flags, strlen(flags));
	const struct run *runs = (const struct run *)c->holes.s;
	for (size_t i = 0; r == 0 && i < c->holes.len / sizeof(*runs); i++)
		r = store_add_hole(
			s, j->add.batch, j->add.conf.netmask_len, &runs[i].first, &runs[i].last);
	return r < 0 ? keeping_fail(k, r) : 0;
}

int batch_keep(struct batches *b, const struct batch_job *j, struct fault *reterr_fault)
{
	struct create c = {.change.apply = create_apply,
		.b = b,
		.j = j,
		.json = TEXT(b->env.mem),
		.holes = TEXT(b->env.mem)};
	const struct fleet_added *added = &j->info.added;
	int r = 0;
	SPAN_WORK("keep devices");
	store_create_text(&c.json, &j->add, j->auto_flags != NULL);
	if (added->created > 0 && added->existing + added->differing > 0)
		r = find_holes(&c);
	if (r == 0)
		r = keeper_run(b->env.keeper, &c.change);
	text_done(&c.json);
	text_done(&c.holes);
	return r < 0 ? store_refusal(b->env.store, r, reterr_fault) : 0;
}
