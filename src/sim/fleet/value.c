#include "sim/fleet/value.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/engine.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/template.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ADDR_ARCS 4
#define ADDR_SUFFIX_BYTES (ADDR_ARCS * 2)

static bool row_exists(const struct value_ask *ask, const struct oid_row *row)
{
	return row->kind != OID_DEVICE_ADDR || addr_is_v4(&ask->dev->addr);
}

/* The device's address as the last four arcs of a key. */
static size_t addr_key(const struct device *d, uint8_t buf[static ADDR_SUFFIX_BYTES])
{
	const uint8_t *b = d->addr.b + 12;
	struct oid o = {.n = 2 + ADDR_ARCS, .arcs = {1, 3, b[0], b[1], b[2], b[3]}};
	struct oid_key key;
	oid_to_key(&o, &key);
	memcpy(buf, key.b + 1, key.n - 1u);
	return key.n - 1u;
}

/* Compares the OID of an OID_DEVICE_ADDR row with a key under its column. */
static int cmp_addr_row(
	const struct value_ask *ask, const struct oid_row *row, const uint8_t *key, size_t key_len)
{
	uint8_t suffix[ADDR_SUFFIX_BYTES];
	size_t n = addr_key(ask->dev, suffix);
	return oid_key_cmp(suffix, n, key + row->key_len, key_len - row->key_len);
}

/* The OID_DEVICE_ADDR row whose column the key names or lies under; NULL. */
static const struct oid_row *addr_row_over(
	const struct oidtab *t, uint32_t pos, bool exact, const uint8_t *key, size_t key_len)
{
	if (!exact && pos == 0)
		return NULL;
	const struct oid_row *row = &t->rows[exact ? pos : pos - 1];
	if (row->kind != OID_DEVICE_ADDR || row->key_len > key_len ||
		memcmp(t->bytes + row->key_at, key, row->key_len) != 0)
		return NULL;
	return row;
}

static uint32_t skip_absent(const struct value_ask *ask, const struct oidtab *t, uint32_t pos)
{
	while (pos < t->n && !row_exists(ask, &t->rows[pos]))
		pos++;
	return pos;
}

int value_find(const struct value_ask *ask, const struct oidtab *t, const uint8_t *key,
	size_t key_len, uint32_t *ret_row)
{
	bool exact;
	uint32_t pos = oidtab_seek(t, key, key_len, &exact);
	const struct oid_row *over = addr_row_over(t, pos, exact, key, key_len);
	if (over && row_exists(ask, over) && cmp_addr_row(ask, over, key, key_len) == 0) {
		*ret_row = (uint32_t)(over - t->rows);
		return 0;
	}
	if (exact && !over) {
		*ret_row = pos;
		return 0;
	}
	return oidtab_has_object(t, pos, key, key_len) ? -ENOENT : -ENXIO;
}

uint32_t value_after(
	const struct value_ask *ask, const struct oidtab *t, const uint8_t *key, size_t key_len)
{
	bool exact;
	uint32_t pos = oidtab_seek(t, key, key_len, &exact);
	const struct oid_row *over = addr_row_over(t, pos, exact, key, key_len);
	if (over && row_exists(ask, over) && cmp_addr_row(ask, over, key, key_len) > 0)
		return (uint32_t)(over - t->rows);
	return skip_absent(ask, t, exact ? pos + 1 : pos);
}

uint32_t value_next(const struct value_ask *ask, const struct oidtab *t, uint32_t row)
{
	return skip_absent(ask, t, row + 1);
}

const uint8_t *value_oid(
	struct value_ask *ask, const struct oidtab *t, uint32_t row, uint16_t *ret_len)
{
	const struct oid_row *r = &t->rows[row];
	if (LIKELY(r->kind != OID_DEVICE_ADDR)) {
		*ret_len = r->ber_len;
		return t->bytes + r->ber_at;
	}
	uint8_t *p = mempcpy(ask->oid, t->bytes + r->ber_at, r->ber_len);
	for (unsigned i = 0; i < ADDR_ARCS; i++) {
		uint8_t arc = ask->dev->addr.b[12 + i];
		if (arc >= 0x80)
			*p++ = 0x81;
		*p++ = arc & 0x7f;
	}
	*ret_len = (uint16_t)(p - ask->oid);
	return ask->oid;
}

