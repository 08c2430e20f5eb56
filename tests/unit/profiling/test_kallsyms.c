#include "fake.h"
#include "profiling/kallsyms.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As the kernel writes it: not sorted throughout, with data, modules and hidden addresses. */
static const char plain[] = "0000000000000000 A fixed_percpu_data\n"
			    "ffffffff81000000 T _text\n"
			    "ffffffff81000000 T _stext\n"
			    "ffffffff81000200 t do_nanosleep\n"
			    "ffffffff81000100 W schedule\n"
			    "ffffffff82000000 D some_data\n"
			    "ffffffffc0000000 t helper.isra.0\t[module]\n"
			    "not a line\n\nffffffff81000300 T\nffffffff81000400 T \n";

struct file {
	char path[64];
};

static struct file file_with(const char *text)
{
	struct file f = {"/tmp/nl6-kallsyms-XXXXXX"};
	AUTO_FD int fd = mkstemp(f.path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dprintf(fd, "%s", text), (int)strlen(text));
	return f;
}

static void check(const struct kallsyms *k, uint64_t pc, const char *name, uint64_t start)
{
	uint64_t found = 0;
	ck_assert_pstr_eq(kallsyms_find(k, pc, &found), name);
	ck_assert_uint_eq(found, start);
}

START_TEST(functions_are_found_by_address)
{
	struct fake f = fake_make();
	AUTO(kallsyms) struct kallsyms *k = NULL;
	struct file file = file_with(plain);
	ck_assert_int_eq(kallsyms_read(f.mem, file.path, &k), 0);
	check(k, 0xffffffff80ffffff, NULL, 0);
	check(k, 0xffffffff81000000, "_text", 0xffffffff81000000);
	check(k, 0xffffffff810000ff, "_text", 0xffffffff81000000);
	check(k, 0xffffffff81000100, "schedule", 0xffffffff81000100);
	check(k, 0xffffffff81000203, "do_nanosleep", 0xffffffff81000200);
	check(k, 0xffffffffc0000001, "helper.isra.0", 0xffffffffc0000000);
	check(k, 0x401000, NULL, 0);
	ck_assert_uint_gt(kallsyms_bytes(k), 0);
	k = kallsyms_free(k);
	(void)unlink(file.path);
	fake_done(&f);
}
END_TEST

START_TEST(hidden_addresses_are_no_addresses)
{
	struct kallsyms *k;
	struct file file = file_with("0000000000000000 T _text\n0000000000000000 T schedule\n");
	ck_assert_int_eq(kallsyms_read(&mem_libc, file.path, &k), -EACCES);
	(void)unlink(file.path);
	ck_assert_int_eq(kallsyms_read(&mem_libc, file.path, &k), -ENOENT);
}
END_TEST

static int read_once(struct fake *f, void *arg)
{
	struct kallsyms *k = NULL;
	int r = kallsyms_read(f->mem, arg, &k);
	(void)kallsyms_free(k);
	return r;
}

START_TEST(want_of_memory_leaves_nothing)
{
	struct fake f = fake_make();
	struct file file = file_with(plain);
	fake_fail_each(&f, read_once, file.path);
	(void)unlink(file.path);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(functions_are_found_by_address, hidden_addresses_are_no_addresses,
	want_of_memory_leaves_nothing)
