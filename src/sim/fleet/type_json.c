/* Our form of a device type: strict, every key takes effect or is refused; docs/device-types.md. */
#include "base/text.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/if_profile.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/template.h"
#include "sim/fleet/type_names.h"
#include "sim/fleet/type_read.h"
#include "sim/fleet/value.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 8192 /* octets of a string that is served */

/* system */
struct in_system {
	const char *descr, *object_id, *contact;
	int64_t services;
	json_t *ors;
};
static const struct key system_keys[] = {
	{"descr", KEY_STRING, true, offsetof(struct in_system, descr), 1, 255},
	{"object_id", KEY_STRING, true, offsetof(struct in_system, object_id), 1, 255},
	{"contact", KEY_STRING, true, offsetof(struct in_system, contact), 0, 255},
	{"services", KEY_INT, true, offsetof(struct in_system, services), 0, 127},
	{"or", KEY_ARRAY, false, offsetof(struct in_system, ors), 0, 0},
};
struct in_or {
	const char *id, *descr;
};
static const struct key or_keys[] = {
	{"id", KEY_STRING, true, offsetof(struct in_or, id), 1, 255},
	{"descr", KEY_STRING, true, offsetof(struct in_or, descr), 0, 255},
};

static int read_ors(struct reader *r, json_t *ors)
{
	struct type_draft *d = r->d;
	size_t n = json_array_size(ors);
	d->ors = arena_zalloc(&d->arena, n * sizeof(*d->ors));
	if (!d->ors)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char at[POINTER_BYTES], at_id[POINTER_BYTES];
		struct in_or in = {0};
		(void)read_below_n(at, "/system/or", i);
		int e = read_object(
			r, at, json_array_get(ors, i), or_keys, ARRAY_SIZE(or_keys), &in);
		if (e == 0)
			e = read_oid(r, read_below(at_id, at, "id"), in.id, &d->ors[i].id);
		if (e < 0)
			return e;
		d->ors[i].descr = in.descr;
		d->n_ors++;
	}
	return 0;
}

static int read_system(struct reader *r, json_t *v)
{
	struct in_system in = {0};
	int e = read_object(r, "/system", v, system_keys, ARRAY_SIZE(system_keys), &in);
	if (e == 0)
		e = read_oid(r, "/system/object_id", in.object_id, &r->d->sys_object_id);
	if (e < 0)
		return e;
	r->d->sys_descr = in.descr;
	r->d->sys_contact = in.contact;
	r->d->sys_services = (int32_t)in.services;
	return in.ors ? read_ors(r, in.ors) : 0;
}

/* objects */
struct in_object {
	const char *oid, *type;
	json_t *value;
};
static const struct key object_keys[] = {
	{"oid", KEY_STRING, true, offsetof(struct in_object, oid), 1, OID_TEXT_BYTES - 1},
	{"type", KEY_STRING, true, offsetof(struct in_object, type), 1, 32},
	{"value", KEY_ANY, true, offsetof(struct in_object, value), 0, 0},
};

static int bad_value(struct reader *r, const char *at, const char *allowed)
{
	return read_bad(r, at, allowed, "does not fit the type");
}

static int take_octets(struct reader *r, const char *at, json_t *v, bool hex, struct ber_value *to)
{
	const char *s = json_string_value(v);
	size_t n = s ? json_string_length(v) : 0;
	if (!s || n > TEXT_MAX)
		return bad_value(r, at, "a string of at most 8192 octets");
	uint8_t *bytes = arena_copy(&r->d->arena, s, n);
	if (!bytes)
		return -ENOMEM;
	if (hex && hex_bytes(s, bytes, &n) < 0)
		return bad_value(r, at, "pairs of hex digits");
	to->bytes = bytes;
	to->len = (uint16_t)n;
	return 0;
}

