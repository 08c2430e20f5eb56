/* write_profiles FOLDER: writes profiles of every kind, and of the odd things that can be in one,
 * as KIND-WHAT files, for a judge to read. */
#include "base/clk.h"
#include "base/self.h"
#include "base/thread.h"
#include "profiling/profile.h"
#include "profiling/said.h"
#include "profiling/sampler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static LABEL_SUBSYSTEM(label_burn, "burn");
static LABEL_SUBSYSTEM(label_odd, "not \xff UTF-8");

static struct symbols *symbols;
static const char *folder;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "write_profiles: %s\n", what);
	exit(1);
}

static void write_profile(const char *name, struct profile_ask ask)
{
	char path[4096];
	struct text out = TEXT(&mem_libc);
	ask.time_ns = (int64_t)clk_wall_ns(&clk_system);
	must(profile_encode(&mem_libc, symbols, &ask, &out) == 0, name);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	must(f && fwrite(out.s, 1, out.len, f) == out.len && fclose(f) == 0, path);
	text_done(&out);
}

static volatile unsigned burnt;

static void burn(uint64_t ns)
{
	struct timespec ts;
	uint64_t now, until = 0;
	do {
		for (unsigned i = 0; i < 10000; i++)
			burnt = burnt * 3 + i;
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
		until = until ? until : now + ns;
	} while (now < until);
}

static void sampled(void)
{
	AUTO(walker) struct walker *walker = NULL;
	must(walker_new(&mem_libc, &walker) == 0, "no walker");
	struct sampler_env env = {&mem_libc, &clk_system, walker};
	struct sampler *s;
	struct sampler_reader *r;
	struct stacks *stacks;
	uint64_t ns;
	must(sampler_open(&env, &(struct sampler_conf){500}, &s) == 0, "no sampler");
	must(sampler_read_start(s, PROFILE_MAX_SAMPLES, &r) == 0, "no reader");
	burn(100 * NS_PER_MS);
	{
		LABEL_SCOPE(&label_burn);
		burn(100 * NS_PER_MS);
	}
	sampler_read_stop(r, &stacks, &ns);
	write_profile("cpu-sampled", (struct profile_ask){.kind = PROFILE_CPU,
					     .stacks = stacks,
					     .period = 2000000,
					     .duration_ns = (int64_t)ns});
	(void)stacks_free(stacks);
	(void)sampler_close(s);
}

/* Addresses in code of this program, of libc, in the vdso's stead one in no mapping, and 0. */
static const uintptr_t *places(void)
{
	static uintptr_t pcs[4];
	pcs[0] = (uintptr_t)&burn + 4;
	pcs[1] = (uintptr_t)&qsort + 4;
	pcs[2] = 0x7;
	pcs[3] = (uintptr_t)&write_profile + 4;
	return pcs;
}

static struct stacks *odd_stacks(void)
{
	struct stacks *s;
	must(stacks_new(&mem_libc, 100, &s) == 0, "no stacks");
	const uintptr_t *pcs = places();
	struct stack_span span = {.trace_id = {1, 2, 3}, .span_id = {4, 5}, .name = "GET /x"};
	stacks_add(s, &(struct stack){.values = {1, 7, 1, 7}, .n = 4, .pcs = pcs});
	stacks_add(s, &(struct stack){.values = {1, 7, 1, 7}, .n = 4, .pcs = pcs});
	for (enum unwind_end end = UNWIND_ENTRY; end < UNWIND_ENDS; end++)
		stacks_add(
			s, &(struct stack){.values = {3, 21}, .n = 2, .pcs = pcs + 1, .end = end});
	for (unsigned what = SAID_FOLDED; what < SAID_N; what++) {
		uintptr_t pc = said_pc((enum said)what);
		stacks_add(s, &(struct stack){.values = {3, 21}, .n = 1, .pcs = &pc});
	}
	stacks_add(s, &(struct stack){.label = &label_odd, .values = {0, 5}, .n = 1, .pcs = pcs});
	stacks_add(s, &(struct stack){.label = &label_burn,
			      .values = {2, 64, 2, 64},
			      .number = 32,
			      .n = 3,
			      .pcs = pcs});
	stacks_add(s, &(struct stack){.span = &span, .values = {9, 99}, .n = 1, .pcs = pcs + 3});
	stacks_add(s, &(struct stack){.n = 1, .pcs = pcs + 1}); /* of nothing */
	stacks_add(s, &(struct stack){.values = {-1, 5}, .n = 1, .pcs = pcs + 2});
	stacks_add(s, &(struct stack){.values = {4, 8}, .n = 0, .end = UNWIND_NO_TABLE});
	return s;
}

static void odd(void)
{
	static const struct {
		enum profile_kind kind;
		const char *name;
	} kinds[] = {{PROFILE_HEAP, "heap-odd"}, {PROFILE_ALLOCS, "allocs-odd"},
		{PROFILE_GOROUTINE, "goroutine-odd"}, {PROFILE_THREADCREATE, "threadcreate-odd"},
		{PROFILE_MUTEX, "mutex-odd"}, {PROFILE_BLOCK, "block-odd"}};
	struct stacks *s = odd_stacks();
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		write_profile(kinds[i].name, (struct profile_ask){.kind = kinds[i].kind,
						     .stacks = s,
						     .comment = "odd \xc0\x80 remarks"});
	(void)stacks_free(s);
	must(stacks_new(&mem_libc, 100, &s) == 0, "no stacks");
	write_profile("mutex-empty", (struct profile_ask){.kind = PROFILE_MUTEX, .stacks = s});
	write_profile("cpu-empty",
		(struct profile_ask){.kind = PROFILE_CPU, .stacks = s, .duration_ns = 1});
	(void)stacks_free(s);
}

/* More than the limits take: in number of samples, and in bytes. */
static void many(const char *name, unsigned samples, unsigned depth)
{
	struct stacks *s;
	uintptr_t pcs[UNWIND_DEPTH];
	must(stacks_new(&mem_libc, UINT32_MAX, &s) == 0, "no stacks");
	for (unsigned i = 0; i < samples; i++) {
		for (unsigned k = 0; k < depth; k++)
			pcs[k] = (uintptr_t)&burn + (i * 7919 + k * 31) % 20011;
		stacks_add(s, &(struct stack){.values = {1, 2}, .n = (uint16_t)depth, .pcs = pcs});
	}
	write_profile(name, (struct profile_ask){.kind = PROFILE_BLOCK, .stacks = s});
	(void)stacks_free(s);
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: write_profiles FOLDER");
	folder = argv[1];
	thread_adopt("test", &label_main);
	must(symbols_new(&mem_libc, &symbols) == 0, "no symbols");
	sampled();
	odd();
	many("block-samples", 40000, 3);
	many("block-bytes", 30000, UNWIND_DEPTH);
	(void)symbols_free(symbols);
	return 0;
}
