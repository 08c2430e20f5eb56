/* A stack and registers to walk from: the walk stays within the stack, which ends at a page that
 * cannot be touched, within its room, and comes to an end. Three bytes make a word: a kind and a
 * number, so that words are often addresses of code or of the stack. */
#include "fuzz.h"
#include "profiling/unwind.h"
#include <assert.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define WORDS 2048
#define PAGE 4096

static struct unwind_tables *tables;
static uintptr_t *stack; /* WORDS, with a page on each side that cannot be touched */
static uintptr_t code[3][2];

static int see_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned *n = arg;
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum && *n < 3; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			code[*n][0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			code[(*n)++][1] = info->dlpi_phdr[i].p_memsz;
		}
	return *n == 3;
}

static void prepare(void)
{
	unsigned n = 0;
	char *at = mmap(NULL, WORDS * sizeof(*stack) + 2 * PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || unwind_compile(&mem_libc, &tables) < 0 ||
		mprotect(at + PAGE, WORDS * sizeof(*stack), PROT_READ | PROT_WRITE) < 0)
		abort();
	stack = (uintptr_t *)(at + PAGE);
	(void)dl_iterate_phdr(see_object, &n);
}

static uintptr_t word(const uint8_t *p)
{
	uintptr_t number = p[1] | (uintptr_t)p[2] << 8;
	switch (p[0] % 8) {
	case 0:
	case 1:
	case 2:
		return code[p[0] % 8][0] + (number * (1 + p[0] / 8)) % code[p[0] % 8][1];
	case 3:
	case 4:
		return (uintptr_t)stack + number % (WORDS * sizeof(*stack)) / 8 * 8;
	case 5:
		return (uintptr_t)stack + number;
	case 6:
		return 0 - number;
	default:
		return number;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	uintptr_t pcs[UNWIND_DEPTH];
	uintptr_t in[4] = {0};
	if (!tables)
		prepare();
	for (unsigned i = 0; i < 4 && bytes >= 3; i++, p += 3, bytes -= 3)
		in[i] = word(p);
	unsigned room = bytes ? 1 + p[0] % UNWIND_DEPTH : 1, options = bytes > 1 ? p[1] : 0;
	size_t n = 0;
	for (; n < WORDS && bytes >= 3; p += 3, bytes -= 3)
		stack[n++] = word(p);
	memset(stack + n, 0, (WORDS - n) * sizeof(*stack));
	ucontext_t uc;
	memset(&uc, 0, sizeof(uc));
	struct unwind_regs regs = {.pc = in[0],
		.sp = in[1],
		.fp = in[2],
		.lr = in[3],
		.ucontext = options & 1 ? &uc : NULL};
	struct unwind_stack bounds = {(uintptr_t)stack, (uintptr_t)(stack + WORDS)};
	/* The handler refuses a stack pointer outside of the thread's stack. */
	if (regs.sp < bounds.lo || regs.sp >= bounds.hi)
		return 0;
	enum unwind_end end = UNWIND_ENDS;
	unsigned found = unwind_walk(options & 2 ? NULL : tables, &regs, &bounds, pcs, room, &end);
	assert(found >= 1 && found <= room && end < UNWIND_ENDS && pcs[0] == regs.pc);
	return 0;
}
