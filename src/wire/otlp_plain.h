/* Attributes of OTLP profiles may name their keys and strings by indices of the dictionary's string
 * table, which not all receivers read: writes them as themselves. opentelemetry-proto, common/v1,
 * 1.11. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/cursor.h"

struct otlp_strings { /* the table; borrowed */
	const struct rd *entries;
	uint32_t n;
};
/* The key of a KeyValue; nothing if it has none, or one that is not in the table. */
struct rd otlp_plain_key(struct rd key_value, const struct otlp_strings *strings);
/* Appends the KeyValue, at any depth without indices but those that are not in the table; what else
 * is in it as it came. -EBADMSG: it is no message; -ENOMEM. */
MUST_CHECK int otlp_plain_write(const struct mem *mem, struct rd key_value,
	const struct otlp_strings *strings, struct text *to);
