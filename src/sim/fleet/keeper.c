#include "sim/fleet/keeper.h"
#include "base/rcu.h"
#include "base/rnd.h"
#include "base/thread.h"
#include "base/waits.h"
#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_NS (NS_PER_SEC / 100)
#define SLOTS (2 * KEEPER_GROUP) /* a power of two */
_Static_assert((SLOTS & (SLOTS - 1)) == 0, "a mask finds the slot");

/* A device whose state the group replaces. */
struct touched {
	struct addr addr;
	uint64_t boot_ns;	 /* with the address: which device */
	struct dev_state *state; /* NULL: nothing deviates any more */
	const struct dev_state *old;
	bool own_sets, own_ifs; /* not those of the state before */
	bool swapped;
	uint16_t next; /* of the same slot, + 1 */
};
struct keeping {
	struct keeper *keeper;
	uint64_t now_ns;
	int failed;
	uint32_t n;
	struct touched touched[KEEPER_GROUP];
	uint16_t slot[SLOTS]; /* place in touched + 1 */
};
struct keeper {
	struct keeper_env env;
	struct thread *thread;
	struct wheel *wheel;
	int wake_fd;	  /* -1: not started */
	struct lock lock; /* of what follows */
	bool stopping;
	struct change *first, **last;
	uint32_t n;
	/* Counters; refused_changes under the lock, the rest is the thread's. */
	uint64_t changes, refused_changes, failed_changes, groups;
	struct keeping group; /* the thread's */
};
const struct counter keeper_counters[] = {
	COUNTER(struct keeper, changes, "Changes of devices carried out"),
	COUNTER(struct keeper, refused_changes, "Changes refused as too many waited"),
	COUNTER(struct keeper, failed_changes, "Changes that could not be kept and were undone"),
	COUNTER(struct keeper, groups, "Groups that changes were kept in together"),
	{0},
};

