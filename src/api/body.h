/* JSON bodies of requests: one table per body says which keys it takes; decoding is strict and the
 * request's schema in OpenAPI is made from the same table. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum body_kind {
	BODY_STR,
	BODY_BOOL,
	BODY_INT,
	BODY_JSON,  /* an object, which the handler judges */
	BODY_CLEAN, /* a string of a scenario: only "" and "clean" are in this build */
	BODY_ABSENT /* of a subsystem that is not in this build: refused by name, unless null */
};
/* A value as it was given; null counts as not given. */
struct body_value {
	bool given;
	const char *str;    /* BODY_STR: until body_done; never NULL when given */
	int64_t num;	    /* BODY_INT */
	bool on;	    /* BODY_BOOL */
	const json_t *json; /* BODY_JSON: until body_done */
};
/* Make entries with the macros; a table ends with {0}. */
struct body_key {
	const char *name, *help;
	enum body_kind kind;
	bool required;
	size_t offset;	     /* of a struct body_value; not for BODY_CLEAN and BODY_ABSENT */
	int64_t min, max;    /* BODY_INT */
	const char *pattern; /* BODY_STR: for the schema; the handler judges. BODY_JSON: its schema,
				in the notation of schema.h */
};
#define BODY_KEY_STR(type, field, must, pattern_, text) \
	{ \
		.name = #field, .help = (text), .kind = BODY_STR, .required = (must), \
		.offset = offsetof(type, field), .pattern = (pattern_) \
	}
#define BODY_KEY_JSON(type, field, schema, text) \
	{ \
		.name = #field, .help = (text), .kind = BODY_JSON, \
		.offset = offsetof(type, field), .pattern = (schema) \
	}
#define BODY_KEY_BOOL(type, field, text) \
	{ \
		.name = #field, .help = (text), .kind = BODY_BOOL, .offset = offsetof(type, field) \
	}
#define BODY_KEY_INT(type, field, must, lo, hi, text) \
	{ \
		.name = #field, .help = (text), .kind = BODY_INT, .required = (must), \
		.offset = offsetof(type, field), .min = (lo), .max = (hi) \
	}

/* Decodes an object into the struct body_value fields of *ret_values, which is zeroed first; its
 * strings live until *ret_json is released with body_done. Refused with -EINVAL and a fault that
 * names the key as a JSON pointer (RFC 6901): what is no JSON object, trailing content, a key given
 * twice, unknown or missing, a value of another type or out of bounds, a NUL in a string. -ENOMEM.
 */
MUST_CHECK int body_decode(const char *body, size_t bytes, const struct body_key *keys,
	void *ret_values, size_t values_bytes, json_t **ret_json, struct fault *reterr_fault);
static inline void body_done(json_t **json)
{
	json_decref(*json);
	*json = NULL;
}
#define AUTO_BODY __attribute__((cleanup(body_done)))
