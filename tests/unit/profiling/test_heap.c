#include "base/mem_hook.h"
#include "base/pool.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include "profiling/heap.h"
#include "profiling/said.h"
#include "profiling/sampler.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_one, "one");

static struct walker *walker;

/* One for all tests: its tables are large. */
static struct heap_env env_of(const struct mem *mem)
{
	if (!walker)
		ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	return (struct heap_env){mem, walker};
}

static struct heap *opened(uint64_t rate_bytes, uint64_t seed)
{
	struct heap *h = NULL;
	struct heap_env env = env_of(&mem_libc);
	ck_assert_int_eq(heap_open(&env, &(struct heap_conf){rate_bytes, seed, 0}, &h), 0);
	return h;
}

/* Sums of the entries of one size (0: all) and label (NULL: all), or of one frame that is no code.
 */
struct sums {
	uint64_t bytes;
	const struct label *label;
	uintptr_t said;
	int64_t values[STACKS_VALUES];
	unsigned entries;
	struct stack last;
	uintptr_t pcs[UNWIND_DEPTH];
};

static void add_entry(void *arg, const struct stack *s)
{
	struct sums *sum = arg;
	bool said = s->n > 0 && said_is(s->pcs[0]);
	if (sum->said ? s->pcs[0] != sum->said : said || (sum->bytes && s->number != sum->bytes))
		return;
	if (sum->label && s->label != sum->label)
		return;
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		sum->values[i] += s->values[i];
	sum->entries++;
	sum->last = *s;
	memcpy(sum->pcs, s->pcs, s->n * sizeof(*s->pcs));
}

static void sum_up(struct heap *h, struct sums *sum)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	ck_assert_int_eq(stacks_new(&mem_libc, 100000, &stacks), 0);
	heap_read(h, stacks);
	stacks_each(stacks, add_entry, sum);
	ck_assert_int_eq(stacks_folded(stacks)->values[1], 0);
}

static struct sums sums_of(struct heap *h, uint64_t bytes)
{
	struct sums sum = {.bytes = bytes};
	sum_up(h, &sum);
	return sum;
}

static struct sums sums_labelled(struct heap *h, const struct label *label)
{
	struct sums sum = {.label = label};
	sum_up(h, &sum);
	return sum;
}

static struct sums sums_said(struct heap *h, enum said what)
{
	struct sums sum = {.said = said_pc(what)};
	sum_up(h, &sum);
	return sum;
}

static void check(struct heap *h, uint64_t bytes, int64_t all, int64_t live)
{
	struct sums s = sums_of(h, bytes);
	ck_assert_int_eq(s.values[0], all);
	ck_assert_int_eq(s.values[1], all * (int64_t)bytes);
	ck_assert_int_eq(s.values[2], live);
	ck_assert_int_eq(s.values[3], live * (int64_t)bytes);
}

static __attribute__((noinline)) void *allocate_10007(void)
{
	void *volatile p = malloc(10007);
	return p;
}

