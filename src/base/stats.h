/* Registry of counters and gauges: objects attach a table that says where their fields are; readers
 * (/metrics, status) walk it. A field has one writing thread; stat_add is a relaxed load and store.
 * Attach and detach may be called from any thread. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

enum stat_kind { STAT_COUNTER, STAT_GAUGE };
struct counter {
	const char *owner; /* "bucket": metric nl6_bucket_<field>_total, or without _total for a
			      gauge */
	const char *field;
	const char *help; /* one sentence without a full stop */
	size_t offset;	  /* of a uint64_t in the object */
	enum stat_kind kind;
};
/* COUNTER(struct bucket, refused_takes, "…"); the owner is the type's name without "struct ". */
#define COUNTER(type, name, text) \
	{ \
		&(#type)[7], #name, text, offsetof(type, name), STAT_COUNTER \
	}
#define GAUGE(type, name, text) \
	{ \
		&(#type)[7], #name, text, offsetof(type, name), STAT_GAUGE \
	}

struct stats;
MUST_CHECK int stats_new(const struct mem *mem, struct stats **ret_stats);
struct stats *stats_free(struct stats *s);
CLEANUP(stats);

/* name (copied; NULL: no label) tells instances of a table apart. The object is borrowed until
 * detached. -ENOMEM. */
MUST_CHECK int stats_attach(
	struct stats *s, const struct counter *table, const char *name, const void *obj);
/* Takes all tables of the object off; their counters are kept in a total of each table, so that
 * sums never fall. Takes an object that was not attached. */
void stats_detach(struct stats *s, const void *obj);
/* Calls fn for each value, grouped by table and field in the order of attachment. Unnamed instances
 * of a table come as one value with name NULL. The total of detached ones is in that value, or
 * under the name "(gone)", when not 0, if any instance of the table ever had a name. fn must not
 * attach or detach. */
void stats_each(struct stats *s,
	void (*fn)(void *arg, const struct counter *c, const char *name, uint64_t value),
	void *arg);

static inline void stat_add(uint64_t *field, uint64_t n)
{
	__atomic_store_n(field, __atomic_load_n(field, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}
static inline void stat_set(uint64_t *field, uint64_t v)
{
	__atomic_store_n(field, v, __ATOMIC_RELAXED);
}
static inline uint64_t stat_get(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}
