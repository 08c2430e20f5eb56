/* What the unwinder must know of a machine: unwind-x86_64.c, unwind-aarch64.c. */
#pragma once
#include "profiling/ehframe.h"
#include "profiling/unwind.h"

extern const uint8_t unwind_reg_sp, unwind_reg_fp, unwind_reg_ra; /* DWARF numbers */
/* Is the return address in a register on entry to a function? */
extern const bool unwind_has_link_register;
/* Bytes below the stack pointer that the interrupted code may still use: epilogues restore from
 * there what rows say is saved there. */
extern const unsigned unwind_red_zone;
/* Is the register one that functions need not save? If its rows say nothing of it, it is unchanged.
 */
bool unwind_machine_is_scratch(unsigned reg);
/* DWARF register reg as it was when the thread was interrupted; false when it is not known. */
bool unwind_machine_reg(const void *ucontext, unsigned reg, uintptr_t *ret_value);
/* The registers saved in the signal frame at sp; false when it is not within the stack. */
bool unwind_machine_sigframe(
	uintptr_t sp, const struct unwind_stack *stack, struct unwind_regs *ret_regs);
/* A return address without a pointer signature. */
uintptr_t unwind_machine_strip(uintptr_t pc);
