/* Changes of the index in two steps: prepare takes all memory and may fail, commit publishes and
 * cannot. Between commit and retire the writer waits for readers. Only fleet*.c include this. */
#pragma once
#include "sim/fleet/fleet_index.h"

/* What an add does to one page. */
struct fleet_change {
	struct addr base;
	struct fleet_page *old;	 /* NULL: there is none yet */
	struct fleet_page *page; /* by prepare: where the rows go; old or a new one */
	uint32_t adds;
};
struct fleet_plan {
	struct fleet_change *changes; /* sorted by base; borrowed */
	uint32_t n;
	struct fleet_table *table;   /* the new one, by commit the replaced; NULL: it stays */
	struct fleet_dir *dir;	     /* likewise */
	struct fleet_span *fresh;    /* chain of those only the new dir has */
	struct fleet_span *replaced; /* chain of those only the old dir has */
};
/* Sets each change's page and makes what commit needs. -ENOMEM: nothing is kept. */
MUST_CHECK int fleet_plan_prepare(struct fleet_index *ix, struct fleet_change *changes, uint32_t n,
	struct fleet_plan *ret_plan);
/* Publishes the pages, with the rows that were put into them. */
void fleet_plan_commit(struct fleet_index *ix, struct fleet_plan *plan);
/* Did commit replace something, so that the writer must wait for readers? */
bool fleet_plan_waits(const struct fleet_plan *plan);
/* After rcu_wait: frees what commit replaced. */
void fleet_plan_retire(struct fleet_index *ix, struct fleet_plan *plan);

/* Takes pages without rows between the bases first and last out of the index. Where there is no
 * memory for that, an empty page stays, harmless. Retire with fleet_plan_swept. */
void fleet_plan_sweep(struct fleet_index *ix, const struct addr *first, const struct addr *last,
	struct fleet_plan *ret_plan);
void fleet_plan_swept(struct fleet_index *ix, struct fleet_plan *plan);
