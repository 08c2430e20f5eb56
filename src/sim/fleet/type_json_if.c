/* Interfaces and their stacking in our form of a device type. */
#include "sim/fleet/ifcount.h"
#include "sim/fleet/type_names.h"
#include "sim/fleet/type_read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IFS_MAX 4096

struct in_if {
	const char *name, *descr, *alias, *admin, *oper, *load;
	json_t *type;
	int64_t first, count, index, index_step, speed_bps, mtu;
	bool connector, mac, management;
};
static const struct key if_keys[] = {
	{"name", KEY_STRING, true, offsetof(struct in_if, name), 1, 31},
	{"descr", KEY_STRING, false, offsetof(struct in_if, descr), 1, 63},
	{"alias", KEY_STRING, false, offsetof(struct in_if, alias), 0, 63},
	{"first", KEY_INT, false, offsetof(struct in_if, first), 0, 1000000},
	{"count", KEY_INT, false, offsetof(struct in_if, count), 1, IFS_MAX},
	{"index", KEY_INT, true, offsetof(struct in_if, index), 1, INT32_MAX},
	{"index_step", KEY_INT, false, offsetof(struct in_if, index_step), 1, INT32_MAX},
	{"type", KEY_ANY, false, offsetof(struct in_if, type), 0, 0},
	{"speed_bps", KEY_INT, true, offsetof(struct in_if, speed_bps), 0, IF_SPEED_MAX},
	{"mtu", KEY_INT, false, offsetof(struct in_if, mtu), 0, INT32_MAX},
	{"admin", KEY_STRING, false, offsetof(struct in_if, admin), 1, 32},
	{"oper", KEY_STRING, false, offsetof(struct in_if, oper), 1, 32},
	{"connector", KEY_BOOL, false, offsetof(struct in_if, connector), 0, 0},
	{"mac", KEY_BOOL, false, offsetof(struct in_if, mac), 0, 0},
	{"load", KEY_STRING, false, offsetof(struct in_if, load), 1, 32},
	{"management", KEY_BOOL, false, offsetof(struct in_if, management), 0, 0},
};

static int take_if_type(struct reader *r, const char *at, json_t *v, uint16_t *ret_type)
{
	*ret_type = 6;
	if (!v)
		return 0;
	if (json_is_integer(v) && json_integer_value(v) > 0 &&
		json_integer_value(v) <= UINT16_MAX) {
		*ret_type = (uint16_t)json_integer_value(v);
		return 0;
	}
	if (json_is_string(v) && name_find(if_type_names, json_string_value(v), ret_type) == 0)
		return 0;
	return read_bad(
		r, at, "a name or number of IANAifType", "is no interface type that is known");
}

static int take_name(struct reader *r, const char *pointer, const char *key, const char *value,
	const struct name_number *names, const char *allowed, uint8_t *ret_n)
{
	char at[POINTER_BYTES];
	uint16_t n;
	if (!value)
		return 0;
	if (name_find(names, value, &n) < 0)
		return read_bad(r, read_below(at, pointer, key), allowed, "%s is not known", value);
	*ret_n = (uint8_t)n;
	return 0;
}

/* The pattern with {n} replaced; other braces are refused. */
static int expand(
	struct reader *r, const char *at, const char *pattern, int64_t n, char *buf, size_t room)
{
	const char *brace = strpbrk(pattern, "{}");
	int len;
	if (!brace) {
		len = snprintf(buf, room, "%s", pattern);
	} else {
		if (strncmp(brace, "{n}", 3) != 0 || strpbrk(brace + 3, "{}"))
			return read_bad(r, at, "{n}, once", "has braces other than {n}");
		len = snprintf(buf, room, "%.*s%lld%s", (int)(brace - pattern), pattern,
			(long long)n, brace + 3);
	}
	if ((size_t)len >= room)
		return read_bad(r, at, "", "is longer than %zu octets for n = %lld", room - 1,
			(long long)n);
	return 0;
}

static int add_if(struct reader *r, const char *pointer, const struct in_if *in, int64_t i,
	const struct type_if *model)
{
	char at[POINTER_BYTES];
	struct type_if *f = draft_if(r->d);
	if (!f)
		return -ENOMEM;
	*f = *model;
	int64_t index = in->index + i * in->index_step, n = in->first + i;
	if (index > INT32_MAX)
		return read_bad(r, read_below(at, pointer, "index"), "1..2147483647",
			"runs past 2147483647");
	f->index = (uint32_t)index;
	int e = expand(r, read_below(at, pointer, "name"), in->name, n, f->name, sizeof(f->name));
	if (e == 0)
		e = expand(r, read_below(at, pointer, in->descr ? "descr" : "name"),
			in->descr ? in->descr : in->name, n, f->descr, sizeof(f->descr));
	if (e == 0)
		e = expand(r, read_below(at, pointer, "alias"), in->alias, n, f->alias,
			sizeof(f->alias));
	for (uint32_t k = 0; e == 0 && k + 1 < r->d->n_ifs; k++) {
		const struct type_if *other = &r->d->ifs[k];
		if (other->index == f->index)
			e = read_bad(r, read_below(at, pointer, "index"), "",
				"%s and %s both have ifIndex %u", other->name, f->name, f->index);
		else if (strcmp(other->name, f->name) == 0)
			e = read_bad(r, read_below(at, pointer, "name"), "",
				"a second interface named %s", f->name);
	}
	return e;
}

