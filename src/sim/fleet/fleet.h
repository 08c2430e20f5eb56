/* The fleet: one row a device, found by address without a lock. Rows live in pages of 256
 * consecutive addresses; the pages are sorted, so the fleet lists in order of address. */
#pragma once
#include "base/addr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include "sim/fleet/access.h"
#include "sim/fleet/dev_state.h"
#include "sim/fleet/fleet_range.h"
#include "sim/fleet/type.h"

/* What all engines of SNMP have in common. */
struct fleet_engine {
	uint32_t boots;	   /* of the program, see engine.h */
	uint64_t start_ns; /* fleet time of its start */
};

/* How much goes wrong on interfaces. */
enum if_errors { IF_ERRORS_CLEAN, IF_ERRORS_TYPICAL, IF_ERRORS_DEGRADED, IF_ERRORS_FAILING };
/* What states interfaces boot in. */
enum if_scenario {
	IF_SCENARIO_TYPE,     /* those of the type */
	IF_SCENARIO_SHUTDOWN, /* all down for the administrator */
	IF_SCENARIO_FAILURE,  /* all up for him, without a link */
	IF_SCENARIO_PART, /* all up for him; those whose ifIndex modulo 100 is below the percentage
			     have no link */
};

/* Settings that devices share; interned, reference-counted by their devices. */
struct device_conf {
	const struct type *type; /* a reference is held */
	uint16_t snmp_port;
	uint8_t netmask_len; /* of the device's family, given or by default: 16 */
	bool named_type;     /* false: the default type, resource_file is not shown */
	/* Who may SET by v1 and v2c; NULL: nobody. Borrowed by a create, the fleet's own in rows.
	 */
	const char *write_community;
	const struct access *access;	   /* a reference is held; NULL: no SNMPv3 */
	const struct fleet_engine *engine; /* set by the fleet */
	uint8_t if_errors;		   /* enum if_errors */
	uint8_t if_scenario;	/* enum if_scenario; the fleet's own, whatever a create says */
	uint8_t if_failure_pct; /* likewise; 0..100 */
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
	DEV_SNMP_IN_TOTAL_SET_VARS,
	DEV_SNMP_IN_GET_REQUESTS,
	DEV_SNMP_IN_GET_NEXTS,
	DEV_SNMP_IN_SET_REQUESTS,
	DEV_SNMP_OUT_GET_RESPONSES,
	DEV_SNMP_SILENT_DROPS,
	DEV_SNMP_N
};
/* Counters of SNMPv3 (RFC 3412 5, RFC 3413 4.1.2, RFC 3414 5), as those above. */
enum device_v3 {
	DEV_V3_UNKNOWN_SECURITY_MODELS,
	DEV_V3_INVALID_MSGS,
	DEV_V3_UNKNOWN_PDU_HANDLERS,
	DEV_V3_UNAVAILABLE_CONTEXTS,
	DEV_V3_UNKNOWN_CONTEXTS,
	DEV_V3_UNSUPPORTED_SEC_LEVELS,
	DEV_V3_NOT_IN_TIME_WINDOWS,
	DEV_V3_UNKNOWN_USER_NAMES,
	DEV_V3_UNKNOWN_ENGINE_IDS,
	DEV_V3_WRONG_DIGESTS,
	DEV_V3_DECRYPTION_ERRORS,
	DEV_V3_N
};
struct device {
	struct addr addr;
	const struct device_conf *conf;
	uint64_t seed;			 /* of (fleet seed, address) */
	uint64_t boot_ns;		 /* fleet time of its boot */
	struct device *chain;		 /* the fleet's own, for rows that no reader sees */
	uint32_t batch;			 /* who made it: fleet_add.batch */
	uint32_t site;			 /* of (fleet seed, address / 16): neighbours share one */
	const struct dev_state *state;	 /* RCU; NULL: nothing deviates from the type */
	CACHE_ALIGNED uint32_t snmp[16]; /* enum device_snmp */
	/* A line that v1 and v2c do not touch. */
	CACHE_ALIGNED uint32_t v3[DEV_V3_N]; /* enum device_v3 */
	uint32_t boots_more, time_more_s;    /* engine.h */
};
static inline void device_count(const struct device *d, enum device_snmp what, uint32_t n)
{
	__atomic_fetch_add((uint32_t *)&d->snmp[what], n, __ATOMIC_RELAXED);
}

/* Returns the count that it has now. */
static inline uint32_t device_count_v3(const struct device *d, enum device_v3 what)
{
	return __atomic_add_fetch((uint32_t *)&d->v3[what], 1, __ATOMIC_RELAXED);
}

struct fleet;
struct fleet_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
};
struct fleet_conf {
	uint64_t seed; /* -seed */
	enum if_scenario if_scenario;
	uint16_t if_failure_pct;
};
extern const struct flag fleet_flags[];
extern const struct counter fleet_counters[];
MUST_CHECK int fleet_new(
	const struct fleet_env *env, const struct fleet_conf *conf, struct fleet **ret_fleet);
struct fleet *fleet_free(struct fleet *f); /* no reader may be left */
CLEANUP(fleet);

