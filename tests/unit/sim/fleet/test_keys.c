#include "fake.h"
#include "sim/fleet/keys.h"
#include "sim/fleet/kus.h"
#include <errno.h>
#include <stdio.h>

static void hex(const char *s, uint8_t *to)
{
	for (; *s; s += 2) {
		unsigned byte;
		ck_assert_int_eq(sscanf(s, "%2x", &byte), 1);
		*to++ = (uint8_t)byte;
	}
}
#define SAME(got, want) \
	do { \
		uint8_t want_[128]; \
		hex(want, want_); \
		ck_assert_mem_eq(got, want_, strlen(want) / 2); \
	} while (0)

/* RFC 3414 A.3 with its password and engine id: MD5, SHA-1; Reeder's key of MD5 as in its draft.
 * The others by Python's hashlib and hmac, from the text of RFC 7860 and of the drafts. mac: of the
 * bytes 0..99, with zeros from 20. */
static const struct {
	enum keys_auth auth;
	const char *ku, *local, *mac, *blumenthal, *reeder;
} known[] = {
	{KEYS_MD5, "9faf3283884e92834ebc9847d8edd963", "526f5eed9fcce26f8964c2930787d82b",
		"ff2dcb3307c5b37218df6778",
		"526f5eed9fcce26f8964c2930787d82bfa24a92467426c2f4b09192be10dfaec",
		"526f5eed9fcce26f8964c2930787d82b79eff44a90650ee0a3a40abfac5acc12"},
	{KEYS_SHA1, "9fb5cc0381497b3793528939ff788d5d79145211",
		"6695febc9288e36282235fc7151f128497b38f3f", "3e04c6172c052a8c9bf27a77",
		"6695febc9288e36282235fc7151f128497b38f3f505e07eb9af25568fa1f5dbe",
		"6695febc9288e36282235fc7151f128497b38f3f9b8b6d78936ba6e7d19dfd9c"},
	{KEYS_SHA224, "282a5867ee9aac639ad59df9572c7d3ac0fbc13a905b6df07dbbf00b",
		"0bd8827c6e29f8065e08e09237f177e410f69b90e1782be682075674",
		"65304f783a7debd8db08090f04639008",
		"0bd8827c6e29f8065e08e09237f177e410f69b90e1782be682075674e82d9bf0",
		"0bd8827c6e29f8065e08e09237f177e410f69b90e1782be68207567422c34be4"},
	{KEYS_SHA256, "ab51014d1e077f6017df2b12bee5f5aa72993177e9bb569c4dff5a4ca0b4afac",
		"8982e0e549e866db361a6b625d84cccc11162d453ee8ce3a6445c2d6776f0f8b",
		"b02288d89b3fa3dbfafa937546daf990268a3d1c27e89647",
		"8982e0e549e866db361a6b625d84cccc11162d453ee8ce3a6445c2d6776f0f8b",
		"8982e0e549e866db361a6b625d84cccc11162d453ee8ce3a6445c2d6776f0f8b"},
	{KEYS_SHA384,
		"e06eccdf2c68a06ed034723c9c26e0db3b669e1e2efed49150b55377a2e98f383c86fb836857444654"
		"b287c93f51ff64",
		"3b298f16164a11184279d5432bf169e2d2a48307de02b3d3f7e2b4f36eb6f0455a53689a3937eea073"
		"19a633d2ccba78",
		"835a8c7fa73d84b7df96c8b74e09c2d4ecb974104a8c23277148c88b0aec1651",
		"3b298f16164a11184279d5432bf169e2d2a48307de02b3d3f7e2b4f36eb6f045",
		"3b298f16164a11184279d5432bf169e2d2a48307de02b3d3f7e2b4f36eb6f045"},
	{KEYS_SHA512,
		"7e4396de5aadc77be853819b98c9406265b3a9c37cc3176569847a4e4f6fba63dd3a73d04924d31a63"
		"f95a601f9385af6be4ed1b37f87d040f7c6ed6f8d38a91",
		"22a5a36cedfcc085807a128d7bc6c2382167ad6c0dbc5fdff856740f3d84c099ad1ea87a8db096714d"
		"9788bd544047c9021e4229ce27e4c0a69250adfcffbb0b",
		"c3deb220211da5e4b018b9293c9733e3122897bea5be1951c438099c0abc141187641632b280a470a8"
		"84286acd4def8a",
		"22a5a36cedfcc085807a128d7bc6c2382167ad6c0dbc5fdff856740f3d84c099",
		"22a5a36cedfcc085807a128d7bc6c2382167ad6c0dbc5fdff856740f3d84c099"},
};
static const uint8_t engine[12] = {[11] = 2};

START_TEST(keys_and_digests_are_known_ones)
{
	struct fake f = fake_make();
	struct keys *k;
	ck_assert_int_eq(keys_new(f.mem, &k), 0);
	uint8_t message[100], ku[KEYS_HASH_BYTES], mac[48];
	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)i;
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		struct keys_local l;
		enum keys_auth a = known[i].auth;
		ck_assert_uint_eq(strlen(known[i].mac) / 2, keys_mac_bytes(a));
		ck_assert_int_eq(keys_ku(k, a, "maplesyrup", 10, ku), 0);
		SAME(ku, known[i].ku);
		ck_assert_int_eq(
			keys_localize(k, a, KEYS_AES256, ku, ku, engine, sizeof(engine), &l), 0);
		SAME(l.auth, known[i].local);
		SAME(l.priv, known[i].blumenthal);
		ck_assert_int_eq(keys_mac(k, a, &l, message, sizeof(message), 20, mac), 0);
		SAME(mac, known[i].mac);
		ck_assert_int_eq(
			keys_localize(k, a, KEYS_AES256C, ku, ku, engine, sizeof(engine), &l), 0);
		SAME(l.priv, known[i].reeder);
	}
	(void)keys_free(k);
	fake_done(&f);
}
END_TEST

