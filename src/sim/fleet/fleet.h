/* The fleet: one row a device, found by address without a lock. Rows live in pages of 256
 * consecutive addresses; the pages are sorted, so the fleet lists in order of address. */
#pragma once
#include "base/addr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stats.h"
#include "sim/fleet/type.h"

/* Settings that devices share; interned, reference-counted by their devices. */
struct device_conf {
	const struct type *type; /* a reference is held */
	uint16_t snmp_port;
	uint8_t netmask_len; /* as given, of the device's family: 16 */
	bool named_type;     /* false: the default type, resource_file is not shown */
};

/* Counters of the snmp group that can move (RFC 3418, RFC 1213); 32 bits, relaxed adds from any
 * worker; one cache line. */
enum device_snmp {
	DEV_SNMP_IN_PKTS,
	DEV_SNMP_OUT_PKTS,
	DEV_SNMP_IN_BAD_VERSIONS,
	DEV_SNMP_IN_BAD_COMMUNITY_NAMES,
	DEV_SNMP_IN_BAD_COMMUNITY_USES,
	DEV_SNMP_IN_ASN_PARSE_ERRS,
	DEV_SNMP_OUT_TOO_BIGS,
	DEV_SNMP_OUT_NO_SUCH_NAMES,
	DEV_SNMP_IN_TOTAL_REQ_VARS,
	DEV_SNMP_IN_GET_REQUESTS,
	DEV_SNMP_IN_GET_NEXTS,
	DEV_SNMP_IN_SET_REQUESTS,
	DEV_SNMP_OUT_GET_RESPONSES,
	DEV_SNMP_SILENT_DROPS,
	DEV_SNMP_N
};
struct device {
	struct addr addr;
	const struct device_conf *conf;
	uint64_t seed;			 /* of (fleet seed, address) */
	uint64_t boot_ns;		 /* fleet time of its boot */
	CACHE_ALIGNED uint32_t snmp[16]; /* enum device_snmp */
};
static inline void device_count(const struct device *d, enum device_snmp what, uint32_t n)
{
	__atomic_fetch_add((uint32_t *)&d->snmp[what], n, __ATOMIC_RELAXED);
}

struct fleet;
struct fleet_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
};
struct fleet_conf {
	uint64_t seed; /* -seed */
};
MUST_CHECK int fleet_new(
	const struct fleet_env *env, const struct fleet_conf *conf, struct fleet **ret_fleet);
struct fleet *fleet_free(struct fleet *f); /* no reader may be left */
CLEANUP(fleet);

/* Fleet time: nanoseconds since 1970 that never step, CLOCK_MONOTONIC shifted once at the start. */
uint64_t fleet_now_ns(const struct fleet *f);
uint64_t fleet_seed(const struct fleet *f);

/* The rest up to fleet_count is for readers: within RCU_SCOPE, results valid until it ends. */
const struct device *fleet_find(const struct fleet *f, const struct addr *a);
/* Asks the cache for what fleet_find will touch: the slot first, then the row. */
void fleet_prefetch_slot(const struct fleet *f, const struct addr *a);
void fleet_prefetch_row(const struct fleet *f, const struct addr *a);
/* The first device whose address is > *after, or the first of all (after NULL); NULL at the end. */
const struct device *fleet_next(const struct fleet *f, const struct addr *after);

/* Devices now; any thread, O(1). */
uint64_t fleet_count(const struct fleet *f);

/* Writers: any thread, one at a time inside (a lock of the fleet's). */
struct fleet_add {
	struct addr start;   /* used as given, even a network address */
	uint8_t netmask_len; /* of the family (32 or 128): hosts of all 0 or all 1 bits are skipped
				after the first; 31, 32, 127, 128: nothing is skipped */
	uint32_t count;
	const struct type *const *types; /* device i gets types[i % n_types] */
	uint32_t n_types;
	uint16_t snmp_port;
	bool named_type;
};
/* The address of device i of a range as netmask skips hosts; -ERANGE past the end of the family's
 * space. The range must fit the netmask's network only in that it does not run off the space. */
MUST_CHECK int fleet_nth_addr(
	const struct addr *start, uint8_t netmask_len, uint32_t i, struct addr *ret_addr);
struct fleet_added {
	uint32_t created;	     /* new rows */
	uint32_t existing;	     /* same type and settings: left as they are */
	uint32_t differing;	     /* other type or settings: left as they are */
	struct addr first_differing; /* if differing > 0 */
	char differing_ranges[256];  /* "10.0.0.1-10.0.0.9, 10.0.1.4", cut with "…" */
};
/* Adds rows first..first+n-1 of the range and publishes them; called in slices for progress.
 * All or nothing within the call. Adds to *added. -ENOMEM. */
MUST_CHECK int fleet_add_slice(struct fleet *f, const struct fleet_add *add, uint32_t first,
	uint32_t n, struct fleet_added *added);
/* -ENOENT. Waits for readers. */
MUST_CHECK int fleet_del(struct fleet *f, const struct addr *a);
/* Deletes what lies between first and last (both included); returns how many. */
uint64_t fleet_del_range(struct fleet *f, const struct addr *first, const struct addr *last);
uint64_t fleet_del_all(struct fleet *f);
/* Devices that still use a compiled type that is no longer the current one, per slug. */
void fleet_each_conf(struct fleet *f,
	void (*fn)(void *arg, const struct device_conf *conf, uint64_t devices), void *arg);
/* Anonymous bytes the fleet holds: pools, pages, index. */
uint64_t fleet_bytes(const struct fleet *f);
/* What count devices will need, for the check before a create. */
uint64_t fleet_bytes_needed(const struct fleet *f, uint64_t count);
