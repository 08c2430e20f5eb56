/* SNMPv3 messages (RFC 3412 6) with the User-based Security Model (RFC 3414 2.4): read in place,
 * written backward around a scoped PDU. Digests and ciphers are the caller's: the codec tells where
 * they lie. */
#pragma once
#include "wire/snmp.h"

#define USM_MODEL 3		 /* SnmpSecurityModel, RFC 3411 5 */
#define USM_MAX_SIZE_LEAST 484	 /* msgMaxSize, RFC 3412 6 */
#define USM_ENGINE_ID_BYTES 32	 /* SnmpEngineID, RFC 3411 5 */
#define USM_USER_BYTES 32	 /* msgUserName, RFC 3414 2.4 */
#define USM_SALT_BYTES 8	 /* msgPrivacyParameters of every cipher (RFC 3414 8, RFC 3826 3) */
#define USM_MAC_BYTES 48	 /* the longest: RFC 7860 4.2.1, SHA-512 */
#define USM_TIME_WINDOW_S 150	 /* RFC 3414 2.2.3 */
#define USM_BOOTS_MAX 0x7fffffff /* RFC 3414 2.2.2: an engine that got here is never in time */
enum usm_flag { USM_AUTH = 1, USM_PRIV = 2, USM_REPORTABLE = 4 }; /* msgFlags, RFC 3412 6.4 */

struct usm_header {
	int32_t msg_id;
	int32_t max_size;	      /* >= USM_MAX_SIZE_LEAST */
	uint8_t flags;		      /* enum usm_flag; other bits as they came */
	int32_t model;		      /* of the security parameters */
	const uint8_t *params, *data; /* borrowed; data: a whole TLV, not yet judged */
	size_t params_bytes, data_bytes;
};
/* Reads what follows the version, up to the end of the message; rest must hold no more. -EBADMSG.
 */
MUST_CHECK int usm_read_header(struct rd *rest, struct usm_header *ret_header);

struct usm_params {
	const uint8_t *engine_id; /* all borrowed; any length */
	size_t engine_id_bytes;
	uint32_t boots, time; /* 0..2^31-1 */
	const uint8_t *user;
	size_t user_bytes; /* <= USM_USER_BYTES */
	const uint8_t *mac;
	size_t mac_bytes;
	const uint8_t *salt;
	size_t salt_bytes;
};
/* UsmSecurityParameters; they must fill the string. -EBADMSG. */
MUST_CHECK int usm_read_params(const uint8_t *p, size_t bytes, struct usm_params *ret_params);

/* The content of an encryptedPDU (RFC 3412 6.6), borrowed. -EBADMSG. */
MUST_CHECK int usm_read_encrypted(
	const uint8_t *p, size_t bytes, const uint8_t **ret_p, size_t *ret_bytes);

struct usm_scoped {
	const uint8_t *engine_id, *context; /* borrowed */
	size_t engine_id_bytes, context_bytes;
	struct rd pdu; /* for snmp_read_pdu */
};
/* A ScopedPDU. padded: it was decrypted, and what was filled up for a cipher may follow (RFC 3414
 * 8.1.1.2); else it must end there. -EBADMSG. */
MUST_CHECK int usm_read_scoped(
	const uint8_t *p, size_t bytes, bool padded, struct usm_scoped *ret_scoped);

/* A message to be written. */
struct usm_out {
	int32_t msg_id, max_size;
	uint8_t flags;
	const uint8_t *engine_id; /* of the security parameters */
	size_t engine_id_bytes;
	uint32_t boots, time;
	const uint8_t *user;
	size_t user_bytes;
	size_t mac_bytes; /* written as zeros, to be signed; 0: none */
	uint8_t salt[USM_SALT_BYTES];
	const uint8_t *context_engine_id, *context;
	size_t context_engine_id_bytes, context_bytes;
};
/* The most that stands in front of a list of bindings of less than 64 KiB, padding included. */
size_t usm_head_bytes(const struct usm_out *o);
/* Writes header and context in front of the PDU that begins at w->p and has pdu_bytes. */
void usm_back_scoped(struct bw *w, const struct usm_out *o, size_t pdu_bytes);
/* Writes the message around the scoped PDU (or, with USM_PRIV in the flags, its cipher text) that
 * begins at w->p. *ret_mac: where the digest goes, o->mac_bytes zeros now. */
void usm_back_message(struct bw *w, const struct usm_out *o, size_t data_bytes, uint8_t **ret_mac);
