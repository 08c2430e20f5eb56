#include "api/body.h"
#include "base/num.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEYS_MAX 64
#define POINTER_BYTES 160

/* RFC 6901 3: ~ and / within a key are escaped. */
static const char *pointer(const char *key, char buf[static POINTER_BYTES])
{
	size_t n = 0;
	buf[n++] = '/';
	for (; *key && n + 3 < POINTER_BYTES; key++) {
		if (*key == '~' || *key == '/') {
			buf[n++] = '~';
			buf[n++] = *key == '~' ? '0' : '1';
		} else {
			buf[n++] = *key;
		}
	}
	buf[n] = 0;
	return buf;
}

static int refuse_unknown(const struct body_key *keys, const char *key, struct fault *f)
{
	const char *known[KEYS_MAX];
	unsigned n = 0;
	for (const struct body_key *k = keys; k->name && n < KEYS_MAX; k++)
		known[n++] = k->name;
	const char *near = num_nearest(key, known, n);
	char p[POINTER_BYTES];
	return fault_set(f, -EINVAL, pointer(key, p), near, "unknown key%s%s",
		near ? ", nearest is " : "", near ? near : "");
}

static int refuse_type(const struct body_key *k, const char *wanted, struct fault *f)
{
	char p[POINTER_BYTES];
	return fault_set(f, -EINVAL, pointer(k->name, p), wanted, "is not %s", wanted);
}

static int decode_int(
	const struct body_key *k, const json_t *value, struct body_value *v, struct fault *f)
{
	char allowed[64], p[POINTER_BYTES];
	(void)snprintf(
		allowed, sizeof(allowed), "%lld..%lld", (long long)k->min, (long long)k->max);
	if (!json_is_integer(value))
		return refuse_type(k, "a whole number", f);
	v->num = json_integer_value(value);
	if (v->num >= k->min && v->num <= k->max)
		return 0;
	return fault_set(f, -EINVAL, pointer(k->name, p), allowed, "%lld is %s %lld",
		(long long)v->num, v->num < k->min ? "below" : "above",
		(long long)(v->num < k->min ? k->min : k->max));
}

static int decode_value(
	const struct body_key *k, const json_t *value, void *values, struct fault *f)
{
	struct body_value *v = (struct body_value *)((char *)values + k->offset);
	char p[POINTER_BYTES];
	if (json_is_null(value))
		return 0;
	switch (k->kind) {
	case BODY_STR:
		if (!json_is_string(value))
			return refuse_type(k, "a string", f);
		v->str = json_string_value(value);
		break;
	case BODY_BOOL:
		if (!json_is_boolean(value))
			return refuse_type(k, "true or false", f);
		v->on = json_is_true(value);
		break;
	case BODY_INT: {
		int r = decode_int(k, value, v, f);
		if (r < 0)
			return r;
		break;
	}
	case BODY_JSON:
		if (!json_is_object(value))
			return refuse_type(k, "an object", f);
		v->json = value;
		break;
	case BODY_CLEAN:
		if (!json_is_string(value))
			return refuse_type(k, "a string", f);
		if (!*json_string_value(value) || strcmp(json_string_value(value), "clean") == 0)
			return 0;
		return fault_set(f, -EINVAL, pointer(k->name, p), "clean",
			"not in this build: scenario %.40s", json_string_value(value));
	case BODY_ABSENT:
		return fault_set(f, -EINVAL, pointer(k->name, p), NULL, "not in this build");
	}
	v->given = true;
	return 0;
}

static int decode_object(
	const json_t *object, const struct body_key *keys, void *values, struct fault *f)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		const struct body_key *k = keys;
		while (k->name && strcmp(k->name, key) != 0)
			k++;
		int r = k->name ? decode_value(k, value, values, f) : refuse_unknown(keys, key, f);
		if (r < 0)
			return r;
	}
	for (const struct body_key *k = keys; k->name; k++) {
		char p[POINTER_BYTES];
		const struct body_value *v =
			(const struct body_value *)((const char *)values + k->offset);
		if (k->required && !v->given)
			return fault_set(f, -EINVAL, pointer(k->name, p), NULL, "is missing");
	}
	return 0;
}

int body_decode(const char *body, size_t bytes, const struct body_key *keys, void *ret_values,
	size_t values_bytes, json_t **ret_json, struct fault *reterr_fault)
{
	json_error_t error;
	AUTO_BODY json_t *object = json_loadb(body, bytes, JSON_REJECT_DUPLICATES, &error);
	/* jansson says nothing at all where most of its allocations fail. */
	if (!object && (!error.text[0] || json_error_code(&error) == json_error_out_of_memory))
		return -ENOMEM;
	if (!object && json_error_code(&error) == json_error_end_of_input_expected)
		return fault_set(reterr_fault, -EINVAL, "body", "one JSON object",
			"line %d column %d: unexpected content after the object", error.line,
			error.column);
	if (!object)
		return fault_set(reterr_fault, -EINVAL, "body", "one JSON object",
			"line %d column %d: %s", error.line, error.column, error.text);
	if (!json_is_object(object))
		return fault_set(
			reterr_fault, -EINVAL, "body", "one JSON object", "is not an object");
	memset(ret_values, 0, values_bytes);
	int r = decode_object(object, keys, ret_values, reterr_fault);
	if (r == 0)
		*ret_json = TAKE(object);
	return r;
}
