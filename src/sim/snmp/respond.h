/* The SNMP command responder (RFC 3413 3.2, RFC 3416 4.2, RFC 1157 4.1, RFC 3584 4): one request
 * in, one response or none out. One thread owns each responder, and makes one for itself; nothing
 * is allocated after responder_new. */
#pragma once
#include "base/mem.h"
#include "base/stats.h"
#include "sim/fleet/fleet.h"
#include "wire/snmp.h"

struct responder;
struct respond_ask;
struct responder_env { /* borrowed */
	const struct mem *mem;
	struct stats *stats;
	/* Takes a SET that the device admits, to be carried out and answered by other means;
	 * negative: the datagram is dropped. NULL: nothing can be set. */
	int (*set)(void *arg, const struct respond_ask *ask, const struct snmp_pdu *pdu);
	void *arg;
};
struct respond_set {	       /* what became of a SET */
	enum snmp_error error; /* of SNMPv2 */
	int32_t index;
};
struct responder_conf {
	const char *community; /* borrowed; NULL or empty: any community is right */
	uint32_t max_bytes;    /* of a response, the most that respond will be told; < 64 KiB */
	uint64_t salt;	       /* of SNMPv3: no two responders of a program get the same */
};
extern const struct counter responder_counters[];
/* name (copied) labels its counters. -ENOMEM. */
MUST_CHECK int responder_new(const struct responder_env *env, const struct responder_conf *conf,
	const char *name, struct responder **ret_responder);
struct responder *responder_free(struct responder *r);
CLEANUP(responder);

/* Room that a response of at most max_bytes is built in. */
#define RESPOND_ROOM(max_bytes) ((max_bytes) + SNMP_HEAD_BYTES(0))
struct respond_ask {
	const struct device *dev; /* within an RCU section */
	uint64_t now_ns;	  /* fleet time; one instant for the whole response */
	const uint8_t *p;	  /* the datagram */
	size_t len;
	size_t max_bytes; /* longest response, <= conf.max_bytes */
	uint8_t *out;	  /* RESPOND_ROOM(max_bytes) bytes */
	const void *from; /* for env.set */
	/* The datagram is a SET that was taken before, and this became of it; else NULL. It is not
	 * counted as received again. */
	const struct respond_set *set;
};
/* Returns the bytes of the response and where in out it begins; 0: there is none, and the reason is
 * counted, here and in the snmp group of the device. */
size_t respond(struct responder *r, const struct respond_ask *ask, const uint8_t **ret_p);
