/* The index of a profile that is read: where in the input strings, mappings, functions and
 * locations are, found by their ids. Used by pprof_read.c alone. */
#pragma once
#include "base/fault.h"
#include "base/mem.h"
#include "wire/proto_rd.h"
#include <stdint.h>

/* Field numbers of message Profile. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME = 9,
	PPROF_DURATION = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
	PPROF_DOC_URL = 15,
	PPROF_FIELDS
};
struct pprof_id {
	uint64_t id;
	uint32_t n;
};
struct pprof_table {
	uint32_t *at; /* of the field's tag, in the input */
	uint32_t n;
	struct pprof_id *ids; /* sorted; NULL: the n-th has id n + 1 */
};
struct pprof_index {
	const struct mem *mem;
	const uint8_t *bytes;
	size_t len;
	struct pprof_table tables[PPROF_FIELDS]; /* of PPROF_MAPPING to PPROF_STRING */
	uint64_t counts[PPROF_FIELDS];
};
void pprof_index_done(struct pprof_index *x);
/* -EBADMSG with a fault; -ENOMEM. x is zero but for mem, bytes and len. */
MUST_CHECK int pprof_index_make(struct pprof_index *x, struct fault *reterr_fault);
/* *ret_n: counted from 1. */
bool pprof_index_find(const struct pprof_table *t, uint64_t id, uint32_t *ret_n);
/* The n-th of a table, counted from 1. */
struct rd pprof_index_get(const struct pprof_index *x, unsigned field, uint32_t n);
/* A fault at a byte of the input; -EBADMSG. */
int pprof_index_bad(const struct pprof_index *x, struct fault *f, const uint8_t *at,
	const char *fmt, ...) PRINTF(4, 5);
