/* Which ranges of addresses the lab network may take: refusals by name. Stateless. */
#pragma once
#include "base/fault.h"
#include "net/nl.h"

/* "10.42.0.1-10.42.0.9", or one address. */
#define LAB_RANGE_TEXT_BYTES (2 * ADDR_TEXT_BYTES)
const char *lab_check_text(
	const struct addr *first, const struct addr *last, char buf[static LAB_RANGE_TEXT_BYTES]);

/* Can these be devices at all? One family, first <= last, unicast, of global or private scope, and
 * all or none of it loopback. -EINVAL. */
MUST_CHECK int lab_check_range(
	const struct addr *first, const struct addr *last, struct fault *reterr_fault);

struct lab_check_env {
	struct nl *host;   /* the namespace whose network is protected */
	struct nl *names;  /* another socket there, for the names of links */
	uint32_t own_link; /* routes over it are ours; 0: none */
	uint32_t own_mark; /* local routes of this metric and LAB_RTPROT are ours; 0: none */
};
/* Refuses with -EEXIST what covers an address, broadcast address, gateway or resolver of the host,
 * or another's route, or meets a local route or another nl6's. Less specific routes of others do
 * not count: every range lies within some default route. what: how the message calls the range.
 * Errors of netlink. */
MUST_CHECK int lab_check_host(const struct lab_check_env *env, const char *what,
	const struct addr *first, const struct addr *last, struct fault *reterr_fault);
/* The resolvers of a resolv.conf(5): calls fn for each. Pure. */
void lab_check_resolvers(
	const char *s, size_t bytes, void (*fn)(void *arg, const struct addr *resolver), void *arg);
