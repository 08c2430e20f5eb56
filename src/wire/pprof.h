/* Writes profile.proto (github.com/google/pprof) messages: strings, functions, locations and
 * mappings are interned, samples are appended as they come, and the string table goes out last.
 * Bytes only; the caller compresses. One thread owns each. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct pprof;
struct pprof_line {
	uint32_t function; /* id */
	uint32_t line;	   /* 0: unknown */
};
struct pprof_label {
	const char *key;
	const char *str; /* or NULL: num counts */
	int64_t num;
	const char *num_unit; /* may be NULL */
};
struct pprof_mapping {
	uint64_t start, limit, file_offset;
	const char *filename, *build_id; /* hex; may be empty */
};

MUST_CHECK int pprof_new(const struct mem *mem, struct pprof **ret_p);
struct pprof *pprof_free(struct pprof *p);
CLEANUP(pprof);

/* All calls below are sticky: after -ENOMEM they do nothing and return id 1; pprof_finish tells. */
void pprof_sample_type(struct pprof *p, const char *type, const char *unit);
/* Ids count from 1. Equal contents give one id. Strings are made valid UTF-8. What a mapping says
 * of its locations, has_functions and the like, is worked out from all that were added. */
uint32_t pprof_add_mapping(struct pprof *p, const struct pprof_mapping *m);
uint32_t pprof_add_function(struct pprof *p, const char *name, const char *system_name,
	const char *file, uint32_t start_line);
/* A location is identified by its address: distinct addresses give distinct ids. line[0] is the
 * innermost inlined function. */
bool pprof_find_location(const struct pprof *p, uint64_t address, uint32_t *ret_id);
uint32_t pprof_add_location(struct pprof *p, uint32_t mapping, uint64_t address,
	const struct pprof_line *lines, uint32_t n_lines);
/* Leaf first. As many values as sample types. The caller merges equal samples before. */
void pprof_sample(struct pprof *p, const uint32_t *locations, uint32_t n_locations,
	const int64_t *values, const struct pprof_label *labels, uint32_t n_labels);
void pprof_comment(struct pprof *p, const char *text);
/* Bytes so far, without the strings still to come. */
size_t pprof_bytes(const struct pprof *p);
struct pprof_head {
	int64_t time_ns;     /* since 1970 */
	int64_t duration_ns; /* 0: none */
	const char *period_type, *period_unit;
	int64_t period;
	const char *default_type; /* may be NULL */
};
/* Completes the message; *ret_bytes is owned by p until it is freed. -ENOMEM. */
MUST_CHECK int pprof_finish(
	struct pprof *p, const struct pprof_head *head, const void **ret_bytes, size_t *ret_len);
