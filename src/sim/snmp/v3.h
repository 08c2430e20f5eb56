/* The message processing of SNMPv3 (RFC 3412 7) with the User-based Security Model (RFC 3414 3) for
 * an engine that only answers: what a message is judged as, and how an answer is wrapped. One
 * thread owns each; nothing is allocated after v3_new. */
#pragma once
#include "sim/fleet/fleet.h"
#include "wire/usm.h"

struct v3;
/* salt: see RFC 3826 3.1.2.1; no two of a program may get the same. -ENOMEM. */
MUST_CHECK int v3_new(const struct mem *mem, uint64_t salt, struct v3 **ret_v3);
struct v3 *v3_free(struct v3 *v);
CLEANUP(v3);
/* Times that a user's keys were localised, as they were not found among those used last. */
uint64_t v3_keys_made(const struct v3 *v);

enum v3_verdict {
	V3_ANSWER,    /* the PDU is to be answered */
	V3_REPORT,    /* nothing is wrong but that a Report is due */
	V3_MALFORMED, /* dropped, snmpInASNParseErrs is the caller's to count */
	V3_DROPPED    /* and counted in the device */
};
struct v3_ask {
	const struct device *dev; /* with access to it */
	uint64_t now_ns;
	const uint8_t *p; /* the datagram */
	size_t len;
	struct rd rest; /* behind its version */
};
struct v3_request {
	struct usm_out out;		/* of the answer or the Report */
	const struct access_user *user; /* NULL: a Report before one was found */
	const struct keys_local *keys;	/* until the next v3_read */
	enum access_level level;	/* of the request */
	struct snmp_pdu pdu;		/* V3_ANSWER: one that an agent is asked with */
	int32_t request_id;		/* 0: it cannot be known (RFC 3412 7.1 (3)) */
	size_t max_bytes;		/* longest message that the asker takes */
	enum device_v3 report;		/* V3_REPORT: the counter, */
	uint32_t count;			/* and what it is now */
	uint8_t engine_id[ACCESS_ENGINE_ID_BYTES];
};
enum v3_verdict v3_read(struct v3 *v, const struct v3_ask *ask, struct v3_request *ret_request);
/* The instance that a Report names, as BER content of an OID. */
const uint8_t *v3_report_oid(enum device_v3 report, size_t *ret_bytes);
/* Wraps the PDU that begins at w->p in front of pdu_bytes, signs and encrypts it. Up to 7 bytes
 * behind the PDU are written (padding). The message begins at w->p then. Returns its bytes; 0: no
 * memory. */
size_t v3_wrap(struct v3 *v, struct v3_request *rq, struct bw *w, size_t pdu_bytes);
