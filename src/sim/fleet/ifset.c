#include "sim/fleet/ifset.h"
#include "base/rnd.h"
#include "sim/fleet/store.h"
#include <errno.h>
#include <string.h>

#define BUCKETS 1024u /* a power of two */

struct ifset_revert {
	struct ifset_revert *next; /* of the bucket of the device */
	struct wheel_timer timer;
	struct change change;
	struct ifset *ifset;
	struct addr addr;
	uint64_t boot_ns, at_ns;
	struct ifset_ask back; /* for good */
};
struct ifset {
	struct ifset_env env;
	struct ifset_revert *bucket[BUCKETS];
	uint64_t armed_reverts, done_reverts, cancelled_reverts;
};
const struct counter ifset_counters[] = {
	COUNTER(struct ifset, armed_reverts, "States of interfaces that were set for a while"),
	COUNTER(struct ifset, done_reverts, "Of them, those that came back"),
	COUNTER(struct ifset, cancelled_reverts, "Of them, those that were set again before"),
	{0},
};

int ifset_new(const struct ifset_env *env, struct ifset **ret_ifset)
{
	AUTO(ifset) struct ifset *s = mem_zalloc(env->mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->env = *env;
	int r = stats_attach(env->stats, ifset_counters, NULL, s);
	if (r < 0)
		return r;
	*ret_ifset = TAKE(s);
	return 0;
}

struct ifset *ifset_free(struct ifset *s)
{
	if (!s)
		return NULL;
	stats_detach(s->env.stats, s);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct ifset_revert *r; (r = s->bucket[i]);) {
			s->bucket[i] = r->next;
			mem_free(s->env.mem, r);
		}
	return mem_free(s->env.mem, s);
}

static struct ifset_revert **bucket_of(struct ifset *s, const struct addr *a)
{
	uint64_t hi, lo;
	memcpy(&hi, a->b, 8);
	memcpy(&lo, a->b + 8, 8);
	return &s->bucket[rnd_mix(hi ^ rnd_mix(lo)) & (BUCKETS - 1)];
}

static struct ifset_revert **find(
	struct ifset *s, const struct addr *a, uint32_t slot, enum ifstate_what what)
{
	struct ifset_revert **at = bucket_of(s, a);
	while (*at &&
		!((*at)->back.slot == slot && (*at)->back.what == what && addr_eq(&(*at)->addr, a)))
		at = &(*at)->next;
	return at;
}

static uint32_t count(struct ifset *s, const struct device *d)
{
	uint32_t n = 0;
	for (const struct ifset_revert *r = *bucket_of(s, &d->addr); r; r = r->next)
		n += addr_eq(&r->addr, &d->addr) && r->boot_ns == d->boot_ns;
	return n;
}

uint64_t ifset_reverts_at_ns(
	const struct ifset *s, const struct device *d, uint32_t slot, enum ifstate_what what)
{
	const struct ifset_revert *r = *find((struct ifset *)s, &d->addr, slot, what);
	return r && r->boot_ns == d->boot_ns ? r->at_ns : 0;
}