int keeper_new(const struct keeper_env *env, struct keeper **ret_keeper)
{
	AUTO(keeper) struct keeper *k = mem_zalloc(env->mem, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->env = *env;
	k->wake_fd = -1;
	k->last = &k->first;
	k->group.keeper = k;
	lock_init(&k->lock);
	int r = wheel_new(env->mem, TICK_NS, clk_ns(env->clk), &k->wheel);
	if (r == 0)
		r = stats_attach(env->stats, keeper_counters, NULL, k);
	if (r < 0)
		return r;
	*ret_keeper = TAKE(k);
	return 0;
}

struct keeper *keeper_free(struct keeper *k)
{
	if (!k)
		return NULL;
	keeper_stop(k);
	stats_detach(k->env.stats, k);
	(void)wheel_free(k->wheel);
	lock_done(&k->lock);
	return mem_free(k->env.mem, k);
}

static void add(struct keeper *k, struct change *c)
{
	c->next = NULL;
	*k->last = c;
	k->last = &c->next;
	k->n++;
}

int keeper_submit(struct keeper *k, struct change *c)
{
	LOCK_SCOPE(&k->lock);
	if (k->wake_fd < 0 || k->stopping)
		return -ESHUTDOWN;
	if (k->n >= KEEPER_ROOM) {
		stat_add(&k->refused_changes, 1);
		return -EAGAIN;
	}
	add(k, c);
	if (k->n == 1)
		(void)eventfd_write(k->wake_fd, 1); /* read back before it could be full */
	return 0;
}

/* The first changes that wait, at most KEEPER_GROUP; NULL: none. */
static struct change *take_group(struct keeper *k, bool *ret_stopping)
{
	LOCK_SCOPE(&k->lock);
	struct change *first = k->first, **at = &k->first;
	uint32_t n = 0;
	for (bool alone = false; *at && n < KEEPER_GROUP && !alone; n++) {
		alone = (*at)->alone;
		if (alone && n > 0)
			break;
		at = &(*at)->next;
	}
	k->first = *at;
	*at = NULL;
	k->n -= n;
	if (!k->first)
		k->last = &k->first;
	*ret_stopping = k->stopping;
	return n ? first : NULL;
}

/* What the group did not come to is first again. */
static void give_back(struct keeper *k, struct change *rest)
{
	LOCK_SCOPE(&k->lock);
	struct change **end = &rest;
	for (; *end; end = &(*end)->next)
		k->n++;
	*end = k->first;
	if (!k->first)
		k->last = end;
	k->first = rest;
}

static uint16_t *slot_of(struct keeping *g, const struct addr *a)
{
	uint64_t hi, lo;
	memcpy(&hi, a->b, 8);
	memcpy(&lo, a->b + 8, 8);
	return &g->slot[rnd_mix(hi ^ rnd_mix(lo)) & (SLOTS - 1)];
}

static struct touched *find(struct keeping *g, const struct device *d)
{
	for (uint16_t at = *slot_of(g, &d->addr); at; at = g->touched[at - 1].next) {
		struct touched *t = &g->touched[at - 1];
		if (t->boot_ns == d->boot_ns && addr_eq(&t->addr, &d->addr))
			return t;
	}
	return NULL;
}

const struct dev_state *keeping_state(struct keeping *k, const struct device *d)
{
	const struct touched *t = find(k, d);
	return t ? t->state : RCU_GET(d->state);
}

static void drop_parts(struct keeping *g, const struct dev_sets *sets, const struct dev_ifs *ifs)
{
	(void)mem_free(g->keeper->env.mem, (void *)sets);
	(void)mem_free(g->keeper->env.mem, (void *)ifs);
}

static struct touched *touch(struct keeping *g, const struct device *d)
{
	struct touched *t = find(g, d);
	if (t)
		return t;
	uint16_t *slot = slot_of(g, &d->addr);
	assert(g->n < KEEPER_GROUP); /* each change has one device */
	t = &g->touched[g->n++];
	*t = (struct touched){.addr = d->addr,
		.boot_ns = d->boot_ns,
		.state = (struct dev_state *)RCU_GET(d->state),
		.next = *slot};
	t->old = t->state;
	*slot = (uint16_t)g->n;
	return t;
}

int keeping_put(struct keeping *k, const struct device *d, const struct dev_sets *sets,
	const struct dev_ifs *ifs)
{
	const struct mem *mem = k->keeper->env.mem;
	const struct dev_state *now = keeping_state(k, d);
	bool new_sets = sets != (now ? now->sets : NULL), new_ifs = ifs != (now ? now->ifs : NULL);
	struct dev_state *state = NULL;
	if (sets || ifs) {
		state = dev_state_new(mem, sets, ifs);
		if (!state) {
			drop_parts(k, new_sets ? sets : NULL, new_ifs ? ifs : NULL);
			return -ENOMEM;
		}
	}
	struct touched *t = touch(k, d);
	if (t->state && t->state != t->old) { /* of an earlier change of the group: nobody saw it */
		drop_parts(k, new_sets && t->own_sets ? t->state->sets : NULL,
			new_ifs && t->own_ifs ? t->state->ifs : NULL);
		(void)mem_free(mem, t->state);
	}
	t->state = state;
	t->own_sets |= new_sets;
	t->own_ifs |= new_ifs;
	return 0;
}

int keeping_fail(struct keeping *k, int r)
{
	k->failed = r;
	return r;
}

uint64_t keeping_now_ns(const struct keeping *k)
{
	return k->now_ns;
}

const struct mem *keeping_mem(const struct keeping *k)
{
	return k->keeper->env.mem;
}

struct wheel *keeper_wheel(struct keeper *k)
{
	return k->wheel;
}

static void apply(struct keeper *k, struct change *c)
{
	static const struct addr none;
	RCU_SCOPE;
	const struct device *d =
		addr_eq(&c->addr, &none) ? NULL : fleet_find(k->env.fleet, &c->addr);
	c->result = c->apply(c, &k->group, d);
}

/* Shows what the group has made of each device, or drops it (of a device that is gone, or all when
 * the group failed). */
static void publish(struct keeper *k, bool drop)
{
	struct keeping *g = &k->group;
	bool any = false;
	for (uint32_t i = 0; i < g->n; i++) {
		struct touched *t = &g->touched[i];
		const struct dev_state *s = t->state;
		t->swapped = !drop && fleet_swap_state(k->env.fleet, &t->addr, t->boot_ns, s) == 0;
		any |= t->swapped;
		if (t->swapped || !s || s == t->old)
			continue;
		drop_parts(g, t->own_sets ? s->sets : NULL, t->own_ifs ? s->ifs : NULL);
		(void)mem_free(k->env.mem, (void *)s);
	}
	if (!any)
		g->n = 0;
}

/* Frees what readers saw before. */
static void retire(struct keeper *k)
{
	struct keeping *g = &k->group;
	if (g->n > 0)
		rcu_wait();
	for (uint32_t i = 0; i < g->n; i++) {
		const struct touched *t = &g->touched[i];
		if (!t->swapped || !t->old || t->state == t->old)
			continue;
		drop_parts(g, t->own_sets ? t->old->sets : NULL, t->own_ifs ? t->old->ifs : NULL);
		(void)mem_free(k->env.mem, (void *)t->old);
	}
}

static void tell(struct keeper *k, struct change *first)
{
	for (struct change *c = first, *next; c; c = next) {
		next = c->next;
		stat_add(c->result < 0 && k->group.failed ? &k->failed_changes : &k->changes, 1);
		c->done(c, c->result);
	}
}

static void carry_out(struct keeper *k, struct change *first)
{
	struct keeping *g = &k->group;
	const struct keeper_store *store = k->env.store;
	g->n = 0;
	g->failed = 0;
	memset(g->slot, 0, sizeof(g->slot));
	g->now_ns = fleet_now_ns(k->env.fleet);
	struct change **at = &first;
	for (; *at && !g->failed; at = &(*at)->next)
		apply(k, *at);
	if (*at)
		give_back(k, *at);
	*at = NULL;
	if (store && !g->failed)
		g->failed = store->commit(store->arg);
	if (g->failed) {
		if (store)
			store->rollback(store->arg);
		for (struct change *c = first; c; c = c->next)
			c->result = g->failed;
	}
	publish(k, g->failed < 0);
	stat_add(&k->groups, 1);
	tell(k, first);
	retire(k);
}

static void sleep_until_due(struct keeper *k)
{
	struct pollfd fd = {k->wake_fd, POLLIN, 0};
	uint64_t due_ns = wheel_next_ns(k->wheel), now_ns = clk_ns(k->env.clk), ms;
	eventfd_t seen;
	if (due_ns == UINT64_MAX)
		ms = UINT64_MAX;
	else
		ms = due_ns > now_ns
			     ? (due_ns - now_ns + NS_PER_SEC / 1000 - 1) / (NS_PER_SEC / 1000)
			     : 0;
	if (wait_poll(&fd, 1, ms > 3600000 ? -1 : (int)ms) > 0)
		(void)eventfd_read(k->wake_fd, &seen);
}

static void run(void *arg)
{
	struct keeper *k = arg;
	for (bool stopping = false;;) {
		wheel_run(k->wheel, clk_ns(k->env.clk));
		struct change *group = take_group(k, &stopping);
		if (group)
			carry_out(k, group);
		else if (stopping)
			return;
		else
			sleep_until_due(k);
	}
}

int keeper_start(struct keeper *k)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	lock_take(&k->lock);
	k->wake_fd = fd;
	k->stopping = false;
	lock_drop(&k->lock);
	struct thread_conf conf = {"keeper-0", &label_fleet, run, k};
	int r = thread_start(k->env.mem, &conf, &k->thread);
	if (r < 0)
		keeper_stop(k);
	return r;
}

