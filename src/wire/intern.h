/* A table that gives equal byte strings one id, from 1 on in the order they came. Zeroed memory
 * with mem set is an empty one; one thread owns each. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct intern {
	uint32_t *slots; /* id or 0; open addressing */
	uint32_t size, n, room;
	struct {
		uint32_t at, len;
	} * keys;
	struct text bytes; /* of all keys */
};
#define INTERN(m) \
	{ \
		.bytes = TEXT(m) \
	}
void intern_done(struct intern *t);
/* The id of the key and whether it is new. -ENOMEM: nothing is changed. */
MUST_CHECK int intern_add(
	struct intern *t, const void *key, size_t len, uint32_t *ret_id, bool *ret_new);
bool intern_find(const struct intern *t, const void *key, size_t len, uint32_t *ret_id);
/* A text, made valid UTF-8 before: of what is not, each byte becomes '?'. NULL is "". */
MUST_CHECK int intern_text(struct intern *t, const char *s, uint32_t *ret_id);
/* The key's bytes, until the next intern_add. */
static inline const char *intern_key(const struct intern *t, uint32_t id, size_t *ret_len)
{
	*ret_len = t->keys[id - 1].len;
	return t->bytes.s ? t->bytes.s + t->keys[id - 1].at : "";
}
