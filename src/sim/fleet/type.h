/* Device types: what a model of device is, compiled once from its file and shared by its devices.
 * Reference-counted; immutable after compilation. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "sim/fleet/oidtab.h"
#include <stdbool.h>
#include <stdint.h>

/* States of ifAdminStatus and ifOperStatus (RFC 2863). */
enum if_status {
	IF_UP = 1,
	IF_DOWN = 2,
	IF_TESTING = 3,
	IF_UNKNOWN = 4,
	IF_DORMANT = 5,
	IF_NOT_PRESENT = 6,
	IF_LOWER_LAYER_DOWN = 7,
};
enum if_mac {
	IF_MAC_NONE,   /* a zero-length ifPhysAddress */
	IF_MAC_DEVICE, /* of the device and the slot: ident_mac */
	IF_MAC_FIXED,  /* as the type's file says, the same on all devices */
};
/* An interface of a type; its columns are computed from this, the device's seed and the time. */
struct type_if {
	char name[32];	     /* ifName, "Te0/0/0/1" */
	char descr[64];	     /* ifDescr */
	char alias[64];	     /* ifAlias; may be empty */
	uint32_t index;	     /* ifIndex, 1..2^31-1 */
	uint16_t iana_type;  /* ifType, IANAifType-MIB */
	uint8_t admin, oper; /* enum if_status, as the type has them */
	bool connector;	     /* ifConnectorPresent */
	uint8_t load;	     /* enum if_load of ifcount.h */
	uint8_t mac_kind;    /* enum if_mac */
	uint8_t mac[6];	     /* IF_MAC_FIXED */
	uint32_t mtu;
	uint64_t speed_bps; /* at most IF_SPEED_MAX */
};
#define IF_SPEED_MAX 10000000000000ull
struct if_profile;
struct type {
	const char *slug;	  /* "cisco_catalyst_9500" */
	const char *name;	  /* for people: "Cisco Catalyst 9500" */
	const char *label;	  /* device_type of the REST answers: "Cisco Router/Switch" */
	const char *category;	  /* "Network Devices", "Servers", … (control plane 5.3) */
	const char *doc_category; /* "Campus" … */
	const char *sys_descr;	  /* may be empty: not served */
	struct oid sys_object_id; /* n == 0: not served */
	uint32_t n_ifs;
	uint32_t mgmt_slot; /* the interface that has the device's address */
	const struct type_if *ifs;
	const struct if_profile *profile; /* ifcount.h */
	struct oidtab table;
	uint32_t generation; /* grows with each reload of the slug */
	/* What of its file could not be served, a sentence each; logged when it was loaded. */
	const char *const *warnings;
	uint32_t n_warnings;
};

struct types_env { /* borrowed */
	const struct mem *mem;
};
struct types_conf {
	const char *builtin_dir; /* devices/ of the program */
	const char *user_dir;	 /* -devices DIR or NULL */
};
extern const struct flag types_flags[]; /* all but builtin_dir */
struct types;
MUST_CHECK int types_new(
	const struct types_env *env, const struct types_conf *conf, struct types **ret_types);
struct types *types_free(struct types *t);
CLEANUP(types);

/* The compiled type of a slug ("asr9k", no ".json"), loaded on first use, with a reference for the
 * caller. Any thread. -ENOENT, -EINVAL (the file is at fault), -EIO, -ENOMEM; *reterr_fault tells
 * file, line and key. */
MUST_CHECK int types_get(struct types *t, const char *slug, const struct type **ret_type,
	struct fault *reterr_fault);
const struct type *type_ref(const struct type *t);
const struct type *type_unref(const struct type *t); /* takes NULL, returns NULL */
/* What is on disk, in round-robin order (built-in order first, then users' by name). */
struct type_info {
	char slug[64], name[64], label[64], category[32];
};
/* Fills an array the caller frees with mem_free. */
MUST_CHECK int types_list(struct types *t, struct type_info **ret_list, uint32_t *ret_n);
/* Forgets compiled types so that the next types_get reads the file again; slug NULL: all.
 * fn (may be NULL) is told each evicted slug. -ENOENT: no such file; -ESRCH: not compiled. */
MUST_CHECK int types_evict(
	struct types *t, const char *slug, void (*fn)(void *arg, const char *slug), void *arg);
