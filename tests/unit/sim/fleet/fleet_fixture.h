/* A fleet on the fake allocator and clock, and short forms of what tests ask of it. */
#pragma once
#include "base/rcu.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include "fake_type.h"
#include "sim/fleet/fleet.h"

struct fixture {
	struct fake f;
	struct stats *stats;
	struct fleet *fleet;
};

static inline struct addr fx_addr(const char *s)
{
	struct addr a;
	ck_assert_msg(addr_parse(s, &a) == 0, "%s", s);
	return a;
}

static unsigned fx_open;
static inline struct fixture fx_make(uint64_t seed)
{
	struct fixture x = {.f = fake_make()};
	fx_open++;
	rcu_thread_init();
	ck_assert_int_eq(stats_new(x.f.mem, &x.stats), 0);
	struct fleet_env env = {x.f.mem, x.f.clk, x.stats};
	struct fleet_conf conf = {seed};
	ck_assert_int_eq(fleet_new(&env, &conf, &x.fleet), 0);
	return x;
}

static inline void fx_done(struct fixture *x)
{
	(void)fleet_free(x->fleet);
	(void)stats_free(x->stats);
	fake_done(&x->f);
	if (--fx_open == 0)
		ck_assert_int_eq(fake_type_refs_all(), 0);
	rcu_thread_done();
}

static const struct type *const fx_one_type[] = {&fake_types[0]};
static inline struct fleet_add fx_add(struct addr start, uint8_t netmask_len, uint32_t count)
{
	return (struct fleet_add){.start = start,
		.conf.netmask_len = netmask_len,
		.count = count,
		.types = fx_one_type,
		.n_types = 1,
		.conf.snmp_port = 161,
		.conf.named_type = true,
		.batch = 1};
}

/* Adds it whole; returns what happened. */
static inline struct fleet_added fx_create(struct fixture *x, const struct fleet_add *add)
{
	struct fleet_added added = {0};
	ck_assert_int_eq(fleet_add_slice(x->fleet, add, 0, add->count, &added), 0);
	return added;
}

static inline bool fx_has(const struct fixture *x, const struct addr *a)
{
	RCU_SCOPE;
	const struct device *d = fleet_find(x->fleet, a);
	ck_assert(!d || addr_eq(&d->addr, a));
	return d != NULL;
}

static inline uint64_t fx_walk(const struct fixture *x)
{
	uint64_t n = 0;
	RCU_SCOPE;
	struct addr at;
	for (const struct device *d = fleet_next(x->fleet, NULL); d;
		d = fleet_next(x->fleet, &at), n++) {
		ck_assert(n == 0 || addr_cmp(&d->addr, &at) > 0);
		at = d->addr;
	}
	return n;
}