static struct ber_value text_value(const char *s)
{
	return (struct ber_value){
		.tag = BER_OCTET_STRING, .len = (uint16_t)strlen(s), .bytes = (const uint8_t *)s};
}

static struct ber_value const_value(const struct oidtab *t, const struct oid_row *row)
{
	struct rd r = rd_make(t->bytes + row->arg, t->bytes_len - row->arg);
	return ber_get_value(&r);
}

static const char *mac_text(const struct device *d, char buf[static 18])
{
	uint8_t m[6];
	ident_mac(d, 0, m);
	(void)snprintf(
		buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
	return buf;
}

static const char *word_text(
	const struct device *d, enum template_word w, char buf[static IDENT_TEXT_BYTES])
{
	switch (w) {
	case TEMPLATE_SERIAL:
		return ident_serial(d, buf);
	case TEMPLATE_MAC:
		return mac_text(d, buf);
	case TEMPLATE_IP:
		return addr_text(&d->addr, buf);
	default:
		return ident_name(d, buf);
	}
}

/* The compiler of types saw to it that the text fits. */
static struct ber_value template_value(
	struct value_ask *ask, const struct oidtab *t, const struct oid_row *row)
{
	struct ber_value v = const_value(t, row);
	char buf[IDENT_TEXT_BYTES];
	size_t at = 0;
	for (size_t i = 0; i < v.len && at < sizeof(ask->scratch);) {
		size_t skip = 1, n = 1;
		const void *from = v.bytes + i;
		enum template_word w = template_word(v.bytes + i, v.len - i, &skip);
		if (w != TEMPLATE_NONE) {
			from = word_text(ask->dev, w, buf);
			n = MIN(strlen(from), sizeof(ask->scratch) - at);
		}
		memcpy(ask->scratch + at, from, n);
		at += n;
		i += skip;
	}
	v.bytes = ask->scratch;
	v.len = (uint16_t)at;
	return v;
}

bool value_if_mac(const struct device *d, uint32_t slot, uint8_t ret_mac[static 6])
{
	const struct type_if *i = &d->conf->type->ifs[slot];
	if (i->mac_kind == IF_MAC_FIXED)
		memcpy(ret_mac, i->mac, sizeof(i->mac));
	else if (i->mac_kind == IF_MAC_DEVICE)
		ident_mac(d, slot + 1, ret_mac);
	return i->mac_kind != IF_MAC_NONE;
}

static struct ber_value if_value(struct value_ask *ask, const struct oid_row *row)
{
	struct ber_value v = {.tag = row->tag};
	const struct type_if *i = &ask->dev->conf->type->ifs[row->slot];
	struct ifstate state;
	ifstate_get(ask->dev, ask->state ? ask->state->ifs : NULL, row->slot, ask->now_ns, &state);
	switch (row->arg) {
	case IF_COL_ADMIN_STATUS:
		v.i = state.admin;
		return v;
	case IF_COL_OPER_STATUS:
		v.i = state.oper;
		return v;
	case IF_COL_LAST_CHANGE:
		v.u = (uint32_t)(state.changed_ns / (NS_PER_SEC / 100));
		return v;
	case IF_COL_PHYS_ADDRESS:
		v.len = value_if_mac(ask->dev, row->slot, ask->scratch) ? 6 : 0;
		v.bytes = ask->scratch;
		return v;
	case IF_COL_DISCONTINUITY:
	case IF_COL_UNKNOWN_PROTOS:
		v.u = 0;
		return v;
	default:
		break;
	}
	if (!ask->counted) {
		ifcount_init(&ask->count, ask->dev);
		ask->counted = true;
	}
	v.u = ifcount_get(&ask->count, i, state.up_ns, (enum if_column)row->arg);
	if (row->tag == BER_COUNTER32)
		v.u = (uint32_t)v.u;
	return v;
}

/* Columns of ipAddrTable (RFC 1213). */
static struct ber_value addr_value(struct value_ask *ask, const struct oid_row *row)
{
	const struct device *d = ask->dev;
	struct ber_value v = {.tag = row->tag};
	switch (row->arg) {
	case 1: /* ipAdEntAddr */
		v.len = 4;
		v.bytes = d->addr.b + 12;
		break;
	case 2: /* ipAdEntIfIndex */
		v.i = d->conf->type->ifs[d->conf->type->mgmt_slot].index;
		break;
	case 3: { /* ipAdEntNetMask */
		uint32_t mask =
			d->conf->netmask_len ? UINT32_MAX << (32 - d->conf->netmask_len) : 0;
		mask = __builtin_bswap32(mask);
		memcpy(ask->scratch, &mask, sizeof(mask));
		v.len = 4;
		v.bytes = ask->scratch;
		break;
	}
	case 4: /* ipAdEntBcastAddr: the all-ones broadcast address */
		v.i = 1;
		break;
	default: /* ipAdEntReasmMaxSize */
		v.i = 65535;
		break;
	}
	return v;
}

static bool value_set(const struct value_ask *ask, const struct oidtab *t, uint32_t at,
	struct ber_value *ret_value)
{
	const struct dev_sets *sets = ask->state->sets;
	const struct dev_set *set =
		sets ? dev_sets_find(sets, oidtab_key(t, at), t->rows[at].key_len) : NULL;
	if (set)
		*ret_value = dev_set_value(sets, set);
	return set;
}

/* The group snmpEngine (RFC 3411 5). */
static struct ber_value engine_value(struct value_ask *ask, const struct oid_row *row)
{
	struct ber_value v = {.tag = row->tag};
	struct engine_time t = engine_time(ask->dev, ask->now_ns);
	switch (row->arg) {
	case 1: /* snmpEngineID */
		v.len = (uint16_t)engine_id(ask->dev, ask->scratch);
		v.bytes = ask->scratch;
		break;
	case 2: /* snmpEngineBoots */
		v.i = t.boots;
		break;
	case 3: /* snmpEngineTime */
		v.i = t.time_s;
		break;
	default: /* snmpEngineMaxMessageSize: what a datagram can hold */
		v.i = ENGINE_MAX_MESSAGE_BYTES;
		break;
	}
	return v;
}

int value_get(
	struct value_ask *ask, const struct oidtab *t, uint32_t at, struct ber_value *ret_value)
{
	const struct oid_row *row = &t->rows[at];
	const struct device *d = ask->dev;
	if (UNLIKELY(ask->state) && value_set(ask, t, at, ret_value))
		return 0;
	switch ((enum oid_kind)row->kind) {
	case OID_CONST:
		*ret_value = const_value(t, row);
		return 0;
	case OID_SYS_NAME:
		*ret_value = text_value(ident_name(d, (char *)ask->scratch));
		return 0;
	case OID_SYS_LOCATION:
		*ret_value = text_value(ident_location(d, (char *)ask->scratch));
		return 0;
	case OID_SYS_UPTIME: {
		uint64_t up_ns = ask->now_ns > d->boot_ns ? ask->now_ns - d->boot_ns : 0;
		*ret_value = (struct ber_value){
			.tag = row->tag, .u = (uint32_t)(up_ns / (NS_PER_SEC / 100))};
		return 0;
	}
	case OID_SNMP_COUNTER:
		*ret_value = (struct ber_value){.tag = row->tag,
			.u = __atomic_load_n(&d->snmp[row->arg], __ATOMIC_RELAXED)};
		return 0;
	case OID_V3_COUNTER:
		*ret_value = (struct ber_value){
			.tag = row->tag, .u = __atomic_load_n(&d->v3[row->arg], __ATOMIC_RELAXED)};
		return 0;
	case OID_ENGINE:
		*ret_value = engine_value(ask, row);
		return 0;
	case OID_IF_COLUMN:
		*ret_value = if_value(ask, row);
		return 0;
	case OID_TEXT_TEMPLATE:
		*ret_value = template_value(ask, t, row);
		return 0;
	case OID_DEVICE_ADDR:
		if (!row_exists(ask, row))
			return -ENOENT;
		*ret_value = addr_value(ask, row);
		return 0;
	case OID_KINDS:
		break;
	}
	return -ENOENT;
}
