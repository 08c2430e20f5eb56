#include "sim/fleet/restore.h"
#include "base/rcu.h"
#include "base/text.h"
#include "sim/fleet/keeper.h"
#include "sim/fleet/restore_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IN_WORK_MAX 64u

struct create {
	struct store_create kept;
	struct batch_run *runs;
	uint32_t n_runs, runs_room;
	uint32_t next; /* device behind the last hole */
	bool is_left_out;
	struct restore_states states;
};
struct restore {
	struct restore_env env;
	char *auto_flags; /* that the store has; NULL: none */
	struct create *creates;
	uint32_t n, room, submitted;
	struct create *in_work[IN_WORK_MAX];
	uint32_t n_in_work;
	struct text with_state; /* struct addr, sorted: devices of which something is kept */
};

static void left_out(struct restore *r, struct create *c, const char *why)
{
	char start[ADDR_TEXT_BYTES];
	c->is_left_out = true;
	store_note(r->env.store, "create %u, %u devices from %s: %.200s", c->kept.id,
		c->kept.add.count, addr_text(&c->kept.add.start, start), why);
}

static int read_create(void *arg, uint32_t id, const void *json, size_t bytes)
{
	struct restore *r = arg;
	struct fault fault = {0};
	if (r->n == r->room) {
		uint32_t room = MAX(r->room * 2, 16u);
		struct create *more = mem_resize(r->env.mem, r->creates, room, sizeof(*r->creates));
		if (!more)
			return -ENOMEM;
		r->creates = more;
		r->room = room;
	}
	struct create *c = &r->creates[r->n];
	*c = (struct create){.states.mem = r->env.mem};
	int e = store_create_read(
		r->env.mem, fleet_kus(r->env.fleet), json, bytes, &c->kept, &fault);
	if (e == -EINVAL) {
		store_note(r->env.store, "create %u: %s %s", id, fault.field, fault.text);
		return 0;
	}
	c->kept.id = id;
	r->n += e == 0;
	return e;
}

