#include "profiling/unwind_machine.h"
#include <stddef.h>
#include <ucontext.h>

/* System V ABI, AMD64 supplement, figure 3.36. */
const uint8_t unwind_reg_sp = 7, unwind_reg_fp = 6, unwind_reg_ra = 16;
const bool unwind_has_link_register = false;
const unsigned unwind_red_zone = 128;

/* rax, rdx, rcx, rsi, rdi, r8 to r11. */
bool unwind_machine_is_scratch(unsigned reg)
{
	return reg < 16 && (1u << reg & 0x0f37u);
}

void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret_regs)
{
	const ucontext_t *uc = ucontext;
	*ret_regs = (struct unwind_regs){
		.pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
		.sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP],
		.fp = (uintptr_t)uc->uc_mcontext.gregs[REG_RBP],
		.ucontext = ucontext,
	};
}

bool unwind_machine_reg(const void *ucontext, unsigned reg, uintptr_t *ret_value)
{
	static const uint8_t greg[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		REG_R15};
	const ucontext_t *uc = ucontext;
	if (!uc || reg >= ARRAY_SIZE(greg))
		return false;
	*ret_value = (uintptr_t)uc->uc_mcontext.gregs[greg[reg]];
	return true;
}

/* The kernel pushes the restorer's address, then struct ucontext: after the return into the
 * restorer sp points to the ucontext (arch/x86 rt_sigframe). */
bool unwind_machine_sigframe(
	uintptr_t sp, const struct unwind_stack *stack, struct unwind_regs *ret_regs)
{
	size_t need = offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t);
	if (sp < stack->lo || sp >= stack->hi || stack->hi - sp < need)
		return false;
	unwind_regs_from_ucontext((const void *)sp, ret_regs);
	return true;
}

uintptr_t unwind_machine_strip(uintptr_t pc)
{
	return pc;
}