/* What comes back: of an interface that waits for it already, the same; else what is there. */
static int make_revert(struct ifset *s, const struct device *d, const struct ifset_ask *ask,
	const struct ifstate *before, struct ifset_revert **ret)
{
	struct ifset_revert *pending = *find(s, &d->addr, ask->slot, ask->what);
	bool chain = pending && pending->boot_ns == d->boot_ns;
	if (!chain && count(s, d) >= IFSET_REVERTS_MAX)
		return -EDQUOT;
	struct ifset_revert *r = mem_zalloc(s->env.mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->ifset = s;
	r->addr = d->addr;
	r->boot_ns = d->boot_ns;
	r->back = (struct ifset_ask){.slot = ask->slot, .what = ask->what};
	if (chain)
		r->back.status = pending->back.status;
	else
		r->back.status = ask->what == IFSTATE_ADMIN ? before->admin : before->link;
	r->at_ns = clk_ns(s->env.clk) + ask->duration_ns;
	*ret = r;
	return 0;
}

static int put(struct ifset *s, const struct device *d, uint32_t slot, const struct ifstate *now)
{
	return s->env.store ? store_put_if(s->env.store, &d->addr, d->conf->type->ifs[slot].index,
				      (uint8_t[]){now->admin, now->link}, 2)
			    : 0;
}

int ifset_apply(struct ifset *s, struct keeping *k, const struct device *d,
	const struct ifset_ask *ask, struct ifset_revert **ret_revert)
{
	const struct dev_state *state = keeping_state(k, d);
	const struct dev_ifs *ifs = state ? state->ifs : NULL, *next;
	struct ifset_revert *revert = NULL;
	struct ifstate before, after;
	ifstate_get(d, ifs, ask->slot, keeping_now_ns(k), &before);
	int r = ask->duration_ns ? make_revert(s, d, ask, &before, &revert) : 0;
	if (r == 0)
		r = ifstate_change(keeping_mem(k), d, ifs, ask->slot, ask->what, ask->status,
			keeping_now_ns(k), &next);
	if (r < 0) {
		mem_free(s->env.mem, revert);
		return r;
	}
	ifstate_get(d, next, ask->slot, keeping_now_ns(k), &after);
	if (!ask->duration_ns)
		r = put(s, d, ask->slot, &after);
	if (r == 0 && next != ifs)
		r = keeping_put(k, d, state ? state->sets : NULL, next);
	else if (r < 0 && next != ifs)
		mem_free(keeping_mem(k), (void *)next);
	if (r < 0) {
		mem_free(s->env.mem, revert);
		return keeping_fail(k, r);
	}
	*ret_revert = revert;
	return 0;
}

static int back_apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct ifset_revert *r = CONTAINER_OF(c, struct ifset_revert, change), *none;
	return d && d->boot_ns == r->boot_ns ? ifset_apply(r->ifset, k, d, &r->back, &none)
					     : -ENOENT;
}

static void back_done(struct change *c, int result)
{
	struct ifset_revert *r = CONTAINER_OF(c, struct ifset_revert, change);
	struct ifset *s = r->ifset;
	stat_add(&s->done_reverts, result == 0);
	mem_free(s->env.mem, r);
}

static void unlink_revert(struct ifset *s, struct ifset_revert *r)
{
	struct ifset_revert **at = bucket_of(s, &r->addr);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

static void fire(void *arg)
{
	struct ifset_revert *r = arg;
	r->change = (struct change){.addr = r->addr, .apply = back_apply, .done = back_done};
	int e = keeper_submit(r->ifset->env.keeper, &r->change);
	if (e == -EAGAIN) { /* many wait: a little later */
		wheel_arm(keeper_wheel(r->ifset->env.keeper), &r->timer,
			clk_ns(r->ifset->env.clk) + NS_PER_SEC / 10);
		return;
	}
	unlink_revert(r->ifset, r);
	if (e < 0)
		mem_free(r->ifset->env.mem, r);
}

void ifset_arm(struct ifset *s, const struct addr *a, const struct ifset_ask *ask,
	struct ifset_revert *revert)
{
	struct ifset_revert **at = find(s, a, ask->slot, ask->what), *old = *at;
	if (old) {
		*at = old->next;
		wheel_disarm(keeper_wheel(s->env.keeper), &old->timer);
		mem_free(s->env.mem, old);
		stat_add(&s->cancelled_reverts, 1);
	}
	if (!revert)
		return;
	struct ifset_revert **bucket = bucket_of(s, a);
	revert->next = *bucket;
	*bucket = revert;
	revert->timer = (struct wheel_timer){.fire = fire, .arg = revert};
	wheel_arm(keeper_wheel(s->env.keeper), &revert->timer, revert->at_ns);
	stat_add(&s->armed_reverts, 1);
}
