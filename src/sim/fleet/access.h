/* Who may ask the devices of a create over SNMPv3, and as what engine they answer: users, levels,
 * contexts. Immutable and reference-counted; shared by all devices of the create. Secrets are
 * wiped when the last reference goes, and no text of this module ever shows one. */
#pragma once
#include "base/fault.h"
#include "base/mem.h"
#include "sim/fleet/kus.h"

#define ACCESS_ENGINE_ID_BYTES 32   /* SnmpEngineID, RFC 3411 5: 5..32 */
#define ACCESS_NAME_BYTES 32	    /* of a user (RFC 3414 5) or a context (RFC 3411 5) */
#define ACCESS_PASSWORD_MIN_BYTES 8 /* RFC 3414 11.2 */
#define ACCESS_USERS_MAX 64
#define ACCESS_CONTEXTS_MAX 64

enum access_level { ACCESS_NO_AUTH, ACCESS_AUTH, ACCESS_PRIV }; /* SnmpSecurityLevel */
/* "none", "auth", "priv". -EINVAL. */
MUST_CHECK int access_level_parse(const char *s, enum access_level *ret_level);
const char *access_level_name(enum access_level l);
#define ACCESS_LEVEL_NAMES "none, auth, priv"

struct access_user {
	const char *name; /* 1..ACCESS_NAME_BYTES bytes */
	enum keys_auth auth;
	enum keys_priv priv;
	/* NULL: none. priv_password NULL: the same as password. */
	const char *password, *priv_password;
	enum access_level min_level; /* below it, requests are answered with authorizationError */
	/* Made by access_new. */
	uint8_t auth_ku[KEYS_HASH_BYTES], priv_ku[KEYS_HASH_BYTES];
};
struct access_conf { /* borrowed */
	uint8_t engine_id[ACCESS_ENGINE_ID_BYTES];
	uint8_t engine_id_bytes;	 /* 0: each device has its own (ident.h) */
	enum access_level set_min_level; /* below it, SETs are refused by a Report */
	uint32_t n_users, n_contexts;
	const struct access_user *users;
	const char *const *contexts; /* beside the empty one */
};
struct access {
	const struct mem *mem;
	uint32_t refs;	 /* atomic */
	uint64_t serial; /* of no other access that ever was: keys are cached by it */
	struct access_conf conf;
};
/* Judges conf, copies it and derives the keys. A fault's field is where in the block the fault
 * lies:
 * "/username", "/users/1/password", "/engine_id". -EINVAL, -ENOMEM. */
MUST_CHECK int access_new(const struct mem *mem, struct kus *kus, const struct access_conf *conf,
	const struct access **ret_access, struct fault *reterr_fault);
const struct access *access_ref(const struct access *a);   /* takes NULL */
const struct access *access_unref(const struct access *a); /* takes NULL, returns NULL */
static inline void access_unrefp(const struct access **a)
{
	*a = access_unref(*a);
}
#define AUTO_ACCESS __attribute__((cleanup(access_unrefp)))
/* Do both say the same? Either may be NULL: no SNMPv3. */
bool access_eq(const struct access *a, const struct access *b);
/* The number of the user with this name; -1: none. */
int access_find_user(const struct access *a, const uint8_t *name, size_t bytes);
bool access_has_context(const struct access *a, const uint8_t *name, size_t bytes);
/* 5..32 octets in hexadecimal digits, optional 0x, not all zeros or ones. -EINVAL with a fault that
 * names field. */
MUST_CHECK int access_engine_id_parse(const char *s, const char *field,
	uint8_t ret_id[static ACCESS_ENGINE_ID_BYTES], uint8_t *ret_bytes,
	struct fault *reterr_fault);