void keeper_stop(struct keeper *k)
{
	lock_take(&k->lock);
	int fd = k->wake_fd;
	k->stopping = true;
	if (fd >= 0)
		(void)eventfd_write(fd, 1);
	lock_drop(&k->lock);
	k->thread = thread_join(k->thread);
	lock_take(&k->lock);
	k->wake_fd = -1;
	lock_drop(&k->lock);
	if (fd >= 0)
		(void)close(fd);
}

/* keeper_run's own change carries out the asker's. */
struct ridden {
	struct change change;
	struct change *asked;
	struct lock lock;
	struct cond cond;
	bool is_done;
	int result;
};

static int ride(struct change *c, struct keeping *k, const struct device *d)
{
	struct change *asked = CONTAINER_OF(c, struct ridden, change)->asked;
	return asked->apply(asked, k, d);
}

static void arrive(struct change *c, int r)
{
	struct ridden *w = CONTAINER_OF(c, struct ridden, change);
	LOCK_SCOPE(&w->lock);
	w->result = r;
	w->is_done = true;
	cond_wake(&w->cond);
}

int keeper_run(struct keeper *k, struct change *c)
{
	struct ridden w = {.change = {.addr = c->addr, .apply = ride, .done = arrive}, .asked = c};
	lock_init(&w.lock);
	cond_init(&w.cond);
	int r = keeper_submit(k, &w.change);
	if (r == 0) {
		lock_take(&w.lock);
		while (!w.is_done)
			cond_wait(&w.cond, &w.lock);
		r = w.result;
		lock_drop(&w.lock);
	}
	cond_done(&w.cond);
	lock_done(&w.lock);
	return r;
}
