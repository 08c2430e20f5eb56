#include "base/clk.h"
#include "base/self.h"
#include "fake.h"
#include "profiling/profile.h"
#include "profiling/sampler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

static LABEL_SUBSYSTEM(label_burn, "burn");

static volatile unsigned burnt;

__attribute__((noinline)) static void burn_inner(void)
{
	for (unsigned i = 0; i < 100000; i++)
		burnt = burnt * 3 + i;
}

/* The thread's own: on a loaded machine the wall clock says little. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;
	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) static void burn_outer(uint64_t ns)
{
	for (uint64_t until = cpu_ns() + ns; cpu_ns() < until;)
		burn_inner();
}

static char *inflate_all(const struct text *gz, size_t *ret_len)
{
	size_t room = 4u << 20;
	char *out = malloc(room);
	z_stream z = {.next_in = (Bytef *)gz->s,
		.avail_in = (uInt)gz->len,
		.next_out = (Bytef *)out,
		.avail_out = (uInt)room};
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.avail_in, 0); /* one member */
	*ret_len = room - z.avail_out;
	inflateEnd(&z);
	return out;
}

static bool contains(const char *hay, size_t len, const char *needle)
{
	return memmem(hay, len, needle, strlen(needle)) != NULL;
}

START_TEST(a_cpu_profile_names_functions_and_labels)
{
	struct walker *walker = NULL;
	ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	struct sampler_env env = {&mem_libc, &clk_system, walker};
	struct sampler *s = NULL;
	struct sampler_reader *r;
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){500}, &s), 0);
	ck_assert_int_eq(sampler_read_start(s, 16000, &r), 0);
	{
		LABEL_SCOPE(&label_burn);
		burn_outer(200 * NS_PER_MS);
	}
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t duration_ns;
	sampler_read_stop(r, &stacks, &duration_ns);
	AUTO(symbols) struct symbols *symbols = NULL;
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	struct profile_ask ask = {.kind = PROFILE_CPU,
		.stacks = stacks,
		.period = 2000000,
		.time_ns = (int64_t)clk_wall_ns(&clk_system),
		.duration_ns = (int64_t)duration_ns};
	ck_assert_int_eq(profile_encode(&mem_libc, symbols, &ask, &out), 0);
	size_t len;
	char *raw = inflate_all(&out, &len);
	static const char *const words[] = {"burn_inner", "burn_outer", "subsystem", "burn",
		"nanoseconds", "__libc_start_main_impl", "test_profile.c"};
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		ck_assert_msg(contains(raw, len, words[i]), "%s is not in the profile", words[i]);
	const char *keep = getenv("KEEP_PROFILE");
	FILE *f = keep ? fopen(keep, "we") : NULL;
	if (f) {
		ck_assert_uint_eq(fwrite(out.s, 1, out.len, f), out.len);
		fclose(f);
	}
	free(raw);
	ck_assert_ptr_null(sampler_close(s));
	ck_assert_ptr_null(walker_free(walker));
}
END_TEST

static int encode(struct fake *f, void *arg)
{
	struct symbols *symbols = arg;
	AUTO(stacks) struct stacks *stacks = NULL;
	int r = stacks_new(f->mem, 2, &stacks);
	if (r < 0)
		return r;
	uintptr_t pcs[] = {(uintptr_t)&encode + 4, (uintptr_t)&inflate_all + 4};
	stacks_add(
		stacks, &(struct stack){.values = {1, 2}, .n = 2, .pcs = pcs, .end = UNWIND_DEEP});
	stacks_add(stacks, &(struct stack){.values = {1, 2}, .n = 1, .pcs = pcs});
	stacks_add(stacks, &(struct stack){.values = {1, 2}, .n = 1, .pcs = pcs + 1});
	struct text out = TEXT(f->mem);
	struct profile_ask ask = {.kind = PROFILE_MUTEX, .stacks = stacks, .time_ns = 1};
	r = profile_encode(f->mem, symbols, &ask, &out);
	if (r == 0) {
		size_t len;
		char *raw = inflate_all(&out, &len);
		/* Without memory for an entry it is folded, too. */
		ck_assert(fake_has_failed(f) || contains(raw, len, "[truncated: depth]"));
		ck_assert(contains(raw, len, "[folded: over the limits of a profile]"));
		free(raw);
	}
	text_done(&out);
	return r;
}

START_TEST(each_failing_allocation)
{
	struct fake f = fake_make();
	AUTO(symbols) struct symbols *symbols = NULL;
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	ck_assert_int_eq(
		encode(&f, symbols), 0); /* so that the cache is filled by another allocator */
	for (uint64_t n = 0;; n++) {
		fake_fail_at(&f, n);
		int r = encode(&f, symbols);
		ck_assert_int_eq(fake_live(&f), 0);
		if (!fake_has_failed(&f)) {
			ck_assert_int_eq(r, 0);
			break;
		}
	}
	fake_done(&f);
}
END_TEST

START_TEST(suffixes_of_clones_are_cut)
{
	static const struct {
		const char *name;
		size_t bytes;
	} cases[] = {{"f", 1}, {"f.isra.0", 1}, {"f.part.3.constprop.1", 1}, {"f.cold", 1},
		{"f.colder", 8}, {"a.b", 3}, {"f.lto_priv.12", 1}, {"", 0}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(symbol_name_bytes(cases[i].name), cases[i].bytes);
}
END_TEST

UNIT_MAIN(a_cpu_profile_names_functions_and_labels, each_failing_allocation,
	suffixes_of_clones_are_cut)
