#include "wire/span_ids.h"
#include <string.h>

/* The place of a key among the names; n: none. */
static uint32_t rank_of(const char *const *names, uint32_t n, const char *key, size_t len)
{
	uint32_t i = 0;
	while (i < n && (strlen(names[i]) != len || memcmp(names[i], key, len) != 0))
		i++;
	return i;
}

#define ADD(id, rank_, value_, len_) \
	do { \
		if (!(id)->hex || (rank_) < (id)->rank) { \
			(id)->hex = (value_); \
			(id)->len = (len_); \
			(id)->rank = (rank_); \
			(id)->is_twice = false; \
		} else if ((rank_) == (id)->rank && \
			   ((id)->len != (len_) || memcmp((id)->hex, (value_), (len_)) != 0)) { \
			(id)->is_twice = true; \
		} \
	} while (0)

bool span_ids_add(struct span_ids *ids, const struct span_ids_names *names, const char *key,
	size_t key_len, const char *value, size_t len)
{
	uint32_t rank = rank_of(names->trace, names->n_trace, key, key_len);
	if (rank < names->n_trace) {
		ADD(&ids->trace, rank, value, len);
		return true;
	}
	rank = rank_of(names->span, names->n_span, key, key_len);
	if (rank == names->n_span)
		return false;
	ADD(&ids->span, rank, value, len);
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Not all 0. */
static bool parse(const char *hex, size_t len, uint8_t *to, size_t bytes)
{
	unsigned any = 0;
	if (len != bytes * 2)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
		any |= to[i];
	}
	return any != 0;
}

enum span_ids_state span_ids_state(
	const struct span_ids *ids, uint8_t ret_trace_id[16], uint8_t ret_span_id[8])
{
	uint8_t trace[16], span[8];
	if (!ids->trace.hex && !ids->span.hex)
		return SPAN_IDS_NONE;
	if (!ids->trace.hex || !ids->span.hex)
		return SPAN_IDS_HALF;
	if (ids->trace.is_twice || ids->span.is_twice ||
		!parse(ids->trace.hex, ids->trace.len, trace, sizeof(trace)) ||
		!parse(ids->span.hex, ids->span.len, span, sizeof(span)))
		return SPAN_IDS_INVALID;
	memcpy(ret_trace_id, trace, sizeof(trace));
	memcpy(ret_span_id, span, sizeof(span));
	return SPAN_IDS_GOOD;
}
