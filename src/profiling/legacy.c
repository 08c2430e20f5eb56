#include "profiling/legacy.h"
#include "profiling/said.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* pprof takes the program counters of a text for return addresses. */
#define RETURN_ADDRESS(pc) ((unsigned long)(pc) + 1)

struct rows {
	enum profile_kind kind;
	struct stack *stacks;
	size_t n;
	int64_t totals[STACKS_VALUES];
};

/* What rows are sorted by: as in Go bytes in use, delay, count. */
static unsigned sort_value(enum profile_kind kind)
{
	switch (kind) {
	case PROFILE_HEAP:
	case PROFILE_ALLOCS:
		return 3;
	case PROFILE_MUTEX:
	case PROFILE_BLOCK:
	case PROFILE_OFFCPU:
		return 1;
	default:
		return 0;
	}
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct stack *x = a, *y = b;
	unsigned v = sort_value(*(const enum profile_kind *)arg);
	if (x->values[v] != y->values[v])
		return x->values[v] > y->values[v] ? -1 : 1;
	if (x->values[0] != y->values[0])
		return x->values[0] > y->values[0] ? -1 : 1;
	if (x->n != y->n)
		return (int)x->n - (int)y->n;
	return memcmp(x->pcs, y->pcs, x->n * sizeof(*x->pcs));
}

static void add_row(void *arg, const struct stack *s)
{
	struct rows *r = arg;
	int64_t all = 0;
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		all |= s->values[i];
	if (!all)
		return;
	r->stacks[r->n++] = *s;
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		r->totals[i] += s->values[i];
}

/* Every entry and, at the end, what was folded; sorted. */
static int gather_rows(const struct mem *mem, const struct profile_ask *ask, struct rows *r)
{
	static const uintptr_t folded_pc[] = {SAID_START + 16 * SAID_FOLDED};
	*r = (struct rows){.kind = ask->kind};
	r->stacks = mem_array(mem, stacks_count(ask->stacks) + 1u, sizeof(*r->stacks));
	if (!r->stacks)
		return -ENOMEM;
	stacks_each(ask->stacks, add_row, r);
	qsort_r(r->stacks, r->n, sizeof(*r->stacks), compare_rows, &r->kind);
	struct stack folded = *stacks_folded(ask->stacks);
	folded.pcs = folded_pc;
	folded.n = 1;
	folded.end = UNWIND_ENTRY;
	folded.label = &label_main;
	add_row(r, &folded);
	return 0;
}

void legacy_labels(struct text *out, const struct label *label)
{
	text_put(out, "{");
	for (unsigned i = 0; label && i < label->count; i++) {
		text_put(out, i ? ", " : "");
		text_json(out, label->pairs[i].key.s);
		text_put(out, ":");
		text_json(out, label->pairs[i].value.s);
	}
	text_put(out, "}");
}

void legacy_labels_line(struct text *out, const struct label *label)
{
	if (!label || !label->count)
		return;
	text_put(out, "# labels: ");
	legacy_labels(out, label);
	text_put(out, "\n");
}

/* A row without an address would be no row to pprof. */
static void write_pcs(struct text *out, const struct stack *s)
{
	for (unsigned i = 0; i < s->n; i++)
		text_printf(out, " 0x%lx", RETURN_ADDRESS(s->pcs[i]));
	if (s->n == 0 || s->end != UNWIND_ENTRY)
		text_printf(out, " 0x%lx", RETURN_ADDRESS(said_pc((enum said)s->end)));
	text_put(out, "\n");
}

static int write_frame(struct text *out, struct symbols *symbols, uintptr_t pc)
{
	struct symbol sym;
	if (said_is(pc)) {
		text_printf(out, "#\t0x%lx\t%s\n", (unsigned long)pc, said_text(pc));
		return 0;
	}
	if (symbols_find(symbols, pc, &sym) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < sym.n; i++) {
		const struct symbol_frame *f = &sym.frames[i];
		text_printf(out, "#\t0x%lx\t%s+0x%lx", (unsigned long)pc, f->name,
			(unsigned long)sym.offset);
		if (f->file[0])
			text_printf(out, "\t%s:%u", f->file, f->line);
		text_put(out, "\n");
	}
	if (sym.n == 0)
		text_printf(out, "#\t0x%lx\n", (unsigned long)pc);
	return 0;
}

