/* Interface counters: pure functions of (device seed, interface, boot, time it was up), so SNMP,
 * flow and telemetry agree without storing anything. They begin at 0 at boot, never fall, follow a
 * day curve in the local time of the device's city and bursts of minutes, and never run faster than
 * ifSpeed. Whole-number arithmetic only, exactly monotone at every nanosecond. */
#pragma once
#include "sim/fleet/fleet.h"
#include "sim/fleet/if_profile.h"

enum if_load { IF_LOAD_PROFILE, IF_LOAD_LIGHT, IF_LOAD_NONE }; /* type_if.load */
enum if_direction { IF_IN, IF_OUT };

/* Columns of ifTable and ifXTable (RFC 2863) that move or will; in pairs, in before out. */
enum if_column {
	IF_COL_ADMIN_STATUS,
	IF_COL_OPER_STATUS,
	IF_COL_LAST_CHANGE,
	IF_COL_PHYS_ADDRESS,
	IF_COL_DISCONTINUITY,
	IF_COL_UNKNOWN_PROTOS, /* there are none */
	IF_COL_IN_DISCARDS,
	IF_COL_OUT_DISCARDS,
	IF_COL_IN_ERRORS,
	IF_COL_OUT_ERRORS,
	IF_COL_IN_OCTETS,
	IF_COL_OUT_OCTETS,
	IF_COL_IN_UCAST,
	IF_COL_OUT_UCAST,
	IF_COL_IN_MCAST,
	IF_COL_OUT_MCAST,
	IF_COL_IN_BCAST,
	IF_COL_OUT_BCAST,
	IF_COL_IN_NUCAST, /* multicast and broadcast together */
	IF_COL_OUT_NUCAST,
};

/* What all interfaces of a device share. */
struct ifcount {
	const struct if_profile *profile;
	uint64_t seed;
	enum if_errors errors;
	uint64_t local_ns; /* boot, local solar time of the city */
	uint64_t weighed;  /* the day curve's integral there */
};
void ifcount_init(struct ifcount *c, const struct device *d);
struct ifcount_lane { /* one direction of an interface */
	uint64_t octets, ucast, mcast, bcast;
	uint64_t errors, discards; /* of as many packets as go well, by the device's if_errors */
};
/* All counters of one direction of an interface that has been up for up_ns since boot; 64 bits. */
void ifcount_lane(const struct ifcount *c, const struct type_if *i, uint64_t up_ns,
	enum if_direction dir, struct ifcount_lane *ret_lane);
/* One counter, IF_COL_IN_DISCARDS and later; 64 bits, its 32-bit twin is the low half. */
uint64_t ifcount_get(
	const struct ifcount *c, const struct type_if *i, uint64_t up_ns, enum if_column col);
