#include "base/lock.h"
#include "base/span.h"
#include "base/thread.h"
#include "fake.h"
#include "profiling/linking.h"
#include "profiling/sampler.h"
#include "profiling/symbol.h"
#include <string.h>
#include <time.h>

#define WORKERS 4
#define ROUNDS 150

/* A sink that makes spans with ids in a row and notes what the sampler tells. */
struct sink {
	struct lock lock;
	uint64_t begun, sampled, drained;
	bool sampling;
	uint64_t short_from; /* ids from here on are short */
};

static struct span *begin(void *arg, const struct span_ask *ask)
{
	struct sink *k = arg;
	struct span *s = mem_zalloc(&mem_libc, sizeof(*s));
	ck_assert_ptr_nonnull(s);
	LOCK_SCOPE(&k->lock);
	s->link[0] = s->link[1] = 1;
	s->link[2] = ++k->begun;
	s->link_name = ask->name;
	return s;
}

static void end(void *arg UNUSED, struct span *s)
{
	(void)mem_free(&mem_libc, s);
}

static void on_sampling(void *arg, bool on)
{
	((struct sink *)arg)->sampling = on;
}

static void on_sampled(void *arg, const uint64_t link[3])
{
	struct sink *k = arg;
	LOCK_SCOPE(&k->lock);
	k->sampled += link[2] > 0 && link[2] <= k->begun;
}

static void on_drained(void *arg, uint64_t ns)
{
	struct sink *k = arg;
	LOCK_SCOPE(&k->lock);
	ck_assert_uint_ge(ns, k->drained);
	k->drained = ns;
}

static bool on_is_short(void *arg, const uint64_t link[3])
{
	return link[2] >= ((struct sink *)arg)->short_from;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(uint64_t ns)
{
	volatile unsigned x = 0;
	for (uint64_t until = cpu_ns() + ns; cpu_ns() < until;)
		for (unsigned i = 0; i < 1000; i++)
			x = x * 3 + i;
}

__attribute__((noinline)) static void burn_within(void)
{
	burn(NS_PER_MS);
	__asm__ volatile("# within"); /* no tail call, and not the same code twice */
}

__attribute__((noinline)) static void burn_outside(void)
{
	burn(NS_PER_MS);
	__asm__ volatile("# outside");
}

/* As a pool does: takes work up, does it, ends it, and does something of its own. */
static void work(void *arg UNUSED)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct span *s =
			span_begin(&(struct span_ask){.name = "work", .kind = SPAN_SERVER});
		{
			SPAN_SCOPE(s);
			burn_within();
		}
		span_end(s);
		burn_outside();
	}
}

struct found {
	struct symbols *symbols;
	int64_t within, outside, within_linked, outside_linked, linked;
};

static bool has(struct found *f, const struct stack *s, const char *function)
{
	char name[64];
	for (unsigned i = 0; i < s->n; i++)
		if (symbols_name(f->symbols, s->pcs[i], name, sizeof(name)) &&
			strcmp(name, function) == 0)
			return true;
	return false;
}

static void see(void *arg, const struct stack *s)
{
	struct found *f = arg;
	if (has(f, s, "burn_within")) {
		f->within += s->values[0];
		f->within_linked += s->span ? s->values[0] : 0;
	}
	if (has(f, s, "burn_outside")) {
		f->outside += s->values[0];
		f->outside_linked += s->span ? s->values[0] : 0;
	}
	if (s->span)
		ck_assert_str_eq(s->span->name, "work");
	f->linked += s->span ? s->values[0] : 0;
}

static struct found sample_pool(struct sink *k)
{
	struct walker *walker;
	struct sampler *sampler;
	struct sampler_reader *r;
	struct thread *threads[WORKERS];
	struct found f = {0};
	AUTO(stacks) struct stacks *stacks = NULL;
	AUTO(symbols) struct symbols *symbols = NULL;
	uint64_t ns;
	struct span_sink sink = {.begin = begin,
		.end = end,
		.sampling = on_sampling,
		.sampled = on_sampled,
		.drained = on_drained,
		.is_short = k->short_from ? on_is_short : NULL,
		.arg = k};
	lock_init(&k->lock);
	span_set_sink(&sink);
	ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	ck_assert_int_eq(sampler_open(&(struct sampler_env){&mem_libc, &clk_system, walker},
				 &(struct sampler_conf){.hz = 1000}, &sampler),
		0);
	ck_assert_int_eq(sampler_read_start(sampler, 100000, &r), 0);
	ck_assert(k->sampling);
	for (unsigned i = 0; i < WORKERS; i++)
		ck_assert_int_eq(
			thread_start(&mem_libc,
				&(struct thread_conf){.name = "worker", .run = work}, &threads[i]),
			0);
	for (unsigned i = 0; i < WORKERS; i++)
		threads[i] = thread_join(threads[i]);
	sampler_read_stop(r, &stacks, &ns);
	ck_assert(!k->sampling);
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	f.symbols = symbols;
	stacks_each(stacks, see, &f);
	struct sampler_status st;
	sampler_status(sampler, &st);
	ck_assert_uint_eq(st.links, stacks_spans(stacks));
	ck_assert_int_eq((int64_t)st.unlinked, stacks_unlinked(stacks));
	(void)sampler_close(sampler);
	walker = walker_free(walker);
	span_set_sink(NULL);
	lock_done(&k->lock);
	return f;
}

START_TEST(no_sample_lands_on_a_span_that_has_ended)
{
	struct sink k = {0};
	struct found f = sample_pool(&k);
	ck_assert_int_gt(f.within, WORKERS * ROUNDS / 8);
	ck_assert_int_gt(f.outside, WORKERS * ROUNDS / 8);
	ck_assert_int_eq(f.within_linked, f.within);
	ck_assert_int_eq(f.outside_linked, 0);
	ck_assert_uint_gt(k.sampled, 0);
	ck_assert_uint_gt(k.drained, 0);
}
END_TEST

START_TEST(short_spans_are_kept_unlinked)
{
	struct sink k = {.short_from = WORKERS * ROUNDS / 2};
	struct found f = sample_pool(&k);
	ck_assert_int_gt(f.within_linked, 0);
	ck_assert_int_lt(f.within_linked, f.within);
	ck_assert_int_eq(f.outside_linked, 0);
}
END_TEST

UNIT_MAIN(no_sample_lands_on_a_span_that_has_ended, short_spans_are_kept_unlinked)
