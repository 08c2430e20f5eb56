#include "base/attr.h"
#include "fake.h"
#include "profiling/symbol.h"
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE 0x400000

static char folder[64];

static void run(const char *fmt, ...) PRINTF(1, 2);
static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "%s", command);
}

__attribute__((noinline)) static int found_by_debug_information_alone(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

/* This program stripped, beside the debug information that it names. */
static void strip_self(void)
{
	(void)strcpy(folder, "/tmp/nl6-test-symbol-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	run("objcopy --only-keep-debug /proc/%d/exe %s/x.debug", getpid(), folder);
	/* Without its build id, by which a file of the system's could be found. */
	run("objcopy --strip-all -R .note.gnu.build-id --add-gnu-debuglink=%s/x.debug /proc/%d/exe "
	    "%s/x",
		folder, getpid(), folder);
}

static struct symbol look_up(struct symbols **ret_symbols)
{
	char path[128];
	Dl_info info;
	struct symbol sym;
	(void)snprintf(path, sizeof(path), "%s/x", folder);
	ck_assert_int_ne(found_by_debug_information_alone(1), 0);
	uintptr_t pc = (uintptr_t)&found_by_debug_information_alone;
	ck_assert_int_ne(dladdr((void *)pc, &info), 0);
	ck_assert_int_eq(symbols_new_of_file(&mem_libc, path, BASE, ret_symbols), 0);
	ck_assert_int_eq(
		symbols_find(*ret_symbols, pc + 1 - (uintptr_t)info.dli_fbase + BASE, &sym), 0);
	return sym;
}

static const char *name_of(const struct symbol *sym)
{
	return sym->n ? sym->frames[sym->n - 1].name : "";
}

START_TEST(a_stripped_program_is_named_by_its_debug_file)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	strip_self();
	struct symbol sym = look_up(&symbols);
	ck_assert_uint_gt(sym.n, 0);
	ck_assert_str_eq(name_of(&sym), "found_by_debug_information_alone");
	ck_assert_ptr_nonnull(strstr(sym.frames[sym.n - 1].file, "test_symbol.c"));
	ck_assert_uint_gt(sym.frames[sym.n - 1].line, 0);
	run("rm -r %s", folder);
}
END_TEST

START_TEST(a_debug_file_of_another_build_names_nothing)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	strip_self();
	run("echo >>%s/x.debug", folder);
	struct symbol sym = look_up(&symbols);
	ck_assert_str_ne(name_of(&sym), "found_by_debug_information_alone");
	run("rm -r %s", folder);
}
END_TEST

UNIT_MAIN(
	a_stripped_program_is_named_by_its_debug_file, a_debug_file_of_another_build_names_nothing)
