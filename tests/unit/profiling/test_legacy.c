#include "fake.h"
#include "profiling/legacy.h"
#include "profiling/said.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct label label_two = {.count = 2,
	.pairs = {{LABEL_STRING("device"), LABEL_STRING("a\"b")},
		{LABEL_STRING("subsystem"), LABEL_STRING("test")}}};
static LABEL_SUBSYSTEM(label_one, "one");

__attribute__((noinline)) static int somewhere(int x)
{
	return x * 3 + (int)getpid();
}

__attribute__((noinline)) static int elsewhere(int x)
{
	return x * 5 + (int)getppid();
}

/* Three stacks, of which the second weighs most in every value. */
static void fill(struct stacks *s)
{
	uintptr_t here[] = {(uintptr_t)&somewhere + 4, (uintptr_t)&elsewhere + 4};
	uintptr_t none = said_pc(SAID_NO_ANSWER);
	stacks_add(
		s, &(struct stack){
			   .label = &label_one, .values = {1, 200, 1, 100}, .n = 2, .pcs = here});
	stacks_add(s, &(struct stack){.label = &label_two,
			      .values = {7, 9000, 5, 4000},
			      .n = 1,
			      .pcs = here + 1,
			      .end = UNWIND_DEEP});
	stacks_add(s, &(struct stack){.values = {1, 20, 0, 0}, .n = 1, .pcs = &none});
	stacks_add(s, &(struct stack){.values = {0}, .n = 1, .pcs = here}); /* is not written */
}

static int write_text(const struct mem *mem, struct symbols *symbols, enum profile_kind kind,
	uint32_t max, struct text *out)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	int r = stacks_new(mem, max, &stacks);
	if (r < 0)
		return r;
	fill(stacks);
	return legacy_encode(
		mem, symbols, &(struct profile_ask){.kind = kind, .stacks = stacks}, out);
}

static void expect(const char *text, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++) { /* in this order */
		const char *at = strstr(text, words[i]);
		ck_assert_msg(at != NULL, "no \"%s\" in the rest: %s", words[i], text);
		text = at + strlen(words[i]);
	}
}

START_TEST(counts_are_sorted_and_named)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	char row[128];
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	ck_assert_int_eq(write_text(&mem_libc, symbols, PROFILE_GOROUTINE, 100, &out), 0);
	/* pprof takes what it reads for return addresses and goes one back. */
	(void)snprintf(row, sizeof(row), "\n7 @ 0x%lx 0x%lx\n",
		(unsigned long)((uintptr_t)&elsewhere + 5),
		(unsigned long)said_pc((enum said)UNWIND_DEEP) + 1);
	const char *words[] = {"goroutine profile: total 9\n7 @",
		"\n# labels: ", "{\"device\":\"a\\\"b\", \"subsystem\":\"test\"}\n#\t0x",
		"\telsewhere+0x4\t", "test_legacy.c:", "\t[truncated: depth]\n\n1 @ ",
		"\t[no answer]\n\n1 @ 0x", "# labels: {\"subsystem\":\"one\"}\n",
		"\tsomewhere+0x4\t", "\telsewhere+0x4\t"};
	expect(out.s, words, ARRAY_SIZE(words));
	ck_assert_ptr_nonnull(strstr(out.s, row));
	ck_assert_int_eq(write_text(&mem_libc, symbols, PROFILE_CPU, 100, &out), -EINVAL);
}
END_TEST

START_TEST(each_kind_has_its_head)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	static const struct {
		enum profile_kind kind;
		const char *words[4];
	} cases[] = {
		{PROFILE_THREADCREATE, {"threadcreate profile: total 9\n", "7 @ 0x"}},
		{PROFILE_HEAP,
			{"heap profile: 6: 4100 [9: 9220] @ heap/2\n", "each 524288 ",
				"\n5: 4000 [7: 9000] @ 0x", "\n# runtime.MemStats\n# Alloc = "}},
		{PROFILE_ALLOCS, {"heap profile: ", "\n# MaxRSS = "}},
		{PROFILE_MUTEX,
			{"--- mutex:\ncycles/second=1000000000\nsampling period=1\n9000 7 @ 0x",
				"\n200 1 @ 0x"}},
		{PROFILE_BLOCK, {"--- contention:\ncycles/second=1000000000\n9000 7 @ 0x"}},
		{PROFILE_OFFCPU, {"--- contention:\ncycles/second=1000000000\n9000 7 @ 0x"}},
	};
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT struct text out = TEXT(&mem_libc);
		unsigned n = 0;
		while (n < 4 && cases[i].words[n])
			n++;
		ck_assert_int_eq(write_text(&mem_libc, symbols, cases[i].kind, 100, &out), 0);
		expect(out.s, cases[i].words, n);
	}
}
END_TEST

