/* Reads a profile of profile.proto (github.com/google/pprof), uncompressed, in place: it is judged
 * whole at first, then told piece by piece. Beside the input there is an index of at most as many
 * bytes (or PPROF_READ_INDEX_BYTES). One thread owns each; no state but the index. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

#define PPROF_READ_INDEX_BYTES (16u << 20)
/* More than this is no profile that anyone makes, and refused. */
#define PPROF_READ_TYPES 64
#define PPROF_READ_DEPTH 65536	     /* locations of a sample */
#define PPROF_READ_LABELS 1024	     /* of a sample */
#define PPROF_READ_LINES 4096	     /* of a location */
#define PPROF_READ_STRING (1u << 20) /* bytes */

struct pprof_read;
struct pprof_read_type {
	uint32_t type, unit; /* strings */
};
struct pprof_read_head { /* numbers of strings; 0 is "" */
	struct pprof_read_type types[PPROF_READ_TYPES];
	uint32_t n_types;
	bool has_period_type;
	struct pprof_read_type period_type;
	int64_t period, time_ns, duration_ns;
	uint32_t drop_frames, keep_frames, default_type, doc_url;
	uint32_t mappings, functions, locations, strings, comments; /* how many there are */
	uint64_t samples;
};
struct pprof_read_mapping {
	uint64_t start, limit, file_offset;
	uint32_t filename, build_id;
	bool has_functions, has_filenames, has_lines, has_inline;
};
struct pprof_read_function {
	uint32_t name, system_name, filename;
	int64_t start_line;
};
struct pprof_read_line {
	uint32_t function; /* counted from 1; 0: none */
	int64_t line, column;
};
struct pprof_read_location {
	uint32_t mapping; /* counted from 1; 0: none */
	uint64_t address;
	bool is_folded;
	const struct pprof_read_line *lines; /* innermost first; until the next call */
	uint32_t n_lines;
};
struct pprof_read_label {
	uint32_t key, str, num_unit;
	int64_t num; /* counts when str is 0 */
};
struct pprof_read_sample {	   /* arrays until the next sample */
	const uint32_t *locations; /* leaf first; counted from 1 */
	uint32_t n_locations;
	const int64_t *values; /* as many as types */
	const struct pprof_read_label *labels;
	uint32_t n_labels;
	size_t offset; /* of its message in the input */
};

/* Judges the bytes (below 4 GiB), which are borrowed until the end. -EBADMSG: not a profile;
 * -EPROTONOSUPPORT: a format that is known and not read, by name; both with a fault that tells the
 * byte; -ENOMEM. */
MUST_CHECK int pprof_read_new(const struct mem *mem, const void *bytes, size_t len,
	struct pprof_read **ret_r, struct fault *reterr_fault);
struct pprof_read *pprof_read_free(struct pprof_read *r);
CLEANUP(pprof_read);

const struct pprof_read_head *pprof_read_head(const struct pprof_read *r);
/* Not NUL-terminated, not judged to be UTF-8. */
const char *pprof_read_string(const struct pprof_read *r, uint32_t string, size_t *ret_len);
/* Those below are counted from 1 to what the head tells. */
uint32_t pprof_read_comment(const struct pprof_read *r, uint32_t n);
void pprof_read_mapping(const struct pprof_read *r, uint32_t n, struct pprof_read_mapping *ret_m);
void pprof_read_function(const struct pprof_read *r, uint32_t n, struct pprof_read_function *ret_f);
void pprof_read_location(struct pprof_read *r, uint32_t n, struct pprof_read_location *ret_l);
/* The sample at or after *at (0: the first), which moves past it; false: there is none. */
bool pprof_read_next(struct pprof_read *r, size_t *at, struct pprof_read_sample *ret_s);