static struct create *find(struct restore *r, uint32_t id)
{
	uint32_t lo = 0, hi = r->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (r->creates[mid].kept.id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->n && r->creates[lo].kept.id == id ? &r->creates[lo] : NULL;
}

static int add_run(const struct mem *mem, struct create *c, uint32_t end)
{
	if (end <= c->next)
		return 0;
	if (c->n_runs == c->runs_room) {
		uint32_t room = MAX(c->runs_room * 2, 8u);
		struct batch_run *more = mem_resize(mem, c->runs, room, sizeof(*c->runs));
		if (!more)
			return -ENOMEM;
		c->runs = more;
		c->runs_room = room;
	}
	c->runs[c->n_runs++] = (struct batch_run){c->next, end - c->next};
	return 0;
}

/* Holes come in order. */
static int read_hole(void *arg, const struct store_hole *hole)
{
	struct restore *r = arg;
	struct create *c = find(r, hole->id);
	if (!c)
		return 0;
	const struct fleet_add *add = &c->kept.add;
	uint8_t len = add->conf.netmask_len;
	uint32_t first = fleet_count_below(&add->start, len, add->count, &hole->first);
	struct addr behind = addr_add(&hole->last, 1);
	uint32_t next = fleet_count_below(&add->start, len, add->count, &behind);
	int e = add_run(r->env.mem, c, first);
	c->next = MAX(c->next, next);
	return e;
}

static int read_auto(void *arg, const void *value, size_t bytes)
{
	struct restore *r = arg;
	r->auto_flags = mem_zalloc(r->env.mem, bytes + 1);
	if (!r->auto_flags)
		return -ENOMEM;
	memcpy(r->auto_flags, value, bytes);
	return 0;
}

static int read_device(
	void *arg, struct store_key key, const void *value UNUSED, size_t bytes UNUSED)
{
	struct restore *r = arg;
	struct text *t = &r->with_state;
	const size_t n = sizeof(struct addr);
	if (key.bytes >= n && (t->len < n || memcmp(t->s + t->len - n, key.p, n) != 0))
		text_write(t, key.p, n);
	return t->err;
}

static int by_addr(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static bool has_state(const struct restore *r, const struct addr *first, const struct addr *last)
{
	const struct addr *list = (const struct addr *)r->with_state.s;
	size_t lo = 0, n = r->with_state.len / sizeof(*list), hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (addr_cmp(&list[mid], first) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && addr_cmp(&list[lo], last) <= 0;
}

static int read_all(struct restore *r)
{
	int e = store_each_create(r->env.store, read_create, r);
	if (e == 0)
		e = store_each_hole(r->env.store, read_hole, r);
	for (uint32_t i = 0; e == 0 && i < r->n; i++)
		e = add_run(r->env.mem, &r->creates[i], r->creates[i].kept.add.count);
	if (e == 0)
		e = store_each(r->env.store, STORE_SET, read_device, r);
	if (e == 0)
		e = store_each(r->env.store, STORE_IF, read_device, r);
	if (r->with_state.len > 0)
		qsort(r->with_state.s, r->with_state.len / sizeof(struct addr), sizeof(struct addr),
			by_addr);
	if (e == 0)
		e = store_get(r->env.store, STORE_META, STORE_KEY("auto", 4), read_auto, r);
	return e == -ENOENT ? 0 : e;
}

int restore_new(const struct restore_env *env, struct restore **ret_restore)
{
	struct restore *r = mem_zalloc(env->mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->env = *env;
	r->with_state = (struct text)TEXT(env->mem);
	int e = read_all(r);
	batches_restore(env->batches, r->n ? r->creates[r->n - 1].kept.id : 0);
	if (e < 0)
		(void)restore_free(r);
	else
		*ret_restore = r;
	return e;
}

struct restore *restore_free(struct restore *r)
{
	if (!r)
		return NULL;
	batches_restored(r->env.batches);
	for (uint32_t i = 0; i < r->n; i++) {
		store_create_done(r->env.mem, &r->creates[i].kept);
		(void)mem_free(r->env.mem, r->creates[i].runs);
		restore_states_done(&r->creates[i].states);
	}
	text_done(&r->with_state);
	(void)mem_free(r->env.mem, r->creates);
	(void)mem_free(r->env.mem, r->auto_flags);
	return mem_free(r->env.mem, r);
}

bool restore_has_auto(const struct restore *r, const char *auto_flags)
{
	return r->auto_flags && strcmp(r->auto_flags, auto_flags) == 0;
}

/* A type that is gone leaves out its devices, and no others. */
static int get_types(struct restore *r, struct create *c, const struct type **types)
{
	struct fault fault = {0};
	uint32_t missing = 0;
	for (uint32_t i = 0; i < c->kept.n_slugs; i++) {
		int e = c->kept.slugs[i]
				? types_get(r->env.types, c->kept.slugs[i], &types[i], &fault)
				: -ENOENT;
		if (e == -ENOMEM)
			return e;
		if (e == 0)
			continue;
		missing++;
		store_note(r->env.store, "create %u, its devices of type %.64s: %s", c->kept.id,
			c->kept.slugs[i] ? c->kept.slugs[i] : "?",
			e == -ENOENT ? "there is no such type" : fault.text);
	}
	c->is_left_out = missing > 0;
	return missing < c->kept.n_slugs ? 0 : -ENOENT;
}

/* The store is the keeper's. */
struct reading {
	struct change change;
	struct restore *r;
	struct create *c;
};

static int reading_apply(struct change *change, struct keeping *k, const struct device *d UNUSED)
{
	struct reading *g = CONTAINER_OF(change, struct reading, change);
	return restore_states_read(
		&g->c->states, g->r->env.store, &g->c->kept.add, keeping_now_ns(k));
}

static int read_states(struct restore *r, struct create *c, const struct type **types)
{
	struct reading g = {.change.apply = reading_apply, .r = r, .c = c};
	struct fleet_add *add = &c->kept.add;
	struct addr last;
	restore_states_done(&c->states); /* of a try before */
	add->types = types;
	add->n_types = c->kept.n_slugs;
	int e = fleet_nth_addr(&add->start, add->conf.netmask_len, add->count - 1, &last);
	if (e == 0 && has_state(r, &add->start, &last))
		e = keeper_run(r->env.keeper, &g.change);
	add->state = restore_states_take;
	add->state_arg = &c->states;
	return e;
}

static int submit_of(struct restore *r, struct create *c, const struct type **types,
	const struct device_conf *of_flags, struct fault *fault)
{
	struct batch_ask ask = {
		.add = c->kept.add, .id = c->kept.id, .runs = c->runs, .n_runs = c->n_runs};
	uint64_t id;
	int e = read_states(r, c, types);
	if (e < 0)
		return e;
	ask.add = c->kept.add;
	if (c->kept.of_flags) {
		ask.add.conf = *of_flags;
		ask.add.conf.netmask_len = c->kept.add.conf.netmask_len;
		ask.add.conf.named_type = c->kept.add.conf.named_type;
	}
	return batch_submit(r->env.batches, &ask, r->env.ended, r->env.arg, &id, fault);
}

/* 0: it is in work, or was left out; -EBUSY, -EAGAIN: later. */
static int submit(struct restore *r, struct create *c, const struct device_conf *of_flags)
{
	struct fault fault = {0};
	if (c->n_runs == 0)
		return 0;
	const struct type **types = mem_array(r->env.mem, c->kept.n_slugs, sizeof(*types));
	if (!types)
		return -ENOMEM;
	int e = get_types(r, c, types);
	if (e == 0)
		e = submit_of(r, c, types, of_flags, &fault);
	for (uint32_t i = 0; i < c->kept.n_slugs; i++)
		(void)type_unref(types[i]);
	(void)mem_free(r->env.mem, types);
	if (e == 0) {
		r->in_work[r->n_in_work++] = c;
		return 0;
	}
	if ((e == -EBUSY || e == -EAGAIN) && r->n_in_work > 0)
		return e;
	if (e != -ENOENT)
		left_out(r, c, fault.text[0] ? fault.text : strerrordesc_np(-e));
	return e == -ESHUTDOWN || e == -ENOMEM ? e : 0;
}

static void look_at_work(struct restore *r)
{
	struct batch_info info;
	for (uint32_t i = 0; i < r->n_in_work;) {
		struct create *c = r->in_work[i];
		int e = batch_get(r->env.batches, c->kept.id, &info);
		if (e == 0 && (info.state == BATCH_WAITING || info.state == BATCH_RUNNING)) {
			i++;
			continue;
		}
		if (e == 0 && info.state == BATCH_FAILED)
			left_out(r, c, info.fault.text);
		restore_states_done(&c->states);
		r->in_work[i] = r->in_work[--r->n_in_work];
	}
}

int restore_step(struct restore *r, const struct device_conf *of_flags)
{
	look_at_work(r);
	while (r->submitted < r->n && r->n_in_work < IN_WORK_MAX) {
		int e = submit(r, &r->creates[r->submitted], of_flags);
		if (e == -EBUSY || e == -EAGAIN)
			break;
		if (e < 0)
			return e;
		r->submitted++;
	}
	return r->n_in_work > 0 ? 1 : 0;
}

struct sweep {
	struct change change;
	struct restore *r;
	struct text gone; /* struct addr */
};

/* Has a create that could not be made again the device? */
static bool is_left_out(const struct restore *r, const struct addr *a)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct create *c = &r->creates[i];
		const struct fleet_add *add = &c->kept.add;
		struct addr last;
		if (c->is_left_out && addr_cmp(a, &add->start) >= 0 &&
			fleet_nth_addr(&add->start, add->conf.netmask_len, add->count - 1, &last) ==
				0 &&
			addr_cmp(a, &last) <= 0)
			return true;
	}
	return false;
}

static int sweep_one(void *arg, struct store_key key, const void *value UNUSED, size_t bytes UNUSED)
{
	struct sweep *w = arg;
	struct addr a;
	if (key.bytes < sizeof(a))
		return 0;
	memcpy(&a, key.p, sizeof(a));
	if (fleet_find(w->r->env.fleet, &a) || is_left_out(w->r, &a))
		return 0;
	if (w->gone.len < sizeof(a) ||
		memcmp(w->gone.s + w->gone.len - sizeof(a), &a, sizeof(a)) != 0)
		text_write(&w->gone, &a, sizeof(a));
	return w->gone.err;
}

static int sweep_apply(struct change *c, struct keeping *k, const struct device *d UNUSED)
{
	struct sweep *w = CONTAINER_OF(c, struct sweep, change);
	struct store *s = w->r->env.store;
	int e = store_each(s, STORE_SET, sweep_one, w);
	if (e == 0)
		e = store_each(s, STORE_IF, sweep_one, w);
	for (size_t at = 0; e == 0 && at < w->gone.len; at += sizeof(struct addr)) {
		struct addr a;
		memcpy(&a, w->gone.s + at, sizeof(a));
		e = store_del_sets_of(s, &a, &a);
		if (e == 0)
			e = store_del_ifs_of(s, &a, &a);
	}
	return e < 0 ? keeping_fail(k, e) : 0;
}

int restore_sweep(struct restore *r)
{
	struct store_status status;
	struct sweep w = {.change.apply = sweep_apply, .r = r, .gone = TEXT(r->env.mem)};
	store_status(r->env.store, &status);
	if (status.refuses)
		return 0;
	int e = keeper_run(r->env.keeper, &w.change);
	text_done(&w.gone);
	return e;
}
