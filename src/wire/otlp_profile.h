/* Writes an export of OTLP profiles (ExportProfilesServiceRequest of opentelemetry-proto 1.10 and
 * later) as it comes: what samples share is interned in the dictionary, which goes out last. One
 * resource, one scope, any number of profiles, each of one type of sample. Bytes only; the caller
 * compresses. One thread owns each. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct otlp_profile;
struct otlp_scope {
	const char *name, *version;
	const void *attrs; /* encoded fields of InstrumentationScope; may be NULL */
	size_t attrs_bytes;
};
struct otlp_any {
	const char *str; /* NULL: num counts */
	int64_t num;
};
struct otlp_mapping {
	uint64_t start, limit, file_offset;
	const char *filename;
	const uint32_t *attrs;
	uint32_t n_attrs;
};
struct otlp_line {
	uint32_t function;
	int64_t line, column; /* 0: unknown */
};
struct otlp_head {
	const char *type, *unit;	       /* of the samples */
	const char *period_type, *period_unit; /* NULL: none */
	int64_t period;
	uint64_t time_ns, duration_ns; /* begin since 1970; how long */
	const uint32_t *attrs;	       /* of the profile */
	uint32_t n_attrs;
};
/* resource: an encoded Resource message, borrowed until otlp_profile_finish. -ENOMEM. */
MUST_CHECK int otlp_profile_new(const struct mem *mem, const void *resource, size_t resource_bytes,
	const struct otlp_scope *scope, struct otlp_profile **ret_o);
struct otlp_profile *otlp_profile_free(struct otlp_profile *o);
CLEANUP(otlp_profile);

/* All calls below are sticky: after -ENOMEM they do nothing and give index 0; otlp_profile_finish
 * tells. Indices are of the dictionary's tables, whose entry 0 means none. Equal contents give one
 * index. Strings are made valid UTF-8. */
uint32_t otlp_profile_attr_str(
	struct otlp_profile *o, const char *key, const char *value, const char *unit);
uint32_t otlp_profile_attr_int(
	struct otlp_profile *o, const char *key, int64_t value, const char *unit);
uint32_t otlp_profile_attr_bool(struct otlp_profile *o, const char *key, bool value);
/* An array of values. */
uint32_t otlp_profile_attr_array(struct otlp_profile *o, const char *key,
	const struct otlp_any *values, uint32_t n, const char *unit);
uint32_t otlp_profile_mapping(struct otlp_profile *o, const struct otlp_mapping *m);
uint32_t otlp_profile_function(struct otlp_profile *o, const char *name, const char *system_name,
	const char *file, int64_t start_line);
/* lines[0] is the innermost inlined function. */
uint32_t otlp_profile_location(struct otlp_profile *o, uint32_t mapping, uint64_t address,
	const struct otlp_line *lines, uint32_t n_lines, const uint32_t *attrs, uint32_t n_attrs);
/* Leaf first; none: 0. */
uint32_t otlp_profile_stack(struct otlp_profile *o, const uint32_t *locations, uint32_t n);
uint32_t otlp_profile_link(
	struct otlp_profile *o, const uint8_t trace_id[16], const uint8_t span_id[8]);
/* A profile; its samples follow, each with one value. The caller merges those that are equal in
 * stack, attributes and link before. */
void otlp_profile_begin(struct otlp_profile *o, const struct otlp_head *head);
void otlp_profile_sample(struct otlp_profile *o, uint32_t stack, const uint32_t *attrs,
	uint32_t n_attrs, uint32_t link, int64_t value);
/* One without samples is left out. */
void otlp_profile_end(struct otlp_profile *o);
uint32_t otlp_profile_samples(const struct otlp_profile *o); /* in all profiles so far */
size_t otlp_profile_bytes(const struct otlp_profile *o);     /* about those of the message so far */
/* Appends the message to *out. -ENODATA: no profile has a sample; -ENOMEM. */
MUST_CHECK int otlp_profile_finish(struct otlp_profile *o, struct text *out);
