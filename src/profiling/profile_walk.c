#include "profiling/profile_walk.h"
#include "profiling/said.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct walk {
	struct symbols *symbols;
	const struct stacks *stacks;
	const struct profile_out *out;
	unsigned n_values;
	struct stack rest; /* what finds no room */
	int err;
};

static uint32_t mapping_id(struct walk *w, uint32_t index)
{
	const struct symbol_mapping *m = symbols_mapping(w->symbols, index);
	struct pprof_mapping out = {.start = m->start,
		.limit = m->limit,
		.file_offset = m->offset,
		.filename = m->file,
		.build_id = m->build_id};
	return w->out->mapping(w->out->arg, &out);
}

static uint32_t said_location(struct walk *w, uintptr_t pc)
{
	struct pprof_mapping m = {
		.start = SAID_START, .limit = SAID_LIMIT, .filename = "[nl6]", .build_id = ""};
	const char *text = said_text(pc);
	struct pprof_line line = {w->out->function(w->out->arg, text, text, ""), 0};
	return w->out->location(w->out->arg, w->out->mapping(w->out->arg, &m), pc, &line, 1);
}

/* Names what has no symbol by its offset in the file, which stays the same wherever the file is
 * loaded: a server that keeps the profiles of many runs would else gather new names with each. */
static void name_place(struct walk *w, uintptr_t pc, uint32_t mapping, char *ret_text, size_t bytes)
{
	if (mapping == UINT32_MAX) {
		(void)snprintf(ret_text, bytes, "?!0x%lx", (unsigned long)pc);
		return;
	}
	const struct symbol_mapping *m = symbols_mapping(w->symbols, mapping);
	const char *slash = strrchr(m->file, '/');
	(void)snprintf(ret_text, bytes, "%s!0x%lx", slash ? slash + 1 : m->file,
		(unsigned long)(pc - m->start + m->offset));
}

static uint32_t code_location(struct walk *w, uintptr_t pc)
{
	uint32_t id;
	if (w->out->find_location(w->out->arg, pc, &id))
		return id;
	if (said_is(pc))
		return said_location(w, pc);
	struct symbol sym;
	if (symbols_find(w->symbols, pc, &sym) < 0) {
		w->err = -ENOMEM;
		return 1;
	}
	struct pprof_line lines[16];
	uint32_t n = MIN(sym.n, (uint32_t)ARRAY_SIZE(lines));
	for (uint32_t i = 0; i < n; i++) {
		const struct symbol_frame *f = &sym.frames[i];
		lines[i] = (struct pprof_line){
			w->out->function(w->out->arg, f->name, f->system_name, f->file), f->line};
	}
	if (n == 0) { /* receivers drop what has no name, and look again for what has none */
		char text[280];
		name_place(w, pc, sym.mapping, text, sizeof(text));
		lines[n++] = (struct pprof_line){w->out->function(w->out->arg, text, text, ""), 0};
	}
	struct pprof_mapping none = {
		.start = pc, .limit = pc + 1, .filename = "[unmapped]", .build_id = ""};
	uint32_t mapping = sym.mapping == UINT32_MAX ? w->out->mapping(w->out->arg, &none)
						     : mapping_id(w, sym.mapping);
	return w->out->location(w->out->arg, mapping, pc, lines, n);
}

static bool is_worth(const struct walk *w, const struct stack *s)
{
	bool any = false;
	for (unsigned i = 0; i < w->n_values; i++) {
		if (s->values[i] < 0)
			return false;
		any = any || s->values[i] > 0;
	}
	return any;
}

static void add_stack(void *arg, const struct stack *s)
{
	struct walk *w = arg;
	uint32_t locations[UNWIND_DEPTH + 1], n = 0;
	if (!is_worth(w, s))
		return;
	if (!w->out->has_room(w->out->arg)) {
		for (unsigned i = 0; i < STACKS_VALUES; i++)
			w->rest.values[i] += s->values[i];
		return;
	}
	for (unsigned i = 0; i < s->n && i < UNWIND_DEPTH; i++)
		locations[n++] = code_location(w, s->pcs[i]);
	if (s->end != UNWIND_ENTRY)
		locations[n++] = code_location(w, said_pc((enum said)s->end));
	w->out->sample(w->out->arg, locations, n, s);
}

struct own {
	struct walk *w;
	uint64_t start, limit;
	bool used;
};

static void see_own(void *arg, const struct stack *s)
{
	struct own *o = arg;
	for (unsigned i = 0; i < s->n && !o->used && is_worth(o->w, s); i++)
		o->used = s->pcs[i] >= o->start && s->pcs[i] < o->limit;
}

/* Readers name the profile by its first mapping: the program's own, if any sample is in it. */
static int put_own_first(struct walk *w)
{
	struct symbol sym;
	if (symbols_find(w->symbols, (uintptr_t)&profile_walk, &sym) < 0)
		return -ENOMEM;
	if (sym.mapping == UINT32_MAX)
		return 0;
	const struct symbol_mapping *m = symbols_mapping(w->symbols, sym.mapping);
	struct own o = {w, m->start, m->limit, false};
	stacks_each(w->stacks, see_own, &o);
	if (o.used)
		(void)mapping_id(w, sym.mapping);
	return 0;
}

int profile_walk(struct symbols *symbols, const struct stacks *stacks, unsigned n_values,
	const struct profile_out *out)
{
	struct walk w = {.symbols = symbols,
		.stacks = stacks,
		.out = out,
		.n_values = n_values,
		.rest = *stacks_folded(stacks)};
	int r = put_own_first(&w);
	if (r < 0)
		return r;
	stacks_each(stacks, add_stack, &w);
	if (is_worth(&w, &w.rest)) {
		uint32_t location = code_location(&w, said_pc(SAID_FOLDED));
		w.rest.label = &label_main;
		w.rest.span = NULL;
		out->sample(out->arg, &location, 1, &w.rest);
	}
	return w.err;
}
