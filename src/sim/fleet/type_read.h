/* Strict reading of JSON objects by a table of keys, with faults that name file, line and pointer.
 * Only the type_*.c files include this. */
#pragma once
#include "sim/fleet/type_draft.h"
#include <jansson.h>

#define POINTER_BYTES 96

struct reader { /* all borrowed */
	struct type_draft *d;
	const struct type_file *file;
	struct fault *fault; /* or NULL */
};
enum key_kind { KEY_STRING, KEY_INT, KEY_BOOL, KEY_ARRAY, KEY_OBJECT, KEY_ANY };
struct key {
	const char *name;
	enum key_kind kind;
	bool required;
	size_t offset;	  /* of a const char *, int64_t, bool or json_t * */
	int64_t min, max; /* of an int; of a string's octets */
};
/* Parses a file; the root must be an object. -EINVAL, -ENOMEM. The caller owns *ret_root. */
MUST_CHECK int read_json(struct reader *r, json_t **ret_root);
static inline UNUSED void json_cleanup_(json_t **v)
{
	json_decref(*v);
}
#define AUTO_JSON __attribute__((cleanup(json_cleanup_)))
/* Fills the fault with "file:line: pointer" and the text; returns -EINVAL. */
int read_bad(struct reader *r, const char *pointer, const char *allowed, const char *fmt, ...)
	PRINTF(4, 5);
/* pointer + "/" + key, or a number, in buf. */
const char *read_below(char buf[static POINTER_BYTES], const char *pointer, const char *key);
const char *read_below_n(char buf[static POINTER_BYTES], const char *pointer, size_t n);
/* Reads an object by its table of keys into the struct at out, whose defaults are set. Strings go
 * to the draft's arena, json_t stay borrowed. An unknown key is a fault. -EINVAL, -ENOMEM. */
MUST_CHECK int read_object(struct reader *r, const char *pointer, json_t *v, const struct key *keys,
	size_t n, void *out);
MUST_CHECK int read_oid(
	struct reader *r, const char *pointer, const char *text, struct oid *ret_oid);
/* The keys "interfaces" and "stack" of our form. */
MUST_CHECK int read_ifs(struct reader *r, json_t *v);
MUST_CHECK int read_stack(struct reader *r, json_t *v);
