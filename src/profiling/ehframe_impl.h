/* Inside of the .eh_frame compiler, shared by ehframe*.c. */
#pragma once
#include "profiling/ehframe.h"
#include "wire/cursor.h"

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

#define EHFRAME_REMEMBERED 8

struct ehframe_cie {
	const uint8_t *code, *code_end; /* initial instructions */
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_enc;
	uint8_t ra_reg;
	bool has_aug, signal;
};
struct ehframe_state {
	struct ehframe_recipe r;
};
struct ehframe_machine { /* the call frame machine of DWARF 5 6.4 */
	const struct ehframe_image *img;
	const struct ehframe_cie *cie;
	struct ehframe_state now, initial, stack[EHFRAME_REMEMBERED];
	unsigned depth;
	uintptr_t pc;
};

/* ehframe_read.c: numbers as DWARF writes them (DWARF 5 7.6; LSB 5.0 10.5.1). data: what
 * PE_DATAREL is relative to. */
uint64_t ehframe_uleb(struct rd *r);
int64_t ehframe_sleb(struct rd *r);
uint64_t ehframe_le(struct rd *r, size_t bytes);
uintptr_t ehframe_encoded(struct rd *r, uint8_t enc, uintptr_t data);

/* ehframe_rows.c: from pc on the recipe holds. -ENOMEM, -EFBIG. */
MUST_CHECK int ehframe_add_row(
	struct ehframe_table *t, uintptr_t pc, const struct ehframe_recipe *r);

/* ehframe_cfi.c: runs instructions; rows go to t (NULL for the initial ones of a CIE). -EBADMSG for
 * what cannot be read, or the error of a row. */
MUST_CHECK int ehframe_run(
	struct ehframe_machine *m, struct rd r, struct ehframe_table *t, uintptr_t end);
