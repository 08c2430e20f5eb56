#include "profiling/ehframe.h"
#include "wire/cursor.h"
#include <errno.h>
#include <stdlib.h>

/* DWARF exception header encodings, LSB 5.0 10.5.1. */
#define PE_OMIT 0xff
#define PE_ABSPTR 0x00
#define PE_ULEB 0x01
#define PE_UDATA2 0x02
#define PE_UDATA4 0x03
#define PE_UDATA8 0x04
#define PE_SLEB 0x09
#define PE_SDATA2 0x0a
#define PE_SDATA4 0x0b
#define PE_SDATA8 0x0c
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_INDIRECT 0x80

#define MAX_REMEMBERED 8
#define MAX_CFI_BYTES 65536

struct cie {
	const uint8_t *code, *code_end; /* initial instructions */
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_enc;
	uint8_t ra_reg;
	bool has_aug, signal;
};
struct state {
	struct ehframe_recipe r;
};
struct machine { /* the call frame machine of DWARF 5 6.4 */
	const struct ehframe_image *img;
	const struct cie *cie;
	struct state now, initial, stack[MAX_REMEMBERED];
	unsigned depth;
	uintptr_t pc;
};

static uint64_t read_uleb(struct rd *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = rd_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || r->err)
			return v;
	}
}

static int64_t read_sleb(struct rd *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;
	do {
		b = rd_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !r->err);
	if (shift < 64 && (b & 0x40))
		v |= ~0ull << shift;
	return (int64_t)v;
}

