#include "sim/fleet/type_read.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int read_bad(struct reader *r, const char *pointer, const char *allowed, const char *fmt, ...)
{
	char text[256], field[160];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)snprintf(field, sizeof(field), "%s:%u: %s", r->file->name,
		type_pos_line(r->file->text, r->file->len, pointer), *pointer ? pointer : "/");
	return fault_set(r->fault, -EINVAL, field, allowed, "%s", text);
}

const char *read_below(char buf[static POINTER_BYTES], const char *pointer, const char *key)
{
	size_t n = (size_t)snprintf(buf, POINTER_BYTES, "%s/", pointer);
	for (; *key && n + 2 < POINTER_BYTES; key++) { /* RFC 6901 3 */
		if (*key == '~' || *key == '/')
			buf[n++] = '~';
		buf[n++] = *key == '~' ? '0' : *key == '/' ? '1' : *key;
	}
	buf[MIN(n, POINTER_BYTES - 1u)] = 0;
	return buf;
}

const char *read_below_n(char buf[static POINTER_BYTES], const char *pointer, size_t n)
{
	(void)snprintf(buf, POINTER_BYTES, "%s/%zu", pointer, n);
	return buf;
}

static int take_int(struct reader *r, const char *at, const struct key *k, json_t *v, int64_t *to)
{
	char allowed[64];
	(void)snprintf(
		allowed, sizeof(allowed), "%lld..%lld", (long long)k->min, (long long)k->max);
	if (!json_is_integer(v))
		return read_bad(r, at, allowed, "must be a whole number");
	*to = json_integer_value(v);
	if (*to < k->min || *to > k->max)
		return read_bad(r, at, allowed, "%lld is out of range", (long long)*to);
	return 0;
}

static int take_string(
	struct reader *r, const char *at, const struct key *k, json_t *v, const char **to)
{
	char allowed[64];
	(void)snprintf(allowed, sizeof(allowed), "%lld..%lld octets", (long long)k->min,
		(long long)k->max);
	if (!json_is_string(v))
		return read_bad(r, at, allowed, "must be a string");
	size_t n = json_string_length(v);
	if ((int64_t)n < k->min || (int64_t)n > k->max)
		return read_bad(r, at, allowed, "has %zu octets", n);
	*to = arena_strdup(&r->d->arena, json_string_value(v));
	return *to ? 0 : -ENOMEM;
}

static int take(struct reader *r, const char *pointer, const struct key *k, json_t *v, void *out)
{
	char at[POINTER_BYTES];
	(void)read_below(at, pointer, k->name);
	void *to = (char *)out + k->offset;
	switch (k->kind) {
	case KEY_INT:
		return take_int(r, at, k, v, to);
	case KEY_STRING:
		return take_string(r, at, k, v, to);
	case KEY_BOOL:
		if (!json_is_boolean(v))
			return read_bad(r, at, "true, false", "must be true or false");
		*(bool *)to = json_is_true(v);
		return 0;
	case KEY_ARRAY:
		if (!json_is_array(v))
			return read_bad(r, at, "", "must be an array");
		break;
	case KEY_OBJECT:
		if (!json_is_object(v))
			return read_bad(r, at, "", "must be an object");
		break;
	case KEY_ANY:
		break;
	}
	*(json_t **)to = v;
	return 0;
}

static int unknown_key(
	struct reader *r, const char *pointer, const struct key *keys, size_t n, const char *name)
{
	char at[POINTER_BYTES], allowed[160];
	size_t len = 0;
	for (size_t i = 0; i < n && len < sizeof(allowed); i++)
		len += (size_t)snprintf(
			allowed + len, sizeof(allowed) - len, i ? ", %s" : "%s", keys[i].name);
	return read_bad(r, read_below(at, pointer, name), allowed, "unknown key");
}

/* Reads an object by its table of keys into the struct at out, whose defaults are set. */
int read_object(struct reader *r, const char *pointer, json_t *v, const struct key *keys, size_t n,
	void *out)
{
	if (!json_is_object(v))
		return read_bad(r, pointer, "", "must be an object");
	const char *name;
	json_t *value;
	json_object_foreach(v, name, value)
	{
		size_t i = 0;
		while (i < n && strcmp(keys[i].name, name) != 0)
			i++;
		int e = i < n ? take(r, pointer, &keys[i], value, out)
			      : unknown_key(r, pointer, keys, n, name);
		if (e < 0)
			return e;
	}
	for (size_t i = 0; i < n; i++)
		if (keys[i].required && !json_object_get(v, keys[i].name))
			return read_bad(r, pointer, "", "%s is missing", keys[i].name);
	return 0;
}

int read_oid(struct reader *r, const char *at, const char *text, struct oid *ret_oid)
{
	if (oid_parse(text, ret_oid) < 0)
		return read_bad(r, at, "dotted numbers, 1.3.6.1...",
			"%s is not an object identifier", text);
	return 0;
}

int read_json(struct reader *r, json_t **ret_root)
{
	json_error_t e;
	json_t *root = json_loadb(
		r->file->text, r->file->len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	if (!root) {
		if (json_error_code(&e) == json_error_out_of_memory)
			return -ENOMEM;
		char field[160];
		(void)snprintf(field, sizeof(field), "%s:%d:", r->file->name, e.line);
		return fault_set(r->fault, -EINVAL, field, "", "%s", e.text);
	}
	if (!json_is_object(root)) {
		json_decref(root);
		return read_bad(r, "", "", "must be an object");
	}
	*ret_root = root;
	return 0;
}
