#include "sim/fleet/keeper.h"
#include "sim/fleet/store_impl.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define ADDR_BYTES sizeof(struct addr)
#define SET_KEY_BYTES (ADDR_BYTES + 4 * 128)

static void put_be32(uint8_t *p, uint32_t n)
{
	n = __builtin_bswap32(n);
	memcpy(p, &n, 4);
}

static uint32_t get_be32(const uint8_t *p)
{
	uint32_t n;
	memcpy(&n, p, 4);
	return __builtin_bswap32(n);
}

/* Address, then each arc in four bytes: in order of device and object. */
static struct store_key set_key(uint8_t key[static SET_KEY_BYTES], const struct addr *device,
	const uint32_t *oid, size_t oid_len)
{
	assert(oid_len >= 1 && oid_len <= 128);
	memcpy(key, device->b, ADDR_BYTES);
	for (size_t i = 0; i < oid_len; i++)
		put_be32(key + ADDR_BYTES + 4 * i, oid[i]);
	return STORE_KEY(key, ADDR_BYTES + 4 * oid_len);
}

int store_put_set(struct store *s, const struct addr *device, const uint32_t *oid, size_t oid_len,
	const void *tlv, size_t tlv_bytes)
{
	uint8_t key[SET_KEY_BYTES];
	return store_put(s, STORE_SET, set_key(key, device, oid, oid_len), tlv, tlv_bytes);
}

int store_del_set(struct store *s, const struct addr *device, const uint32_t *oid, size_t oid_len)
{
	uint8_t key[SET_KEY_BYTES];
	return store_del(s, STORE_SET, set_key(key, device, oid, oid_len));
}

static struct store_key if_key(
	uint8_t key[static ADDR_BYTES + 4], const struct addr *device, uint32_t if_index)
{
	memcpy(key, device->b, ADDR_BYTES);
	put_be32(key + ADDR_BYTES, if_index);
	return STORE_KEY(key, ADDR_BYTES + 4);
}

int store_put_if(struct store *s, const struct addr *device, uint32_t if_index, const void *state,
	size_t bytes)
{
	uint8_t key[ADDR_BYTES + 4];
	return store_put(s, STORE_IF, if_key(key, device, if_index), state, bytes);
}

int store_del_if(struct store *s, const struct addr *device, uint32_t if_index)
{
	uint8_t key[ADDR_BYTES + 4];
	return store_del(s, STORE_IF, if_key(key, device, if_index));
}

int store_del_sets_of(struct store *s, const struct addr *first, const struct addr *last)
{
	return store_del_between(
		s, STORE_SET, STORE_KEY(first->b, ADDR_BYTES), STORE_KEY(last->b, ADDR_BYTES));
}

int store_del_ifs_of(struct store *s, const struct addr *first, const struct addr *last)
{
	return store_del_between(
		s, STORE_IF, STORE_KEY(first->b, ADDR_BYTES), STORE_KEY(last->b, ADDR_BYTES));
}

struct set_walk {
	int (*fn)(void *arg, const struct store_set *set);
	void *arg;
};

static int on_set(void *arg, struct store_key key, const void *value, size_t bytes)
{
	struct set_walk *w = arg;
	struct store_set set = {.tlv = value, .tlv_bytes = bytes};
	const uint8_t *p = key.p;
	if (key.bytes <= ADDR_BYTES || key.bytes > SET_KEY_BYTES || key.bytes % 4)
		return 0; /* of no program's making: its checksum is right */
	memcpy(set.device.b, p, ADDR_BYTES);
	set.oid_len = (key.bytes - ADDR_BYTES) / 4;
	for (size_t i = 0; i < set.oid_len; i++)
		set.oid[i] = get_be32(p + ADDR_BYTES + 4 * i);
	return w->fn(w->arg, &set);
}

int store_each_set(struct store *s, int (*fn)(void *arg, const struct store_set *set), void *arg)
{
	struct set_walk w = {fn, arg};
	return store_each(s, STORE_SET, on_set, &w);
}

int store_each_set_of(struct store *s, const struct addr *first, const struct addr *last,
	int (*fn)(void *arg, const struct store_set *set), void *arg)
{
	struct set_walk w = {fn, arg};
	return store_each_between(s, STORE_SET, STORE_KEY(first->b, ADDR_BYTES),
		STORE_KEY(last->b, ADDR_BYTES), on_set, &w);
}

struct if_walk {
	int (*fn)(void *arg, const struct store_if *i);
	void *arg;
};

static int on_if(void *arg, struct store_key key, const void *value, size_t bytes)
{
	struct if_walk *w = arg;
	struct store_if i = {.state = value, .bytes = bytes};
	if (key.bytes != ADDR_BYTES + 4)
		return 0; /* as above */
	memcpy(i.device.b, key.p, ADDR_BYTES);
	i.if_index = get_be32((const uint8_t *)key.p + ADDR_BYTES);
	return w->fn(w->arg, &i);
}

int store_each_if(struct store *s, int (*fn)(void *arg, const struct store_if *i), void *arg)
{
	struct if_walk w = {fn, arg};
	return store_each(s, STORE_IF, on_if, &w);
}

int store_each_if_of(struct store *s, const struct addr *first, const struct addr *last,
	int (*fn)(void *arg, const struct store_if *i), void *arg)
{
	struct if_walk w = {fn, arg};
	return store_each_between(s, STORE_IF, STORE_KEY(first->b, ADDR_BYTES),
		STORE_KEY(last->b, ADDR_BYTES), on_if, &w);
}
