/* SNMP messages: read in place, responses built around a list of bindings that the caller writes
 * forward. The outer envelope, the community wrapper of v1 and v2c (RFC 1901 3) and the PDU
 * (RFC 3416 3) are read apart, so that a security model may stand between them (RFC 3412 6). */
#pragma once
#include "wire/ber.h"

enum snmp_version { SNMP_V1 = 0, SNMP_V2C = 1, SNMP_V3 = 3 };
enum snmp_pdu_tag {
	SNMP_GET = 0xa0,
	SNMP_GETNEXT = 0xa1,
	SNMP_RESPONSE = 0xa2,
	SNMP_SET = 0xa3,
	SNMP_TRAP_V1 = 0xa4, /* RFC 1157 4.1.6: another form, its fields are not read */
	SNMP_GETBULK = 0xa5,
	SNMP_INFORM = 0xa6,
	SNMP_TRAP = 0xa7,
	SNMP_REPORT = 0xa8,
};
enum snmp_error { /* RFC 3416 3 */
	SNMP_NO_ERROR = 0,
	SNMP_TOO_BIG = 1,
	SNMP_NO_SUCH_NAME = 2, /* v1 only */
	SNMP_V1_BAD_VALUE = 3, /* v1 only */
	SNMP_GEN_ERR = 5,
	SNMP_NO_ACCESS = 6,
	SNMP_WRONG_TYPE = 7,
	SNMP_WRONG_LENGTH = 8,
	SNMP_WRONG_ENCODING = 9,
	SNMP_WRONG_VALUE = 10,
	SNMP_NO_CREATION = 11,
	SNMP_INCONSISTENT_VALUE = 12,
	SNMP_RESOURCE_UNAVAILABLE = 13,
	SNMP_COMMIT_FAILED = 14,
	SNMP_UNDO_FAILED = 15,
	SNMP_AUTHORIZATION_ERROR = 16,
	SNMP_NOT_WRITABLE = 17,
	SNMP_INCONSISTENT_NAME = 18,
};
/* What makes a datagram malformed: the part at fault. */
enum snmp_bad {
	SNMP_BAD_MESSAGE, /* the outer SEQUENCE or its end */
	SNMP_BAD_VERSION, /* no INTEGER */
	SNMP_BAD_COMMUNITY,
	SNMP_BAD_V3,	   /* what SNMPv3 puts around a PDU (usm.h) */
	SNMP_BAD_PDU_TYPE, /* no PDU of this version */
	SNMP_BAD_PDU,	   /* a header field of the PDU, or bytes behind its list */
	SNMP_BAD_LIST,	   /* the list of bindings overruns, or a binding does */
	SNMP_BAD_NAME,
	SNMP_BAD_VALUE, /* none, more than one, or a broken one */
	SNMP_BAD_N
};

/* Opens a message: the SEQUENCE must fill the datagram. *ret_rest begins behind the version. A
 * version that is a number is no fault of form: any within 32 bits is returned. -EBADMSG. */
MUST_CHECK int snmp_read_version(const void *p, size_t bytes, int32_t *ret_version,
	struct rd *ret_rest, enum snmp_bad *reterr_bad);
/* The community, borrowed from the datagram; rest moves to the PDU. -EBADMSG. */
MUST_CHECK int snmp_read_community(struct rd *rest, const uint8_t **ret_community,
	size_t *ret_bytes, enum snmp_bad *reterr_bad);

struct snmp_pdu {
	uint8_t tag; /* enum snmp_pdu_tag; nothing else is set for SNMP_TRAP_V1 */
	int32_t request_id;
	int32_t error_status; /* non-repeaters of a GETBULK */
	int32_t error_index;  /* max-repetitions of a GETBULK */
	uint32_t bindings;
	const uint8_t *list; /* content of the list, borrowed; each binding is well formed */
	size_t list_bytes;
};
/* Reads and checks the whole PDU; it must fill rest. version says which types exist. -EBADMSG. */
MUST_CHECK int snmp_read_pdu(
	struct rd *rest, int32_t version, struct snmp_pdu *ret_pdu, enum snmp_bad *reterr_bad);

struct snmp_binding {
	const uint8_t *name; /* BER content of the OID; valid */
	size_t name_bytes;   /* 1..OID_BER_BYTES */
	uint8_t value_tag;
	const uint8_t *value;
	size_t value_bytes;
};
/* The next binding of a list that snmp_read_pdu took; false at its end. */
bool snmp_next_binding(struct rd *list, struct snmp_binding *ret_binding);

/* The header of a response (v1, v2c). */
struct snmp_head {
	int32_t version;
	const uint8_t *community;
	size_t community_bytes;
	int32_t request_id;
	int32_t error_status, error_index;
};
/* The most that a header takes in front of a list of less than 64 KiB. */
#define SNMP_HEAD_BYTES(community_bytes) (36 + (community_bytes))
/* Bytes of the header in front of list_bytes of bindings. */
size_t snmp_head_bytes(const struct snmp_head *h, size_t list_bytes);
/* The longest list for which header and list take no more than max_bytes; -EMSGSIZE: not even an
 * empty one fits. max_bytes < 64 KiB. */
MUST_CHECK int snmp_list_room(const struct snmp_head *h, size_t max_bytes, size_t *ret_room);
/* Writes the header backward, in front of the list_bytes that begin at w->p. */
void snmp_back_head(struct bw *w, const struct snmp_head *h, size_t list_bytes);
/* Writes the PDU alone backward, in front of such a list: of it, tag, and the numbers of h. */
void snmp_back_pdu(struct bw *w, uint8_t tag, const struct snmp_head *h, size_t list_bytes);
/* Appends a binding, or fails w and writes nothing. oid_bytes <= OID_BER_BYTES. */
void snmp_put_binding(
	struct wr *w, const uint8_t *oid, size_t oid_bytes, const struct ber_value *v);