/* Fleet time: nanoseconds since 1970 that never step, CLOCK_MONOTONIC shifted once at the start. */
uint64_t fleet_now_ns(const struct fleet *f);
uint64_t fleet_seed(const struct fleet *f);
/* snmpEngineBoots of this start, 1..2^31-1; before any device exists. Without it they are minutes
 * since 2020, so that they grow from start to start though nothing is remembered. Who remembers
 * gives no less than that number: devices that are made again use it up, see engine.h. */
void fleet_set_boots(struct fleet *f, uint32_t boots);
uint32_t fleet_boots(const struct fleet *f);
/* The keys of passwords, for access_new. */
struct kus *fleet_kus(const struct fleet *f);

/* The rest up to fleet_count is for readers: within RCU_SCOPE, results valid until it ends. Beyond
 * the index, a find in a fleet of whole pages touches two cache lines: the slot and the row. */
const struct device *fleet_find(const struct fleet *f, const struct addr *a);
/* Asks the cache for what fleet_find will touch: the slot first, then the row and its counters. */
void fleet_prefetch_slot(const struct fleet *f, const struct addr *a);
void fleet_prefetch_row(const struct fleet *f, const struct addr *a);
/* The first device whose address is > *after, or the first of all (after NULL); NULL at the end.
 * A device that exists through a whole walk is met once; one that comes or goes, at most once. */
const struct device *fleet_next(const struct fleet *f, const struct addr *after);

/* Devices now; any thread, O(1). */
uint64_t fleet_count(const struct fleet *f);

/* Writers: any thread, one at a time inside (a lock of the fleet's), never within RCU_SCOPE: they
 * wait for readers. */
struct fleet_add {
	struct addr start;  /* used as given, even a network address */
	bool netmask_given; /* by the user: the range must fit it (fleet_range_check) */
	uint32_t count;
	struct device_conf conf; /* of all of them, but for the type; netmask_len: see
				    fleet_nth_addr */
	/* Device i gets types[i % n_types]; where that is NULL, there is no device i. */
	const struct type *const *types;
	uint32_t n_types;
	uint32_t batch; /* kept in the rows; told when they go */
	/* What deviates on a new device from its birth, taken over; NULL: nothing. Called with the
	 * fleet's lock held, before anybody sees the device. NULL: nothing on any. */
	struct dev_state *(*state)(void *arg, const struct device *d);
	void *state_arg;
};
/* Ranges met in order, for people: only the first few are kept. Zeroed at first. */
#define FLEET_RANGES_KEPT 6u
struct fleet_ranges {
	uint32_t n;    /* all of them */
	uint32_t next; /* device number that would lengthen the last one */
	struct {
		struct addr first, last;
	} range[FLEET_RANGES_KEPT];
};
#define FLEET_RANGES_TEXT_BYTES 640
/* "10.0.0.1-10.0.0.9, 10.0.1.4 and 3 more"; empty when there is none. */
const char *fleet_ranges_text(
	const struct fleet_ranges *r, char buf[static FLEET_RANGES_TEXT_BYTES]);
struct fleet_added {
	uint32_t created;   /* new rows */
	uint32_t existing;  /* same type and settings: left as they are */
	uint32_t differing; /* other type or settings: left as they are */
	struct fleet_ranges differing_ranges;
};
/* Adds devices first..first+n-1 of a range that passed fleet_range_check, and publishes them;
 * called in slices for progress. A reader finds each device whole or not at all. On failure
 * nothing has changed. Adds to *added. -ENOMEM; -ERANGE, -EINVAL as of fleet_nth_addr. */
MUST_CHECK int fleet_add_slice(struct fleet *f, const struct fleet_add *add, uint32_t first,
	uint32_t n, struct fleet_added *added);
/* Told by the deletes below, when no reader sees the rows any more: n devices of a batch went; in
 * runs, so a batch may be told several times. fn must not call the fleet. NULL: nobody asks. */
struct fleet_gone {
	void (*fn)(void *arg, uint32_t batch, uint64_t n);
	void *arg;
};
/* Deletes never need memory. They are for sim/fleet/batch.h, which keeps the books of what was
 * prepared for the devices; other callers delete through it. -ENOENT. */
MUST_CHECK int fleet_del(struct fleet *f, const struct addr *a, const struct fleet_gone *gone);
/* Deletes what lies between first and last (both included), of one batch or (0) of all; returns how
 * many. */
uint64_t fleet_del_range(struct fleet *f, const struct addr *first, const struct addr *last,
	uint32_t batch, const struct fleet_gone *gone);
/* Gives the memory back to the system, too. */
uint64_t fleet_del_all(struct fleet *f, const struct fleet_gone *gone);
/* For the keeper alone, which gives what readers find at the state of a device from now on (may be
 * NULL). The fleet frees it with the device; who replaces it frees the one before, after rcu_wait.
 * -ENOENT: the device that booted then is gone. */
MUST_CHECK int fleet_swap_state(
	struct fleet *f, const struct addr *a, uint64_t boot_ns, const struct dev_state *state);
/* Calls fn for each setting in use, with the number of its devices; fn must not call back. */
void fleet_each_conf(struct fleet *f,
	void (*fn)(void *arg, const struct device_conf *conf, uint64_t devices), void *arg);
/* Anonymous bytes the fleet holds: pools, pages, index. Any thread. */
uint64_t fleet_bytes(const struct fleet *f);
/* What count devices of one range will need at most, for the check before a create. */
uint64_t fleet_bytes_needed(uint64_t count);
