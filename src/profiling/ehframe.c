#include "profiling/ehframe_impl.h"
#include <errno.h>
#include <stdlib.h>

#define MAX_CFI_BYTES 65536

/* A cursor over the record at p, which starts with its length; *ret_id is the 4-byte id field. */
static struct rd open_record(const struct ehframe_image *img, const uint8_t *p,
	const uint8_t **ret_id_at, uint32_t *ret_id)
{
	struct rd all = {p, img->hi, 0};
	if (p < img->lo || p >= img->hi)
		rd_fail(&all);
	uint64_t len = ehframe_le(&all, 4);
	if (len == 0xffffffff || len == 0)
		rd_fail(&all); /* 64-bit records do not occur in .eh_frame of Linux */
	struct rd r = rd_sub(&all, len);
	*ret_id_at = r.p;
	*ret_id = (uint32_t)ehframe_le(&r, 4);
	return r;
}

static int read_cie(const struct ehframe_image *img, const uint8_t *p, struct ehframe_cie *ret_cie)
{
	const uint8_t *id_at;
	uint32_t id;
	struct rd r = open_record(img, p, &id_at, &id);
	if (r.err || id != 0)
		return -EBADMSG;
	struct ehframe_cie c = {.fde_enc = PE_ABSPTR};
	uint8_t version = rd_u8(&r);
	const uint8_t *aug = r.p;
	while (rd_u8(&r))
		;
	if (r.err || (version != 1 && version != 3))
		return -EBADMSG;
	c.code_align = ehframe_uleb(&r);
	c.data_align = ehframe_sleb(&r);
	uint64_t ra = version == 1 ? rd_u8(&r) : ehframe_uleb(&r);
	if (r.err || c.code_align == 0 || c.code_align > 64 || ra > 254)
		return -EBADMSG;
	if (c.data_align < -64 || c.data_align > 64)
		return -EBADMSG;
	c.ra_reg = (uint8_t)ra;
	if (*aug == 'z') {
		c.has_aug = true;
		uint64_t n = ehframe_uleb(&r);
		struct rd a = rd_sub(&r, n);
		for (const uint8_t *s = aug + 1; *s; s++) {
			uint8_t enc;
			if (*s == 'R') {
				c.fde_enc = rd_u8(&a);
			} else if (*s == 'L') {
				(void)rd_u8(&a);
			} else if (*s == 'P') {
				enc = rd_u8(&a);
				(void)ehframe_encoded(&a, enc & 0x0f, 0);
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
	struct ehframe_cie cie;
	if (read_cie(img, id_at - id, &cie) < 0)
		return -EBADMSG;
	uintptr_t start = ehframe_encoded(&r, cie.fde_enc, 0);
	uintptr_t bytes = ehframe_encoded(&r, cie.fde_enc & 0x0f, 0);
	if (cie.has_aug) {
		uint64_t n = ehframe_uleb(&r);
		(void)rd_sub(&r, n);
	}
	if (r.err || start < img->text_lo || start >= img->text_hi || bytes > img->text_hi - start)
		return -EBADMSG;
	if (rd_left(&r) > MAX_CFI_BYTES || cie.code_end - cie.code > MAX_CFI_BYTES)
		return -EBADMSG;
	struct ehframe_machine m = {.img = img, .cie = &cie, .pc = start};
	m.now.r.ra = EHFRAME_SAME;
	int e = ehframe_run(&m, rd_make(cie.code, (size_t)(cie.code_end - cie.code)), NULL, start);
	if (e < 0)
		return e;
	if (cie.signal)
		m.now.r.cfa = EHFRAME_SIGNAL;
	m.initial = m.now;
	uint32_t rows_before = t->n;
	e = ehframe_run(&m, r, t, start + bytes);
	if (e < 0) {
		if (e == -EBADMSG)
			t->n = rows_before;
		return e;
	}
	e = ehframe_add_row(t, m.pc, &m.now.r);
	if (e < 0)
		return e;
	return ehframe_add_row(t, start + bytes, &(struct ehframe_recipe){.cfa = EHFRAME_NONE});
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
	(void)ehframe_encoded(&r, ptr_enc, data);
	uint64_t n = ehframe_encoded(&r, count_enc, data);
	if (r.err || version != 1 || table_enc != (PE_DATAREL | PE_SDATA4) || n > rd_left(&r) / 8)
		return -EBADMSG;
	struct order *order = mem_array(mem, n ? n : 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		order[i].pc = ehframe_encoded(&r, table_enc, data);
		order[i].fde = (const uint8_t *)ehframe_encoded(&r, table_enc, data);
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
