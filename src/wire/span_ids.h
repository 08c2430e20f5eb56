/* Recognises among the labels of a sample, or its attributes, those that tell its trace and span
 * by ids of hex digits. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>

struct span_ids_names { /* borrowed; of several that a sample has, the first counts */
	const char *const *trace, *const *span;
	uint32_t n_trace, n_span;
};
enum span_ids_state {
	SPAN_IDS_NONE,	  /* it has no id */
	SPAN_IDS_GOOD,	  /* it has both */
	SPAN_IDS_HALF,	  /* one of the two */
	SPAN_IDS_INVALID, /* not 32 and 16 hex digits, or all are 0, or told twice */
	SPAN_IDS_STATES
};
struct span_ids { /* zeroed for each sample */
	struct {
		const char *hex; /* borrowed; NULL: none */
		size_t len;
		uint32_t rank;
		bool is_twice;
	} trace, span;
};
/* Looks at one label; true: it is an id. Strings need no NUL and are borrowed. */
bool span_ids_add(struct span_ids *ids, const struct span_ids_names *names, const char *key,
	size_t key_len, const char *value, size_t len);
/* The ids are written when the state is GOOD. */
enum span_ids_state span_ids_state(
	const struct span_ids *ids, uint8_t ret_trace_id[16], uint8_t ret_span_id[8]);