START_TEST(at_rate_1_everything_is_exact)
{
	void *p[100];
	struct heap *h = opened(1, 1);
	for (unsigned i = 0; i < 100; i++) {
		LABEL_SCOPE(i < 50 ? &label_one : &label_main);
		p[i] = allocate_10007();
	}
	check(h, 10007, 100, 100);
	for (unsigned i = 0; i < 99; i++)
		free(p[i]);
	check(h, 10007, 100, 1);
	struct sums s = sums_of(h, 10007);
	ck_assert_uint_eq(s.entries, 2); /* by label */
	free(p[99]);
	check(h, 10007, 100, 0);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

START_TEST(the_leaf_is_the_caller_of_malloc)
{
	struct heap *h = opened(1, 1);
	LABEL_SCOPE(&label_one);
	void *p = allocate_10007();
	struct sums s = sums_of(h, 10007);
	ck_assert_uint_eq(s.entries, 1);
	ck_assert_ptr_eq(s.last.label, &label_one);
	ck_assert_uint_eq(s.last.end, UNWIND_ENTRY);
	ck_assert_uint_gt(s.last.n, 3);
	uintptr_t fn = (uintptr_t)allocate_10007, bytes = UNIT_SANITIZED ? 1000 : 200;
	ck_assert_msg(s.pcs[0] > fn && s.pcs[0] < fn + bytes, "leaf %lx of %lx", (long)s.pcs[0],
		(long)fn);
	ck_assert(s.pcs[1] < fn || s.pcs[1] > fn + bytes || UNIT_SANITIZED);
	free(p);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

START_TEST(all_forms_count)
{
	void *p[8] = {0};
	struct heap *h = opened(1, 1);
	p[0] = malloc(20011);
	p[1] = calloc(1, 20021);
	p[2] = aligned_alloc(64, 20032);
	p[3] = memalign(64, 20047);
	ck_assert_int_eq(posix_memalign(&p[4], 64, 20051), 0);
	p[5] = valloc(20063);
	p[6] = reallocarray(NULL, 1, 20071);
	p[7] = realloc(malloc(20089), 30011);
	static const uint64_t sizes[] = {20011, 20021, 20032, 20047, 20051, 20063, 20071, 30011};
	for (unsigned i = 0; i < 8; i++)
		check(h, sizes[i], 1, 1);
	check(h, 20089, 1, 0);
	p[7] = realloc(p[7], 30013);
	check(h, 30011, 1, 0);
	check(h, 30013, 1, 1);
	for (unsigned i = 0; i < 8; i++)
		free(p[i]);
	for (unsigned i = 0; i < 7; i++)
		check(h, sizes[i], 1, 0);
	check(h, 30013, 1, 0);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

static void free_all(void *arg)
{
	void **p = arg;
	for (unsigned i = 0; i < 1000; i++)
		free(p[i]);
}

START_TEST(frees_may_come_from_another_thread)
{
	static void *p[1000];
	struct heap *h = opened(1, 1);
	for (unsigned i = 0; i < 1000; i++)
		p[i] = malloc(40009);
	check(h, 40009, 1000, 1000);
	struct thread *t;
	struct thread_conf conf = {.name = "frees", .run = free_all, .arg = p};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	thread_join(t);
	check(h, 40009, 1000, 0);
	struct heap_status st;
	heap_status(h, &st);
	ck_assert_uint_ge(st.samples, 1000);
	ck_assert_uint_eq(st.lost[HEAP_LOST_NO_MEMORY] + st.lost[HEAP_LOST_STALE], 0);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

/* Sizes of a program: many small, few large. Returns the sums of the truth. */
static void allocate_mix(unsigned n, int64_t truth[4], void **keep, uint64_t random)
{
	for (unsigned i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t bytes = (size_t)16 << ((random >> 60) % 10);
		bytes += (random >> 40) % bytes;
		void *p = malloc(bytes);
		truth[0]++;
		truth[1] += (int64_t)bytes;
		if (i % 4 == 0) {
			truth[2]++;
			truth[3] += (int64_t)bytes;
			keep[i / 4] = p;
		} else {
			free(p);
		}
	}
}

/* The mean over seeds nears the truth; with every 4,096th byte and a mean of 3,100 bytes. */
START_TEST(estimates_are_unbiased)
{
	enum { SEEDS = 8, N = 20000 };
	static void *keep[N / 4];
	double ratio[4] = {0};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		int64_t truth[4] = {0};
		struct heap *h = opened(4096, seed);
		{
			LABEL_SCOPE(&label_one);
			allocate_mix(N, truth, keep, seed);
		}
		struct sums s = sums_labelled(h, &label_one);
		for (unsigned i = 0; i < 4; i++)
			ratio[i] += (double)s.values[i] / (double)truth[i] / SEEDS;
		for (unsigned i = 0; i < N / 4; i++)
			free(keep[i]);
		s = sums_labelled(h, &label_one);
		ck_assert_int_eq(s.values[2], 0);
		ck_assert_int_eq(s.values[3], 0);
		ck_assert_ptr_null(heap_close(h));
	}
	for (unsigned i = 0; i < 4; i++)
		ck_assert_msg(fabs(ratio[i] - 1) < (i % 2 ? 0.03 : 0.08),
			"value %u: %f of the truth", i, ratio[i]);
}
END_TEST

START_TEST(values_never_fall)
{
	struct heap *h = opened(512, 7);
	int64_t last[2] = {0};
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = 0; k < 200; k++)
			free(malloc(50 + k));
		struct sums s = sums_of(h, 0);
		ck_assert_int_ge(s.values[0], last[0]);
		ck_assert_int_ge(s.values[1], last[1]);
		memcpy(last, s.values, sizeof(last));
	}
	ck_assert_int_gt(last[0], 0);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

START_TEST(what_was_before_is_one_entry)
{
	enum { BYTES = 50000000 };
	char *p = malloc(BYTES);
	AUTO(pool) struct pool *pool = NULL;
	ck_assert_int_eq(pool_new(&mem_libc, "test", 32768, 8, &pool), 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_ptr_nonnull(pool_take(pool));
	int64_t mapped = (int64_t)pool_mapped_bytes(pool);
	struct heap *h = opened(1, 1);
	struct sums s = sums_said(h, SAID_BEFORE);
	ck_assert_uint_eq(s.entries, 1);
	ck_assert_int_eq(s.values[0], 0);
	ck_assert_int_eq(s.values[1], 0);
	ck_assert_int_eq(s.values[2], 1);
	ck_assert_int_ge(s.values[3], BYTES + mapped);
	ck_assert_int_lt(s.values[3], BYTES + mapped + 30000000);
	int64_t before = s.values[3];
	for (unsigned i = 0; i < 200; i++) /* mapped since: has a stack */
		ck_assert_ptr_nonnull(pool_take(pool));
	s = sums_said(h, SAID_BEFORE);
	ck_assert_int_lt(llabs(s.values[3] - before), 1000000);
	s = sums_of(h, 2u << 20);
	ck_assert_int_eq(s.values[3] % (2 << 20), 0);
	ck_assert_int_ge(s.values[3] + mapped, 300 * 32768 - (4 << 20));
	free(p);
	s = sums_said(h, SAID_BEFORE);
	ck_assert_int_lt(llabs(before - s.values[3] - BYTES), 1000000);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

static enum MHD_Result refuse(void *cls UNUSED, struct MHD_Connection *c UNUSED,
	const char *url UNUSED, const char *method UNUSED, const char *version UNUSED,
	const char *data UNUSED, size_t *bytes UNUSED, void **state UNUSED)
{
	return MHD_NO;
}

struct by_file {
	const char *part;
	int64_t objects;
};

static void add_of_file(void *arg, const struct stack *s)
{
	struct by_file *b = arg;
	Dl_info info;
	if (!said_is(s->pcs[0]) && dladdr((void *)s->pcs[0], &info) &&
		strstr(info.dli_fname, b->part))
		b->objects += s->values[0];
}

START_TEST(libraries_count)
{
	struct heap *h = opened(1, 1);
	struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL,
		refuse, NULL, MHD_OPTION_CONNECTION_LIMIT, 10u, MHD_OPTION_END);
	ck_assert_ptr_nonnull(d);
	MHD_stop_daemon(d);
	AUTO(stacks) struct stacks *stacks = NULL;
	ck_assert_int_eq(stacks_new(&mem_libc, 100000, &stacks), 0);
	heap_read(h, stacks);
	struct by_file mhd = {.part = "libmicrohttpd"};
	stacks_each(stacks, add_of_file, &mhd);
	ck_assert_int_gt(mhd.objects, 0);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

/* Only what is folded or lost is told when there is no room. */
START_TEST(without_room_it_says_so)
{
	struct heap *h = NULL;
	void *p[100];
	struct heap_env env = env_of(&mem_libc);
	ck_assert_int_eq(heap_open(&env, &(struct heap_conf){1, 1, 4096}, &h), 0);
	for (unsigned i = 0; i < 100; i++)
		p[i] = malloc(50021);
	struct heap_status st;
	heap_status(h, &st);
	ck_assert_uint_ge(st.folded, 100);
	ck_assert_uint_ge(st.lost[HEAP_LOST_NO_MEMORY], 90);
	ck_assert_uint_le(st.bytes, 4096 + 16384);
	struct sums s = sums_said(h, SAID_FOLDED);
	ck_assert_int_ge(s.values[0], 100);
	ck_assert_int_ge(s.values[1], 100 * 50021);
	for (unsigned i = 0; i < 100; i++)
		free(p[i]);
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

static int open_and_close(struct fake *f, void *arg UNUSED)
{
	struct heap *h = NULL, *other = NULL;
	struct heap_env env = env_of(f->mem);
	int r = heap_open(&env, &(struct heap_conf){.rate_bytes = 100}, &h);
	if (r == 0) {
		r = heap_open(&env, &(struct heap_conf){.rate_bytes = 1}, &other);
		ck_assert(r == -EBUSY || r == -ENOMEM);
		r = r == -EBUSY ? 0 : r;
	}
	(void)heap_close(h);
	return r;
}

START_TEST(opening_without_memory_leaves_nothing)
{
	struct fake f = fake_make();
	fake_fail_each(&f, open_and_close, NULL);
	fake_done(&f);
}
END_TEST

static unsigned mappings(void)
{
	unsigned n = 0;
	int c;
	FILE *f = fopen("/proc/self/maps", "r");
	ck_assert_ptr_nonnull(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	(void)fclose(f);
	return n;
}

START_TEST(closing_leaves_nothing)
{
	void *p[64];
	ck_assert_ptr_null(heap_close(opened(1, 1)));
	unsigned before = mappings();
	for (unsigned i = 0; i < 1000; i++) {
		struct heap *h = opened(i % 3 + 1, i);
		for (unsigned k = 0; k < 64; k++)
			p[k] = malloc(100 + k);
		if (i % 2)
			h = heap_close(h);
		for (unsigned k = 0; k < 64; k++)
			free(p[k]);
		ck_assert_ptr_null(heap_close(h));
	}
	ck_assert_uint_le(mappings(), before + (UNIT_SANITIZED ? 64 : 0));
	free(malloc(10));
	ck_assert_uint_eq(nl6_self.mem_limit, UINT64_MAX);
}
END_TEST

static void churn(void *arg)
{
	static void *shared[256]; /* so that frees come from others */
	uint64_t random = (uintptr_t)&random;
	while (!__atomic_load_n((bool *)arg, __ATOMIC_ACQUIRE)) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		void *p = malloc(16 + (random >> 50));
		if (random >> 63)
			p = realloc(p, 16 + (random >> 40) % 4096);
		free(__atomic_exchange_n(&shared[(random >> 32) % 256], p, __ATOMIC_ACQ_REL));
	}
	for (unsigned i = 0; i < 256; i++)
		free(__atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL));
}

enum { CHURNERS = 3 };
static void start_churn(struct thread *t[CHURNERS], bool *stop)
{
	struct thread_conf conf = {
		.name = "churns", .label = &label_one, .run = churn, .arg = stop};
	*stop = false;
	for (unsigned i = 0; i < CHURNERS; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t[i]), 0);
}

static void stop_churn(struct thread *t[CHURNERS], bool *stop)
{
	__atomic_store_n(stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < CHURNERS; i++)
		thread_join(t[i]);
}

START_TEST(threads_allocate_while_it_opens_reads_and_closes)
{
	struct thread *t[CHURNERS];
	bool stop;
	start_churn(t, &stop);
	for (unsigned i = 0; i < 100; i++) {
		struct heap *h = opened(i % 2 ? 1 : 1000, i + 1);
		struct sums s;
		do {
			s = sums_of(h, 0);
		} while (s.values[0] < 1000);
		struct heap_status st;
		heap_status(h, &st);
		ck_assert_uint_eq(st.lost[HEAP_LOST_STALE], 0);
		ck_assert_ptr_null(heap_close(h));
	}
	stop_churn(t, &stop);
}
END_TEST

START_TEST(nothing_is_in_use_when_all_has_been_freed)
{
	struct thread *t[CHURNERS];
	bool stop;
	struct heap *h = opened(1, 1);
	start_churn(t, &stop);
	while (sums_of(h, 0).values[0] < 20000)
		;
	stop_churn(t, &stop);
	struct heap_status st;
	heap_status(h, &st);
	ck_assert_uint_eq(st.lost[HEAP_LOST_STALE], 0);
	ck_assert_uint_lt(st.live, 100); /* check's own, and the library's */
	ck_assert_ptr_null(heap_close(h));
}
END_TEST

/* The handler of the CPU sampler interrupts the heap's own walks and tables. */
START_TEST(with_the_cpu_sampler_at_a_high_rate)
{
	struct sampler_env env = {&mem_libc, &clk_system, env_of(&mem_libc).walker};
	struct sampler *s = NULL;
	struct sampler_reader *r;
	struct thread *t[CHURNERS];
	bool stop;
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){1000}, &s), 0);
	ck_assert_int_eq(sampler_read_start(s, 100000, &r), 0);
	struct heap *h = opened(1, 1);
	start_churn(t, &stop);
	struct sampler_status st;
	do {
		(void)sums_of(h, 0);
		sampler_status(s, &st);
	} while (st.samples < 500);
	stop_churn(t, &stop);
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t ns;
	sampler_read_stop(r, &stacks, &ns);
	ck_assert_ptr_null(heap_close(h));
	ck_assert_ptr_null(sampler_close(s));
}
END_TEST

UNIT_MAIN(at_rate_1_everything_is_exact, the_leaf_is_the_caller_of_malloc, all_forms_count,
	frees_may_come_from_another_thread, estimates_are_unbiased, values_never_fall,
	what_was_before_is_one_entry, libraries_count, without_room_it_says_so,
	opening_without_memory_leaves_nothing, closing_leaves_nothing,
	threads_allocate_while_it_opens_reads_and_closes, nothing_is_in_use_when_all_has_been_freed,
	with_the_cpu_sampler_at_a_high_rate)
