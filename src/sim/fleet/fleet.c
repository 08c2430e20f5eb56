#include "sim/fleet/fleet.h"
#include "sim/fleet/engine.h"
#include "sim/fleet/fleet_impl.h"
#include "sim/fleet/store.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct device) == 192, "a row is three cache lines");
static_assert(DEV_SNMP_N <= 16, "the counters are one cache line");

static const struct flag_choice if_scenarios[] = {{"1", IF_SCENARIO_SHUTDOWN},
	{"2", IF_SCENARIO_TYPE}, {"3", IF_SCENARIO_FAILURE}, {"4", IF_SCENARIO_PART}, {0}};
const struct flag fleet_flags[] = {
	FLAG_U64(struct fleet_conf, seed, "seed", 1, 0, UINT64_MAX,
		"Seed of names, serials and counters: the same seed gives the same fleet"),
	FLAG_ENUM(struct fleet_conf, if_scenario, "if-scenario", "2", if_scenarios,
		"Interfaces boot 1: shut down, 2: as their type has them, 3: without a link, 4: "
		"some "
		"without a link"),
	FLAG_U16(struct fleet_conf, if_failure_pct, "if-failure-pct", 10, 0, 100,
		"With -if-scenario 4: the `PERCENTAGE` of interfaces without a link"),
	{0}};
const struct counter fleet_counters[] = {
	GAUGE(struct fleet, devices, "Devices in the fleet"),
	GAUGE(struct fleet, pages, "Pages of 256 addresses with devices"),
	GAUGE(struct fleet, memory_bytes, "Anonymous memory of rows and index"),
	COUNTER(struct fleet, created_devices, "Devices created"),
	COUNTER(struct fleet, deleted_devices, "Devices deleted"),
	{0},
};

int fleet_rows_new(struct fleet *f, struct pool **ret_rows)
{
	return pool_new(f->env.mem, "fleet rows", sizeof(struct device), FLEET_ROW_ALIGN, ret_rows);
}

