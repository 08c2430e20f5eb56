#include "sim/fleet/store_create.h"
#include "sim/fleet/access_json.h"
#include "sim/fleet/store_impl.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define ID_BYTES 4
#define ADDR_BYTES sizeof(struct addr)
#define TYPES_MAX 100000u
#define HOLE_BYTES (ID_BYTES + ADDR_BYTES)

static void begin_text(struct text *t, const struct addr *start, uint32_t count)
{
	char buf[ADDR_TEXT_BYTES];
	text_put(t, "{");
	text_kv_str(t, "start", addr_text(start, buf));
	text_kv_u64(t, "count", count);
}

void store_create_join(struct text *t, const struct addr *start, uint32_t count, const char *rest)
{
	begin_text(t, start, count);
	text_put(t, rest);
	text_put(t, "}");
}

void store_create_text(struct text *t, const struct fleet_add *add, bool of_flags)
{
	begin_text(t, &add->start, add->count);
	store_create_rest(t, add, of_flags);
	text_put(t, "}");
}

void store_create_rest(struct text *t, const struct fleet_add *add, bool of_flags)
{
	text_printf(t, ",\"netmask\":%u", add->conf.netmask_len);
	text_kv_bool(t, "netmask_given", add->netmask_given);
	text_key(t, "types");
	for (uint32_t i = 0; i < add->n_types; i++) {
		text_put(t, i ? "," : "[");
		text_json(t, add->types[i] ? add->types[i]->slug : NULL);
	}
	text_put(t, "]");
	text_kv_bool(t, "named_type", add->conf.named_type);
	if (of_flags)
		return;
	text_kv_u64(t, "snmp_port", add->conf.snmp_port);
	if (add->conf.if_errors)
		text_kv_u64(t, "if_errors", add->conf.if_errors);
	if (add->conf.write_community)
		text_kv_str(t, "write_community", add->conf.write_community);
	if (add->conf.access) {
		text_key(t, "snmpv3");
		access_write_json(t, add->conf.access);
	}
}

static int bad(struct fault *f, const char *key, const char *allowed)
{
	char field[64];
	(void)snprintf(field, sizeof(field), "/%s", key);
	return fault_set(f, -EINVAL, field, allowed, "is missing or wrong");
}

static int get_int(
	const json_t *o, const char *key, json_int_t max, json_int_t *ret_n, struct fault *fault)
{
	const json_t *v = json_object_get(o, key);
	char allowed[32];
	(void)snprintf(allowed, sizeof(allowed), "0..%lld", (long long)max);
	if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > max)
		return bad(fault, key, allowed);
	*ret_n = json_integer_value(v);
	return 0;
}

static int get_bool(const json_t *o, const char *key, bool *ret_on, struct fault *fault)
{
	const json_t *v = json_object_get(o, key);
	if (!json_is_boolean(v))
		return bad(fault, key, "true, false");
	*ret_on = json_is_true(v);
	return 0;
}

static int read_slugs(
	const struct mem *mem, const json_t *o, struct store_create *c, struct fault *fault)
{
	const json_t *list = json_object_get(o, "types");
	size_t n = json_array_size(list);
	if (n == 0 || n > TYPES_MAX)
		return bad(fault, "types", "names of types");
	c->slugs = mem_array(mem, n, sizeof(*c->slugs));
	if (!c->slugs)
		return -ENOMEM;
	for (c->n_slugs = 0; c->n_slugs < n; c->n_slugs++) {
		const json_t *v = json_array_get(list, c->n_slugs);
		if (json_is_null(v))
			continue;
		if (!json_is_string(v))
			return bad(fault, "types", "names of types");
		c->slugs[c->n_slugs] = mem_strdup(mem, json_string_value(v));
		if (!c->slugs[c->n_slugs])
			return -ENOMEM;
	}
	return 0;
}

