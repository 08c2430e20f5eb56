#include "wire/otlp_profile.h"
#include "base/protobuf.h"
#include "wire/intern.h"
#include <errno.h>
#include <string.h>

/* Field numbers of opentelemetry-proto, profiles/v1development, 1.10 and later. */
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ATTRIBUTES = 11
};
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_LINK = 3, SAMPLE_VALUES = 4 };
enum { ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_ARRAY = 5 };
/* The dictionary's tables, by their field numbers. */
enum table {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
	TABLES
};
#define FIXED64 1u

struct otlp_profile {
	const struct mem *mem;
	const void *resource;
	size_t resource_bytes;
	int err;
	struct text scope;   /* the message so far */
	struct text profile; /* that is under way */
	struct text entry, inner;
	uint32_t samples, profile_samples, profiles;
	/* The keys are the entries as they are written, but for the strings. */
	struct intern tables[TABLES];
};

int otlp_profile_new(const struct mem *mem, const void *resource, size_t resource_bytes,
	const struct otlp_scope *scope, struct otlp_profile **ret_o)
{
	struct otlp_profile *o = mem_zalloc(mem, sizeof(*o));
	uint32_t id;
	if (!o)
		return -ENOMEM;
	o->mem = mem;
	o->resource = resource;
	o->resource_bytes = resource_bytes;
	o->scope = o->profile = o->entry = o->inner = (struct text)TEXT(mem);
	for (unsigned i = 0; i < TABLES; i++)
		o->tables[i] = (struct intern)INTERN(mem);
	o->err = intern_text(&o->tables[TABLE_STRING], "", &id);
	protobuf_bytes(&o->inner, 1, scope->name, strlen(scope->name));
	protobuf_bytes(&o->inner, 2, scope->version, strlen(scope->version));
	if (scope->attrs)
		text_write(&o->inner, scope->attrs, scope->attrs_bytes);
	protobuf_bytes(&o->scope, SCOPE_PROFILES_SCOPE, o->inner.s, o->inner.len);
	if (o->err < 0 || o->inner.err < 0 || o->scope.err < 0) {
		(void)otlp_profile_free(o);
		return -ENOMEM;
	}
	*ret_o = o;
	return 0;
}

struct otlp_profile *otlp_profile_free(struct otlp_profile *o)
{
	if (!o)
		return NULL;
	for (unsigned i = 0; i < TABLES; i++)
		intern_done(&o->tables[i]);
	text_done(&o->scope);
	text_done(&o->profile);
	text_done(&o->entry);
	text_done(&o->inner);
	return mem_free(o->mem, o);
}

/* What failed in a text is remembered before it is used anew. */
static void empty(struct otlp_profile *o, struct text *t)
{
	if (t->err < 0)
		o->err = -ENOMEM;
	text_clear(t);
}

static uint32_t string_index(struct otlp_profile *o, const char *s)
{
	uint32_t id = 1;
	if (o->err == 0)
		o->err = intern_text(&o->tables[TABLE_STRING], s, &id);
	return o->err < 0 ? 0 : id - 1;
}

/* The index of what entry holds. */
static uint32_t intern_entry(struct otlp_profile *o, enum table table)
{
	uint32_t id = 0;
	bool fresh;
	if (o->err == 0)
		o->err = o->entry.err < 0 || o->inner.err < 0
				 ? -ENOMEM
				 : intern_add(&o->tables[table], o->entry.s ? o->entry.s : "",
					   o->entry.len, &id, &fresh);
	return o->err < 0 ? 0 : id;
}

/* A packed repeated field; none is left out. */
static void put_packed(
	struct otlp_profile *o, struct text *to, unsigned field, const uint32_t *v, uint32_t n)
{
	if (n == 0)
		return;
	empty(o, &o->inner);
	for (uint32_t i = 0; i < n; i++)
		protobuf_varint(&o->inner, v[i]);
	protobuf_bytes(to, field, o->inner.s, o->inner.len);
}

/* A field that is written also when it is 0: of a oneof. */
static void put_explicit(struct text *to, unsigned field, uint64_t v)
{
	protobuf_varint(to, (uint64_t)field << 3);
	protobuf_varint(to, v);
}

/* KeyValueAndUnit; inner holds its AnyValue. */
static uint32_t attribute(struct otlp_profile *o, const char *key, const char *unit)
{
	uint32_t k = string_index(o, key), u = string_index(o, unit);
	empty(o, &o->entry);
	protobuf_uint(&o->entry, 1, k);
	protobuf_bytes(&o->entry, 2, o->inner.s, o->inner.len);
	protobuf_uint(&o->entry, 3, u);
	return intern_entry(o, TABLE_ATTRIBUTE);
}

