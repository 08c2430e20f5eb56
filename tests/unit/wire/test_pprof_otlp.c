#include "fake.h"
#include "wire/otlp_json.h"
#include "wire/otlp_promote.h"
#include "wire/pprof.h"
#include "wire/pprof_otlp.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define T "0af7651916cd43dd8448eb211c80319c"
#define S "b7ad6b7169203331"

static const char *const trace_names[] = {"trace_id"}, *const span_names[] = {"span_id"};
static const struct span_ids_names names = {trace_names, span_names, 1, 1};

struct taken {
	struct text all; /* of the first export */
	uint32_t exports, samples, profiles;
	size_t largest;
};
static int take(void *arg, struct text *body, uint32_t samples, uint32_t profiles)
{
	struct taken *t = arg;
	if (t->exports++ == 0)
		text_write(&t->all, body->s, body->len);
	t->samples += samples;
	t->profiles += profiles;
	t->largest = MAX(t->largest, body->len);
	return t->all.err;
}

/* n samples of distinct stacks, every other one with ids; two types, the second 0 for each third.
 */
static int make(const struct mem *mem, uint32_t n, struct text *to)
{
	AUTO(pprof) struct pprof *p = NULL;
	int r = pprof_new(mem, &p);
	if (r < 0)
		return r;
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	struct pprof_mapping m = {0x1000, 0x2000, 0, "/bin/x", "a/b/c/d"};
	uint32_t mapping = pprof_add_mapping(p, &m);
	for (uint32_t i = 0; i < n; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "function_%u", i);
		struct pprof_line line = {pprof_add_function(p, name, name, "x.c", 1), i};
		uint32_t at = pprof_add_location(p, mapping, 0x1000 + i, &line, 1);
		struct pprof_label labels[] = {{"trace_id", T, 0, NULL}, {"span_id", S, 0, NULL},
			{"bytes", NULL, 5, "bytes"}, {"bytes", "text", 0, NULL}};
		const int64_t values[] = {1, i % 3 ? i : 0};
		pprof_sample(p, &at, 1, values, i % 2 ? labels : labels + 2, i % 2 ? 4 : 2);
	}
	struct pprof_head head = {12, 34, "cpu", "nanoseconds", 10000000, "cpu"};
	const void *bytes;
	size_t len;
	r = pprof_finish(p, &head, &bytes, &len);
	if (r == 0)
		text_write(to, bytes, len);
	return r < 0 ? r : to->err;
}

static int convert(const struct mem *mem, const struct text *in, uint32_t max_samples,
	size_t max_bytes, struct taken *t, struct pprof_otlp_totals *totals, struct fault *fault)
{
	AUTO(pprof_read) struct pprof_read *r = NULL;
	int e = pprof_read_new(mem, in->s, in->len, &r, fault);
	if (e < 0)
		return e;
	struct pprof_otlp_conf conf = {.scope = "test",
		.version = "1",
		.names = names,
		.max_samples = max_samples,
		.max_bytes = max_bytes};
	struct pprof_otlp_env env = {mem, take, t};
	return pprof_otlp_make(&env, r, &conf, totals, fault);
}

START_TEST(exports_hold_all_within_their_bounds)
{
	struct fake f = fake_make();
	struct text in = TEXT(f.mem);
	ck_assert_int_eq(make(f.mem, 1000, &in), 0);
	const struct {
		uint32_t max_samples;
		size_t max_bytes;
	} bounds[] = {{15000, 2 << 20}, {100, 2 << 20}, {15000, 4096}, {2, 700}};
	for (unsigned i = 0; i < ARRAY_SIZE(bounds); i++) {
		struct taken t = {.all = TEXT(f.mem)};
		struct pprof_otlp_totals totals = {0};
		struct fault fault = {0};
		ck_assert_int_eq(convert(f.mem, &in, bounds[i].max_samples, bounds[i].max_bytes, &t,
					 &totals, &fault),
			0);
		ck_assert_uint_eq(t.samples, 1000 + 1000 - 334);
		ck_assert_uint_le(t.largest, bounds[i].max_bytes);
		ck_assert_uint_ge(t.exports * bounds[i].max_samples, t.samples);
		ck_assert_uint_eq(totals.samples[SPAN_IDS_GOOD], 500);
		ck_assert_uint_eq(totals.samples[SPAN_IDS_NONE], 500);
		text_done(&t.all);
	}
	text_done(&in);
	fake_done(&f);
}
END_TEST

