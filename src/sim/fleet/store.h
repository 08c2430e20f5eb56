/* The store: what survives the program, as records in an SQLite file of a state directory, each
 * with a checksum. Made by main, which opens and reads it; from keeper_start on only the keeper's
 * thread calls it, but for store_status and store_each_damage, which any thread may call. */
#pragma once
#include "base/addr.h"
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include <stdbool.h>
#include <stdint.h>

struct keeper_store;
struct store;
struct store_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
};
struct store_conf {
	const char *dir; /* -state-dir; NULL: no store is opened */
	bool repair;	 /* -state-repair */
};
extern const struct flag store_flags[];
/* The check of store_flags (struct flag_set). */
MUST_CHECK int store_conf_check(const void *store_conf, struct fault *reterr_fault);
extern const struct counter store_counters[];

/* Locks the directory, checks its file and counts this start. A damaged file is no failure: what is
 * sound can be read, writes are refused until a start with -state-repair. -EBUSY: another process
 * has it; -EPERM: it is not ours alone; -EINVAL: it is of a newer nl6; others as the system has
 * them; with a fault. */
MUST_CHECK int store_open(const struct store_env *env, const struct store_conf *conf,
	struct store **ret_store, struct fault *reterr_fault);
struct store *store_free(struct store *s); /* takes NULL */
CLEANUP(store);

/* snmpEngineBoots of this start (RFC 3414 2.2): one more than at the start before, but no less than
 * those of a program without a store. */
uint32_t store_boots(const struct store *s);
#define STORE_BOOTS_MAX 2147483647u
/* Minutes from 2020 to wall_ns, at least 1: the boots of a program without a store. */
uint32_t store_boots_by_clock(uint64_t wall_ns);

/* Kinds of records; the numbers are those of the file. */
enum store_kind {
	STORE_META = 1,	 /* by name */
	STORE_RANGE = 2, /* creates, by id */
	STORE_HOLE = 3,	 /* devices of a create that are not there, by id and first address */
	STORE_SET = 4,	 /* objects set, by device and object */
	STORE_IF = 5,	 /* interface states, by device and ifIndex */
};

/* Changes. The first begins a transaction, which store_commit or store_rollback ends. All return
 * -ENOSPC, -ENOMEM or, for any other reason, -EROFS: store_refusal says why. Deletes of what is not
 * there succeed. */
struct store_key {
	const void *p;
	size_t bytes;
};
#define STORE_KEY(...) ((struct store_key){__VA_ARGS__})
MUST_CHECK int store_put(struct store *s, enum store_kind kind, struct store_key key,
	const void *value, size_t value_bytes);
MUST_CHECK int store_del(struct store *s, enum store_kind kind, struct store_key key);
/* All of a kind whose keys begin with something from first to last, which are of one length. */
MUST_CHECK int store_del_between(
	struct store *s, enum store_kind kind, struct store_key first, struct store_key last);
/* An object that was set. tlv: its value in BER. oid of 1..128 arcs. */
MUST_CHECK int store_put_set(struct store *s, const struct addr *device, const uint32_t *oid,
	size_t oid_len, const void *tlv, size_t tlv_bytes);
MUST_CHECK int store_del_set(
	struct store *s, const struct addr *device, const uint32_t *oid, size_t oid_len);
/* The state of an interface, in a form of its owner's. */
MUST_CHECK int store_put_if(struct store *s, const struct addr *device, uint32_t if_index,
	const void *state, size_t bytes);
MUST_CHECK int store_del_if(struct store *s, const struct addr *device, uint32_t if_index);
/* All that was set on devices first..last, or all states of their interfaces. */
MUST_CHECK int store_del_sets_of(
	struct store *s, const struct addr *first, const struct addr *last);
MUST_CHECK int store_del_ifs_of(struct store *s, const struct addr *first, const struct addr *last);
/* 0 when nothing was put. On failure nothing of the transaction is kept. */
MUST_CHECK int store_commit(struct store *s);
void store_rollback(struct store *s);
/* For the keeper. */
struct keeper_store store_keeper(struct store *s);
/* Fills the fault of a change that failed with r. Any thread. Returns r. */
int store_refusal(struct store *s, int r, struct fault *ret_fault);

/* Reads. fn is told the records in order of their keys, until it returns other than 0, which is
 * then returned. It must not call the store. Errors as for changes. */
MUST_CHECK int store_get(struct store *s, enum store_kind kind, struct store_key key,
	int (*fn)(void *arg, const void *value, size_t bytes), void *arg); /* -ENOENT */
MUST_CHECK int store_each(struct store *s, enum store_kind kind,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg);
/* The same of those whose keys begin with something from first to last. */
MUST_CHECK int store_each_between(struct store *s, enum store_kind kind, struct store_key first,
	struct store_key last,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg);
/* The last whose key is from first to last. -ENOENT. */
MUST_CHECK int store_get_last(struct store *s, enum store_kind kind, struct store_key first,
	struct store_key last,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg);
struct store_set {
	struct addr device;
	uint32_t oid[128];
	size_t oid_len;
	const void *tlv; /* until fn returns */
	size_t tlv_bytes;
};
MUST_CHECK int store_each_set(
	struct store *s, int (*fn)(void *arg, const struct store_set *set), void *arg);
MUST_CHECK int store_each_set_of(struct store *s, const struct addr *first, const struct addr *last,
	int (*fn)(void *arg, const struct store_set *set), void *arg);
struct store_if {
	struct addr device;
	uint32_t if_index;
	const void *state; /* until fn returns */
	size_t bytes;
};
MUST_CHECK int store_each_if(
	struct store *s, int (*fn)(void *arg, const struct store_if *i), void *arg);
MUST_CHECK int store_each_if_of(struct store *s, const struct addr *first, const struct addr *last,
	int (*fn)(void *arg, const struct store_if *i), void *arg);

/* Any thread. */
struct store_status {
	const char *dir;
	bool refuses;	    /* writes */
	uint64_t n_damaged; /* places, also those that are not listed */
	uint32_t boots;
	char refusal[320]; /* why writes are refused, or why the last one failed; empty: neither */
	char kept_aside[512]; /* by -state-repair in this start: the damaged file; may be empty */
};
void store_status(struct store *s, struct store_status *ret_status);
/* What is damaged, or was not loaded; fn must not call the store. */
void store_each_damage(struct store *s, void (*fn)(void *arg, const char *what), void *arg);
/* Adds to that. */
void store_note(struct store *s, const char *fmt, ...) PRINTF(2, 3);
