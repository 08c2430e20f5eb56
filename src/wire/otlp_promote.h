/* Makes links in an export request of OTLP profiles of those attributes of its samples that tell a
 * trace and a span by their ids, and writes attributes of resources and scopes without indices of
 * strings, which Pyroscope does not read. What else is in it, known or not, is passed on byte by
 * byte; one that is too large is cut into several, each with the whole dictionary. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/span_ids.h"

struct otlp_promote_conf { /* borrowed */
	struct span_ids_names names;
	bool keep_ids; /* as attributes of linked samples */
	/* Fields of a Resource message, attributes, that take the place of those of their keys. */
	const void *resource;
	size_t resource_bytes;
	uint32_t max_samples;
	size_t max_bytes; /* of an export; not held where the dictionary leaves no room for it */
};
struct otlp_promote_totals {		   /* added to */
	uint64_t samples[SPAN_IDS_STATES]; /* by what their attributes tell */
	uint64_t linked_before;		   /* not looked at: they had a link */
};
struct otlp_promote_env {
	const struct mem *mem;
	/* Takes an export over; a negative result ends the work and is returned. */
	int (*export)(void *arg, struct text *body, uint32_t samples, uint32_t profiles);
	void *arg;
};
/* All is judged before the first export: -EBADMSG with a fault that tells the byte. One without
 * samples makes no export. -ENOMEM. */
MUST_CHECK int otlp_promote_make(const struct otlp_promote_env *env, const void *bytes, size_t len,
	const struct otlp_promote_conf *conf, struct otlp_promote_totals *totals,
	struct fault *reterr_fault);
/* Only judges. */
MUST_CHECK int otlp_promote_judge(const struct mem *mem, const void *bytes, size_t len,
	const struct otlp_promote_conf *conf, struct fault *reterr_fault);
