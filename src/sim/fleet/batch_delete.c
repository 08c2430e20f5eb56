#include "sim/fleet/batch_impl.h"
#include "sim/fleet/keeper.h"
#include "sim/fleet/store.h"
#include "sim/fleet/store_create.h"
#include <errno.h>

static uint64_t delete_rows(struct batches *b, const struct addr *a)
{
	struct fleet_gone gone = {batch_on_gone, b};
	uint64_t n =
		a ? fleet_del(b->env.fleet, a, &gone) == 0 : fleet_del_all(b->env.fleet, &gone);
	batch_undo_dead(b);
	return n;
}

/* Forgotten by the store first: then the keeper takes the rows, before it looks at another change,
 * so that nothing is set on a device whose records are gone. */
struct removal {
	struct change change; /* its address is the device's; of no device: of all */
	struct batches *b;
	bool all;
	struct lock lock; /* of what follows */
	struct cond cond;
	bool is_done;
	int result;
	uint64_t n;
};

static int forget_one(struct batches *b, const struct device *d)
{
	lock_take(&b->lock);
	int64_t live = batch_book_live(&b->book, d->batch);
	lock_drop(&b->lock);
	int r = live == 1 ? store_del_create(b->env.store, d->batch)
			  : store_add_hole(b->env.store, d->batch, d->conf->netmask_len, &d->addr,
				    &d->addr);
	if (r == 0)
		r = store_del_sets_of(b->env.store, &d->addr, &d->addr);
	return r == 0 ? store_del_ifs_of(b->env.store, &d->addr, &d->addr) : r;
}

int batches_forget(struct batches *b, struct keeping *k, const struct device *d)
{
	int r = b->env.store ? forget_one(b, d) : 0;
	return r < 0 ? keeping_fail(k, r) : 0;
}

void batches_take(struct batches *b, const struct addr *a)
{
	(void)delete_rows(b, a);
}

static int removal_apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct removal *m = CONTAINER_OF(c, struct removal, change);
	struct store *s = m->b->env.store;
	if (!m->all && !d)
		return -ENOENT;
	if (!m->all)
		return batches_forget(m->b, k, d);
	int r = store_del_devices(s);
	return r < 0 ? keeping_fail(k, r) : 0;
}

static void removal_done(struct change *c, int r)
{
	struct removal *m = CONTAINER_OF(c, struct removal, change);
	uint64_t n = r == 0 ? delete_rows(m->b, m->all ? NULL : &c->addr) : 0;
	LOCK_SCOPE(&m->lock);
	m->result = r;
	m->n = n;
	m->is_done = true;
	cond_wake(&m->cond);
}

static int delete_kept(
	struct batches *b, const struct addr *a, uint64_t *ret_n, struct fault *reterr_fault)
{
	struct removal m = {.change = {.alone = true, .apply = removal_apply, .done = removal_done},
		.b = b,
		.all = !a};
	if (a)
		m.change.addr = *a;
	lock_init(&m.lock);
	cond_init(&m.cond);
	int r = keeper_submit(b->env.keeper, &m.change);
	if (r == 0) {
		LOCK_SCOPE(&m.lock);
		while (!m.is_done)
			cond_wait(&m.cond, &m.lock);
		r = m.result;
		*ret_n = m.n;
	}
	cond_done(&m.cond);
	lock_done(&m.lock);
	return r < 0 && r != -ENOENT ? store_refusal(b->env.store, r, reterr_fault) : r;
}

int batch_delete(
	struct batches *b, const struct addr *a, uint64_t *ret_n, struct fault *reterr_fault)
{
	if (b->env.store)
		return delete_kept(b, a, ret_n, reterr_fault);
	*ret_n = delete_rows(b, a);
	return a && *ret_n == 0 ? -ENOENT : 0;
}