/* An AnyValue's string, made valid UTF-8; uses entry. */
static void put_string(struct otlp_profile *o, struct text *to, const char *value)
{
	size_t n, at = 0;
	empty(o, &o->entry);
	for (const char *s = value ? value : ""; s[at]; at += n ? n : 1) {
		n = text_utf8_bytes(s + at);
		text_write(&o->entry, n ? s + at : "?", n ? n : 1);
	}
	protobuf_bytes(to, ANY_STRING, o->entry.s ? o->entry.s : "", o->entry.len);
}

uint32_t otlp_profile_attr_str(
	struct otlp_profile *o, const char *key, const char *value, const char *unit)
{
	empty(o, &o->inner);
	put_string(o, &o->inner, value);
	return attribute(o, key, unit);
}

uint32_t otlp_profile_attr_array(struct otlp_profile *o, const char *key,
	const struct otlp_any *values, uint32_t n, const char *unit)
{
	AUTO_TEXT struct text one = TEXT(o->mem);
	AUTO_TEXT struct text all = TEXT(o->mem);
	for (uint32_t i = 0; i < n; i++) {
		text_clear(&one);
		if (values[i].str)
			put_string(o, &one, values[i].str);
		else
			put_explicit(&one, ANY_INT, (uint64_t)values[i].num);
		protobuf_bytes(&all, 1, one.s, one.len);
		if (one.err < 0 || all.err < 0)
			o->err = -ENOMEM;
	}
	empty(o, &o->inner);
	protobuf_bytes(&o->inner, ANY_ARRAY, all.s ? all.s : "", all.len);
	return attribute(o, key, unit);
}

uint32_t otlp_profile_attr_int(
	struct otlp_profile *o, const char *key, int64_t value, const char *unit)
{
	empty(o, &o->inner);
	put_explicit(&o->inner, ANY_INT, (uint64_t)value);
	return attribute(o, key, unit);
}

uint32_t otlp_profile_attr_bool(struct otlp_profile *o, const char *key, bool value)
{
	empty(o, &o->inner);
	put_explicit(&o->inner, ANY_BOOL, value);
	return attribute(o, key, "");
}

uint32_t otlp_profile_mapping(struct otlp_profile *o, const struct otlp_mapping *m)
{
	uint32_t file = string_index(o, m->filename);
	empty(o, &o->entry);
	protobuf_uint(&o->entry, 1, m->start);
	protobuf_uint(&o->entry, 2, m->limit);
	protobuf_uint(&o->entry, 3, m->file_offset);
	protobuf_uint(&o->entry, 4, file);
	put_packed(o, &o->entry, 5, m->attrs, m->n_attrs);
	return intern_entry(o, TABLE_MAPPING);
}

uint32_t otlp_profile_function(struct otlp_profile *o, const char *name, const char *system_name,
	const char *file, int64_t start_line)
{
	uint32_t n = string_index(o, name), s = string_index(o, system_name),
		 f = string_index(o, file);
	empty(o, &o->entry);
	protobuf_uint(&o->entry, 1, n);
	protobuf_uint(&o->entry, 2, s);
	protobuf_uint(&o->entry, 3, f);
	protobuf_uint(&o->entry, 4, (uint64_t)start_line);
	return intern_entry(o, TABLE_FUNCTION);
}

uint32_t otlp_profile_location(struct otlp_profile *o, uint32_t mapping, uint64_t address,
	const struct otlp_line *lines, uint32_t n_lines, const uint32_t *attrs, uint32_t n_attrs)
{
	empty(o, &o->entry);
	protobuf_uint(&o->entry, 1, mapping);
	protobuf_uint(&o->entry, 2, address);
	for (uint32_t i = 0; i < n_lines; i++) {
		empty(o, &o->inner);
		protobuf_uint(&o->inner, 1, lines[i].function);
		protobuf_uint(&o->inner, 2, (uint64_t)lines[i].line);
		protobuf_uint(&o->inner, 3, (uint64_t)lines[i].column);
		protobuf_bytes(&o->entry, 3, o->inner.s, o->inner.len);
	}
	put_packed(o, &o->entry, 4, attrs, n_attrs);
	return intern_entry(o, TABLE_LOCATION);
}

uint32_t otlp_profile_stack(struct otlp_profile *o, const uint32_t *locations, uint32_t n)
{
	if (n == 0)
		return 0;
	empty(o, &o->entry);
	put_packed(o, &o->entry, 1, locations, n);
	return intern_entry(o, TABLE_STACK);
}

static void put_link(struct text *to, const uint8_t trace_id[16], const uint8_t span_id[8])
{
	protobuf_bytes(to, 1, trace_id, 16);
	protobuf_bytes(to, 2, span_id, 8);
}

uint32_t otlp_profile_link(
	struct otlp_profile *o, const uint8_t trace_id[16], const uint8_t span_id[8])
{
	empty(o, &o->entry);
	put_link(&o->entry, trace_id, span_id);
	return intern_entry(o, TABLE_LINK);
}