static int write_frames(struct text *out, struct symbols *symbols, const struct stack *s)
{
	int r = 0;
	legacy_labels_line(out, s->label);
	for (unsigned i = 0; i < s->n && r == 0; i++)
		r = write_frame(out, symbols, s->pcs[i]);
	if ((s->n == 0 || s->end != UNWIND_ENTRY) && r == 0)
		r = write_frame(out, symbols, said_pc((enum said)s->end));
	text_put(out, "\n");
	return r;
}

static void write_head(struct text *out, const struct profile_ask *ask, const struct rows *r)
{
	switch (ask->kind) {
	case PROFILE_HEAP:
	case PROFILE_ALLOCS:
		text_printf(out, "heap profile: %lld: %lld [%lld: %lld] @ heap/2\n",
			(long long)r->totals[2], (long long)r->totals[3], (long long)r->totals[0],
			(long long)r->totals[1]);
		text_printf(out, "# values are estimates: one byte of each %lld was sampled\n",
			(long long)(ask->period ? ask->period : 524288));
		break;
	case PROFILE_MUTEX:
		text_put(out, "--- mutex:\ncycles/second=1000000000\nsampling period=1\n");
		break;
	case PROFILE_BLOCK:
	case PROFILE_OFFCPU:
		text_put(out, "--- contention:\ncycles/second=1000000000\n");
		break;
	default:
		text_printf(out, "%s profile: total %lld\n", profile_name(ask->kind),
			(long long)r->totals[0]);
	}
}

static void write_row(struct text *out, enum profile_kind kind, const struct stack *s)
{
	switch (kind) {
	case PROFILE_HEAP:
	case PROFILE_ALLOCS:
		text_printf(out, "%lld: %lld [%lld: %lld] @", (long long)s->values[2],
			(long long)s->values[3], (long long)s->values[0], (long long)s->values[1]);
		break;
	case PROFILE_MUTEX:
	case PROFILE_BLOCK:
	case PROFILE_OFFCPU:
		text_printf(out, "%lld %lld @", (long long)s->values[1], (long long)s->values[0]);
		break;
	default:
		text_printf(out, "%lld @", (long long)s->values[0]);
	}
	write_pcs(out, s);
}

/* Of Go's block what malloc(3) and the kernel can tell of this process. */
static void write_memory(struct text *out)
{
	struct mallinfo2 m = mallinfo2();
	struct rusage used = {0};
	(void)getrusage(RUSAGE_SELF, &used);
	text_put(out, "\n# runtime.MemStats\n");
	text_printf(out, "# Alloc = %zu\n", m.uordblks + m.hblkhd);
	text_printf(out, "# Sys = %zu\n", m.arena + m.hblkhd);
	text_printf(out, "# HeapAlloc = %zu\n", m.uordblks + m.hblkhd);
	text_printf(out, "# HeapSys = %zu\n", m.arena + m.hblkhd);
	text_printf(out, "# HeapIdle = %zu\n", m.fordblks);
	text_printf(out, "# HeapInuse = %zu\n", m.uordblks + m.hblkhd);
	text_printf(out, "# MaxRSS = %lld\n", (long long)used.ru_maxrss * 1024);
}

int legacy_encode(const struct mem *mem, struct symbols *symbols, const struct profile_ask *ask,
	struct text *out)
{
	struct rows rows;
	if (ask->kind == PROFILE_CPU)
		return -EINVAL;
	int r = gather_rows(mem, ask, &rows);
	if (r < 0)
		return r;
	write_head(out, ask, &rows);
	for (size_t i = 0; i < rows.n && r == 0; i++) {
		write_row(out, ask->kind, &rows.stacks[i]);
		r = write_frames(out, symbols, &rows.stacks[i]);
	}
	if (ask->kind == PROFILE_HEAP || ask->kind == PROFILE_ALLOCS)
		write_memory(out);
	if (ask->comment)
		text_printf(out, "# %s\n", ask->comment);
	mem_free(mem, rows.stacks);
	return r < 0 ? r : out->err;
}