/* At most three placeholders of at most 127 octets, and the text fits the value's scratch. */
static int check_template(struct reader *r, const char *at, const struct ber_value *v)
{
	unsigned braces = 0;
	size_t skip;
	for (uint16_t i = 0; i < v->len; i++)
		braces += v->bytes[i] == '{';
	if (braces == 0 || braces > 3 || v->len > VALUE_SCRATCH_BYTES - 3 * IDENT_TEXT_BYTES)
		return bad_value(r, at, "1 to 3 of " TEMPLATE_WORDS " in 128 octets");
	for (uint16_t i = 0; i < v->len; i++)
		if (v->bytes[i] == '{' &&
			template_word(v->bytes + i, v->len - i, &skip) == TEMPLATE_NONE)
			return bad_value(r, at, TEMPLATE_WORDS);
	return 0;
}

static int take_oid_value(struct reader *r, const char *at, json_t *v, struct ber_value *to)
{
	struct oid oid;
	uint8_t buf[OID_BER_BYTES];
	if (!json_is_string(v))
		return bad_value(r, at, "dotted numbers");
	int e = read_oid(r, at, json_string_value(v), &oid);
	if (e < 0)
		return e;
	int n = oid_to_ber(&oid, buf, sizeof(buf));
	if (n < 0)
		return bad_value(r, at, "an OID that BER can say");
	to->bytes = arena_copy(&r->d->arena, buf, (size_t)n);
	to->len = (uint16_t)n;
	return to->bytes ? 0 : -ENOMEM;
}

static int take_address(struct reader *r, const char *at, json_t *v, struct ber_value *to)
{
	struct addr a;
	if (!json_is_string(v) || addr_parse(json_string_value(v), &a) < 0 || !addr_is_v4(&a))
		return bad_value(r, at, "an IPv4 address");
	to->bytes = arena_copy(&r->d->arena, a.b + 12, 4);
	to->len = 4;
	return to->bytes ? 0 : -ENOMEM;
}

/* Counter64 above 2^63-1 comes as a string of digits, which JSON numbers cannot say. */
static int take_number(struct reader *r, const char *at, json_t *v, struct ber_value *to)
{
	if (to->tag == BER_INTEGER) {
		if (!json_is_integer(v) || json_integer_value(v) < INT32_MIN ||
			json_integer_value(v) > INT32_MAX)
			return bad_value(r, at, "-2147483648..2147483647");
		to->i = json_integer_value(v);
		return 0;
	}
	bool wide = to->tag == BER_COUNTER64;
	uint64_t max = wide ? UINT64_MAX : UINT32_MAX;
	if (wide && json_is_string(v) && num_u64(json_string_value(v), 0, max, &to->u) == 0)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		(uint64_t)json_integer_value(v) > max)
		return bad_value(r, at, wide ? "0..18446744073709551615" : "0..4294967295");
	to->u = (uint64_t)json_integer_value(v);
	return 0;
}

static int take_value(
	struct reader *r, const char *at, json_t *v, uint16_t kind, struct draft_object *o)
{
	o->value.tag = (uint8_t)kind; /* value_type_names: the low byte is the tag */
	switch (o->value.tag) {
	case BER_OCTET_STRING: {
		int e = take_octets(r, at, v, kind == VALUE_HEX, &o->value);
		o->is_template = kind == VALUE_TEMPLATE;
		return e == 0 && o->is_template ? check_template(r, at, &o->value) : e;
	}
	case BER_OID:
		return take_oid_value(r, at, v, &o->value);
	case BER_IPADDRESS:
		return take_address(r, at, v, &o->value);
	default:
		return take_number(r, at, v, &o->value);
	}
}

/* What the list of known objects says about the OID. */
static int check_object(struct reader *r, const char *pointer, const struct draft_object *o)
{
	char at[POINTER_BYTES];
	struct mib_ref ref;
	if (mib_find(&o->oid, &ref) < 0)
		return 0;
	if (ref.object->access == MIB_NO)
		return read_bad(r, read_below(at, pointer, "oid"), "", "%s is not accessible",
			ref.object->name);
	if (!ref.group->table && (o->oid.n != ref.arcs + 1 || o->oid.arcs[ref.arcs] != 0))
		return read_bad(r, read_below(at, pointer, "oid"), "", "%s has one instance, .0",
			ref.object->name);
	if (ref.group->table && o->oid.n == ref.arcs)
		return read_bad(r, read_below(at, pointer, "oid"), "", "%s needs an instance",
			ref.object->name);
	if (ref.object->tag != o->value.tag)
		return read_bad(r, read_below(at, pointer, "type"), value_tag_name(ref.object->tag),
			"%s has another type", ref.object->name);
	return 0;
}