static void put_type(struct otlp_profile *o, unsigned field, const char *type, const char *unit)
{
	uint32_t t = string_index(o, type), u = string_index(o, unit);
	empty(o, &o->inner);
	protobuf_uint(&o->inner, 1, t);
	protobuf_uint(&o->inner, 2, u);
	protobuf_bytes(&o->profile, field, o->inner.s ? o->inner.s : "", o->inner.len);
}

void otlp_profile_begin(struct otlp_profile *o, const struct otlp_head *head)
{
	uint8_t time[8];
	empty(o, &o->profile);
	o->profile_samples = 0;
	put_type(o, PROFILE_SAMPLE_TYPE, head->type, head->unit);
	for (unsigned i = 0; i < sizeof(time); i++)
		time[i] = (uint8_t)(head->time_ns >> 8 * i);
	protobuf_varint(&o->profile, PROFILE_TIME << 3 | FIXED64);
	text_write(&o->profile, time, sizeof(time));
	protobuf_uint(&o->profile, PROFILE_DURATION, head->duration_ns);
	if (head->period_type) {
		put_type(o, PROFILE_PERIOD_TYPE, head->period_type, head->period_unit);
		protobuf_uint(&o->profile, PROFILE_PERIOD, (uint64_t)head->period);
	}
	put_packed(o, &o->profile, PROFILE_ATTRIBUTES, head->attrs, head->n_attrs);
}

void otlp_profile_sample(struct otlp_profile *o, uint32_t stack, const uint32_t *attrs,
	uint32_t n_attrs, uint32_t link, int64_t value)
{
	if (o->err < 0)
		return;
	empty(o, &o->entry);
	protobuf_uint(&o->entry, SAMPLE_STACK, stack);
	put_packed(o, &o->entry, SAMPLE_ATTRIBUTES, attrs, n_attrs);
	protobuf_uint(&o->entry, SAMPLE_LINK, link);
	empty(o, &o->inner);
	protobuf_varint(&o->inner, (uint64_t)value);
	protobuf_bytes(&o->entry, SAMPLE_VALUES, o->inner.s, o->inner.len);
	protobuf_bytes(&o->profile, PROFILE_SAMPLES, o->entry.s, o->entry.len);
	if (o->entry.err < 0 || o->inner.err < 0 || o->profile.err < 0)
		o->err = -ENOMEM;
	o->profile_samples++;
	o->samples++;
}

void otlp_profile_end(struct otlp_profile *o)
{
	if (o->profile_samples) {
		protobuf_bytes(&o->scope, SCOPE_PROFILES_PROFILES, o->profile.s, o->profile.len);
		o->profiles++;
	}
	if (o->profile.err < 0 || o->scope.err < 0)
		o->err = -ENOMEM;
	empty(o, &o->profile);
	o->profile_samples = 0;
}

uint32_t otlp_profile_samples(const struct otlp_profile *o)
{
	return o->samples;
}

size_t otlp_profile_bytes(const struct otlp_profile *o)
{
	size_t bytes = o->resource_bytes + o->scope.len + o->profile.len;
	for (unsigned i = 1; i < TABLES; i++)
		bytes += o->tables[i].bytes.len + 3ul * o->tables[i].n;
	return bytes;
}

static void put_dictionary(struct text *to, const struct otlp_profile *o)
{
	static const uint8_t none[16];
	AUTO_TEXT struct text link = TEXT(o->mem);
	put_link(&link, none, none);
	for (unsigned i = TABLE_MAPPING; i < TABLES; i++) {
		const struct intern *t = &o->tables[i];
		if (i == TABLE_LINK)
			protobuf_bytes(to, i, link.s, link.len);
		else if (i != TABLE_STRING) /* its first is "" already */
			protobuf_bytes(to, i, "", 0);
		for (uint32_t id = 1; id <= t->n; id++) {
			size_t n;
			const char *key = intern_key(t, id, &n);
			protobuf_bytes(to, i, key, n);
		}
	}
	if (link.err < 0)
		to->err = -ENOMEM;
}

int otlp_profile_finish(struct otlp_profile *o, struct text *out)
{
	AUTO_TEXT struct text part = TEXT(o->mem);
	if (o->err < 0)
		return o->err;
	if (!o->profiles)
		return -ENODATA;
	protobuf_bytes(&part, RESOURCE_PROFILES_RESOURCE, o->resource, o->resource_bytes);
	protobuf_bytes(&part, RESOURCE_PROFILES_SCOPE_PROFILES, o->scope.s, o->scope.len);
	protobuf_bytes(out, REQUEST_RESOURCE_PROFILES, part.s, part.len);
	if (part.err < 0)
		return -ENOMEM;
	text_clear(&part);
	put_dictionary(&part, o);
	protobuf_bytes(out, REQUEST_DICTIONARY, part.s, part.len);
	return part.err < 0 || out->err < 0 ? -ENOMEM : 0;
}
