/* Compiles .eh_frame (DWARF call frame information as LSB 5.0 10.6 has it) into rows that a signal
 * handler can use: where the frame address, the caller's pc and the caller's frame pointer are. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

enum ehframe_cfa {
	EHFRAME_NONE,	 /* no information from here on */
	EHFRAME_REG,	 /* reg + off */
	EHFRAME_DEREF,	 /* *(reg + off) + off2 */
	EHFRAME_INDEXED, /* *(reg + off + index * scale) + off2 */
	EHFRAME_PLT,	 /* sp + 8, + 8 more from byte 11 of a 16-byte slot on */
	EHFRAME_SIGNAL,	 /* a signal frame: all registers are in the ucontext at sp */
	EHFRAME_UNKNOWN, /* an expression of another form */
};
enum ehframe_saved {
	EHFRAME_SAME,	   /* still in its register */
	EHFRAME_AT,	   /* at frame address + offset */
	EHFRAME_AT_FP,	   /* at frame pointer + offset: of frames that align the stack anew */
	EHFRAME_UNDEFINED, /* of the return address: the outermost frame */
	EHFRAME_LOST,	   /* by an expression, or in another register */
};
/* One way to find the caller; many rows share it. */
struct ehframe_recipe {
	uint8_t cfa;	/* enum ehframe_cfa */
	uint8_t reg;	/* DWARF number */
	uint8_t fp, ra; /* enum ehframe_saved */
	uint8_t index, scale, zero[2];
	int32_t off, off2;
	int32_t fp_off, ra_off;
};
/* Rows sorted by pc; row i holds for pcs[i] <= pc - base < pcs[i + 1]. */
struct ehframe_table {
	const struct mem *mem;
	uintptr_t base; /* what the 32-bit offsets are relative to */
	uint32_t n, room;
	uint32_t *pcs;
	uint16_t *recipes; /* index into recipe */
	uint32_t n_recipes, recipes_room;
	struct ehframe_recipe *recipe;
	uint32_t *hash; /* of the recipes, while compiling */
	uint32_t hash_size;
	uint32_t fdes, bad_fdes;
};
/* What may be read: the mapped bytes of an object that hold .eh_frame_hdr and .eh_frame. */
struct ehframe_image {
	uintptr_t base;			/* load address */
	const uint8_t *lo, *hi;		/* readable */
	const uint8_t *hdr;		/* .eh_frame_hdr */
	uintptr_t text_lo, text_hi;	/* executable addresses; FDEs outside are refused */
	uint8_t reg_sp, reg_fp, reg_ra; /* DWARF numbers of the machine */
};
/* Adds all rows of the image to an empty table. FDEs that cannot be read are counted in bad_fdes
 * and left out. The caller frees with ehframe_done. -EBADMSG: the header is no header; -ENOMEM;
 * -EFBIG: more than 65,535 distinct recipes or an object over 4 GiB. */
MUST_CHECK int ehframe_compile(
	const struct mem *mem, const struct ehframe_image *img, struct ehframe_table *ret_table);
void ehframe_done(struct ehframe_table *t);
