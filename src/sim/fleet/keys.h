/* Keys, digests and ciphers of SNMPv3 (RFC 3414, RFC 3826, RFC 7860), by OpenSSL. All algorithms
 * are fetched once: what a message costs is the hashing itself. */
#pragma once
#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are those of the REST API. */
enum keys_auth {
	KEYS_AUTH_NONE,
	KEYS_MD5,  /* HMAC-MD5-96, RFC 3414 6 */
	KEYS_SHA1, /* HMAC-SHA-96, RFC 3414 7 */
	KEYS_SHA224,
	KEYS_SHA256,
	KEYS_SHA384,
	KEYS_SHA512,
	KEYS_AUTH_N
};
enum keys_priv {
	KEYS_PRIV_NONE,
	KEYS_DES,    /* CBC, RFC 3414 8 */
	KEYS_AES128, /* CFB, RFC 3826 */
	KEYS_AES192, /* short keys lengthened as draft-blumenthal-aes-usm-04 3.1.2.1 */
	KEYS_AES256,
	KEYS_AES192C, /* short keys lengthened as draft-reeder-snmpv3-usm-3desede-00 2.1 */
	KEYS_AES256C,
	KEYS_PRIV_N
};
/* By number, or by name: none, md5, sha1 or sha, sha224, ...; none, des, aes128 or aes, aes192, ...
 * -EINVAL. */
MUST_CHECK int keys_auth_parse(const char *s, enum keys_auth *ret_auth);
MUST_CHECK int keys_priv_parse(const char *s, enum keys_priv *ret_priv);
const char *keys_auth_name(enum keys_auth a);
const char *keys_priv_name(enum keys_priv p);
#define KEYS_AUTH_NAMES "none, md5, sha1, sha224, sha256, sha384, sha512"
#define KEYS_PRIV_NAMES "none, des, aes128, aes192, aes256, aes192c, aes256c"
/* Bytes of a digest in a message (RFC 3414 6.1, RFC 7860 4.2.1); 0: none. */
unsigned keys_mac_bytes(enum keys_auth a);

#define KEYS_HASH_BYTES 64
#define KEYS_PRIV_BYTES 32
/* What a user has on one engine. */
struct keys_local {
	uint8_t auth[KEYS_HASH_BYTES]; /* as many as the hash has */
	uint8_t priv[KEYS_PRIV_BYTES]; /* DES: 8 of key, 8 of IV */
};

/* Algorithms with their contexts; one thread owns each. What can fail below fails for want of
 * memory only. */
struct keys;
MUST_CHECK int keys_new(const struct mem *mem, struct keys **ret_keys);
struct keys *keys_free(struct keys *k);
CLEANUP(keys);
/* Ku of a password of at least one byte (RFC 3414 A.2): hashes a MiB. -ENOMEM. */
MUST_CHECK int keys_ku(struct keys *k, enum keys_auth a, const void *password, size_t bytes,
	uint8_t ret_ku[static KEYS_HASH_BYTES]);
/* Localised keys (RFC 3414 2.6). Cheap, but for the ciphers of Reeder's extension where the hash is
 * shorter than their key: that hashes a MiB. priv none: priv_ku is not read. -ENOMEM. */
MUST_CHECK int keys_localize(struct keys *k, enum keys_auth a, enum keys_priv p,
	const uint8_t *auth_ku, const uint8_t *priv_ku, const uint8_t *engine_id, size_t bytes,
	struct keys_local *ret_local);
/* The digest of a message in which the keys_mac_bytes(a) bytes at mac_at count as zeros. -ENOMEM.
 */
MUST_CHECK int keys_mac(struct keys *k, enum keys_auth a, const struct keys_local *l,
	const uint8_t *message, size_t bytes, size_t mac_at, uint8_t *ret_mac);
/* What a cipher needs beside its key (RFC 3414 8.1.1.1, RFC 3826 3.1.2.1). */
struct keys_iv {
	uint32_t boots, time;
	uint8_t salt[8];
};
/* In place; DES: bytes is a multiple of 8. -ENOMEM. */
MUST_CHECK int keys_encrypt(struct keys *k, enum keys_priv p, const struct keys_local *l,
	const struct keys_iv *iv, uint8_t *text, size_t bytes);
/* To another place. -EBADMSG: not a multiple of 8 for DES; -ENOMEM. */
MUST_CHECK int keys_decrypt(struct keys *k, enum keys_priv p, const struct keys_local *l,
	const struct keys_iv *iv, const uint8_t *from, size_t bytes, uint8_t *to);
