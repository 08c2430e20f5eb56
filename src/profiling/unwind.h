/* The unwinder: from the registers of a thread to the return addresses up to its entry. Tables are
 * compiled from .eh_frame of every loaded object when asked, and looked up without a lock; frame
 * pointers are the fall-back. The walk reads nothing but the thread's own stack, within its bounds.
 */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

#define UNWIND_DEPTH 128

/* Why a walk ended. */
enum unwind_end {
	UNWIND_ENTRY,	   /* reached the thread's entry */
	UNWIND_DEEP,	   /* more than the room given */
	UNWIND_NO_TABLE,   /* code without unwind information, and frame pointers led nowhere */
	UNWIND_BAD_STACK,  /* the next frame is not within the stack, or not above the last */
	UNWIND_BAD_PC,	   /* a return address outside all code */
	UNWIND_EXPRESSION, /* a rule of a form that is not compiled */
	UNWIND_ENDS
};
/* "depth", "no unwind table", …: the text of the frame `[truncated: TEXT]`. */
const char *unwind_end_text(enum unwind_end end);

struct unwind_regs {
	uintptr_t pc, sp, fp;
	uintptr_t lr; /* link register where the machine has one */
	const void
		*ucontext; /* of an interrupted thread: all registers for the first step; or NULL */
};
/* Bounds of the stack that regs->sp is on: reads stay within [lo, hi). */
struct unwind_stack {
	uintptr_t lo, hi;
};

struct unwind_tables; /* immutable */
struct unwind_info {
	uint32_t objects, rows, recipes, fdes, bad_fdes;
	uint64_t bytes;
	const char *method; /* "eh_frame" */
};
/* Compiles tables for all objects that are loaded now. Not from a signal handler. -ENOMEM. */
MUST_CHECK int unwind_compile(const struct mem *mem, struct unwind_tables **ret_tables);
struct unwind_tables *unwind_tables_free(struct unwind_tables *t);
void unwind_tables_info(const struct unwind_tables *t, struct unwind_info *ret_info);
/* Were objects loaded or unloaded since? Not from a signal handler. */
bool unwind_is_stale(const struct unwind_tables *t);

/* Fills pcs (leaf first): pcs[0] is regs->pc, the rest are call sites (return address - 1), and
 * returns their number (>= 1). t may be NULL: frame pointers only. Async-signal-safe, no lock. */
unsigned unwind_walk(const struct unwind_tables *t, const struct unwind_regs *regs,
	const struct unwind_stack *stack, uintptr_t *pcs, unsigned room, enum unwind_end *ret_end);
/* Registers of an interrupted thread. */
void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret_regs);
/* Registers of the caller of the function that uses it. */
#if defined(__x86_64__)
#define UNWIND_REGS_HERE() \
	({ \
		struct unwind_regs regs_ = {0}; \
		__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
				 : "=r"(regs_.pc), "=r"(regs_.sp), "=r"(regs_.fp)); \
		regs_; \
	})
#elif defined(__aarch64__)
#define UNWIND_REGS_HERE() \
	({ \
		struct unwind_regs regs_ = {0}; \
		__asm__ volatile( \
			"adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30" \
			: "=r"(regs_.pc), "=r"(regs_.sp), "=r"(regs_.fp), "=r"(regs_.lr)); \
		regs_; \
	})
#endif
