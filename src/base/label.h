/* Label sets: what part of the program a thread works for. A set is immutable and lives as long as
 * the process; a thread points to one, from birth, and a scope swaps the pointer. */
#pragma once
#include "base/attr.h"

struct label_pair {
	const char *key, *value;
};
struct label {
	unsigned count;
	struct label_pair pairs[4]; /* sorted by key */
};
/* A set of one pair subsystem=VALUE, as a constant object. */
#define LABEL_SUBSYSTEM(name, value) const struct label name = {1, {{"subsystem", value}}}

extern const struct label label_main, label_api, label_snmp;

/* The value of key in the set, or NULL. */
const char *label_get(const struct label *l, const char *key);
