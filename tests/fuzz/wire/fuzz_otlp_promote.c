/* Requests of OTLP profiles: what is judged to be right passes with as many samples as before, and
 * passes again as it is. */
#include "fuzz.h"
#include "wire/otlp_json.h"
#include "wire/otlp_promote.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define MAX_SAMPLES 8

struct taken {
	struct text last;
	uint64_t samples, exports;
};

static int take(void *arg, struct text *body, uint32_t samples, uint32_t profiles)
{
	struct taken *t = arg;
	assert(samples > 0 && samples <= MAX_SAMPLES && profiles > 0 && profiles <= samples);
	t->samples += samples;
	t->exports++;
	text_clear(&t->last);
	text_write(&t->last, body->s, body->len);
	return 0;
}

static int pass(const void *bytes, size_t len, struct taken *t, struct otlp_promote_totals *totals)
{
	static const char *const trace[] = {"trace_id"}, *const span[] = {"span_id"};
	struct otlp_promote_conf conf = {.names = {trace, span, 1, 1},
		.resource = "",
		.max_samples = MAX_SAMPLES,
		.max_bytes = 4096};
	struct otlp_promote_env env = {&mem_libc, take, t};
	struct fault fault = {0};
	int r = otlp_promote_make(&env, bytes, len, &conf, totals, &fault);
	assert(r == 0 || (r == -EBADMSG && strncmp(fault.field, "byte ", 5) == 0));
	assert(r == 0 || t->exports == 0);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	struct taken first = {.last = TEXT(&mem_libc)}, second = {.last = TEXT(&mem_libc)};
	struct otlp_promote_totals one = {0}, two = {0};
	AUTO_TEXT struct text json = TEXT(&mem_libc);
	int r = otlp_json_write(p, bytes, &json);
	assert(r == 0 || r == -EBADMSG);
	if (pass(p, bytes, &first, &one) == 0) {
		uint64_t sum = one.linked_before;
		for (unsigned i = 0; i < SPAN_IDS_STATES; i++)
			sum += one.samples[i];
		assert(sum == first.samples);
		if (first.exports == 1) {
			r = pass(first.last.s, first.last.len, &second, &two);
			assert(r == 0 && second.samples == first.samples);
			assert(two.linked_before == one.linked_before + one.samples[SPAN_IDS_GOOD]);
		}
	}
	text_done(&first.last);
	text_done(&second.last);
	return 0;
}
