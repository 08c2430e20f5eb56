#include "profiling/profile.h"
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
	const struct profile_ask *ask;
	struct symbols *symbols;
	struct pprof *p;
	uint32_t samples;
	struct stack rest; /* what goes over the limits */
	int err;
};

const char *profile_name(enum profile_kind kind)
{
	return kinds[kind].name;
}

static uint32_t mapping_id(struct encoding *e, uint32_t index)
{
	const struct symbol_mapping *m = symbols_mapping(e->symbols, index);
	struct pprof_mapping out = {.start = m->start,
		.limit = m->limit,
		.file_offset = m->offset,
		.filename = m->file,
		.build_id = m->build_id};
	return pprof_add_mapping(e->p, &out);
}

static uint32_t said_location(struct encoding *e, uintptr_t pc)
{
	struct pprof_mapping m = {
		.start = SAID_START, .limit = SAID_LIMIT, .filename = "[nl6]", .build_id = ""};
	const char *text = said_text(pc);
	struct pprof_line line = {pprof_add_function(e->p, text, text, "", 0), 0};
	return pprof_add_location(e->p, pprof_add_mapping(e->p, &m), pc, &line, 1);
}

/* Names what has no symbol by its offset in the file, which stays the same wherever the file is
 * loaded: a server that keeps the profiles of many runs would else gather new names with each. */
static void name_place(
	struct encoding *e, uintptr_t pc, uint32_t mapping, char *ret_text, size_t bytes)
{
	if (mapping == UINT32_MAX) {
		(void)snprintf(ret_text, bytes, "?!0x%lx", (unsigned long)pc);
		return;
	}
	const struct symbol_mapping *m = symbols_mapping(e->symbols, mapping);
	const char *slash = strrchr(m->file, '/');
	(void)snprintf(ret_text, bytes, "%s!0x%lx", slash ? slash + 1 : m->file,
		(unsigned long)(pc - m->start + m->offset));
}

static uint32_t code_location(struct encoding *e, uintptr_t pc)
{
	uint32_t id;
	if (pprof_find_location(e->p, pc, &id))
		return id;
	if (said_is(pc))
		return said_location(e, pc);
	struct symbol sym;
	if (symbols_find(e->symbols, pc, &sym) < 0) {
		e->err = -ENOMEM;
		return 1;
	}
	struct pprof_line lines[16];
	uint32_t n = MIN(sym.n, (uint32_t)ARRAY_SIZE(lines));
	for (uint32_t i = 0; i < n; i++) {
		const struct symbol_frame *f = &sym.frames[i];
		lines[i] = (struct pprof_line){
			pprof_add_function(e->p, f->name, f->system_name, f->file, 0), f->line};
	}
	if (n == 0) { /* receivers drop what has no name, and look again for what has none */
		char text[280];
		name_place(e, pc, sym.mapping, text, sizeof(text));
		lines[n++] = (struct pprof_line){pprof_add_function(e->p, text, text, "", 0), 0};
	}
	struct pprof_mapping none = {
		.start = pc, .limit = pc + 1, .filename = "[unmapped]", .build_id = ""};
	uint32_t mapping = sym.mapping == UINT32_MAX ? pprof_add_mapping(e->p, &none)
						     : mapping_id(e, sym.mapping);
	return pprof_add_location(e->p, mapping, pc, lines, n);
}

static bool worth_writing(const struct encoding *e, const struct stack *s)
{
	bool any = false;
	for (unsigned i = 0; i < e->kind->n; i++) {
		if (s->values[i] < 0)
			return false;
		any = any || s->values[i] > 0;
	}
	return any;
}

static const char *hex(const uint8_t *id, unsigned bytes, char *buf)
{
	for (unsigned i = 0; i < bytes; i++)
		(void)snprintf(buf + 2 * i, 3, "%02x", id[i]);
	return buf;
}

static void write_sample(
	struct encoding *e, const struct stack *s, const uint32_t *locations, uint32_t n)
{
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

static void add_stack(void *arg, const struct stack *s)
{
	struct encoding *e = arg;
	uint32_t locations[UNWIND_DEPTH + 1], n = 0;
	if (!worth_writing(e, s))
		return;
	if (e->samples + 1 >= PROFILE_MAX_SAMPLES ||
		pprof_bytes(e->p) > PROFILE_MAX_BYTES / 8 * 7) {
		for (unsigned i = 0; i < STACKS_VALUES; i++)
			e->rest.values[i] += s->values[i];
		return;
	}
	for (unsigned i = 0; i < s->n && i < UNWIND_DEPTH; i++)
		locations[n++] = code_location(e, s->pcs[i]);
	if (s->end != UNWIND_ENTRY)
		locations[n++] = code_location(e, said_pc((enum said)s->end));
	write_sample(e, s, locations, n);
}

struct own {
	struct encoding *e;
	uint64_t start, limit;
	bool used;
};

static void see_own(void *arg, const struct stack *s)
{
	struct own *o = arg;
	for (unsigned i = 0; i < s->n && !o->used && worth_writing(o->e, s); i++)
		o->used = s->pcs[i] >= o->start && s->pcs[i] < o->limit;
}

/* Readers name the profile by its first mapping: the program's own, if any sample is in it. */
static int put_own_first(struct encoding *e)
{
	struct symbol sym;
	if (symbols_find(e->symbols, (uintptr_t)&profile_encode, &sym) < 0)
		return -ENOMEM;
	if (sym.mapping == UINT32_MAX)
		return 0;
	const struct symbol_mapping *m = symbols_mapping(e->symbols, sym.mapping);
	struct own o = {e, m->start, m->limit, false};
	stacks_each(e->ask->stacks, see_own, &o);
	if (o.used)
		(void)mapping_id(e, sym.mapping);
	return 0;
}

int profile_encode(const struct mem *mem, struct symbols *symbols, const struct profile_ask *ask,
	struct text *out)
{
	const struct kind *k = &kinds[ask->kind];
	AUTO(pprof) struct pprof *p = NULL;
	int r = pprof_new(mem, &p);
	if (r < 0)
		return r;
	struct encoding e = {.kind = k,
		.ask = ask,
		.symbols = symbols,
		.p = p,
		.rest = *stacks_folded(ask->stacks)};
	for (unsigned i = 0; i < k->n; i++)
		pprof_sample_type(p, k->values[i].type, k->values[i].unit);
	r = put_own_first(&e);
	if (r < 0)
		return r;
	stacks_each(ask->stacks, add_stack, &e);
	if (worth_writing(&e, &e.rest)) {
		uint32_t location = code_location(&e, said_pc(SAID_FOLDED));
		e.rest.label = &label_main;
		e.rest.span = NULL;
		write_sample(&e, &e.rest, &location, 1);
	}
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
	r = pprof_finish(p, &head, &bytes, &len);
	if (r == 0 && e.err < 0)
		r = e.err;
	return r < 0 ? r : gzip_write(out, bytes, len);
}
