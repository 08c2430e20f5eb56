/* What is done with an input: it is read, linked, and put into the sink. */
#pragma once
#include "sink.h"
#include "wire/otlp_promote.h"
#include "wire/pprof_otlp.h"

#define WORK_EXPORT_SAMPLES 15000
#define WORK_EXPORT_BYTES (2u << 20)

struct work {
	const struct link_conf *conf;
	struct sink *sink;
	struct text resource; /* of pprof */
	struct pprof_otlp_totals totals;
	struct otlp_promote_totals passed;
	uint64_t inputs, bad;
	uint64_t noted_ns; /* when the sums were logged last */
	uint64_t noted_inputs;
};
/* -ENOMEM. */
MUST_CHECK int work_init(struct work *w, const struct link_conf *conf, struct sink *sink);
void work_done(struct work *w);
/* A profile of pprof. -EBADMSG, -EFBIG, -EPROTONOSUPPORT with a fault: it is counted as bad, and of
 * what is malformed nothing is put; -ECANCELED: the end is asked for. */
MUST_CHECK int work_pprof(
	struct work *w, const void *bytes, size_t len, struct fault *reterr_fault);
/* An export request of OTLP: only judged, on any thread; or linked and put. As above. */
MUST_CHECK int work_judge(
	const struct work *w, const void *bytes, size_t len, struct fault *reterr_fault);
MUST_CHECK int work_otlp(struct work *w, const void *bytes, size_t len, struct fault *reterr_fault);
/* The sums so far, as a line of the log. */
void work_log(struct work *w);
/* The same, once a minute if there is news. */
void work_log_minute(struct work *w);
