#include "sim/fleet/kus.h"
#include "base/lock.h"
#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#define KEPT 64

struct known {
	enum keys_auth auth; /* none: an unused one */
	char password[KUS_PASSWORD_BYTES + 1];
	uint8_t ku[KEYS_HASH_BYTES];
};
struct kus {
	const struct mem *mem;
	struct lock lock; /* of what follows */
	struct keys *keys;
	unsigned next; /* to be forgotten */
	uint64_t serial;
	struct known known[KEPT];
};

int kus_new(const struct mem *mem, struct kus **ret_kus)
{
	struct kus *k = mem_zalloc(mem, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->mem = mem;
	lock_init(&k->lock);
	int r = keys_new(mem, &k->keys);
	if (r < 0) {
		(void)kus_free(k);
		return r;
	}
	*ret_kus = k;
	return 0;
}

struct kus *kus_free(struct kus *k)
{
	if (!k)
		return NULL;
	(void)keys_free(k->keys);
	OPENSSL_cleanse(k->known, sizeof(k->known));
	lock_done(&k->lock);
	return mem_free(k->mem, k);
}

int kus_get(struct kus *k, enum keys_auth a, const char *password,
	uint8_t ret_ku[static KEYS_HASH_BYTES])
{
	size_t n = strlen(password);
	assert(a != KEYS_AUTH_NONE && n > 0 && n <= KUS_PASSWORD_BYTES);
	LOCK_SCOPE(&k->lock);
	struct known *found = NULL;
	for (unsigned i = 0; i < KEPT && !found; i++)
		if (k->known[i].auth == a && strcmp(k->known[i].password, password) == 0)
			found = &k->known[i];
	if (!found) {
		uint8_t ku[KEYS_HASH_BYTES];
		int r = keys_ku(k->keys, a, password, n, ku);
		if (r < 0)
			return r;
		found = &k->known[k->next++ % KEPT];
		found->auth = a;
		memcpy(found->password, password, n + 1);
		memcpy(found->ku, ku, sizeof(ku));
	}
	memcpy(ret_ku, found->ku, sizeof(found->ku));
	return 0;
}

uint64_t kus_serial(struct kus *k)
{
	LOCK_SCOPE(&k->lock);
	return ++k->serial;
}
