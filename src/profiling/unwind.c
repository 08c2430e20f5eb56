#include "profiling/unwind.h"
#include "profiling/ehframe.h"
#include "profiling/unwind_machine.h"
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 1024

/* An object that is loaded: its code and its rows. */
struct object {
	uintptr_t text_lo, text_hi;
	struct ehframe_table table; /* n 0: has no unwind information */
};
struct unwind_tables {
	const struct mem *mem;
	uint64_t adds, subs; /* of the loader when compiled */
	uint32_t n, room;
	struct object *objects; /* sorted by text_lo */
};
struct compile {
	struct unwind_tables *t;
	int err;
};

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const text[UNWIND_ENDS] = {
		"entry", "depth", "no unwind table", "bad stack", "bad pc", "unknown expression"};
	return end < UNWIND_ENDS ? text[end] : "?";
}

static int add_object(struct unwind_tables *t, const struct dl_phdr_info *info)
{
	struct object o = {.text_lo = UINTPTR_MAX};
	const ElfW(Phdr) *hdr = NULL;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			o.text_lo = MIN(o.text_lo, info->dlpi_addr + p->p_vaddr);
			o.text_hi = MAX(o.text_hi, info->dlpi_addr + p->p_vaddr + p->p_memsz);
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			hdr = p;
		}
	}
	if (o.text_lo >= o.text_hi)
		return 0;
	o.table.mem = t->mem;
	for (unsigned i = 0; hdr && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || hdr->p_vaddr < p->p_vaddr ||
			hdr->p_vaddr >= p->p_vaddr + p->p_filesz)
			continue;
		struct ehframe_image img = {
			.base = info->dlpi_addr + p->p_vaddr < o.text_lo
					? info->dlpi_addr + p->p_vaddr
					: o.text_lo,
			.lo = (const uint8_t *)(info->dlpi_addr + p->p_vaddr),
			.hi = (const uint8_t *)(info->dlpi_addr + p->p_vaddr + p->p_filesz),
			.hdr = (const uint8_t *)(info->dlpi_addr + hdr->p_vaddr),
			.text_lo = o.text_lo,
			.text_hi = o.text_hi,
			.reg_sp = unwind_reg_sp,
			.reg_fp = unwind_reg_fp,
			.reg_ra = unwind_reg_ra,
		};
		int r = ehframe_compile(t->mem, &img, &o.table);
		if (r == -ENOMEM)
			return r;
		break;
	}
	if (t->n == t->room) {
		uint32_t room = t->room ? t->room * 2 : 32;
		void *p = room <= MAX_OBJECTS ? mem_resize(t->mem, t->objects, room, sizeof(o))
					      : NULL;
		if (!p) {
			ehframe_done(&o.table);
			return -ENOMEM;
		}
		t->objects = p;
		t->room = room;
	}
	t->objects[t->n++] = o;
	return 0;
}

static int visit_object(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	struct compile *c = arg;
	c->t->adds = info->dlpi_adds;
	c->t->subs = info->dlpi_subs;
	c->err = add_object(c->t, info);
	return c->err < 0;
}

static int object_cmp(const void *a, const void *b)
{
	const struct object *x = a, *y = b;
	return (x->text_lo > y->text_lo) - (x->text_lo < y->text_lo);
}

int unwind_compile(const struct mem *mem, struct unwind_tables **ret_tables)
{
	struct unwind_tables *t = mem_zalloc(mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->mem = mem;
	struct compile c = {.t = t};
	(void)dl_iterate_phdr(visit_object, &c);
	if (c.err < 0) {
		unwind_tables_free(t);
		return c.err;
	}
	qsort(t->objects, t->n, sizeof(*t->objects), object_cmp);
	*ret_tables = t;
	return 0;
}

struct unwind_tables *unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; i < t->n; i++)
		ehframe_done(&t->objects[i].table);
	mem_free(t->mem, t->objects);
	return mem_free(t->mem, t);
}

void unwind_tables_info(const struct unwind_tables *t, struct unwind_info *ret_info)
{
	struct unwind_info info = {.objects = t->n, .method = "eh_frame"};
	info.bytes = sizeof(*t) + t->room * sizeof(*t->objects);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct ehframe_table *e = &t->objects[i].table;
		info.rows += e->n;
		info.recipes += e->n_recipes;
		info.fdes += e->fdes;
		info.bad_fdes += e->bad_fdes;
		info.bytes += e->room * (sizeof(*e->pcs) + sizeof(*e->recipes)) +
			      e->recipes_room * sizeof(*e->recipe);
	}
	*ret_info = info;
}