int fleet_new(const struct fleet_env *env, const struct fleet_conf *conf, struct fleet **ret_fleet)
{
	struct fleet *f = mem_zalloc(env->mem, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->env = *env;
	f->seed = conf->seed;
	f->if_scenario = (uint8_t)conf->if_scenario;
	f->if_failure_pct = (uint8_t)conf->if_failure_pct;
	f->shift_ns = clk_wall_ns(env->clk) - clk_ns(env->clk);
	f->engine.start_ns = fleet_now_ns(f);
	f->engine.boots = store_boots_by_clock(f->engine.start_ns);
	lock_init(&f->lock);
	int r = fleet_index_init(&f->index, env->mem);
	if (r == 0)
		r = fleet_rows_new(f, &f->rows);
	if (r == 0)
		r = kus_new(env->mem, &f->kus);
	if (r == 0)
		r = stats_attach(env->stats, fleet_counters, NULL, f);
	if (r < 0) {
		(void)fleet_free(f);
		return r;
	}
	fleet_tell(f);
	*ret_fleet = f;
	return 0;
}

struct fleet *fleet_free(struct fleet *f)
{
	if (!f)
		return NULL;
	stats_detach(f->env.stats, f);
	for (const struct device *d = NULL; (d = fleet_index_next(&f->index, d ? &d->addr : NULL));)
		dev_state_free(f->env.mem, d->state, NULL);
	for (struct fleet_setting *s = f->settings; s; s = s->next)
		s->devices = 0;
	fleet_settings_trim(f);
	fleet_index_done(&f->index);
	(void)pool_free(f->rows);
	(void)kus_free(f->kus);
	lock_done(&f->lock);
	return mem_free(f->env.mem, f);
}

uint64_t fleet_now_ns(const struct fleet *f)
{
	return clk_ns(f->env.clk) + f->shift_ns;
}

uint64_t fleet_seed(const struct fleet *f)
{
	return f->seed;
}

void fleet_set_boots(struct fleet *f, uint32_t boots)
{
	f->engine.boots = boots;
}

uint32_t fleet_boots(const struct fleet *f)
{
	return f->engine.boots;
}

struct kus *fleet_kus(const struct fleet *f)
{
	return f->kus;
}

const struct device *fleet_find(const struct fleet *f, const struct addr *a)
{
	return fleet_index_find(&f->index, a);
}

const struct device *fleet_next(const struct fleet *f, const struct addr *after)
{
	return fleet_index_next(&f->index, after);
}

int fleet_swap_state(
	struct fleet *f, const struct addr *a, uint64_t boot_ns, const struct dev_state *state)
{
	LOCK_SCOPE(&f->lock);
	struct device *d = (struct device *)fleet_index_find(&f->index, a);
	if (!d || d->boot_ns != boot_ns)
		return -ENOENT;
	RCU_SET(d->state, state);
	return 0;
}

/* The slot that fleet_find will look at first, or NULL. */
static const struct device *const *first_slot(const struct fleet *f, const struct addr *a)
{
	const struct fleet_table *t = RCU_GET(f->index.table);
	size_t at = SIZE_MAX;
	uintptr_t ptr = t ? fleet_index_probe(t, fleet_page_key(a), &at) : 0;
	/* A small page is searched here already: it is one or two lines. */
	return ptr ? fleet_index_slot(ptr, a->b[15]) : NULL;
}

void fleet_prefetch_slot(const struct fleet *f, const struct addr *a)
{
	const struct device *const *slot = first_slot(f, a);
	if (slot)
		__builtin_prefetch(slot);
}

void fleet_prefetch_row(const struct fleet *f, const struct addr *a)
{
	const struct device *const *slot = first_slot(f, a);
	const struct device *d = slot ? RCU_GET(*slot) : NULL;
	if (!d)
		return;
	__builtin_prefetch(d);
	__builtin_prefetch(d->snmp, 1);
}

uint64_t fleet_count(const struct fleet *f)
{
	return stat_get(&f->devices);
}

uint64_t fleet_bytes(const struct fleet *f)
{
	return stat_get(&f->memory_bytes);
}

uint64_t fleet_bytes_needed(uint64_t count)
{
	/* Whatever the netmask skips, a page of a range has 128 hosts; table and spans have at most
	 * 128 bytes a page; the last chunks of the pools of rows and pages are 2 MiB each. */
	uint64_t pages = count / 128 + 2;
	return count * sizeof(struct device) +
	       pages * (sizeof(struct fleet_page) + 256 * sizeof(void *) + 128) + (4ull << 20);
}

void fleet_tell(struct fleet *f)
{
	stat_set(&f->pages, f->index.n_pages);
	stat_set(&f->memory_bytes,
		pool_mapped_bytes(f->rows) + fleet_index_bytes(&f->index) + f->setting_bytes);
}

void fleet_each_conf(struct fleet *f,
	void (*fn)(void *arg, const struct device_conf *conf, uint64_t devices), void *arg)
{
	LOCK_SCOPE(&f->lock);
	for (const struct fleet_setting *s = f->settings; s; s = s->next)
		fn(arg, &s->conf, s->devices);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

struct fleet_setting *fleet_setting_get(struct fleet *f, const struct device_conf *conf)
{
	struct fleet_setting *s = f->settings;
	for (; s; s = s->next)
		if (s->conf.type == conf->type && s->conf.snmp_port == conf->snmp_port &&
			s->conf.netmask_len == conf->netmask_len &&
			s->conf.named_type == conf->named_type &&
			s->conf.if_errors == conf->if_errors &&
			is_same_text(s->conf.write_community, conf->write_community) &&
			access_eq(s->conf.access, conf->access))
			return s;
	s = mem_zalloc(f->env.mem, sizeof(*s));
	if (!s)
		return NULL;
	s->conf = *conf;
	if (conf->write_community) {
		s->conf.write_community = mem_strdup(f->env.mem, conf->write_community);
		if (!s->conf.write_community)
			return mem_free(f->env.mem, s);
	}
	s->conf.engine = &f->engine;
	(void)type_ref(conf->type);
	(void)access_ref(conf->access);
	s->next = f->settings;
	f->settings = s;
	f->setting_bytes += sizeof(*s);
	return s;
}

void fleet_settings_trim(struct fleet *f)
{
	for (struct fleet_setting **at = &f->settings, *s; (s = *at);) {
		if (s->devices > 0) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		(void)type_unref(s->conf.type);
		(void)mem_free(f->env.mem, (void *)s->conf.write_community);
		(void)access_unref(s->conf.access);
		f->setting_bytes -= sizeof(*s);
		(void)mem_free(f->env.mem, s);
	}
}

/* "first-last", or "first" when they are the same. */
static int range_text(const struct addr *first, const struct addr *last, char *buf, size_t room)
{
	char a[ADDR_TEXT_BYTES], b[ADDR_TEXT_BYTES];
	if (addr_eq(first, last))
		return snprintf(buf, room, "%s", addr_text(first, a));
	return snprintf(buf, room, "%s-%s", addr_text(first, a), addr_text(last, b));
}

const char *fleet_ranges_text(
	const struct fleet_ranges *r, char buf[static FLEET_RANGES_TEXT_BYTES])
{
	static_assert(FLEET_RANGES_TEXT_BYTES >= FLEET_RANGES_KEPT * (2 * ADDR_TEXT_BYTES + 3) + 32,
		"all that is kept fits");
	size_t at = 0;
	buf[0] = 0;
	for (uint32_t i = 0; i < MIN(r->n, FLEET_RANGES_KEPT); i++) {
		at += (size_t)snprintf(buf + at, FLEET_RANGES_TEXT_BYTES - at, "%s", i ? ", " : "");
		at += (size_t)range_text(&r->range[i].first, &r->range[i].last, buf + at,
			FLEET_RANGES_TEXT_BYTES - at);
	}
	if (r->n > FLEET_RANGES_KEPT)
		(void)snprintf(buf + at, FLEET_RANGES_TEXT_BYTES - at, " and %u more",
			r->n - FLEET_RANGES_KEPT);
	return buf;
}
