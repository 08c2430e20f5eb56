/* Interfaces set from outside: administrative state or link, for good or for a while. Owned by
 * main; all but ifset_new and ifset_free is for the keeper's thread. */
#pragma once
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/keeper.h"

#define IFSET_REVERTS_MAX 100u /* of a device */
#define IFSET_DURATION_MAX_NS (24 * 3600 * NS_PER_SEC)

struct store;
struct ifset;
struct ifset_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk; /* of the keeper */
	struct stats *stats;
	struct keeper *keeper;
	struct store *store; /* NULL: nothing survives */
};
extern const struct counter ifset_counters[];
MUST_CHECK int ifset_new(const struct ifset_env *env, struct ifset **ret_ifset);
struct ifset *ifset_free(struct ifset *s); /* after keeper_stop, before keeper_free */
CLEANUP(ifset);

struct ifset_ask {
	uint32_t slot;
	enum ifstate_what what;
	uint8_t status;	      /* enum if_status, up to IF_TESTING */
	uint64_t duration_ns; /* after which what was there before comes back; 0: never */
};
/* Carries it out within a change's apply: what is set for good is put into the store. *ret_revert,
 * for a while, goes to ifset_arm or is freed by mem_free of env. -EDQUOT: IFSET_REVERTS_MAX of the
 * device wait; -ENOMEM, or the group has failed. */
struct ifset_revert;
MUST_CHECK int ifset_apply(struct ifset *s, struct keeping *k, const struct device *d,
	const struct ifset_ask *ask, struct ifset_revert **ret_revert);
/* Within the change's done, when it was carried out: what waited for this interface waits no more;
 * revert (may be NULL) does. */
void ifset_arm(struct ifset *s, const struct addr *a, const struct ifset_ask *ask,
	struct ifset_revert *revert);
/* When what is set of the interface comes back, monotonic; 0: not at all. */
uint64_t ifset_reverts_at_ns(
	const struct ifset *s, const struct device *d, uint32_t slot, enum ifstate_what what);
