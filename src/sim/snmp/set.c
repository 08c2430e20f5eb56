#include "sim/snmp/set.h"
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/store.h"
#include "sim/fleet/value.h"
#include "sim/snmp/set_rules.h"
#include <assert.h>
#include <errno.h>

/* A SET in work. */
struct setting {
	struct keeping *k;
	const struct set_ask *ask;
	struct value_ask value;
	const struct dev_ifs *ifs;	 /* as the bindings before leave them */
	const struct dev_ifs *ifs_first; /* as they were */
	struct dev_sets_change *changes; /* of the values that are kept */
	struct ber_value *values;
	uint32_t n;
	uint32_t *slots; /* interfaces whose administrative state was set */
	uint32_t n_slots;
};

/* A number's content (X.690 8.3), of at most 64 bits. */
static bool read_number(const struct snmp_binding *b, struct ber_value *ret)
{
	if (b->value_bytes == 0 || b->value_bytes > 9 || (b->value_bytes == 9 && b->value[0]))
		return false;
	uint64_t v = b->value[0] & 0x80 ? UINT64_MAX : 0;
	for (size_t i = 0; i < b->value_bytes; i++)
		v = v << 8 | b->value[i];
	if (b->value_tag == BER_INTEGER)
		ret->i = (int64_t)v;
	else
		ret->u = v;
	return true;
}

/* Type, length, encoding and value, in the order of RFC 3416 4.2.5. */
static enum snmp_error judge_value(const struct snmp_binding *b, uint8_t tag,
	const struct set_rule *rule, struct ber_value *ret)
{
	bool number = tag == BER_INTEGER || tag == BER_GAUGE32 || tag == BER_COUNTER32 ||
		      tag == BER_TIMETICKS;
	if (b->value_tag != tag)
		return SNMP_WRONG_TYPE;
	*ret = (struct ber_value){.tag = tag};
	if (number) {
		if (!read_number(b, ret))
			return SNMP_WRONG_ENCODING;
		bool fits = tag == BER_INTEGER
				    ? ret->i >= rule->lo && ret->i <= rule->hi
				    : ret->u >= (uint64_t)rule->lo && ret->u <= (uint64_t)rule->hi;
		return fits ? SNMP_NO_ERROR : SNMP_WRONG_VALUE;
	}
	if (tag == BER_IPADDRESS && b->value_bytes != 4)
		return SNMP_WRONG_LENGTH;
	if (b->value_bytes > UINT16_MAX ||
		(tag == BER_OCTET_STRING && b->value_bytes > (uint64_t)rule->hi))
		return SNMP_WRONG_LENGTH;
	ret->len = (uint16_t)b->value_bytes;
	ret->bytes = b->value;
	for (size_t i = 0; tag == BER_OCTET_STRING && i < b->value_bytes; i++)
		if (b->value[i] >= 0x80 || b->value[i] == 0) /* NVT ASCII (RFC 854) */
			return SNMP_WRONG_VALUE;
	return SNMP_NO_ERROR;
}

/* The object that a name lies under, and whether the device has that instance. */
static const struct oid_row *find_object(
	const struct setting *s, const struct oid_key *key, uint32_t *ret_row, bool *ret_there)
{
	const struct oidtab *t = &s->ask->dev->conf->type->table;
	int r = value_find(&s->value, t, key->b, key->n, ret_row);
	*ret_there = r == 0;
	if (r == 0)
		return &t->rows[*ret_row];
	if (r == -ENXIO)
		return NULL;
	bool exact;
	uint32_t pos = oidtab_seek(t, key->b, key->n, &exact);
	for (uint32_t i = pos > 0 ? pos - 1 : 0; i <= pos && i < t->n; i++) {
		const struct oid_row *row = &t->rows[i];
		if (row->object_len <= key->n &&
			memcmp(oidtab_key(t, i), key->b, row->object_len) == 0)
			return row;
	}
	return NULL;
}

static enum snmp_error keep(
	struct setting *s, const struct snmp_binding *b, const struct ber_value *v)
{
	s->values[s->n] = *v;
	s->changes[s->n] = (struct dev_sets_change){b->name, b->name_bytes, &s->values[s->n]};
	s->n++;
	return SNMP_NO_ERROR;
}

static enum snmp_error set_admin(struct setting *s, uint32_t slot, uint8_t status)
{
	const struct dev_ifs *next;
	if (ifstate_change(keeping_mem(s->k), s->ask->dev, s->ifs, slot, IFSTATE_ADMIN, status,
		    keeping_now_ns(s->k), &next) < 0)
		return SNMP_RESOURCE_UNAVAILABLE;
	if (next != s->ifs && s->ifs != s->ifs_first)
		mem_free(keeping_mem(s->k), (void *)s->ifs);
	s->ifs = next;
	s->slots[s->n_slots++] = slot;
	return SNMP_NO_ERROR;
}

static enum snmp_error test_one(struct setting *s, const struct snmp_binding *b)
{
	struct oid_key key;
	struct ber_value v;
	uint32_t at;
	bool there;
	int r = oid_key_from_ber(b->name, b->name_bytes, &key);
	assert(r == 0); /* snmp_read_pdu checked it */
	const struct oid_row *row = find_object(s, &key, &at, &there);
	const struct set_rule *rule = row ? set_rule_of(row->object) : NULL;
	if (!rule)
		return SNMP_NOT_WRITABLE;
	enum snmp_error e = judge_value(b, row->tag, rule, &v);
	if (e != SNMP_NO_ERROR)
		return e;
	if (!there)
		return SNMP_NO_CREATION;
	/* Of a recording it is but a value. */
	if (rule->effect == SET_IF_ADMIN && row->kind == OID_IF_COLUMN)
		return set_admin(s, row->slot, (uint8_t)v.i);
	return keep(s, b, &v);
}