/* NIST SP 800-38A F.3.13 to F.3.17 (CFB128), FIPS 81 C.1 (DES-CBC). */
static const struct {
	enum keys_priv priv;
	const char *key, *iv, *plain, *cipher;
} texts[] = {
	{KEYS_AES128, "2b7e151628aed2a6abf7158809cf4f3c", "000102030405060708090a0b0c0d0e0f",
		"6bc1bee22e409f96e93d7e117393172a", "3b3fd92eb72dad20333449f8e83cfb4a"},
	{KEYS_AES192, "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
		"000102030405060708090a0b0c0d0e0f", "6bc1bee22e409f96e93d7e117393172a",
		"cdc80d6fddf18cab34c25909c99a4174"},
	{KEYS_AES256, "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
		"000102030405060708090a0b0c0d0e0f", "6bc1bee22e409f96e93d7e117393172a",
		"dc7e84bfda79164b7ecd8486985d3860"},
	{KEYS_DES, "0123456789abcdef1234567890abcdef", "00000000000000000000000000000000",
		"4e6f77206973207468652074696d6520666f7220616c6c20",
		"e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6"},
};

START_TEST(ciphers_are_known_ones)
{
	struct fake f = fake_make();
	struct keys *k;
	ck_assert_int_eq(keys_new(f.mem, &k), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		struct keys_local l = {0};
		uint8_t iv[16], text[32], back[32];
		size_t n = strlen(texts[i].plain) / 2;
		hex(texts[i].key, l.priv);
		hex(texts[i].iv, iv);
		hex(texts[i].plain, text);
		struct keys_iv with = {.boots = (uint32_t)iv[0] << 24 | (uint32_t)iv[1] << 16 |
						(uint32_t)iv[2] << 8 | iv[3],
			.time = (uint32_t)iv[4] << 24 | (uint32_t)iv[5] << 16 |
				(uint32_t)iv[6] << 8 | iv[7]};
		memcpy(with.salt, iv + 8, 8);
		ck_assert_int_eq(keys_encrypt(k, texts[i].priv, &l, &with, text, n), 0);
		SAME(text, texts[i].cipher);
		ck_assert_int_eq(keys_decrypt(k, texts[i].priv, &l, &with, text, n, back), 0);
		SAME(back, texts[i].plain);
	}
	(void)keys_free(k);
	fake_done(&f);
}
END_TEST

START_TEST(des_takes_whole_blocks_only)
{
	struct fake f = fake_make();
	struct keys *k;
	struct keys_local l = {0};
	struct keys_iv iv = {0};
	uint8_t in[16] = {0}, out[16];
	ck_assert_int_eq(keys_new(f.mem, &k), 0);
	ck_assert_int_eq(keys_decrypt(k, KEYS_DES, &l, &iv, in, 15, out), -EBADMSG);
	ck_assert_int_eq(keys_decrypt(k, KEYS_AES128, &l, &iv, in, 15, out), 0);
	(void)keys_free(k);
	fake_done(&f);
}
END_TEST

START_TEST(names_and_numbers)
{
	enum keys_auth a;
	enum keys_priv p;
	static const char *const auths[] = {
		"none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"};
	static const char *const privs[] = {
		"none", "des", "aes128", "aes192", "aes256", "aes192c", "aes256c"};
	for (unsigned i = 0; i < 7; i++) {
		char number[2] = {(char)('0' + i), 0};
		ck_assert(keys_auth_parse(auths[i], &a) == 0 && a == i);
		ck_assert(keys_auth_parse(number, &a) == 0 && a == i);
		ck_assert_str_eq(keys_auth_name(a), auths[i]);
		ck_assert(keys_priv_parse(privs[i], &p) == 0 && p == i);
		ck_assert(keys_priv_parse(number, &p) == 0 && p == i);
		ck_assert_str_eq(keys_priv_name(p), privs[i]);
	}
	ck_assert(keys_auth_parse("SHA", &a) == 0 && a == KEYS_SHA1);
	ck_assert(keys_priv_parse("AES", &p) == 0 && p == KEYS_AES128);
	static const char *const bad[] = {"", "7", "md", "sha3", "10", "-1", "none "};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(keys_auth_parse(bad[i], &a), -EINVAL);
		ck_assert_int_eq(keys_priv_parse(bad[i], &p), -EINVAL);
	}
}
END_TEST

START_TEST(kus_of_many_passwords)
{
	struct fake f = fake_make();
	struct kus *k;
	uint8_t first[KEYS_HASH_BYTES], again[KEYS_HASH_BYTES], other[KEYS_HASH_BYTES];
	ck_assert_int_eq(kus_new(f.mem, &k), 0);
	ck_assert_int_eq(kus_get(k, KEYS_MD5, "maplesyrup", first), 0);
	SAME(first, known[0].ku);
	for (unsigned i = 0; i < 70; i++) { /* more than are kept */
		char password[16];
		(void)snprintf(password, sizeof(password), "password%u", i);
		ck_assert_int_eq(kus_get(k, KEYS_MD5, password, other), 0);
	}
	ck_assert_int_eq(kus_get(k, KEYS_SHA1, "maplesyrup", other), 0);
	SAME(other, known[1].ku);
	ck_assert_int_eq(kus_get(k, KEYS_MD5, "maplesyrup", again), 0);
	SAME(again, known[0].ku);
	ck_assert_uint_ne(kus_serial(k), kus_serial(k));
	(void)kus_free(k);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(keys_and_digests_are_known_ones, ciphers_are_known_ones, des_takes_whole_blocks_only,
	names_and_numbers, kus_of_many_passwords)
