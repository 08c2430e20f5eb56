/* What the store has of earlier starts, made again: each create as a batch of its own. What cannot
 * be made again stays in the store, and is noted there by name. */
#pragma once
#include "sim/fleet/batch.h"
#include "sim/fleet/store.h"

struct restore;
struct restore_env { /* borrowed */
	const struct mem *mem;
	struct fleet *fleet;
	struct types *types;
	struct batches *batches;
	struct keeper *keeper;
	struct store *store;
	void (*ended)(void *arg, uint64_t id); /* a batch has; from a job thread */
	void *arg;
};
/* Reads the creates; before the keeper and the batches start. Until restore_free, batches takes no
 * other work. -ENOMEM, errors of the store. */
MUST_CHECK int restore_new(const struct restore_env *env, struct restore **ret_restore);
struct restore *restore_free(struct restore *r); /* takes NULL; no batch may be in work */
CLEANUP(restore);
/* Submits what can be. 1: batches are in work, to be called again when one has ended; 0: all are
 * done. of_flags: settings of creates of the -auto flags (boot_settings). */
MUST_CHECK int restore_step(struct restore *r, const struct device_conf *of_flags);
/* When all are done: forgets what is kept of devices that no create has (their create was cut off,
 * and nobody was told of it). */
MUST_CHECK int restore_sweep(struct restore *r);
/* Was the fleet that these -auto flags ask for made already? */
bool restore_has_auto(const struct restore *r, const char *auto_flags);