static uint64_t read_le(struct rd *r, size_t bytes)
{
	const uint8_t *p = rd_bytes(r, bytes);
	uint64_t v = 0;
	if (p)
		for (size_t i = 0; i < bytes; i++)
			v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* Reads a pointer of the encoding; data is the base of a datarel one. */
static uintptr_t read_encoded(struct rd *r, uint8_t enc, uintptr_t data)
{
	uintptr_t at = (uintptr_t)r->p, v;
	if (enc == PE_OMIT)
		return 0;
	switch (enc & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = read_le(r, 8);
		break;
	case PE_UDATA4:
		v = read_le(r, 4);
		break;
	case PE_SDATA4:
		v = (uintptr_t)(int64_t)(int32_t)read_le(r, 4);
		break;
	case PE_UDATA2:
		v = read_le(r, 2);
		break;
	case PE_SDATA2:
		v = (uintptr_t)(int64_t)(int16_t)read_le(r, 2);
		break;
	case PE_ULEB:
		v = read_uleb(r);
		break;
	case PE_SLEB:
		v = (uintptr_t)read_sleb(r);
		break;
	default:
		rd_fail(r);
		return 0;
	}
	if (enc & PE_INDIRECT)
		rd_fail(r); /* only personality routines use it, and those are skipped */
	switch (enc & 0x70) {
	case 0:
		return v;
	case PE_PCREL:
		return v + at;
	case PE_DATAREL:
		return v + data;
	default:
		rd_fail(r);
		return 0;
	}
}

static uint32_t recipe_hash(const struct ehframe_recipe *r)
{
	uint32_t h = 2166136261u;
	const uint8_t *b = (const uint8_t *)r;
	for (size_t i = 0; i < sizeof(*r); i++)
		h = (h ^ b[i]) * 16777619u;
	return h;
}

static int grow_hash(struct ehframe_table *t)
{
	uint32_t size = t->hash_size ? t->hash_size * 2 : 256;
	uint32_t *hash = mem_array(t->mem, size, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_recipes; i++) {
		uint32_t at = recipe_hash(&t->recipe[i]) & (size - 1);
		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i + 1;
	}
	mem_free(t->mem, t->hash);
	t->hash = hash;
	t->hash_size = size;
	return 0;
}

static int intern(struct ehframe_table *t, const struct ehframe_recipe *r, uint16_t *ret_index)
{
	if (t->n_recipes * 2 >= t->hash_size && grow_hash(t) < 0)
		return -ENOMEM;
	uint32_t at = recipe_hash(r) & (t->hash_size - 1);
	for (; t->hash[at]; at = (at + 1) & (t->hash_size - 1)) {
		uint32_t i = t->hash[at] - 1;
		if (memcmp(&t->recipe[i], r, sizeof(*r)) == 0) {
			*ret_index = (uint16_t)i;
			return 0;
		}
	}
	if (t->n_recipes == UINT16_MAX)
		return -EFBIG;
	if (t->n_recipes == t->recipes_room) {
		uint32_t room = t->recipes_room ? t->recipes_room * 2 : 64;
		void *p = mem_resize(t->mem, t->recipe, room, sizeof(*t->recipe));
		if (!p)
			return -ENOMEM;
		t->recipe = p;
		t->recipes_room = room;
	}
	t->recipe[t->n_recipes] = *r;
	t->hash[at] = ++t->n_recipes;
	*ret_index = (uint16_t)(t->n_recipes - 1);
	return 0;
}

static int add_row(struct ehframe_table *t, uintptr_t pc, const struct ehframe_recipe *r)
{
	uintptr_t off = pc - t->base;
	uint16_t index;
	if (off > UINT32_MAX)
		return -EFBIG;
	int e = intern(t, r, &index);
	if (e < 0)
		return e;
	if (t->n && t->pcs[t->n - 1] == (uint32_t)off) {
		t->recipes[t->n - 1] = index;
		return 0;
	}
	if (t->n && t->recipes[t->n - 1] == index && t->pcs[t->n - 1] < (uint32_t)off &&
		r->cfa != EHFRAME_NONE)
		return 0;
	if (t->n == t->room) {
		uint32_t room = t->room ? t->room * 2 : 1024;
		uint32_t *pcs = mem_resize(t->mem, t->pcs, room, sizeof(*pcs));
		if (!pcs)
			return -ENOMEM;
		t->pcs = pcs;
		uint16_t *recipes = mem_resize(t->mem, t->recipes, room, sizeof(*recipes));
		if (!recipes)
			return -ENOMEM;
		t->recipes = recipes;
		t->room = room;
	}
	t->pcs[t->n] = (uint32_t)off;
	t->recipes[t->n++] = index;
	return 0;
}

/* breg N, lit K, mul, plus, deref, plus_uconst M behind the first breg: OpenSSL's AVX2 code. */
static void set_cfa_indexed(struct ehframe_recipe *r, unsigned reg, int64_t off, struct rd *e)
{
	unsigned index = rd_u8(e) - 0x70u;
	int64_t index_off = read_sleb(e);
	unsigned scale = rd_u8(e) - 0x30u;
	if (rd_u8(e) != 0x1e || rd_u8(e) != 0x22 || rd_u8(e) != 0x06 || rd_u8(e) != 0x23)
		return;
	uint64_t off2 = read_uleb(e);
	if (e->err || rd_left(e) || index > 31 || scale > 31 || index_off != 0 ||
		off != (int32_t)off || off2 > INT32_MAX)
		return;
	r->cfa = EHFRAME_INDEXED;
	r->reg = (uint8_t)reg;
	r->index = (uint8_t)index;
	r->scale = (uint8_t)scale;
	r->off = (int32_t)off;
	r->off2 = (int32_t)off2;
}

/* Frame address expressions that occur: breg N (deref) (plus_uconst M | constant plus), the indexed
 * one above, and the one that every PLT carries. Anything else is unknown. */
static void set_cfa_expression(struct machine *m, struct rd e)
{
	static const uint8_t plt[] = {
		0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct ehframe_recipe *r = &m->now.r;
	r->off = r->off2 = 0;
	r->cfa = EHFRAME_UNKNOWN;
	r->reg = r->index = r->scale = 0;
	if (m->cie->signal) {
		r->cfa = EHFRAME_SIGNAL;
		return;
	}
	if (rd_left(&e) == sizeof(plt) && memcmp(e.p, plt, sizeof(plt)) == 0) {
		r->cfa = EHFRAME_PLT;
		return;
	}
	uint8_t op = rd_u8(&e);
	if (op < 0x70 || op > 0x8f) /* DW_OP_breg0..31 */
		return;
	int64_t off = read_sleb(&e), off2 = 0;
	bool deref = false;
	if (rd_left(&e) && *e.p >= 0x70 && *e.p <= 0x8f) {
		set_cfa_indexed(r, op - 0x70u, off, &e);
		return;
	}
	if (rd_left(&e) && *e.p == 0x06) { /* DW_OP_deref */
		deref = true;
		(void)rd_u8(&e);
	}
	if (rd_left(&e) && *e.p == 0x23) { /* DW_OP_plus_uconst */
		(void)rd_u8(&e);
		off2 = (int64_t)read_uleb(&e);
	}
	if (e.err || rd_left(&e) || off != (int32_t)off || off2 != (int32_t)off2 ||
		off + off2 != (int32_t)(off + off2))
		return;
	r->reg = (uint8_t)(op - 0x70);
	r->cfa = deref ? EHFRAME_DEREF : EHFRAME_REG;
	r->off = (int32_t)(deref ? off : off + off2);
	r->off2 = (int32_t)(deref ? off2 : 0);
}

/* A factored offset; INT64_MAX, which no row can hold, when it is beyond all bounds. */
static int64_t scaled(const struct machine *m, int64_t factored)
{
	int64_t v;
	return __builtin_mul_overflow(factored, m->cie->data_align, &v) ? INT64_MAX : v;
}

static void set_saved(struct machine *m, uint64_t reg, enum ehframe_saved how, int64_t off)
{
	if (off != (int32_t)off) {
		off = 0;
		how = EHFRAME_LOST;
	}
	if (reg == m->img->reg_fp) {
		m->now.r.fp = (uint8_t)how;
		m->now.r.fp_off = (int32_t)off;
	} else if (reg == m->cie->ra_reg) {
		m->now.r.ra = (uint8_t)how;
		m->now.r.ra_off = (int32_t)off;
	}
}

static void restore_saved(struct machine *m, uint64_t reg)
{
	if (reg == m->img->reg_fp) {
		m->now.r.fp = m->initial.r.fp;
		m->now.r.fp_off = m->initial.r.fp_off;
	} else if (reg == m->cie->ra_reg) {
		m->now.r.ra = m->initial.r.ra;
		m->now.r.ra_off = m->initial.r.ra_off;
	}
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	struct ehframe_recipe *r = &m->now.r;
	r->cfa = reg < 32 && off == (int32_t)off ? EHFRAME_REG : EHFRAME_UNKNOWN;
	r->reg = reg < 32 ? (uint8_t)reg : 0;
	r->off = (int32_t)off;
	r->off2 = 0;
	r->index = r->scale = 0;
}

/* A register saved at an address by an expression: that of the frame pointer occurs, as breg N. */
static void set_saved_expression(struct machine *m, uint64_t reg, struct rd e)
{
	uint8_t op = rd_u8(&e);
	int64_t off = read_sleb(&e);
	bool is_fp = reg == m->img->reg_fp && op == 0x70 + m->img->reg_fp; /* DW_OP_breg0.. */
	set_saved(m, reg, is_fp && !e.err && !rd_left(&e) ? EHFRAME_AT_FP : EHFRAME_LOST, off);
}

/* The instructions with operands of their own; -EBADMSG for an unknown one. */
static int run_extended(struct machine *m, struct rd *r, uint8_t op)
{
	uint64_t reg, n;
	switch (op) {
	case 0x05: /* offset_extended */
		reg = read_uleb(r);
		set_saved(m, reg, EHFRAME_AT, scaled(m, (int64_t)read_uleb(r)));
		return 0;
	case 0x06: /* restore_extended */
		restore_saved(m, read_uleb(r));
		return 0;
	case 0x07: /* undefined */
		set_saved(m, read_uleb(r), EHFRAME_UNDEFINED, 0);
		return 0;
	case 0x08: /* same_value */
		set_saved(m, read_uleb(r), EHFRAME_SAME, 0);
		return 0;
	case 0x09: /* register */
		reg = read_uleb(r);
		(void)read_uleb(r);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x0a: /* remember_state */
		if (m->depth == MAX_REMEMBERED)
			return -EBADMSG;
		m->stack[m->depth++] = m->now;
		return 0;
	case 0x0b: /* restore_state */
		if (m->depth == 0)
			return -EBADMSG;
		m->now = m->stack[--m->depth];
		return 0;
	case 0x0c: /* def_cfa */
		reg = read_uleb(r);
		set_cfa(m, reg, (int64_t)read_uleb(r));
		return 0;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, read_uleb(r), m->now.r.off);
		return 0;
	case 0x0e: /* def_cfa_offset */
		set_cfa(m, m->now.r.reg, (int64_t)read_uleb(r));
		return 0;
	case 0x0f: /* def_cfa_expression */
		n = read_uleb(r);
		set_cfa_expression(m, rd_sub(r, n));
		return 0;
	case 0x10: /* expression */
		reg = read_uleb(r);
		n = read_uleb(r);
		set_saved_expression(m, reg, rd_sub(r, n));
		return 0;
	case 0x16: /* val_expression */
		reg = read_uleb(r);
		n = read_uleb(r);
		(void)rd_sub(r, n);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x11: /* offset_extended_sf */
		reg = read_uleb(r);
		set_saved(m, reg, EHFRAME_AT, scaled(m, read_sleb(r)));
		return 0;
	case 0x12: /* def_cfa_sf */
		reg = read_uleb(r);
		set_cfa(m, reg, scaled(m, read_sleb(r)));
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(m, m->now.r.reg, scaled(m, read_sleb(r)));
		return 0;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		reg = read_uleb(r);
		(void)read_uleb(r);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x2d: /* AArch64: negate_ra_state; the signature is stripped by the walker */
		return 0;
	case 0x2e: /* GNU_args_size */
		(void)read_uleb(r);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Runs instructions; rows go to t (NULL for the initial ones of a CIE). */
static int run_cfi(struct machine *m, struct rd r, struct ehframe_table *t, uintptr_t end)
{
	while (rd_left(&r)) {
		uint8_t op = rd_u8(&r);
		uint64_t advance = 0;
		int e = 0;
		switch (op >> 6) {
		case 1:
			advance = op & 0x3f;
			break;
		case 2:
			set_saved(m, op & 0x3f, EHFRAME_AT, scaled(m, (int64_t)read_uleb(&r)));
			break;
		case 3:
			restore_saved(m, op & 0x3f);
			break;
		default:
			if (op == 0x00)
				break;
			if (op == 0x01) { /* set_loc */
				uintptr_t pc = read_encoded(&r, m->cie->fde_enc, 0);
				if (r.err || pc < m->pc)
					return -EBADMSG;
				advance = (pc - m->pc) / m->cie->code_align;
			} else if (op >= 0x02 && op <= 0x04) {
				advance = read_le(&r, (size_t)1 << (op - 2));
			} else {
				e = run_extended(m, &r, op);
			}
		}
		if (e < 0 || r.err)
			return -EBADMSG;
		if (!advance)
			continue;
		if (!t)
			return -EBADMSG;
		e = add_row(t, m->pc, &m->now.r);
		if (e < 0)
			return e;
		if (advance > (end - m->pc) / m->cie->code_align)
			return -EBADMSG;
		m->pc += advance * m->cie->code_align;
	}
	return r.err ? -EBADMSG : 0;
}

/* A cursor over the record at p, which starts with its length; *ret_id is the 4-byte id field. */
static struct rd open_record(const struct ehframe_image *img, const uint8_t *p,
	const uint8_t **ret_id_at, uint32_t *ret_id)
{
	struct rd all = {p, img->hi, 0};
	if (p < img->lo || p >= img->hi)
		rd_fail(&all);
	uint64_t len = read_le(&all, 4);
	if (len == 0xffffffff || len == 0)
		rd_fail(&all); /* 64-bit records do not occur in .eh_frame of Linux */
	struct rd r = rd_sub(&all, len);
	*ret_id_at = r.p;
	*ret_id = (uint32_t)read_le(&r, 4);
	return r;
}

static int read_cie(const struct ehframe_image *img, const uint8_t *p, struct cie *ret_cie)
{
	const uint8_t *id_at;
	uint32_t id;
	struct rd r = open_record(img, p, &id_at, &id);
	if (r.err || id != 0)
		return -EBADMSG;
	struct cie c = {.fde_enc = PE_ABSPTR};
	uint8_t version = rd_u8(&r);
	const uint8_t *aug = r.p;
	while (rd_u8(&r))
		;
	if (r.err || (version != 1 && version != 3))
		return -EBADMSG;
	c.code_align = read_uleb(&r);
	c.data_align = read_sleb(&r);
	uint64_t ra = version == 1 ? rd_u8(&r) : read_uleb(&r);
	if (r.err || c.code_align == 0 || c.code_align > 64 || ra > 254)
		return -EBADMSG;
	if (c.data_align < -64 || c.data_align > 64)
		return -EBADMSG;
	c.ra_reg = (uint8_t)ra;
	if (*aug == 'z') {
		c.has_aug = true;
		uint64_t n = read_uleb(&r);
		struct rd a = rd_sub(&r, n);
		for (const uint8_t *s = aug + 1; *s; s++) {
			uint8_t enc;
			if (*s == 'R') {
				c.fde_enc = rd_u8(&a);
			} else if (*s == 'L') {
				(void)rd_u8(&a);
			} else if (*s == 'P') {
				enc = rd_u8(&a);
				(void)read_encoded(&a, enc & 0x0f, 0);
			} else if (*s == 'S') {
				c.signal = true;
			} else if (*s != 'B') {
				return -EBADMSG;
			}
		}
		if (a.err)
			return -EBADMSG;
	} else if (*aug) {
		return -EBADMSG;
	}
	if (r.err)
		return -EBADMSG;
	c.code = r.p;
	c.code_end = r.end;
	*ret_cie = c;
	return 0;
}

static int compile_fde(const struct ehframe_image *img, const uint8_t *p, struct ehframe_table *t)
{
	const uint8_t *id_at;
	uint32_t id;
	struct rd r = open_record(img, p, &id_at, &id);
	if (r.err || id == 0 || id > (size_t)(id_at - img->lo))
		return -EBADMSG;
	struct cie cie;
	if (read_cie(img, id_at - id, &cie) < 0)
		return -EBADMSG;
	uintptr_t start = read_encoded(&r, cie.fde_enc, 0);
	uintptr_t bytes = read_encoded(&r, cie.fde_enc & 0x0f, 0);
	if (cie.has_aug) {
		uint64_t n = read_uleb(&r);
		(void)rd_sub(&r, n);
	}
	if (r.err || start < img->text_lo || start >= img->text_hi || bytes > img->text_hi - start)
		return -EBADMSG;
	if (rd_left(&r) > MAX_CFI_BYTES || cie.code_end - cie.code > MAX_CFI_BYTES)
		return -EBADMSG;
	struct machine m = {.img = img, .cie = &cie, .pc = start};
	m.now.r.ra = EHFRAME_SAME;
	int e = run_cfi(&m, rd_make(cie.code, (size_t)(cie.code_end - cie.code)), NULL, start);
	if (e < 0)
		return e;
	if (cie.signal)
		m.now.r.cfa = EHFRAME_SIGNAL;
	m.initial = m.now;
	uint32_t rows_before = t->n;
	e = run_cfi(&m, r, t, start + bytes);
	if (e < 0) {
		if (e == -EBADMSG)
			t->n = rows_before;
		return e;
	}
	e = add_row(t, m.pc, &m.now.r);
	if (e < 0)
		return e;
	return add_row(t, start + bytes, &(struct ehframe_recipe){.cfa = EHFRAME_NONE});
}

struct order {
	uintptr_t pc;
	const uint8_t *fde;
};

static int order_cmp(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Reads the header's search table: the FDEs in order of address. */
static int read_header(const struct mem *mem, const struct ehframe_image *img,
	struct order **ret_order, uint32_t *ret_n)
{
	struct rd r = {img->hdr, img->hi, 0};
	if (img->hdr < img->lo || img->hdr >= img->hi)
		return -EBADMSG;
	uintptr_t data = (uintptr_t)img->hdr;
	uint8_t version = rd_u8(&r), ptr_enc = rd_u8(&r), count_enc = rd_u8(&r),
		table_enc = rd_u8(&r);
	(void)read_encoded(&r, ptr_enc, data);
	uint64_t n = read_encoded(&r, count_enc, data);
	if (r.err || version != 1 || table_enc != (PE_DATAREL | PE_SDATA4) || n > rd_left(&r) / 8)
		return -EBADMSG;
	struct order *order = mem_array(mem, n ? n : 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		order[i].pc = read_encoded(&r, table_enc, data);
		order[i].fde = (const uint8_t *)read_encoded(&r, table_enc, data);
	}
	qsort(order, n, sizeof(*order), order_cmp);
	*ret_order = order;
	*ret_n = (uint32_t)n;
	return 0;
}

int ehframe_compile(
	const struct mem *mem, const struct ehframe_image *img, struct ehframe_table *ret_table)
{
	struct order *order;
	uint32_t n;
	int e = read_header(mem, img, &order, &n);
	if (e < 0)
		return e;
	struct ehframe_table t = {.mem = mem, .base = img->base};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before = t.n;
		e = compile_fde(img, order[i].fde, &t);
		if (e == -ENOMEM || e == -EFBIG)
			break;
		/* An FDE that starts before the end of the one before it would break the order. */
		if (e == 0 && before && t.n > before && t.pcs[before] < t.pcs[before - 1]) {
			t.n = before;
			e = -EBADMSG;
		}
		t.fdes++;
		t.bad_fdes += e < 0;
		e = 0;
	}
	mem_free(mem, order);
	t.hash = mem_free(mem, t.hash);
	if (e < 0) {
		ehframe_done(&t);
		return e;
	}
	*ret_table = t;
	return 0;
}

void ehframe_done(struct ehframe_table *t)
{
	mem_free(t->mem, t->pcs);
	mem_free(t->mem, t->recipes);
	mem_free(t->mem, t->recipe);
	mem_free(t->mem, t->hash);
	*t = (struct ehframe_table){.mem = t->mem};
}
