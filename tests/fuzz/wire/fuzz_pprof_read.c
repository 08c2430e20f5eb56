/* Profiles of pprof: whatever is read is told within its bounds, and makes exports within theirs
 * whose samples and links are as many as were read. */
#include "fuzz.h"
#include "wire/gunzip.h"
#include "wire/pprof_otlp.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define MAX_SAMPLES 64
#define MAX_BYTES 4096
#define UNPACKED_BYTES (1u << 20)

static int take(void *arg, struct text *body, uint32_t samples, uint32_t profiles)
{
	uint64_t *sum = arg;
	assert(profiles > 0 && samples >= profiles && samples <= MAX_SAMPLES);
	assert(body->len <= MAX_BYTES);
	*sum += samples;
	return 0;
}

static void check(const char *bytes, size_t len)
{
	AUTO(pprof_read) struct pprof_read *r = NULL;
	struct fault fault = {0};
	int e = pprof_read_new(&mem_libc, bytes, len, &r, &fault);
	if (e < 0) {
		assert(strncmp(fault.field, "byte ", 5) == 0 && fault.text[0]);
		return;
	}
	static const char *const trace[] = {"trace_id"}, *const span[] = {"span_id"};
	struct pprof_otlp_conf conf = {.scope = "fuzz",
		.version = "1",
		.names = {trace, span, 1, 1},
		.max_samples = MAX_SAMPLES,
		.max_bytes = MAX_BYTES};
	uint64_t sum = 0, samples = 0;
	struct pprof_otlp_totals totals = {0};
	struct pprof_otlp_env env = {&mem_libc, take, &sum};
	e = pprof_otlp_make(&env, r, &conf, &totals, &fault);
	assert(e == 0 || e == -EFBIG);
	assert(sum == totals.sent_samples);
	for (unsigned i = 0; i < SPAN_IDS_STATES; i++)
		samples += totals.samples[i];
	const struct pprof_read_head *h = pprof_read_head(r);
	if (e == 0)
		assert(sum <= h->samples * h->n_types &&
			(h->n_types == 0 || samples == h->samples));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	if (!gunzip_is_gzip(p, bytes)) {
		check((const char *)p, bytes);
		return 0;
	}
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	struct fault fault = {0};
	int r = gunzip_read(p, bytes, UNPACKED_BYTES, &out, &fault);
	assert(r == 0 || r == -EBADMSG || r == -EFBIG);
	assert(out.len <= UNPACKED_BYTES);
	if (r == 0)
		check(out.s ? out.s : "", out.len);
	return 0;
}
