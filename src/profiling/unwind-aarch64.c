#include "profiling/unwind_machine.h"
#include <stddef.h>
#include <ucontext.h>

/* DWARF for the Arm 64-bit Architecture, 4.1. */
const uint8_t unwind_reg_sp = 31, unwind_reg_fp = 29, unwind_reg_ra = 30;
const bool unwind_has_link_register = true;
const unsigned unwind_red_zone = 0;

bool unwind_machine_is_scratch(unsigned reg)
{
	return reg < 19;
}

void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret_regs)
{
	const ucontext_t *uc = ucontext;
	*ret_regs = (struct unwind_regs){
		.pc = uc->uc_mcontext.pc,
		.sp = uc->uc_mcontext.sp,
		.fp = uc->uc_mcontext.regs[29],
		.lr = uc->uc_mcontext.regs[30],
		.ucontext = ucontext,
	};
}

bool unwind_machine_reg(const void *ucontext, unsigned reg, uintptr_t *ret_value)
{
	const ucontext_t *uc = ucontext;
	if (!uc || reg > 31)
		return false;
	*ret_value = reg == 31 ? uc->uc_mcontext.sp : uc->uc_mcontext.regs[reg];
	return true;
}

/* The kernel's rt_sigframe: siginfo (128 bytes), then struct ucontext, at sp. */
bool unwind_machine_sigframe(
	uintptr_t sp, const struct unwind_stack *stack, struct unwind_regs *ret_regs)
{
	size_t need = 128 + offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t);
	if (sp < stack->lo || sp >= stack->hi || stack->hi - sp < need)
		return false;
	unwind_regs_from_ucontext((const void *)(sp + 128), ret_regs);
	return true;
}

/* User addresses have at most 48 bits; a pointer signature lives above them. */
uintptr_t unwind_machine_strip(uintptr_t pc)
{
	return pc & ((1ull << 48) - 1);
}
