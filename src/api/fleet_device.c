#include "api/fleet_device.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/ifset.h"
#include "sim/fleet/store.h"
#include "sim/snmp/set.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IFS_MAX 1000000u

static void put_set(struct text *t, const struct dev_sets *s, const struct dev_set *set)
{
	struct oid oid;
	char buf[OID_TEXT_BYTES];
	const uint8_t *bytes = dev_sets_bytes(s);
	if (oid_from_ber(bytes + set->ber_at, set->ber_n, &oid) < 0)
		return;
	text_put(t, t->s[t->len - 1] == '[' ? "{" : ",{");
	text_kv_str(t, "oid", oid_text(&oid, buf, sizeof(buf)));
	text_key(t, "ber");
	text_put(t, "\"");
	for (uint32_t i = 0; i < set->value_n; i++)
		text_printf(t, "%02x", bytes[set->value_at + i]);
	text_put(t, "\"}");
}

void fleet_device_text(struct text *t, const struct device *d, const struct dev_state *state)
{
	char addr[ADDR_TEXT_BYTES];
	const struct dev_sets *sets = state->sets;
	const struct dev_ifs *ifs = state->ifs;
	text_put(t, "{");
	text_kv_str(t, "address", addr_text(&d->addr, addr));
	text_key(t, "sets");
	text_put(t, "[");
	for (uint32_t i = 0; sets && t->err == 0 && i < sets->n; i++)
		put_set(t, sets, &sets->set[i]);
	text_put(t, "]");
	text_key(t, "interfaces");
	text_put(t, "[");
	for (uint32_t i = 0; ifs && i < ifs->n; i++)
		text_printf(t, "%s{\"index\":%u,\"admin\":%u,\"link\":%u}", i ? "," : "",
			d->conf->type->ifs[ifs->ifs[i].slot].index, ifs->ifs[i].admin,
			ifs->ifs[i].link);
	text_put(t, "]}");
}

static int bad(struct fault *f, const char *key, const char *allowed)
{
	return fault_set(f, -EINVAL, key, allowed, "is missing or wrong");
}

/* SEQUENCE { name, value } (RFC 3416 3). */
static void put_binding(struct text *t, const uint8_t *name, size_t name_bytes, const uint8_t *tlv,
	size_t tlv_bytes)
{
	uint8_t head[12], *at = head, inner[8], *in = inner;
	*in++ = BER_OID;
	in = ber_write_len(in, name_bytes);
	*at++ = BER_SEQUENCE;
	at = ber_write_len(at, (size_t)(in - inner) + name_bytes + tlv_bytes);
	text_write(t, head, (size_t)(at - head));
	text_write(t, inner, (size_t)(in - inner));
	text_write(t, name, name_bytes);
	text_write(t, tlv, tlv_bytes);
}

static int read_set(const json_t *o, struct fleet_device *f, struct fault *fault)
{
	const char *name = json_string_value(json_object_get(o, "oid"));
	const char *ber = json_string_value(json_object_get(o, "ber"));
	uint8_t oid_ber[OID_BER_BYTES];
	struct oid oid;
	size_t n = 0;
	if (!name || oid_parse(name, &oid) < 0)
		return bad(fault, "/sets/oid", "an OID in numbers");
	int oid_bytes = oid_to_ber(&oid, oid_ber, sizeof(oid_ber));
	if (oid_bytes < 0)
		return bad(fault, "/sets/oid", "an OID in numbers");
	size_t room = ber ? strlen(ber) / 2 : 0;
	AUTO_TEXT struct text tlv = TEXT(f->bindings.mem);
	for (size_t i = 0; i < room; i++)
		text_write(&tlv, "", 1);
	if (tlv.err < 0)
		return tlv.err;
	if (!ber || room < 2 || num_hex(ber, (uint8_t *)tlv.s, room, &n) < 0)
		return bad(fault, "/sets/ber", "a value in BER, in hexadecimal digits");
	struct rd rd = rd_make(tlv.s, n);
	(void)ber_get_value(&rd);
	if (rd.err || rd.p != rd.end)
		return bad(fault, "/sets/ber", "a value in BER, in hexadecimal digits");
	put_binding(&f->bindings, oid_ber, (size_t)oid_bytes, (const uint8_t *)tlv.s, n);
	return f->bindings.err;
}

static int read_if(const json_t *o, struct fleet_device_if *i, struct fault *fault)
{
	json_int_t index = json_integer_value(json_object_get(o, "index"));
	json_int_t admin = json_integer_value(json_object_get(o, "admin"));
	json_int_t link = json_integer_value(json_object_get(o, "link"));
	if (index < 1 || index > INT32_MAX)
		return bad(fault, "/interfaces/index", "an ifIndex");
	if (admin < IF_UP || admin > IF_TESTING)
		return bad(fault, "/interfaces/admin", "1..3");
	if (link < IF_UP || link > IF_LOWER_LAYER_DOWN)
		return bad(fault, "/interfaces/link", "1..7");
	*i = (struct fleet_device_if){(uint32_t)index, (uint8_t)admin, (uint8_t)link};
	return 0;
}

