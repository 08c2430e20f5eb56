#include "sim/fleet/dev_sets.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int cmp(const struct dev_sets *s, const struct dev_set *set, const uint8_t *key, size_t n)
{
	return oid_key_cmp(dev_sets_bytes(s) + set->key_at, set->key_n, key, n);
}

const struct dev_set *dev_sets_find(const struct dev_sets *s, const uint8_t *key, size_t key_n)
{
	uint32_t lo = 0, hi = s->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int r = cmp(s, &s->set[mid], key, key_n);
		if (r == 0)
			return &s->set[mid];
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

struct ber_value dev_set_value(const struct dev_sets *s, const struct dev_set *set)
{
	struct rd r = rd_make(dev_sets_bytes(s) + set->value_at, set->value_n);
	return ber_get_value(&r);
}

/* A set of the result: of the old ones, or a change. */
struct item {
	struct oid_key key;
	const uint8_t *ber, *tlv; /* tlv of an old one */
	const struct ber_value *value;
	uint16_t ber_n;
	uint32_t value_n, number;
	uint64_t set_ns;
	bool gone;
};

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int r = oid_key_cmp(x->key.b, x->key.n, y->key.b, y->key.n);
	return r ? r : (x->number > y->number) - (x->number < y->number);
}

static void take_old(const struct dev_sets *old, struct item *items, uint32_t n)
{
	const uint8_t *bytes = n ? dev_sets_bytes(old) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct dev_set *s = &old->set[i];
		items[i] = (struct item){.ber = bytes + s->ber_at,
			.tlv = bytes + s->value_at,
			.ber_n = s->ber_n,
			.value_n = s->value_n,
			.number = i,
			.set_ns = s->set_ns};
		memcpy(items[i].key.b, bytes + s->key_at, s->key_n);
		items[i].key.n = s->key_n;
	}
}

static void take_change(
	const struct dev_sets_change *c, uint32_t number, uint64_t now_ns, struct item *item)
{
	*item = (struct item){.ber = c->ber,
		.ber_n = (uint16_t)c->ber_n,
		.value = c->value,
		.number = number,
		.set_ns = now_ns,
		.gone = !c->value};
	int r = oid_key_from_ber(c->ber, c->ber_n, &item->key);
	assert(r == 0);
	if (c->value)
		item->value_n = (uint32_t)ber_value_bytes(c->value);
}

/* The last of each OID, but those that are gone; returns how many are left. */
static uint32_t reduce(struct item *items, uint32_t n)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool again = i + 1 < n && items[i].key.n == items[i + 1].key.n &&
			     memcmp(items[i].key.b, items[i + 1].key.b, items[i].key.n) == 0;
		if (!again && !items[i].gone)
			items[kept++] = items[i];
	}
	return kept;
}

static int lay(const struct mem *mem, const struct item *items, uint32_t n, struct dev_sets **ret)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < n; i++)
		bytes += items[i].key.n + (uint64_t)items[i].ber_n + items[i].value_n;
	if (bytes > UINT32_MAX)
		return -E2BIG;
	struct dev_sets *s = mem_alloc(mem, sizeof(*s) + n * sizeof(s->set[0]) + bytes);
	if (!s)
		return -ENOMEM;
	s->n = n;
	s->bytes_n = (uint32_t)bytes;
	uint8_t *base = (uint8_t *)&s->set[n], *p = base;
	for (uint32_t i = 0; i < n; i++) {
		const struct item *it = &items[i];
		s->set[i] = (struct dev_set){.key_at = (uint32_t)(p - base),
			.ber_at = (uint32_t)(p - base) + it->key.n,
			.value_at = (uint32_t)(p - base) + it->key.n + it->ber_n,
			.key_n = it->key.n,
			.ber_n = it->ber_n,
			.value_n = it->value_n,
			.set_ns = it->set_ns};
		p = mempcpy(p, it->key.b, it->key.n);
		p = mempcpy(p, it->ber, it->ber_n);
		if (it->value)
			p = ber_write_value(p, it->value);
		else
			p = mempcpy(p, it->tlv, it->value_n);
	}
	assert(p == base + bytes);
	*ret = s;
	return 0;
}

int dev_sets_changed(const struct mem *mem, const struct dev_sets *old,
	const struct dev_sets_change *changes, uint32_t n, uint64_t now_ns,
	struct dev_sets **ret_sets)
{
	uint32_t n_old = old ? old->n : 0;
	struct item *items = mem_array(mem, (size_t)n_old + n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	take_old(old, items, n_old);
	for (uint32_t i = 0; i < n; i++)
		take_change(&changes[i], n_old + i, now_ns, &items[n_old + i]);
	qsort(items, n_old + n, sizeof(*items), by_key);
	uint32_t kept = reduce(items, n_old + n);
	int r = 0;
	if (kept == 0)
		*ret_sets = NULL;
	else
		r = lay(mem, items, kept, ret_sets);
	mem_free(mem, items);
	return r;
}
