#include "work.h"
#include "base/log.h"
#include "base/protobuf.h"
#include "wire/gunzip.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NOTE_NS (60 * NS_PER_SEC)

/* An attribute of a resource: KeyValue with a string. */
static void put_attr(struct text *to, const char *key, size_t key_len, const char *value)
{
	enum { RESOURCE_ATTRIBUTES = 1, KEY = 1, VALUE = 2, STRING_VALUE = 1 };
	AUTO_TEXT struct text any = TEXT(&mem_libc);
	AUTO_TEXT struct text kv = TEXT(&mem_libc);
	protobuf_bytes(&any, STRING_VALUE, value, strlen(value));
	protobuf_bytes(&kv, KEY, key, key_len);
	protobuf_bytes(&kv, VALUE, any.s, any.len);
	protobuf_bytes(to, RESOURCE_ATTRIBUTES, kv.s, kv.len);
	if (any.err < 0 || kv.err < 0)
		to->err = -ENOMEM;
}

int work_init(struct work *w, const struct link_conf *conf, struct sink *sink)
{
	*w = (struct work){.conf = conf, .sink = sink, .resource = TEXT(&mem_libc)};
	w->noted_ns = clk_ns(&clk_system);
	const char *service = conf->service ? conf->service : "unknown_service";
	if (conf->service || !conf->listen)
		put_attr(&w->resource, "service.name", 12, service);
	for (uint32_t i = 0; i < conf->resource.n; i++) {
		const char *kv = conf->resource.items[i], *eq = strchr(kv, '=');
		put_attr(&w->resource, kv, (size_t)(eq - kv), eq + 1);
	}
	return w->resource.err;
}

void work_done(struct work *w)
{
	text_done(&w->resource);
}

static int take(void *arg, struct text *body, uint32_t samples UNUSED, uint32_t profiles)
{
	struct work *w = arg;
	return sink_put(w->sink, body, profiles);
}

static int work_raw(struct work *w, const void *bytes, size_t len, struct fault *f)
{
	AUTO(pprof_read) struct pprof_read *r = NULL;
	int e = pprof_read_new(&mem_libc, bytes, len, &r, f);
	if (e < 0)
		return e;
	const struct pprof_otlp_conf conf = {.resource = w->resource.s,
		.resource_bytes = w->resource.len,
		.scope = "nl6-pprof-link",
		.version = NL6_VERSION,
		.names = {w->conf->trace_names.items, w->conf->span_names.items,
			w->conf->trace_names.n, w->conf->span_names.n},
		.keep_ids = w->conf->keep_ids,
		.max_samples = WORK_EXPORT_SAMPLES,
		.max_bytes = WORK_EXPORT_BYTES};
	const struct pprof_otlp_env env = {&mem_libc, take, w};
	return pprof_otlp_make(&env, r, &conf, &w->totals, f);
}

int work_pprof(struct work *w, const void *bytes, size_t len, struct fault *reterr_fault)
{
	AUTO_TEXT struct text raw = TEXT(&mem_libc);
	int r;
	w->inputs++;
	if (gunzip_is_gzip(bytes, len)) {
		r = gunzip_read(bytes, len, w->conf->max_bytes, &raw, reterr_fault);
		if (r == 0)
			r = work_raw(w, raw.s ? raw.s : "", raw.len, reterr_fault);
	} else if (len > w->conf->max_bytes) {
		r = fault_set(
			reterr_fault, -EFBIG, "byte 0", NULL, "it is more than -max-size allows");
	} else {
		r = work_raw(w, bytes, len, reterr_fault);
	}
	if (r < 0 && r != -ECANCELED)
		w->bad++;
	return r;
}

static struct otlp_promote_conf promote_conf(const struct work *w)
{
	return (struct otlp_promote_conf){
		.names = {w->conf->trace_names.items, w->conf->span_names.items,
			w->conf->trace_names.n, w->conf->span_names.n},
		.keep_ids = w->conf->keep_ids,
		.resource = w->resource.s ? w->resource.s : "",
		.resource_bytes = w->resource.len,
		.max_samples = WORK_EXPORT_SAMPLES,
		.max_bytes = WORK_EXPORT_BYTES};
}

int work_judge(const struct work *w, const void *bytes, size_t len, struct fault *reterr_fault)
{
	struct otlp_promote_conf conf = promote_conf(w);
	return otlp_promote_judge(&mem_libc, bytes, len, &conf, reterr_fault);
}

int work_otlp(struct work *w, const void *bytes, size_t len, struct fault *reterr_fault)
{
	struct otlp_promote_conf conf = promote_conf(w);
	const struct otlp_promote_env env = {&mem_libc, take, w};
	w->inputs++;
	int r = otlp_promote_make(&env, bytes, len, &conf, &w->passed, reterr_fault);
	if (r < 0 && r != -ECANCELED)
		w->bad++;
	return r;
}

void work_log(struct work *w)
{
	struct sink_totals s;
	uint64_t n[SPAN_IDS_STATES];
	for (unsigned i = 0; i < SPAN_IDS_STATES; i++)
		n[i] = w->totals.samples[i] + w->passed.samples[i];
	sink_totals(w->sink, &s);
	log_info(NULL, 0,
		"inputs %" PRIu64 ", bad %" PRIu64 "; samples linked %" PRIu64
		", without an id %" PRIu64 ", with half an id %" PRIu64
		", with an invalid one %" PRIu64 "; exports %" PRIu64 " of %" PRIu64
		" bytes, accepted %" PRIu64 ", failed %" PRIu64 "; profiles rejected %" PRIu64,
		w->inputs, w->bad, n[SPAN_IDS_GOOD] + w->passed.linked_before, n[SPAN_IDS_NONE],
		n[SPAN_IDS_HALF], n[SPAN_IDS_INVALID], s.exports, s.bytes, s.accepted, s.failed,
		s.rejected);
	w->noted_inputs = w->inputs;
	w->noted_ns = clk_ns(&clk_system);
}

void work_log_minute(struct work *w)
{
	if (w->inputs != w->noted_inputs && clk_ns(&clk_system) - w->noted_ns >= NOTE_NS)
		work_log(w);
}