static int read_an_object(struct reader *r, const char *pointer, json_t *v, uint32_t number)
{
	char at[POINTER_BYTES];
	struct in_object in = {0};
	uint16_t kind;
	int e = read_object(r, pointer, v, object_keys, ARRAY_SIZE(object_keys), &in);
	if (e < 0)
		return e;
	struct draft_object *o = draft_object(r->d);
	if (!o)
		return -ENOMEM;
	o->number = number;
	e = read_oid(r, read_below(at, pointer, "oid"), in.oid, &o->oid);
	if (e < 0)
		return e;
	if (name_find(value_type_names, in.type, &kind) < 0)
		return read_bad(r, read_below(at, pointer, "type"), VALUE_TYPE_NAMES,
			"%s is not known", in.type);
	e = take_value(r, read_below(at, pointer, "value"), in.value, kind, o);
	return e < 0 ? e : check_object(r, pointer, o);
}

/* the whole */
struct in_type {
	const char *name, *label, *category, *doc_category, *profile;
	json_t *system, *interfaces, *stack, *objects;
};
static const struct key type_keys[] = {
	{"name", KEY_STRING, true, offsetof(struct in_type, name), 1, 63},
	{"label", KEY_STRING, true, offsetof(struct in_type, label), 1, 63},
	{"category", KEY_STRING, true, offsetof(struct in_type, category), 1, 31},
	{"doc_category", KEY_STRING, true, offsetof(struct in_type, doc_category), 1, 31},
	{"profile", KEY_STRING, true, offsetof(struct in_type, profile), 1, 31},
	{"system", KEY_OBJECT, true, offsetof(struct in_type, system), 0, 0},
	{"interfaces", KEY_ARRAY, true, offsetof(struct in_type, interfaces), 0, 0},
	{"stack", KEY_ARRAY, false, offsetof(struct in_type, stack), 0, 0},
	{"objects", KEY_ARRAY, false, offsetof(struct in_type, objects), 0, 0},
};

static int read_identity(struct reader *r, const struct in_type *in)
{
	struct type_draft *d = r->d;
	if (!type_category_is(in->category))
		return read_bad(r, "/category", TYPE_CATEGORIES, "%s is not known", in->category);
	d->profile = if_profile_find(in->profile);
	if (!d->profile)
		return read_bad(r, "/profile", IF_PROFILE_NAMES, "%s is not known", in->profile);
	d->name = in->name;
	d->label = in->label;
	d->category = in->category;
	d->doc_category = in->doc_category;
	return 0;
}

int type_json_read(struct type_draft *d, const struct type_file *file, struct fault *reterr_fault)
{
	struct reader r = {d, file, reterr_fault};
	struct in_type in = {0};
	AUTO_JSON json_t *root = NULL;
	int e = read_json(&r, &root);
	if (e == 0)
		e = read_object(&r, "", root, type_keys, ARRAY_SIZE(type_keys), &in);
	if (e == 0)
		e = read_identity(&r, &in);
	if (e == 0)
		e = read_system(&r, in.system);
	if (e == 0)
		e = read_ifs(&r, in.interfaces);
	if (e == 0 && in.stack)
		e = read_stack(&r, in.stack);
	for (size_t i = 0; e == 0 && in.objects && i < json_array_size(in.objects); i++) {
		char at[POINTER_BYTES];
		e = read_an_object(&r, read_below_n(at, "/objects", i),
			json_array_get(in.objects, i), (uint32_t)i);
	}
	return e;
}

int type_json_tell(
	const struct type_file *file, const struct compile_fault *wrong, struct fault *reterr_fault)
{
	struct reader r = {NULL, file, reterr_fault};
	char at[POINTER_BYTES], at_oid[POINTER_BYTES];
	(void)read_below_n(at, "/objects", wrong->number);
	(void)read_below(at_oid, at, "oid");
	if (wrong->what == COMPILE_TAKEN)
		return read_bad(&r, at_oid, "", "nl6 makes this object from the rest of the file");
	return read_bad(&r, at_oid, "", "the same OID as /objects/%u", wrong->other);
}
