#include "sim/fleet/keys.h"
#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#define PASSWORD_MIB (1u << 20) /* RFC 3414 A.2 */
#define BLOCK_BYTES_MAX 128	/* of a hash: SHA-384 and SHA-512 */

static const struct hash {
	const char *name, *evp, *alias;
	uint8_t bytes, mac_bytes, block_bytes;
} hashes[KEYS_AUTH_N] = {
	[KEYS_AUTH_NONE] = {"none", NULL, NULL, 0, 0, 0},
	[KEYS_MD5] = {"md5", "MD5", NULL, 16, 12, 64},
	[KEYS_SHA1] = {"sha1", "SHA1", "sha", 20, 12, 64},
	[KEYS_SHA224] = {"sha224", "SHA224", NULL, 28, 16, 64},
	[KEYS_SHA256] = {"sha256", "SHA256", NULL, 32, 24, 64},
	[KEYS_SHA384] = {"sha384", "SHA384", NULL, 48, 32, 128},
	[KEYS_SHA512] = {"sha512", "SHA512", NULL, 64, 48, 128},
};
/* DES is triple DES with one key three times: the default provider has no other. */
static const struct cipher {
	const char *name, *evp, *alias;
	uint8_t key_bytes; /* of a localised key */
	bool reeder;
} ciphers[KEYS_PRIV_N] = {
	[KEYS_PRIV_NONE] = {"none", NULL, NULL, 0, false},
	[KEYS_DES] = {"des", "DES-EDE3-CBC", NULL, 16, false},
	[KEYS_AES128] = {"aes128", "AES-128-CFB", "aes", 16, false},
	[KEYS_AES192] = {"aes192", "AES-192-CFB", NULL, 24, false},
	[KEYS_AES256] = {"aes256", "AES-256-CFB", NULL, 32, false},
	[KEYS_AES192C] = {"aes192c", "AES-192-CFB", NULL, 24, true},
	[KEYS_AES256C] = {"aes256c", "AES-256-CFB", NULL, 32, true},
};

static bool is_named(const char *s, const char *name, const char *alias, unsigned number)
{
	return strcasecmp(s, name) == 0 || (alias && strcasecmp(s, alias) == 0) ||
	       (s[0] == (char)('0' + number) && !s[1]);
}

int keys_auth_parse(const char *s, enum keys_auth *ret_auth)
{
	for (unsigned i = 0; i < KEYS_AUTH_N; i++)
		if (is_named(s, hashes[i].name, hashes[i].alias, i)) {
			*ret_auth = (enum keys_auth)i;
			return 0;
		}
	return -EINVAL;
}

int keys_priv_parse(const char *s, enum keys_priv *ret_priv)
{
	for (unsigned i = 0; i < KEYS_PRIV_N; i++)
		if (is_named(s, ciphers[i].name, ciphers[i].alias, i)) {
			*ret_priv = (enum keys_priv)i;
			return 0;
		}
	return -EINVAL;
}

const char *keys_auth_name(enum keys_auth a)
{
	return hashes[a].name;
}

const char *keys_priv_name(enum keys_priv p)
{
	return ciphers[p].name;
}

unsigned keys_mac_bytes(enum keys_auth a)
{
	return hashes[a].mac_bytes;
}

struct keys {
	const struct mem *mem;
	EVP_MD *md[KEYS_AUTH_N];
	EVP_MD_CTX *md_ctx[KEYS_AUTH_N];
	EVP_CIPHER *cipher[KEYS_PRIV_N];
	EVP_CIPHER_CTX *encrypt[KEYS_PRIV_N], *decrypt[KEYS_PRIV_N];
};

static bool take_hash(struct keys *k, unsigned i)
{
	k->md[i] = EVP_MD_fetch(NULL, hashes[i].evp, NULL);
	k->md_ctx[i] = EVP_MD_CTX_new();
	return k->md[i] && k->md_ctx[i] && EVP_DigestInit_ex2(k->md_ctx[i], k->md[i], NULL) == 1;
}

static bool take_cipher(struct keys *k, unsigned i)
{
	static const uint8_t zeros[KEYS_PRIV_BYTES] = {0};
	EVP_CIPHER *c = k->cipher[i] = EVP_CIPHER_fetch(NULL, ciphers[i].evp, NULL);
	EVP_CIPHER_CTX *e = k->encrypt[i] = EVP_CIPHER_CTX_new();
	EVP_CIPHER_CTX *d = k->decrypt[i] = EVP_CIPHER_CTX_new();
	return c && e && d && EVP_EncryptInit_ex2(e, c, zeros, zeros, NULL) == 1 &&
	       EVP_DecryptInit_ex2(d, c, zeros, zeros, NULL) == 1 &&
	       EVP_CIPHER_CTX_set_padding(e, 0) == 1 && EVP_CIPHER_CTX_set_padding(d, 0) == 1;
}

