#include "profiling/profile.h"
#include "profiling/profile_walk.h"
#include "profiling/said.h"
#include "wire/gzip.h"
#include "wire/pprof.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct value_type {
	const char *type, *unit;
};
struct kind {
	const char *name;
	unsigned n;
	struct value_type values[STACKS_VALUES], period;
	int64_t period_default;
	const char *default_type;
};
static const struct kind kinds[PROFILE_KINDS] = {
	[PROFILE_CPU] = {"profile", 2, {{"samples", "count"}, {"cpu", "nanoseconds"}},
		{"cpu", "nanoseconds"}, 10000000, NULL},
	[PROFILE_HEAP] = {"heap", 4,
		{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"},
			{"inuse_space", "bytes"}},
		{"space", "bytes"}, 524288, NULL},
	[PROFILE_ALLOCS] = {"allocs", 4,
		{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"},
			{"inuse_space", "bytes"}},
		{"space", "bytes"}, 524288, "alloc_space"},
	[PROFILE_GOROUTINE] = {"goroutine", 1, {{"goroutine", "count"}}, {"goroutine", "count"}, 1,
		NULL},
	[PROFILE_THREADCREATE] = {"threadcreate", 1, {{"threadcreate", "count"}},
		{"threadcreate", "count"}, 1, NULL},
	[PROFILE_MUTEX] = {"mutex", 2, {{"contentions", "count"}, {"delay", "nanoseconds"}},
		{"contentions", "count"}, 1, NULL},
	[PROFILE_BLOCK] = {"block", 2, {{"contentions", "count"}, {"delay", "nanoseconds"}},
		{"contentions", "count"}, 1, NULL},
	[PROFILE_OFFCPU] = {"offcpu", 2, {{"contentions", "count"}, {"delay", "nanoseconds"}},
		{"contentions", "count"}, 1, NULL},
};

struct encoding {
	const struct kind *kind;
	struct pprof *p;
	uint32_t samples;
};

const char *profile_name(enum profile_kind kind)
{
	return kinds[kind].name;
}

static const char *hex(const uint8_t *id, unsigned bytes, char *buf)
{
	for (unsigned i = 0; i < bytes; i++)
		(void)snprintf(buf + 2 * i, 3, "%02x", id[i]);
	return buf;
}

static void write_sample(void *arg, const uint32_t *locations, uint32_t n, const struct stack *s)
{
	struct encoding *e = arg;
	struct pprof_label labels[ARRAY_SIZE(s->label->pairs) + 4];
	char trace[33], span[17];
	uint32_t k = 0;
	for (size_t i = 0; s->label && i < s->label->count; i++)
		labels[k++] = (struct pprof_label){
			.key = s->label->pairs[i].key.s, .str = s->label->pairs[i].value.s};
	if (s->number)
		labels[k++] = (struct pprof_label){.key = "bytes", .num = (int64_t)s->number};
	if (s->span) {
		labels[k++] = (struct pprof_label){
			.key = "trace_id", .str = hex(s->span->trace_id, 16, trace)};
		labels[k++] = (struct pprof_label){
			.key = "span_id", .str = hex(s->span->span_id, 8, span)};
		labels[k++] = (struct pprof_label){.key = "span_name", .str = s->span->name};
	}
	pprof_sample(e->p, locations, n, s->values, labels, k);
	e->samples++;
}

static bool has_room(void *arg)
{
	struct encoding *e = arg;
	return e->samples + 1 < PROFILE_MAX_SAMPLES &&
	       pprof_bytes(e->p) <= PROFILE_MAX_BYTES / 8 * 7;
}

static uint32_t add_mapping(void *arg, const struct pprof_mapping *m)
{
	return pprof_add_mapping(((struct encoding *)arg)->p, m);
}

static uint32_t add_function(void *arg, const char *name, const char *system_name, const char *file)
{
	return pprof_add_function(((struct encoding *)arg)->p, name, system_name, file, 0);
}

static bool find_location(void *arg, uint64_t address, uint32_t *ret_id)
{
	return pprof_find_location(((struct encoding *)arg)->p, address, ret_id);
}

static uint32_t add_location(void *arg, uint32_t mapping, uint64_t address,
	const struct pprof_line *lines, uint32_t n_lines)
{
	return pprof_add_location(((struct encoding *)arg)->p, mapping, address, lines, n_lines);
}

int profile_encode(const struct mem *mem, struct symbols *symbols, const struct profile_ask *ask,
	struct text *out)
{
	const struct kind *k = &kinds[ask->kind];
	AUTO(pprof) struct pprof *p = NULL;
	int r = pprof_new(mem, &p);
	if (r < 0)
		return r;
	struct encoding e = {.kind = k, .p = p};
	for (unsigned i = 0; i < k->n; i++)
		pprof_sample_type(p, k->values[i].type, k->values[i].unit);
	struct profile_out to = {
		has_room, add_mapping, add_function, find_location, add_location, write_sample, &e};
	r = profile_walk(symbols, ask->stacks, k->n, &to);
	if (ask->comment)
		pprof_comment(p, ask->comment);
	const void *bytes;
	size_t len;
	struct pprof_head head = {.time_ns = ask->time_ns,
		.duration_ns = ask->duration_ns,
		.period_type = k->period.type,
		.period_unit = k->period.unit,
		.period = ask->period ? ask->period : k->period_default,
		.default_type = k->default_type};
	if (r == 0)
		r = pprof_finish(p, &head, &bytes, &len);
	return r < 0 ? r : gzip_write(out, bytes, len);
}