START_TEST(what_was_folded_is_the_last_row)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	const char *words[] = {"9220 9 @"};
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	ck_assert_int_eq(write_text(&mem_libc, symbols, PROFILE_BLOCK, 1, &out), 0);
	const char *all[] = {"\n200 1 @ ", "\n9020 8 @ 0x", "\t[folded: over the limits"};
	expect(out.s, all, ARRAY_SIZE(all));
	text_clear(&out);
	ck_assert_int_eq(write_text(&mem_libc, symbols, PROFILE_BLOCK, 0, &out), 0);
	expect(out.s, words, 1);
}
END_TEST

static int encode(struct fake *f, void *arg)
{
	AUTO_TEXT struct text out = TEXT(f->mem);
	return write_text(f->mem, arg, PROFILE_HEAP, 100, &out);
}

START_TEST(each_failing_allocation)
{
	struct fake f = fake_make();
	AUTO(symbols) struct symbols *symbols = NULL;
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	ck_assert_int_eq(encode(&f, symbols), 0);
	for (uint64_t n = 0;; n++) {
		fake_fail_at(&f, n);
		int r = encode(&f, symbols); /* 0 when the table only folded */
		ck_assert_int_eq(fake_live(&f), 0);
		if (!fake_has_failed(&f)) {
			ck_assert_int_eq(r, 0);
			break;
		}
	}
	fake_done(&f);
}
END_TEST

/* The judge of the grammar: what pprof makes of the text. */
static void judge(const struct text *text, char *out, size_t room)
{
	char path[] = "/tmp/nl6-legacy-XXXXXX", command[200];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text->s, text->len), (ssize_t)text->len);
	close(fd);
	(void)snprintf(command, sizeof(command),
		"PATH=/usr/lib/go/bin:$PATH go tool pprof -symbolize=none -raw %s 2>&1", path);
	FILE *f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	size_t n = fread(out, 1, room - 1, f);
	out[n] = 0;
	int status = pclose(f);
	unlink(path);
	ck_assert_msg(status == 0, "pprof: %d: %s", status, out);
}

START_TEST(pprof_reads_it)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	static const struct {
		enum profile_kind kind;
		const char *types, *row;
	} cases[] = {
		{PROFILE_GOROUTINE, "goroutine/count", "          7: 1 2"},
		{PROFILE_THREADCREATE, "threadcreate/count", "          7: 1 2"},
		{PROFILE_HEAP, "objects/count inuse_space/bytes",
			"7       9000          5       4000"},
		{PROFILE_ALLOCS, "alloc_space/bytes", "7       9000          5       4000"},
		{PROFILE_MUTEX, "contentions/count delay/nanoseconds", "7       9000: "},
		{PROFILE_BLOCK, "contentions/count delay/nanoseconds", "7       9000: "},
		{PROFILE_OFFCPU, "contentions/count delay/nanoseconds", "7       9000: "},
	};
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT struct text out = TEXT(&mem_libc);
		char said[8192], address[32];
		ck_assert_int_eq(write_text(&mem_libc, symbols, cases[i].kind, 100, &out), 0);
		judge(&out, said, sizeof(said));
		(void)snprintf(address, sizeof(address), "0x%lx",
			(unsigned long)((uintptr_t)&elsewhere + 4));
		const char *words[] = {cases[i].types, cases[i].row, address};
		for (unsigned k = 0; k < ARRAY_SIZE(words); k++)
			ck_assert_msg(
				strstr(said, words[k]) != NULL, "no \"%s\" in %s", words[k], said);
	}
}
END_TEST

UNIT_MAIN(counts_are_sorted_and_named, each_kind_has_its_head, what_was_folded_is_the_last_row,
	each_failing_allocation, pprof_reads_it)