static int read_if(struct reader *r, const char *pointer, json_t *v, bool *has_mgmt)
{
	char at[POINTER_BYTES];
	struct in_if in = {.alias = "", .count = 1, .index_step = 1, .mtu = 1500};
	struct type_if model = {.admin = IF_UP};
	int e = read_object(r, pointer, v, if_keys, ARRAY_SIZE(if_keys), &in);
	if (e == 0)
		e = take_if_type(r, read_below(at, pointer, "type"), in.type, &model.iana_type);
	if (e == 0)
		e = take_name(r, pointer, "admin", in.admin, if_admin_names, IF_ADMIN_NAMES,
			&model.admin);
	model.oper = model.admin;
	if (e == 0)
		e = take_name(
			r, pointer, "oper", in.oper, if_oper_names, IF_OPER_NAMES, &model.oper);
	if (e == 0)
		e = take_name(
			r, pointer, "load", in.load, if_load_names, IF_LOAD_NAMES, &model.load);
	if (e < 0)
		return e;
	if (in.count > 1 && !strstr(in.name, "{n}"))
		return read_bad(r, read_below(at, pointer, "name"), "",
			"must have {n} for count %lld", (long long)in.count);
	if (model.admin != IF_UP && model.oper == IF_UP)
		return read_bad(
			r, read_below(at, pointer, "oper"), "", "cannot be up while admin is not");
	if (in.management && (*has_mgmt || in.count != 1))
		return read_bad(r, read_below(at, pointer, "management"), "",
			"only one interface can have it");
	if (r->d->n_ifs + in.count > IFS_MAX)
		return read_bad(r, read_below(at, pointer, "count"), "", "more than %d interfaces",
			IFS_MAX);
	if (in.management)
		r->d->mgmt_slot = r->d->n_ifs;
	*has_mgmt |= in.management;
	bool physical = if_type_is_physical(model.iana_type);
	model.connector = json_object_get(v, "connector") ? in.connector : physical;
	bool mac = json_object_get(v, "mac") ? in.mac : if_type_has_mac(model.iana_type);
	model.mac_kind = mac ? IF_MAC_DEVICE : IF_MAC_NONE;
	model.mtu = (uint32_t)in.mtu;
	model.speed_bps = (uint64_t)in.speed_bps;
	for (int64_t i = 0; i < in.count && e == 0; i++)
		e = add_if(r, pointer, &in, i, &model);
	return e;
}

int read_ifs(struct reader *r, json_t *v)
{
	bool has_mgmt = false;
	for (size_t i = 0; i < json_array_size(v); i++) {
		char at[POINTER_BYTES];
		int e = read_if(
			r, read_below_n(at, "/interfaces", i), json_array_get(v, i), &has_mgmt);
		if (e < 0)
			return e;
	}
	return 0;
}

/* stack */
struct in_stack {
	const char *upper;
	json_t *lower;
};
static const struct key stack_keys[] = {
	{"upper", KEY_STRING, true, offsetof(struct in_stack, upper), 1, 31},
	{"lower", KEY_ARRAY, true, offsetof(struct in_stack, lower), 0, 0},
};

static int find_if(struct reader *r, const char *at, const char *name, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < r->d->n_ifs; i++)
		if (strcmp(r->d->ifs[i].name, name) == 0) {
			*ret_slot = i;
			return 0;
		}
	return read_bad(r, at, "the name of an interface", "no interface is named %s", name);
}

static int add_stack(struct reader *r, const char *at, uint32_t upper, json_t *lower)
{
	uint32_t slot = 0;
	if (!json_is_string(lower))
		return read_bad(r, at, "", "must be a string");
	int e = find_if(r, at, json_string_value(lower), &slot);
	if (e < 0)
		return e;
	if (slot == upper)
		return read_bad(r, at, "", "an interface below itself");
	for (uint32_t i = 0; i < r->d->n_stacks; i++)
		if (r->d->stacks[i].upper == upper && r->d->stacks[i].lower == slot)
			return read_bad(r, at, "", "a pair for the second time");
	struct draft_stack *s = draft_stack(r->d);
	if (!s)
		return -ENOMEM;
	*s = (struct draft_stack){upper, slot};
	return 0;
}

int read_stack(struct reader *r, json_t *v)
{
	for (size_t i = 0; i < json_array_size(v); i++) {
		char at[POINTER_BYTES], at_key[POINTER_BYTES], at_n[POINTER_BYTES];
		struct in_stack in = {0};
		uint32_t upper = 0;
		(void)read_below_n(at, "/stack", i);
		int e = read_object(
			r, at, json_array_get(v, i), stack_keys, ARRAY_SIZE(stack_keys), &in);
		if (e == 0)
			e = find_if(r, read_below(at_key, at, "upper"), in.upper, &upper);
		(void)read_below(at_key, at, "lower");
		for (size_t k = 0; e == 0 && k < json_array_size(in.lower); k++)
			e = add_stack(r, read_below_n(at_n, at_key, k), upper,
				json_array_get(in.lower, k));
		if (e < 0)
			return e;
	}
	return 0;
}
