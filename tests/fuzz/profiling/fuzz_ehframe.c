/* .eh_frame_hdr and, behind it, .eh_frame, as they lie in an object of 64 MiB of code around them.
 * Rows come out in order, each with a recipe of a form that the walk knows. */
#include "fuzz.h"
#include "profiling/ehframe.h"
#include <assert.h>
#include <errno.h>

#define AROUND (32 << 20)

static void check_recipe(const struct ehframe_recipe *r)
{
	assert(r->cfa <= EHFRAME_UNKNOWN && r->fp <= EHFRAME_LOST && r->ra <= EHFRAME_LOST);
	assert(r->reg < 32);
}

static void check_table(const struct ehframe_table *t)
{
	assert(t->n <= t->room && t->n_recipes <= t->recipes_room && t->bad_fdes <= t->fdes);
	for (uint32_t i = 0; i < t->n; i++) {
		assert(t->recipes[i] < t->n_recipes);
		assert(i == 0 || t->pcs[i - 1] <= t->pcs[i]);
		assert(t->pcs[i] <= 2u * AROUND);
	}
	for (uint32_t i = 0; i < t->n_recipes; i++)
		check_recipe(&t->recipe[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	struct ehframe_image img = {.base = (uintptr_t)p - AROUND,
		.lo = p,
		.hi = p + bytes,
		.hdr = p,
		.text_lo = (uintptr_t)p - AROUND,
		.text_hi = (uintptr_t)p + AROUND,
		.reg_sp = 7,
		.reg_fp = 6,
		.reg_ra = 16};
	struct ehframe_table t;
	int r = ehframe_compile(&mem_libc, &img, &t);
	assert(r == 0 || r == -EBADMSG || r == -EFBIG || r == -ENOMEM);
	if (r < 0)
		return 0;
	check_table(&t);
	ehframe_done(&t);
	return 0;
}
