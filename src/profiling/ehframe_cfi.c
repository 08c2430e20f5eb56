#include "profiling/ehframe_impl.h"
#include <errno.h>

/* breg N, lit K, mul, plus, deref, plus_uconst M behind the first breg: OpenSSL's AVX2 code. */
static void set_cfa_indexed(struct ehframe_recipe *r, unsigned reg, int64_t off, struct rd *e)
{
	unsigned index = rd_u8(e) - 0x70u;
	int64_t index_off = ehframe_sleb(e);
	unsigned scale = rd_u8(e) - 0x30u;
	if (rd_u8(e) != 0x1e || rd_u8(e) != 0x22 || rd_u8(e) != 0x06 || rd_u8(e) != 0x23)
		return;
	uint64_t off2 = ehframe_uleb(e);
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
static void set_cfa_expression(struct ehframe_machine *m, struct rd e)
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
	int64_t off = ehframe_sleb(&e), off2 = 0;
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
		off2 = (int64_t)ehframe_uleb(&e);
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
static int64_t scaled(const struct ehframe_machine *m, int64_t factored)
{
	int64_t v;
	return __builtin_mul_overflow(factored, m->cie->data_align, &v) ? INT64_MAX : v;
}

static void set_saved(struct ehframe_machine *m, uint64_t reg, enum ehframe_saved how, int64_t off)
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

static void restore_saved(struct ehframe_machine *m, uint64_t reg)
{
	if (reg == m->img->reg_fp) {
		m->now.r.fp = m->initial.r.fp;
		m->now.r.fp_off = m->initial.r.fp_off;
	} else if (reg == m->cie->ra_reg) {
		m->now.r.ra = m->initial.r.ra;
		m->now.r.ra_off = m->initial.r.ra_off;
	}
}

static void set_cfa(struct ehframe_machine *m, uint64_t reg, int64_t off)
{
	struct ehframe_recipe *r = &m->now.r;
	r->cfa = reg < 32 && off == (int32_t)off ? EHFRAME_REG : EHFRAME_UNKNOWN;
	r->reg = reg < 32 ? (uint8_t)reg : 0;
	r->off = (int32_t)off;
	r->off2 = 0;
	r->index = r->scale = 0;
}

/* A register saved at an address by an expression: that of the frame pointer occurs, as breg N. */
static void set_saved_expression(struct ehframe_machine *m, uint64_t reg, struct rd e)
{
	uint8_t op = rd_u8(&e);
	int64_t off = ehframe_sleb(&e);
	bool is_fp = reg == m->img->reg_fp && op == 0x70 + m->img->reg_fp; /* DW_OP_breg0.. */
	set_saved(m, reg, is_fp && !e.err && !rd_left(&e) ? EHFRAME_AT_FP : EHFRAME_LOST, off);
}

/* The instructions with operands of their own; -EBADMSG for an unknown one. */
static int run_extended(struct ehframe_machine *m, struct rd *r, uint8_t op)
{
	uint64_t reg, n;
	switch (op) {
	case 0x05: /* offset_extended */
		reg = ehframe_uleb(r);
		set_saved(m, reg, EHFRAME_AT, scaled(m, (int64_t)ehframe_uleb(r)));
		return 0;
	case 0x06: /* restore_extended */
		restore_saved(m, ehframe_uleb(r));
		return 0;
	case 0x07: /* undefined */
		set_saved(m, ehframe_uleb(r), EHFRAME_UNDEFINED, 0);
		return 0;
	case 0x08: /* same_value */
		set_saved(m, ehframe_uleb(r), EHFRAME_SAME, 0);
		return 0;
	case 0x09: /* register */
		reg = ehframe_uleb(r);
		(void)ehframe_uleb(r);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x0a: /* remember_state */
		if (m->depth == EHFRAME_REMEMBERED)
			return -EBADMSG;
		m->stack[m->depth++] = m->now;
		return 0;
	case 0x0b: /* restore_state */
		if (m->depth == 0)
			return -EBADMSG;
		m->now = m->stack[--m->depth];
		return 0;
	case 0x0c: /* def_cfa */
		reg = ehframe_uleb(r);
		set_cfa(m, reg, (int64_t)ehframe_uleb(r));
		return 0;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, ehframe_uleb(r), m->now.r.off);
		return 0;
	case 0x0e: /* def_cfa_offset */
		set_cfa(m, m->now.r.reg, (int64_t)ehframe_uleb(r));
		return 0;
	case 0x0f: /* def_cfa_expression */
		n = ehframe_uleb(r);
		set_cfa_expression(m, rd_sub(r, n));
		return 0;
	case 0x10: /* expression */
		reg = ehframe_uleb(r);
		n = ehframe_uleb(r);
		set_saved_expression(m, reg, rd_sub(r, n));
		return 0;
	case 0x16: /* val_expression */
		reg = ehframe_uleb(r);
		n = ehframe_uleb(r);
		(void)rd_sub(r, n);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x11: /* offset_extended_sf */
		reg = ehframe_uleb(r);
		set_saved(m, reg, EHFRAME_AT, scaled(m, ehframe_sleb(r)));
		return 0;
	case 0x12: /* def_cfa_sf */
		reg = ehframe_uleb(r);
		set_cfa(m, reg, scaled(m, ehframe_sleb(r)));
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(m, m->now.r.reg, scaled(m, ehframe_sleb(r)));
		return 0;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		reg = ehframe_uleb(r);
		(void)ehframe_uleb(r);
		set_saved(m, reg, EHFRAME_LOST, 0);
		return 0;
	case 0x2d: /* AArch64: negate_ra_state; the signature is stripped by the walker */
		return 0;
	case 0x2e: /* GNU_args_size */
		(void)ehframe_uleb(r);
		return 0;
	default:
		return -EBADMSG;
	}
}

int ehframe_run(struct ehframe_machine *m, struct rd r, struct ehframe_table *t, uintptr_t end)
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
			set_saved(m, op & 0x3f, EHFRAME_AT, scaled(m, (int64_t)ehframe_uleb(&r)));
			break;
		case 3:
			restore_saved(m, op & 0x3f);
			break;
		default:
			if (op == 0x00)
				break;
			if (op == 0x01) { /* set_loc */
				uintptr_t pc = ehframe_encoded(&r, m->cie->fde_enc, 0);
				if (r.err || pc < m->pc)
					return -EBADMSG;
				advance = (pc - m->pc) / m->cie->code_align;
			} else if (op >= 0x02 && op <= 0x04) {
				advance = ehframe_le(&r, (size_t)1 << (op - 2));
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
		e = ehframe_add_row(t, m->pc, &m->now.r);
		if (e < 0)
			return e;
		if (advance > (end - m->pc) / m->cie->code_align)
			return -EBADMSG;
		m->pc += advance * m->cie->code_align;
	}
	return r.err ? -EBADMSG : 0;
}