int keys_new(const struct mem *mem, struct keys **ret_keys)
{
	AUTO(keys) struct keys *k = mem_zalloc(mem, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->mem = mem;
	for (unsigned i = 1; i < KEYS_AUTH_N; i++)
		if (!take_hash(k, i))
			return -ENOMEM;
	for (unsigned i = 1; i < KEYS_PRIV_N; i++)
		if (!take_cipher(k, i))
			return -ENOMEM;
	*ret_keys = TAKE(k);
	return 0;
}

struct keys *keys_free(struct keys *k)
{
	if (!k)
		return NULL;
	for (unsigned i = 0; i < KEYS_AUTH_N; i++) {
		EVP_MD_CTX_free(k->md_ctx[i]);
		EVP_MD_free(k->md[i]);
	}
	for (unsigned i = 0; i < KEYS_PRIV_N; i++) {
		EVP_CIPHER_CTX_free(k->encrypt[i]);
		EVP_CIPHER_CTX_free(k->decrypt[i]);
		EVP_CIPHER_free(k->cipher[i]);
	}
	return mem_free(k->mem, k);
}

struct part {
	const void *p;
	size_t bytes;
};

/* The hash of parts in a row; those without bytes are passed over. */
static int hash(
	struct keys *k, enum keys_auth a, const struct part *parts, unsigned n, uint8_t *ret)
{
	EVP_MD_CTX *c = k->md_ctx[a];
	bool ok = EVP_DigestInit_ex2(c, k->md[a], NULL) == 1;
	for (unsigned i = 0; i < n; i++)
		if (parts[i].bytes)
			ok &= EVP_DigestUpdate(c, parts[i].p, parts[i].bytes) == 1;
	ok &= EVP_DigestFinal_ex(c, ret, NULL) == 1;
	return ok ? 0 : -ENOMEM;
}

int keys_ku(struct keys *k, enum keys_auth a, const void *password, size_t bytes,
	uint8_t ret_ku[static KEYS_HASH_BYTES])
{
	/* The password over and over, as often as it fits into the buffer whole. */
	uint8_t many[4096];
	assert(bytes > 0 && bytes <= sizeof(many));
	size_t n = 0;
	for (; n + bytes <= sizeof(many); n += bytes)
		memcpy(many + n, password, bytes);
	EVP_MD_CTX *c = k->md_ctx[a];
	bool ok = EVP_DigestInit_ex2(c, k->md[a], NULL) == 1;
	for (size_t left = PASSWORD_MIB, take; left > 0; left -= take) {
		take = MIN(left, n);
		ok &= EVP_DigestUpdate(c, many, take) == 1;
	}
	ok &= EVP_DigestFinal_ex(c, ret_ku, NULL) == 1;
	OPENSSL_cleanse(many, sizeof(many));
	return ok ? 0 : -ENOMEM;
}

static int localize(struct keys *k, enum keys_auth a, const uint8_t *ku, const uint8_t *engine_id,
	size_t bytes, uint8_t *ret)
{
	struct part parts[] = {{ku, hashes[a].bytes}, {engine_id, bytes}, {ku, hashes[a].bytes}};
	return hash(k, a, parts, ARRAY_SIZE(parts), ret);
}

/* The localised key of a cipher, made longer than the hash where it has to be. */
static int localize_priv(struct keys *k, enum keys_auth a, enum keys_priv p, const uint8_t *ku,
	const uint8_t *engine_id, size_t bytes, uint8_t *ret_priv)
{
	uint8_t long_key[KEYS_PRIV_BYTES + KEYS_HASH_BYTES], next[KEYS_HASH_BYTES];
	size_t n = hashes[a].bytes, wanted = ciphers[p].key_bytes;
	int r = localize(k, a, ku, engine_id, bytes, long_key);
	while (n < wanted && r == 0) {
		struct part so_far = {long_key, n};
		if (!ciphers[p].reeder) {
			r = hash(k, a, &so_far, 1, long_key + n);
		} else {
			/* The key so far is the password of what follows. */
			r = keys_ku(k, a, long_key + n - hashes[a].bytes, hashes[a].bytes, next);
			if (r == 0)
				r = localize(k, a, next, engine_id, bytes, long_key + n);
		}
		n += hashes[a].bytes;
	}
	if (r == 0)
		memcpy(ret_priv, long_key, wanted);
	return r;
}

int keys_localize(struct keys *k, enum keys_auth a, enum keys_priv p, const uint8_t *auth_ku,
	const uint8_t *priv_ku, const uint8_t *engine_id, size_t bytes,
	struct keys_local *ret_local)
{
	int r = a ? localize(k, a, auth_ku, engine_id, bytes, ret_local->auth) : 0;
	if (r == 0 && p)
		r = localize_priv(k, a, p, priv_ku, engine_id, bytes, ret_local->priv);
	return r;
}

/* HMAC (RFC 2104) of two hashes: a context that is copied costs more than the block that the copy
 * would save. */
int keys_mac(struct keys *k, enum keys_auth a, const struct keys_local *l, const uint8_t *message,
	size_t bytes, size_t mac_at, uint8_t *ret_mac)
{
	static const uint8_t zeros[KEYS_HASH_BYTES] = {0};
	const struct hash *h = &hashes[a];
	uint8_t inner_pad[BLOCK_BYTES_MAX], outer_pad[BLOCK_BYTES_MAX], digest[KEYS_HASH_BYTES];
	size_t behind = mac_at + h->mac_bytes;
	assert(behind <= bytes);
	memset(inner_pad, 0x36, sizeof(inner_pad));
	memset(outer_pad, 0x5c, sizeof(outer_pad));
	for (unsigned i = 0; i < h->bytes; i++) {
		inner_pad[i] ^= l->auth[i];
		outer_pad[i] ^= l->auth[i];
	}
	struct part inner[] = {{inner_pad, h->block_bytes}, {message, mac_at},
		{zeros, h->mac_bytes}, {message + behind, bytes - behind}};
	struct part outer[] = {{outer_pad, h->block_bytes}, {digest, h->bytes}};
	int r = hash(k, a, inner, ARRAY_SIZE(inner), digest);
	if (r == 0)
		r = hash(k, a, outer, ARRAY_SIZE(outer), digest);
	if (r == 0)
		memcpy(ret_mac, digest, h->mac_bytes);
	return r;
}

struct key_iv {
	uint8_t key[KEYS_PRIV_BYTES], iv[16];
};

static void make_key_iv(
	enum keys_priv p, const struct keys_local *l, const struct keys_iv *iv, struct key_iv *ret)
{
	if (p == KEYS_DES) {
		for (unsigned i = 0; i < 24; i++)
			ret->key[i] = l->priv[i % 8];
		for (unsigned i = 0; i < 8; i++)
			ret->iv[i] = l->priv[8 + i] ^ iv->salt[i];
		return;
	}
	uint32_t be[2] = {__builtin_bswap32(iv->boots), __builtin_bswap32(iv->time)};
	memcpy(ret->key, l->priv, sizeof(ret->key));
	memcpy(ret->iv, be, sizeof(be));
	memcpy(ret->iv + 8, iv->salt, sizeof(iv->salt));
}

int keys_encrypt(struct keys *k, enum keys_priv p, const struct keys_local *l,
	const struct keys_iv *iv, uint8_t *text, size_t bytes)
{
	struct key_iv with;
	int n = 0;
	EVP_CIPHER_CTX *c = k->encrypt[p];
	make_key_iv(p, l, iv, &with);
	bool ok = EVP_EncryptInit_ex2(c, NULL, with.key, with.iv, NULL) == 1 &&
		  EVP_EncryptUpdate(c, text, &n, text, (int)bytes) == 1 && (size_t)n == bytes;
	return ok ? 0 : -ENOMEM;
}

int keys_decrypt(struct keys *k, enum keys_priv p, const struct keys_local *l,
	const struct keys_iv *iv, const uint8_t *from, size_t bytes, uint8_t *to)
{
	struct key_iv with;
	int n = 0;
	EVP_CIPHER_CTX *c = k->decrypt[p];
	if (p == KEYS_DES && bytes % 8 != 0)
		return -EBADMSG;
	make_key_iv(p, l, iv, &with);
	bool ok = EVP_DecryptInit_ex2(c, NULL, with.key, with.iv, NULL) == 1 &&
		  EVP_DecryptUpdate(c, to, &n, from, (int)bytes) == 1 && (size_t)n == bytes;
	return ok ? 0 : -ENOMEM;
}
