#include "base/stats.h"
#include "base/thread.h"
#include <errno.h>
#include <string.h>

struct instance {
	struct instance *next;
	const void *obj;
	char *name; /* owned; NULL: unnamed */
};
struct group { /* all that attached one table */
	struct group *next;
	const struct counter *table;
	struct instance *first, **last;
	bool named;	 /* some instance had a name */
	uint64_t gone[]; /* sums of the detached, one a field */
};
struct stats {
	const struct mem *mem;
	struct lock lock;
	struct group *first, **last;
};

int stats_new(const struct mem *mem, struct stats **ret_stats)
{
	struct stats *s = mem_zalloc(mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->mem = mem;
	s->last = &s->first;
	lock_init(&s->lock);
	*ret_stats = s;
	return 0;
}

static void instance_free(struct stats *s, struct instance *i)
{
	(void)mem_free(s->mem, i->name);
	(void)mem_free(s->mem, i);
}

struct stats *stats_free(struct stats *s)
{
	if (!s)
		return NULL;
	for (struct group *g = s->first, *next_group; g; g = next_group) {
		next_group = g->next;
		for (struct instance *i = g->first, *next; i; i = next) {
			next = i->next;
			instance_free(s, i);
		}
		(void)mem_free(s->mem, g);
	}
	lock_done(&s->lock);
	return mem_free(s->mem, s);
}

static uint64_t value_of(const struct instance *i, const struct counter *c)
{
	return stat_get((const uint64_t *)((const char *)i->obj + c->offset));
}

/* The group of the table, made when there is none; NULL: no memory. */
static struct group *group_of(struct stats *s, const struct counter *table)
{
	for (struct group *g = s->first; g; g = g->next)
		if (g->table == table)
			return g;
	size_t fields = 0;
	while (table[fields].field)
		fields++;
	struct group *g = mem_zalloc(s->mem, sizeof(*g) + fields * sizeof(g->gone[0]));
	if (!g)
		return NULL;
	g->table = table;
	g->last = &g->first;
	*s->last = g;
	s->last = &g->next;
	return g;
}

int stats_attach(struct stats *s, const struct counter *table, const char *name, const void *obj)
{
	struct instance *i = mem_zalloc(s->mem, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->obj = obj;
	if (name && !(i->name = mem_strdup(s->mem, name))) {
		instance_free(s, i);
		return -ENOMEM;
	}
	LOCK_SCOPE(&s->lock);
	struct group *g = group_of(s, table);
	if (!g) {
		instance_free(s, i);
		return -ENOMEM;
	}
	*g->last = i;
	g->last = &i->next;
	g->named |= name != NULL;
	return 0;
}

/* Takes the object's instance out of the group; NULL when it has none. */
static struct instance *group_take(struct group *g, const void *obj)
{
	for (struct instance **at = &g->first, *i; (i = *at); at = &i->next)
		if (i->obj == obj) {
			*at = i->next;
			if (!*at)
				g->last = at;
			return i;
		}
	return NULL;
}

void stats_detach(struct stats *s, const void *obj)
{
	LOCK_SCOPE(&s->lock);
	for (struct group *g = s->first; g; g = g->next)
		for (struct instance *i; (i = group_take(g, obj));) {
			for (unsigned f = 0; g->table[f].field; f++)
				if (g->table[f].kind == STAT_COUNTER)
					g->gone[f] += value_of(i, &g->table[f]);
			instance_free(s, i);
		}
}

static void each_of_field(const struct group *g, unsigned field,
	void (*fn)(void *arg, const struct counter *c, const char *name, uint64_t value), void *arg)
{
	const struct counter *c = &g->table[field];
	/* Unnamed instances cannot be told apart: they count as one, and the gone with them. */
	uint64_t unnamed = g->named ? 0 : g->gone[field];
	bool any_unnamed = !g->named;
	for (const struct instance *i = g->first; i; i = i->next)
		if (!i->name) {
			unnamed += value_of(i, c);
			any_unnamed = true;
		}
	if (any_unnamed)
		fn(arg, c, NULL, unnamed);
	for (const struct instance *i = g->first; i; i = i->next)
		if (i->name)
			fn(arg, c, i->name, value_of(i, c));
	if (g->named && g->gone[field])
		fn(arg, c, "(gone)", g->gone[field]);
}

void stats_each(struct stats *s,
	void (*fn)(void *arg, const struct counter *c, const char *name, uint64_t value), void *arg)
{
	LOCK_SCOPE(&s->lock);
	for (const struct group *g = s->first; g; g = g->next)
		for (unsigned f = 0; g->table[f].field; f++)
			each_of_field(g, f, fn, arg);
}