static int read_settings(
	const struct mem *mem, const json_t *o, struct store_create *c, struct fault *fault)
{
	json_int_t errors = 0;
	if (json_object_get(o, "if_errors") &&
		get_int(o, "if_errors", IF_ERRORS_FAILING, &errors, fault) < 0)
		return -EINVAL;
	c->add.conf.if_errors = (uint8_t)errors;
	const json_t *community = json_object_get(o, "write_community");
	if (community && !json_is_string(community))
		return bad(fault, "write_community", "text");
	if (community) {
		c->add.conf.write_community = mem_strdup(mem, json_string_value(community));
		if (!c->add.conf.write_community)
			return -ENOMEM;
	}
	return read_slugs(mem, o, c, fault);
}

static int read_members(
	const struct mem *mem, const json_t *o, struct store_create *c, struct fault *fault)
{
	json_int_t netmask, count, port = 0;
	const char *start = json_string_value(json_object_get(o, "start"));
	c->of_flags = !json_object_get(o, "snmp_port");
	if (!start || addr_parse(start, &c->add.start) < 0)
		return bad(fault, "start", "an address");
	int r = get_int(o, "netmask", 128, &netmask, fault);
	if (r == 0)
		r = get_int(o, "count", FLEET_MAX_DEVICES, &count, fault);
	if (r == 0)
		r = get_bool(o, "netmask_given", &c->add.netmask_given, fault);
	if (r == 0)
		r = get_bool(o, "named_type", &c->add.conf.named_type, fault);
	if (r == 0 && !c->of_flags)
		r = get_int(o, "snmp_port", 65535, &port, fault);
	if (r < 0)
		return r;
	c->add.conf.netmask_len = (uint8_t)netmask;
	c->add.count = (uint32_t)count;
	c->add.conf.snmp_port = (uint16_t)port;
	return read_settings(mem, o, c, fault);
}

int store_create_read(const struct mem *mem, struct kus *kus, const void *json, size_t bytes,
	struct store_create *ret_create, struct fault *reterr_fault)
{
	struct store_create c = {0};
	json_error_t error;
	json_t *o = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &error);
	int r = o ? read_members(mem, o, &c, reterr_fault)
		  : fault_set(reterr_fault, -EINVAL, "", NULL, "%.200s", error.text);
	const json_t *v3 = json_object_get(o, "snmpv3");
	if (r == 0 && v3)
		r = access_read_json(mem, kus, v3, &c.add.conf.access, reterr_fault);
	json_decref(o);
	if (r == 0)
		*ret_create = c;
	else
		store_create_done(mem, &c);
	return r;
}

void store_create_done(const struct mem *mem, struct store_create *c)
{
	for (uint32_t i = 0; i < c->n_slugs; i++)
		(void)mem_free(mem, c->slugs[i]);
	(void)mem_free(mem, c->slugs);
	(void)mem_free(mem, (void *)c->add.conf.write_community);
	(void)access_unref(c->add.conf.access);
	*c = (struct store_create){0};
}

static void put_id(uint8_t *p, uint32_t id)
{
	id = __builtin_bswap32(id);
	memcpy(p, &id, ID_BYTES);
}

static uint32_t get_id(const uint8_t *p)
{
	uint32_t id;
	memcpy(&id, p, ID_BYTES);
	return __builtin_bswap32(id);
}

int store_put_create(struct store *s, uint32_t id, const struct text *json)
{
	uint8_t key[ID_BYTES];
	if (json->err < 0)
		return json->err;
	put_id(key, id);
	return store_put(s, STORE_RANGE, STORE_KEY(key, sizeof(key)), json->s, json->len);
}

int store_del_create(struct store *s, uint32_t id)
{
	uint8_t key[ID_BYTES];
	put_id(key, id);
	int r = store_del(s, STORE_RANGE, STORE_KEY(key, sizeof(key)));
	if (r == 0)
		r = store_del_between(
			s, STORE_HOLE, STORE_KEY(key, sizeof(key)), STORE_KEY(key, sizeof(key)));
	return r;
}