static int visit_counts(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	uint64_t *counts = arg;
	counts[0] = info->dlpi_adds;
	counts[1] = info->dlpi_subs;
	return 1;
}

bool unwind_is_stale(const struct unwind_tables *t)
{
	uint64_t counts[2] = {0};
	(void)dl_iterate_phdr(visit_counts, counts);
	return counts[0] != t->adds || counts[1] != t->subs;
}

static const struct object *find_object(const struct unwind_tables *t, uintptr_t pc)
{
	if (!t || t->n == 0 || pc < t->objects[0].text_lo)
		return NULL;
	uint32_t lo = 0, n = t->n;
	while (n > 1) {
		uint32_t half = n / 2;
		if (t->objects[lo + half].text_lo <= pc)
			lo += half;
		n -= half;
	}
	return pc < t->objects[lo].text_hi ? &t->objects[lo] : NULL;
}

/* The recipe for an address, NULL when there is none. */
static const struct ehframe_recipe *find_recipe(const struct ehframe_table *t, uintptr_t pc)
{
	uintptr_t off = pc - t->base;
	if (t->n == 0 || pc < t->base || off > UINT32_MAX || (uint32_t)off < t->pcs[0])
		return NULL;
	uint32_t lo = 0, n = t->n;
	while (n > 1) {
		uint32_t half = n / 2;
		if (t->pcs[lo + half] <= (uint32_t)off)
			lo += half;
		n -= half;
	}
	const struct ehframe_recipe *r = &t->recipe[t->recipes[lo]];
	return r->cfa == EHFRAME_NONE ? NULL : r;
}

static bool load(const struct unwind_stack *stack, uintptr_t at, uintptr_t *ret_value)
{
	if (at % sizeof(uintptr_t) || at < stack->lo || at > stack->hi - sizeof(uintptr_t))
		return false;
	*ret_value = *(const uintptr_t *)at;
	return true;
}

/* One step is either done (the registers are the caller's), or the end. */
#define STEP_ON ((int)UNWIND_ENDS)

/* Saved fp, return address: the convention of -fno-omit-frame-pointer. */
static int step_fp(const struct unwind_stack *stack, struct unwind_regs *r)
{
	uintptr_t fp, pc;
	if (r->fp == 0)
		return UNWIND_ENTRY;
	if (r->fp < r->sp || !load(stack, r->fp, &fp) || !load(stack, r->fp + sizeof(fp), &pc))
		return UNWIND_NO_TABLE;
	*r = (struct unwind_regs){
		.pc = unwind_machine_strip(pc), .sp = r->fp + 2 * sizeof(fp), .fp = fp};
	return STEP_ON;
}

/* Code without rows, interrupted: a leaf that has pushed nothing has its return address on top. */
static int step_bare(
	const struct unwind_tables *t, const struct unwind_stack *stack, struct unwind_regs *r)
{
	uintptr_t pc;
	if (unwind_has_link_register && r->lr && find_object(t, r->lr - 1)) {
		*r = (struct unwind_regs){
			.pc = unwind_machine_strip(r->lr), .sp = r->sp, .fp = r->fp};
		return STEP_ON;
	}
	if (!unwind_has_link_register && load(stack, r->sp, &pc) && find_object(t, pc - 1)) {
		*r = (struct unwind_regs){.pc = pc, .sp = r->sp + sizeof(pc), .fp = r->fp};
		return STEP_ON;
	}
	return step_fp(stack, r);
}

/* A register of the frame. All are known where the thread was interrupted (exact); further out
 * those that no function saves, as they were, for code that holds its frame in one across its own
 * calls.
 */
static bool frame_reg(const struct unwind_regs *r, unsigned reg, bool exact, uintptr_t *ret_value)
{
	if (reg == unwind_reg_sp)
		*ret_value = r->sp;
	else if (reg == unwind_reg_fp)
		*ret_value = r->fp;
	else
		return (exact || unwind_machine_is_scratch(reg)) &&
		       unwind_machine_reg(r->ucontext, reg, ret_value);
	return true;
}

