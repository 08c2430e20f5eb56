/* Label sets: what part of the program a thread works for. A set is immutable and lives as long as
 * the process; a thread points to one, from birth, and a scope swaps the pointer. Each set holds,
 * in constant memory, what profilers outside of the process read of a thread: a labelset of
 * custom-labels (ABI v1) and a thread context record of OpenTelemetry (OTEP 4947). */
#pragma once
#include "base/attr.h"
#include <stdint.h>

#define LABEL_PAIRS 4	     /* the most in a set */
#define LABEL_VALUE_BYTES 30 /* without a NUL; what outside readers keep is longer */

/* custom_labels_string_t and custom_labels_label_t; the texts end with a NUL that does not count.
 */
struct label_string {
	size_t bytes;
	const char *s;
};
struct label_pair {
	struct label_string key, value;
};
/* The record that otel_thread_ctx_v1 points to. */
struct label_context {
	uint8_t trace_id[16], span_id[8]; /* zero: in no span */
	uint8_t valid, trace_flags;
	uint16_t attrs_bytes; /* of what follows; host byte order */
	/* The only one that is told: the subsystem. */
	uint8_t attr_key; /* index into label_keys */
	uint8_t attr_bytes;
	char attr[LABEL_VALUE_BYTES];
} __attribute__((packed, aligned(2)));
struct label {
	/* custom_labels_labelset_t; first, since a pointer to the set is a pointer to it. */
	const struct label_pair *storage;
	size_t count, capacity;
	struct label_pair pairs[LABEL_PAIRS]; /* sorted by key */
	struct label_context context;
};
#define LABEL_STRING(text) \
	{ \
		sizeof(text) - 1, (text) \
	}
/* A set of one pair subsystem=VALUE, as a constant object. VALUE is a literal of at most
 * LABEL_VALUE_BYTES. */
#define LABEL_SUBSYSTEM(name, value) \
	const struct label name = {(name).pairs, 1, LABEL_PAIRS, \
		{{LABEL_STRING("subsystem"), LABEL_STRING(value)}}, \
		{.valid = 1, \
			.attrs_bytes = 2 + sizeof(value) - 1, \
			.attr_bytes = sizeof(value) - 1, \
			.attr = value}}

extern const struct label label_main, label_api, label_snmp, label_trace, label_fleet;

/* Every key there is, by the number that a context names it with; ends with NULL. */
extern const char *const label_keys[];

/* The value of key in the set, or NULL. */
const char *label_get(const struct label *l, const char *key);