static enum snmp_error test_all(struct setting *s, int32_t *reterr_index)
{
	struct rd list = rd_make(s->ask->list, s->ask->list_bytes);
	struct snmp_binding b;
	for (int32_t i = 1; snmp_next_binding(&list, &b); i++) {
		enum snmp_error e = test_one(s, &b);
		if (e != SNMP_NO_ERROR) {
			*reterr_index = i;
			return e;
		}
	}
	return SNMP_NO_ERROR;
}

static int put_values(const struct setting *s)
{
	const struct addr *a = &s->ask->dev->addr;
	int r = 0;
	for (uint32_t i = 0; i < s->n && r == 0; i++) {
		struct oid oid;
		uint8_t small[512], *tlv = small;
		size_t n = ber_value_bytes(s->changes[i].value);
		if (n > sizeof(small) && !(tlv = mem_alloc(keeping_mem(s->k), n)))
			return -ENOMEM;
		(void)ber_write_value(tlv, s->changes[i].value);
		r = oid_from_ber(s->changes[i].ber, s->changes[i].ber_n, &oid);
		assert(r == 0);
		r = store_put_set(s->ask->store, a, oid.arcs, oid.n, tlv, n);
		if (tlv != small)
			mem_free(keeping_mem(s->k), tlv);
	}
	return r;
}

static int put_interfaces(const struct setting *s)
{
	const struct device *d = s->ask->dev;
	int r = 0;
	for (uint32_t i = 0; i < s->n_slots && r == 0; i++) {
		struct ifstate now;
		ifstate_get(d, s->ifs, s->slots[i], keeping_now_ns(s->k), &now);
		r = store_put_if(s->ask->store, &d->addr, d->conf->type->ifs[s->slots[i]].index,
			(uint8_t[]){now.admin, now.link}, 2);
	}
	return r;
}

/* Takes the place of the device's state; what is new goes to the keeper, or is freed. */
static enum snmp_error commit(struct setting *s)
{
	const struct mem *mem = keeping_mem(s->k);
	const struct dev_state *now = keeping_state(s->k, s->ask->dev);
	const struct dev_sets *sets = now ? now->sets : NULL;
	struct dev_sets *next = NULL;
	int r = 0;
	if (s->n > 0) {
		r = dev_sets_changed(mem, sets, s->changes, s->n, keeping_now_ns(s->k), &next);
		sets = next;
	}
	if (r == 0 && s->ask->store) {
		r = put_values(s);
		if (r == 0)
			r = put_interfaces(s);
		if (r < 0)
			(void)keeping_fail(s->k, r);
	}
	if (r == 0) {
		r = keeping_put(s->k, s->ask->dev, sets, s->ifs);
		if (r < 0) /* what the store has is undone with the group */
			(void)keeping_fail(s->k, r);
		return r < 0 ? SNMP_RESOURCE_UNAVAILABLE : SNMP_NO_ERROR;
	}
	mem_free(mem, next);
	if (s->ifs != s->ifs_first)
		mem_free(mem, (void *)s->ifs);
	return SNMP_RESOURCE_UNAVAILABLE;
}

static uint32_t count_bindings(const struct set_ask *ask)
{
	struct rd list = rd_make(ask->list, ask->list_bytes);
	struct snmp_binding b;
	uint32_t n = 0;
	while (snmp_next_binding(&list, &b))
		n++;
	return n;
}

enum snmp_error set_apply(struct keeping *k, const struct set_ask *ask, int32_t *reterr_index)
{
	const struct mem *mem = keeping_mem(k);
	const struct dev_state *state = keeping_state(k, ask->dev);
	struct setting s = {.k = k, .ask = ask};
	uint32_t n = count_bindings(ask);
	if (n == 0)
		return SNMP_NO_ERROR;
	s.ifs = s.ifs_first = state ? state->ifs : NULL;
	value_ask_init(&s.value, ask->dev, keeping_now_ns(k));
	s.changes = mem_array(mem, n, sizeof(*s.changes));
	s.values = mem_array(mem, n, sizeof(*s.values));
	s.slots = mem_array(mem, n, sizeof(*s.slots));
	*reterr_index = 0;
	enum snmp_error e = SNMP_RESOURCE_UNAVAILABLE;
	if (s.changes && s.values && s.slots) {
		e = test_all(&s, reterr_index);
		if (e == SNMP_NO_ERROR)
			e = commit(&s);
		else if (s.ifs != s.ifs_first)
			mem_free(mem, (void *)s.ifs);
	}
	mem_free(mem, s.changes);
	mem_free(mem, s.values);
	mem_free(mem, s.slots);
	return e;
}

enum snmp_error set_error_v1(enum snmp_error e)
{
	switch (e) {
	case SNMP_WRONG_TYPE:
	case SNMP_WRONG_LENGTH:
	case SNMP_WRONG_ENCODING:
	case SNMP_WRONG_VALUE:
	case SNMP_INCONSISTENT_VALUE:
		return SNMP_V1_BAD_VALUE;
	case SNMP_NO_ACCESS:
	case SNMP_NOT_WRITABLE:
	case SNMP_NO_CREATION:
	case SNMP_INCONSISTENT_NAME:
	case SNMP_AUTHORIZATION_ERROR:
		return SNMP_NO_SUCH_NAME;
	case SNMP_RESOURCE_UNAVAILABLE:
	case SNMP_COMMIT_FAILED:
	case SNMP_UNDO_FAILED:
		return SNMP_GEN_ERR;
	default:
		return e;
	}
}

enum snmp_error set_error_of(int r)
{
	return r == -ENOSPC || r == -ENOMEM ? SNMP_RESOURCE_UNAVAILABLE : SNMP_COMMIT_FAILED;
}
