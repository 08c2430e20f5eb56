/* Makes exports of OTLP profiles of a profile that was read: labels with ids of a span become
 * links, all else stays. Each type of sample is a Profile of its own, which has those samples whose
 * value of the type is not 0, and each export is complete in itself and within the bounds. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/pprof_read.h"
#include "wire/span_ids.h"

struct pprof_otlp_conf {      /* borrowed */
	const void *resource; /* an encoded Resource message */
	size_t resource_bytes;
	const char *scope, *version;
	struct span_ids_names names;
	bool keep_ids; /* as attributes of linked samples */
	uint32_t max_samples;
	size_t max_bytes; /* of an export; below half of the size that is allowed nothing is cut */
};
struct pprof_otlp_totals {		       /* added to */
	uint64_t samples[SPAN_IDS_STATES];     /* of the input, by what their labels tell */
	uint64_t exports, sent_samples, bytes; /* of OTLP: a sample for each value that is not 0 */
};
struct pprof_otlp_env {
	const struct mem *mem;
	/* Takes an export over, of so many samples in profiles; a negative result ends the work
	 * and is returned. */
	int (*export)(void *arg, struct text *body, uint32_t samples, uint32_t profiles);
	void *arg;
};
/* -EFBIG with a fault: a sample is too large for an export, when those before it are made;
 * -ENOMEM. */
MUST_CHECK int pprof_otlp_make(const struct pprof_otlp_env *env, struct pprof_read *r,
	const struct pprof_otlp_conf *conf, struct pprof_otlp_totals *totals,
	struct fault *reterr_fault);