static int read_all(
	const struct mem *mem, const json_t *o, struct fleet_device *f, struct fault *fault)
{
	const char *addr = json_string_value(json_object_get(o, "address"));
	const json_t *sets = json_object_get(o, "sets"), *ifs = json_object_get(o, "interfaces");
	size_t n = json_array_size(ifs);
	if (!addr || addr_parse(addr, &f->addr) < 0)
		return bad(fault, "/address", "an address");
	if (!json_is_array(sets))
		return bad(fault, "/sets", "a list");
	if (!json_is_array(ifs) || n > IFS_MAX)
		return bad(fault, "/interfaces", "a list");
	if (json_object_size(o) != 3)
		return fault_set(fault, -EINVAL, "", "address, sets, interfaces",
			"a member that a device does not have");
	for (size_t i = 0; i < json_array_size(sets); i++) {
		int r = read_set(json_array_get(sets, i), f, fault);
		if (r < 0)
			return r;
	}
	f->ifs = mem_array(mem, MAX(n, 1u), sizeof(*f->ifs));
	if (!f->ifs)
		return -ENOMEM;
	for (; f->n_ifs < n; f->n_ifs++) {
		int r = read_if(json_array_get(ifs, f->n_ifs), &f->ifs[f->n_ifs], fault);
		if (r < 0)
			return r;
	}
	return 0;
}

int fleet_device_read(const struct mem *mem, const json_t *o, struct fleet_device *ret_device,
	struct fault *reterr_fault)
{
	struct fleet_device f = {.bindings = TEXT(mem)};
	int r = read_all(mem, o, &f, reterr_fault);
	if (r < 0)
		fleet_device_done(mem, &f);
	else
		*ret_device = f;
	return r;
}

void fleet_device_done(const struct mem *mem, struct fleet_device *f)
{
	text_done(&f->bindings);
	(void)mem_free(mem, f->ifs);
	*f = (struct fleet_device){.n_ifs = 0};
}

/* One on its way through the keeper. */
struct setting {
	struct change change;
	const struct api_env *env;
	const struct fleet_device *f;
	struct fault *fault;
};

static int set_objects(struct setting *s, struct keeping *k, const struct device *d)
{
	struct set_ask ask = {
		d, (const uint8_t *)s->f->bindings.s, s->f->bindings.len, s->env->store};
	int32_t index = 0;
	if (s->f->bindings.len == 0)
		return 0;
	enum snmp_error e = set_apply(k, &ask, &index);
	if (e == SNMP_NO_ERROR)
		return 0;
	if (e == SNMP_RESOURCE_UNAVAILABLE)
		return -ENOMEM;
	return fault_set(s->fault, -EINVAL, "/sets", NULL,
		"number %d is refused with error %d of RFC 3416", index, (int)e);
}

static int set_interface(struct setting *s, struct keeping *k, const struct device *d,
	const struct fleet_device_if *i)
{
	struct ifset_ask ask = {.what = IFSTATE_ADMIN, .status = i->admin};
	struct ifset_revert *none;
	if (ifstate_slot(d->conf->type, i->index, &ask.slot) < 0)
		return fault_set(s->fault, -EINVAL, "/interfaces", NULL,
			"the device has no interface %u", i->index);
	int r = ifset_apply(s->env->ifset, k, d, &ask, &none);
	ask.what = IFSTATE_LINK;
	ask.status = i->link;
	return r < 0 ? r : ifset_apply(s->env->ifset, k, d, &ask, &none);
}

static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct setting *s = CONTAINER_OF(c, struct setting, change);
	char addr[ADDR_TEXT_BYTES];
	if (!d)
		return fault_set(s->fault, -EINVAL, "/address", NULL, "no device %s",
			addr_text(&c->addr, addr));
	int r = set_objects(s, k, d);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < s->f->n_ifs; i++)
		r = set_interface(s, k, d, &s->f->ifs[i]);
	/* What is done of the line is undone. */
	return r < 0 ? keeping_fail(k, r) : 0;
}

int fleet_device_set(
	const struct api_env *env, const struct fleet_device *f, struct fault *reterr_fault)
{
	struct setting s = {.change = {.addr = f->addr, .alone = true, .apply = apply},
		.env = env,
		.f = f,
		.fault = reterr_fault};
	int r = keeper_run(env->keeper, &s.change);
	if (r < 0 && reterr_fault->code != r && env->store)
		return store_refusal(env->store, r, reterr_fault);
	return r;
}