static struct store_key hole_key(uint8_t key[static HOLE_BYTES], uint32_t id, const struct addr *a)
{
	put_id(key, id);
	memcpy(key + ID_BYTES, a->b, ADDR_BYTES);
	return STORE_KEY(key, HOLE_BYTES);
}

static bool read_hole(
	struct store_key key, const void *value, size_t bytes, struct store_hole *ret_hole)
{
	const uint8_t *p = key.p;
	if (key.bytes != HOLE_BYTES || bytes != ADDR_BYTES)
		return false;
	ret_hole->id = get_id(p);
	memcpy(ret_hole->first.b, p + ID_BYTES, ADDR_BYTES);
	memcpy(ret_hole->last.b, value, ADDR_BYTES);
	return true;
}

static int take_hole(void *arg, struct store_key key, const void *value, size_t bytes)
{
	return read_hole(key, value, bytes, arg) ? 0 : -ENOENT;
}

/* The last hole of the create that begins at or before a. -ENOENT. */
static int hole_upto(
	struct store *s, uint32_t id, const struct addr *a, struct store_hole *ret_hole)
{
	static const struct addr lowest;
	uint8_t from[HOLE_BYTES], to[HOLE_BYTES];
	return store_get_last(s, STORE_HOLE, hole_key(from, id, &lowest), hole_key(to, id, a),
		take_hole, ret_hole);
}

/* Joined with its neighbours: devices deleted in turn are one hole. */
int store_add_hole(struct store *s, uint32_t id, uint8_t netmask_len, const struct addr *first,
	const struct addr *last)
{
	struct store_hole hole = {id, *first, *last}, other;
	uint8_t key[HOLE_BYTES];
	int r = hole_upto(s, id, first, &other);
	if (r == 0) {
		struct addr next = fleet_next_addr(&other.last, netmask_len);
		if (addr_eq(&next, first))
			hole.first = other.first;
	}
	if (r == 0 || r == -ENOENT) {
		struct addr next = fleet_next_addr(last, netmask_len);
		r = hole_upto(s, id, &next, &other);
		if (r == 0 && addr_eq(&other.first, &next)) {
			hole.last = other.last;
			r = store_del(s, STORE_HOLE, hole_key(key, id, &next));
		}
	}
	if (r < 0 && r != -ENOENT)
		return r;
	return store_put(s, STORE_HOLE, hole_key(key, id, &hole.first), hole.last.b, ADDR_BYTES);
}

int store_del_devices(struct store *s)
{
	static const enum store_kind kinds[] = {STORE_RANGE, STORE_HOLE, STORE_SET, STORE_IF};
	int r = 0;
	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++)
		r = store_del_between(s, kinds[i], STORE_KEY("", 0), STORE_KEY("", 0));
	return r;
}

struct create_walk {
	int (*fn)(void *arg, uint32_t id, const void *json, size_t bytes);
	void *arg;
};

static int on_create(void *arg, struct store_key key, const void *value, size_t bytes)
{
	struct create_walk *w = arg;
	return key.bytes == ID_BYTES ? w->fn(w->arg, get_id(key.p), value, bytes) : 0;
}

int store_each_create(struct store *s,
	int (*fn)(void *arg, uint32_t id, const void *json, size_t bytes), void *arg)
{
	struct create_walk w = {fn, arg};
	return store_each(s, STORE_RANGE, on_create, &w);
}

struct hole_walk {
	int (*fn)(void *arg, const struct store_hole *hole);
	void *arg;
};

static int on_hole(void *arg, struct store_key key, const void *value, size_t bytes)
{
	struct hole_walk *w = arg;
	struct store_hole hole;
	return read_hole(key, value, bytes, &hole) ? w->fn(w->arg, &hole) : 0;
}

int store_each_hole(struct store *s, int (*fn)(void *arg, const struct store_hole *hole), void *arg)
{
	struct hole_walk w = {fn, arg};
	return store_each(s, STORE_HOLE, on_hole, &w);
}