START_TEST(a_sample_that_fits_nowhere_is_told)
{
	struct fake f = fake_make();
	struct text in = TEXT(f.mem);
	struct taken t = {.all = TEXT(f.mem)};
	struct pprof_otlp_totals totals = {0};
	struct fault fault = {0};
	ck_assert_int_eq(make(f.mem, 3, &in), 0);
	ck_assert_int_eq(convert(f.mem, &in, 100, 200, &t, &totals, &fault), -EFBIG);
	ck_assert_uint_eq(t.exports, 0);
	ck_assert_int_eq(strncmp(fault.field, "byte ", 5), 0);
	text_done(&t.all);
	text_done(&in);
	fake_done(&f);
}
END_TEST

static int promote(const struct mem *mem, const struct text *in, uint32_t max_samples,
	struct taken *t, struct otlp_promote_totals *totals, struct fault *fault)
{
	struct otlp_promote_conf conf = {
		.names = names, .resource = "", .max_samples = max_samples, .max_bytes = 2 << 20};
	struct otlp_promote_env env = {mem, take, t};
	return otlp_promote_make(&env, in->s, in->len, &conf, totals, fault);
}

/* An export of unlinked samples, passed through, tells the same links as one made linked. */
START_TEST(what_passes_is_linked_as_what_is_made)
{
	struct fake f = fake_make();
	struct text in = TEXT(f.mem);
	struct taken unlinked = {.all = TEXT(f.mem)}, passed = {.all = TEXT(f.mem)};
	struct pprof_otlp_totals totals = {0};
	struct otlp_promote_totals sums = {0};
	struct fault fault = {0};
	ck_assert_int_eq(make(f.mem, 100, &in), 0);
	AUTO(pprof_read) struct pprof_read *r = NULL;
	ck_assert_int_eq(pprof_read_new(f.mem, in.s, in.len, &r, &fault), 0);
	struct pprof_otlp_conf conf = {
		.scope = "test", .version = "1", .max_samples = 15000, .max_bytes = 2 << 20};
	struct pprof_otlp_env env = {f.mem, take, &unlinked};
	ck_assert_int_eq(pprof_otlp_make(&env, r, &conf, &totals, &fault), 0);
	ck_assert_uint_eq(totals.samples[SPAN_IDS_NONE], 100);
	ck_assert_int_eq(promote(f.mem, &unlinked.all, 15000, &passed, &sums, &fault), 0);
	ck_assert_uint_eq(passed.samples, unlinked.samples);
	ck_assert_uint_eq(passed.profiles, 2);
	ck_assert_uint_eq(
		sums.samples[SPAN_IDS_GOOD] + sums.samples[SPAN_IDS_NONE], passed.samples);
	ck_assert_uint_eq(sums.samples[SPAN_IDS_GOOD], 50 + 33);
	struct text json = TEXT(f.mem);
	ck_assert_int_eq(otlp_json_write(passed.all.s, passed.all.len, &json), 0);
	ck_assert_ptr_nonnull(strstr(json.s, "{\"traceId\":\"" T "\",\"spanId\":\"" S "\"}"));
	ck_assert_ptr_nonnull(strstr(json.s, "\"linkIndex\":1"));
	/* Passed again, all have their links already. */
	struct taken again = {.all = TEXT(f.mem)};
	sums = (struct otlp_promote_totals){0};
	ck_assert_int_eq(promote(f.mem, &passed.all, 30, &again, &sums, &fault), 0);
	ck_assert_uint_eq(sums.linked_before, 50 + 33);
	ck_assert_uint_eq(again.exports, (passed.samples + 29) / 30);
	ck_assert_uint_eq(again.samples, passed.samples);
	text_done(&again.all);
	text_done(&json);
	text_done(&in);
	text_done(&unlinked.all);
	text_done(&passed.all);
	r = pprof_read_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(every_cut_of_a_request_is_judged)
{
	struct fake f = fake_make();
	struct text in = TEXT(f.mem);
	struct taken made = {.all = TEXT(f.mem)};
	struct pprof_otlp_totals totals = {0};
	struct fault fault = {0};
	ck_assert_int_eq(make(f.mem, 4, &in), 0);
	ck_assert_int_eq(convert(f.mem, &in, 100, 1 << 20, &made, &totals, &fault), 0);
	for (size_t n = 1; n < made.all.len; n++) {
		struct text cut = TEXT(f.mem), json = TEXT(f.mem);
		struct taken t = {.all = TEXT(f.mem)};
		struct otlp_promote_totals sums = {0};
		text_write(&cut, made.all.s, n);
		int e = promote(f.mem, &cut, 100, &t, &sums, &fault);
		ck_assert(e == -EBADMSG && strncmp(fault.field, "byte ", 5) == 0);
		ck_assert_uint_eq(t.exports, 0);
		/* Between its two fields it is cut, and still a message. */
		e = otlp_json_write(cut.s, cut.len, &json);
		ck_assert(e == 0 || e == -EBADMSG);
		text_done(&cut);
		text_done(&json);
		text_done(&t.all);
	}
	text_done(&made.all);
	text_done(&in);
	fake_done(&f);
}
END_TEST

static int whole_way(struct fake *f, void *arg)
{
	const struct text *in = arg;
	struct taken made = {.all = TEXT(f->mem)}, passed = {.all = TEXT(f->mem)};
	struct text json = TEXT(f->mem);
	struct pprof_otlp_totals totals = {0};
	struct otlp_promote_totals sums = {0};
	struct fault fault = {0};
	int r = convert(f->mem, in, 3, 1 << 20, &made, &totals, &fault);
	if (r == 0)
		r = promote(f->mem, &made.all, 2, &passed, &sums, &fault);
	if (r == 0)
		r = otlp_json_write(passed.all.s, passed.all.len, &json);
	text_done(&made.all);
	text_done(&passed.all);
	text_done(&json);
	return r;
}

START_TEST(no_memory_leaves_nothing)
{
	struct fake f = fake_make();
	struct text in = TEXT(f.mem);
	ck_assert_int_eq(make(f.mem, 4, &in), 0);
	fake_fail_each(&f, whole_way, &in);
	text_done(&in);
	fake_done(&f);
}
END_TEST

START_TEST(ids_are_judged)
{
	static const struct {
		const char *trace, *span;
		enum span_ids_state want;
	} cases[] = {{T, S, SPAN_IDS_GOOD}, {T, NULL, SPAN_IDS_HALF}, {NULL, S, SPAN_IDS_HALF},
		{NULL, NULL, SPAN_IDS_NONE}, {T "0", S, SPAN_IDS_INVALID},
		{"00000000000000000000000000000000", S, SPAN_IDS_INVALID},
		{T, "0000000000000000", SPAN_IDS_INVALID},
		{T, "b7ad6b716920333x", SPAN_IDS_INVALID}, {"", S, SPAN_IDS_INVALID}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct span_ids ids = {0};
		uint8_t trace_id[16], span_id[8];
		if (cases[i].trace)
			ck_assert(span_ids_add(&ids, &names, "trace_id", 8, cases[i].trace,
				strlen(cases[i].trace)));
		if (cases[i].span)
			ck_assert(span_ids_add(
				&ids, &names, "span_id", 7, cases[i].span, strlen(cases[i].span)));
		ck_assert(!span_ids_add(&ids, &names, "span_ids", 8, "x", 1));
		ck_assert_int_eq(span_ids_state(&ids, trace_id, span_id), cases[i].want);
	}
	struct span_ids ids = {0};
	uint8_t trace_id[16], span_id[8];
	(void)span_ids_add(&ids, &names, "trace_id", 8, T, 32);
	(void)span_ids_add(&ids, &names, "span_id", 7, S, 16);
	(void)span_ids_add(&ids, &names, "span_id", 7, S, 16);
	ck_assert_int_eq(span_ids_state(&ids, trace_id, span_id), SPAN_IDS_GOOD);
	ck_assert(trace_id[0] == 0x0a && span_id[7] == 0x31);
	(void)span_ids_add(&ids, &names, "span_id", 7, "b7ad6b7169203332", 16);
	ck_assert_int_eq(span_ids_state(&ids, trace_id, span_id), SPAN_IDS_INVALID);
}
END_TEST

UNIT_MAIN(exports_hold_all_within_their_bounds, a_sample_that_fits_nowhere_is_told,
	what_passes_is_linked_as_what_is_made, every_cut_of_a_request_is_judged,
	no_memory_leaves_nothing, ids_are_judged)