static bool frame_address(const struct ehframe_recipe *how, const struct unwind_stack *stack,
	const struct unwind_regs *r, bool exact, uintptr_t *ret_cfa)
{
	uintptr_t base, index = 0;
	if (how->cfa == EHFRAME_PLT) {
		*ret_cfa = r->sp + 8 + ((r->pc & 15) >= 11 ? 8 : 0);
		return true;
	}
	if (!frame_reg(r, how->reg, exact, &base))
		return false;
	if (how->cfa == EHFRAME_INDEXED && !frame_reg(r, how->index, exact, &index))
		return false;
	base += (uintptr_t)(intptr_t)how->off + index * how->scale;
	if (how->cfa != EHFRAME_REG) {
		if (!load(stack, base, &base))
			return false;
		base += (uintptr_t)(intptr_t)how->off2;
	}
	*ret_cfa = base;
	return true;
}

/* In fp's place: not known. No load from it succeeds, and it is not 0, which ends a chain. */
#define FP_LOST 1

static int step_recipe(const struct ehframe_recipe *how, const struct unwind_stack *stack,
	bool exact, struct unwind_regs *r)
{
	if (how->cfa == EHFRAME_SIGNAL)
		return unwind_machine_sigframe(r->sp, stack, r) ? STEP_ON : UNWIND_BAD_STACK;
	if (how->ra == EHFRAME_UNDEFINED)
		return UNWIND_ENTRY;
	if (how->cfa == EHFRAME_UNKNOWN || how->ra == EHFRAME_LOST)
		return UNWIND_EXPRESSION;
	struct unwind_regs up = {.ucontext = r->ucontext};
	if (!frame_address(how, stack, r, exact, &up.sp))
		return UNWIND_EXPRESSION;
	if (up.sp < r->sp || up.sp > stack->hi)
		return UNWIND_BAD_STACK;
	if (how->ra == EHFRAME_SAME) {
		if (!r->lr || up.sp < r->sp)
			return UNWIND_BAD_STACK;
		up.pc = r->lr;
	} else if (!load(stack, up.sp + (uintptr_t)(intptr_t)how->ra_off, &up.pc)) {
		return UNWIND_BAD_STACK;
	}
	up.fp = r->fp;
	if (how->fp == EHFRAME_AT && !load(stack, up.sp + (uintptr_t)(intptr_t)how->fp_off, &up.fp))
		return UNWIND_BAD_STACK;
	if (how->fp == EHFRAME_AT_FP &&
		!load(stack, r->fp + (uintptr_t)(intptr_t)how->fp_off, &up.fp))
		return UNWIND_BAD_STACK;
	if (how->fp == EHFRAME_LOST || how->fp == EHFRAME_UNDEFINED)
		up.fp = FP_LOST;
	up.pc = unwind_machine_strip(up.pc);
	*r = up;
	return STEP_ON;
}

unsigned unwind_walk(const struct unwind_tables *t, const struct unwind_regs *regs,
	const struct unwind_stack *stack, uintptr_t *pcs, unsigned room, enum unwind_end *ret_end)
{
	struct unwind_regs r = *regs;
	bool exact = true; /* pc is an instruction, not a return address */
	unsigned n = 0;
	for (;;) {
		uintptr_t at = exact ? r.pc : r.pc - 1;
		if (n == room) {
			*ret_end = UNWIND_DEEP;
			return n;
		}
		const struct object *o = find_object(t, at);
		if (t && !o && n > 0) {
			*ret_end = r.pc == 0 ? UNWIND_ENTRY : UNWIND_BAD_PC;
			return n;
		}
		pcs[n++] = at;
		const struct ehframe_recipe *how = o ? find_recipe(&o->table, at) : NULL;
		uintptr_t sp = r.sp;
		bool signal = how && how->cfa == EHFRAME_SIGNAL;
		int end = how	  ? step_recipe(how, stack, exact, &r)
			  : exact ? step_bare(t, stack, &r)
				  : step_fp(stack, &r);
		if (end == STEP_ON && !signal && r.sp <= sp && (n > 1 || r.sp < sp))
			end = UNWIND_BAD_STACK;
		if (end != STEP_ON) {
			*ret_end = (enum unwind_end)end;
			return n;
		}
		exact = signal;
	}
}
