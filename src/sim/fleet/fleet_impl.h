/* The inside of struct fleet, shared by fleet.c, fleet_add.c and fleet_del.c only. */
#pragma once
#include "base/thread.h"
#include "sim/fleet/fleet_index.h"

/* Interned settings; a device's conf points to the first member. */
struct fleet_setting {
	struct device_conf conf;
	uint64_t devices;
	struct fleet_setting *next;
};
struct fleet {
	struct fleet_env env;
	uint64_t seed;
	uint8_t if_scenario, if_failure_pct;
	uint64_t shift_ns; /* fleet time - monotonic */
	struct fleet_engine engine;
	struct kus *kus;
	struct fleet_index index;
	struct lock lock;  /* of the writers, guards the rest */
	struct pool *rows; /* struct device */
	struct fleet_setting *settings;
	uint64_t setting_bytes;
	uint64_t deleted_ns; /* fleet time of the last delete; 0: none yet */
	/* Counters, written under the lock. */
	uint64_t devices, pages, memory_bytes, created_devices, deleted_devices;
};
#define FLEET_ROW_ALIGN 64 /* a row is whole lines */

static inline struct fleet_setting *fleet_setting_of(const struct device *d)
{
	return (struct fleet_setting *)d->conf;
}
/* The interned setting, with no device more; -ENOMEM: NULL. */
struct fleet_setting *fleet_setting_get(struct fleet *f, const struct device_conf *conf);
/* Frees settings without devices. */
void fleet_settings_trim(struct fleet *f);
/* Brings the gauges up to date at the end of a change. */
void fleet_tell(struct fleet *f);
int fleet_rows_new(struct fleet *f, struct pool **ret_rows);
