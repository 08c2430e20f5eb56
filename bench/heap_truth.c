/* heap_truth SEEDS SAMPLES: allocates sizes as programs do, many small and few large, a part of it
 * for good and some of that resized, until the heap sampler has taken so many samples; for each
 * seed anew. Prints the least number of samples, and for each of the four values the mean over the
 * seeds of the estimate divided by the truth. */
#include "base/self.h"
#include "base/thread.h"
#include "profiling/heap.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE 1024
#define ROUND 10000
#define KEPT 65536

static LABEL_SUBSYSTEM(label_mix, "mix");

struct run {
	uint64_t random;
	double truth[STACKS_VALUES], estimate[STACKS_VALUES];
	void *kept[KEPT];
	size_t sizes[KEPT];
};

static uint64_t next(struct run *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

static void count(struct run *r, size_t bytes)
{
	r->truth[0] += 1;
	r->truth[1] += (double)bytes;
}

static size_t a_size(struct run *r)
{
	unsigned class = (unsigned)__builtin_ctzll(next(r) | 1u << 12);
	size_t bytes = (size_t)16 << class;
	return bytes + next(r) % bytes;
}

/* Each slot is given another block, or has its own resized, or stays empty. */
static void allocate(struct run *r)
{
	LABEL_SCOPE(&label_mix);
	for (unsigned i = 0; i < ROUND; i++) {
		unsigned at = (unsigned)(next(r) % KEPT);
		size_t bytes = a_size(r);
		r->truth[2] -= r->kept[at] != NULL;
		r->truth[3] -= (double)r->sizes[at];
		if (next(r) % 4 == 0) {
			r->kept[at] = realloc(r->kept[at], bytes);
		} else {
			free(r->kept[at]);
			r->kept[at] = malloc(bytes);
		}
		count(r, bytes);
		if (next(r) % 2) {
			free(r->kept[at]);
			r->kept[at] = NULL;
			bytes = 0;
		}
		r->sizes[at] = bytes;
		r->truth[2] += bytes != 0;
		r->truth[3] += (double)bytes;
	}
}

static void add_estimate(void *arg, const struct stack *s)
{
	struct run *r = arg;
	if (s->label == &label_mix)
		for (unsigned i = 0; i < STACKS_VALUES; i++)
			r->estimate[i] += (double)s->values[i];
}

static uint64_t run_seed(struct walker *walker, uint64_t seed, uint64_t samples, double ratio[])
{
	static struct run r;
	r = (struct run){.random = seed * 0x9e3779b97f4a7c15u};
	struct heap_env env = {&mem_libc, walker};
	struct heap *h;
	struct stacks *stacks;
	struct heap_status st;
	if (heap_open(&env, &(struct heap_conf){.rate_bytes = RATE, .seed = seed}, &h) < 0)
		exit(1);
	do {
		allocate(&r);
		heap_status(h, &st);
	} while (st.samples < samples);
	if (stacks_new(&mem_libc, 1u << 20, &stacks) < 0)
		exit(1);
	heap_read(h, stacks);
	stacks_each(stacks, add_estimate, &r);
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		ratio[i] += r.estimate[i] / r.truth[i];
	(void)stacks_free(stacks);
	(void)heap_close(h);
	for (unsigned i = 0; i < KEPT; i++)
		free(r.kept[i]);
	return st.samples;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	unsigned seeds = (unsigned)atoi(argv[1]);
	uint64_t least = UINT64_MAX;
	double ratio[STACKS_VALUES] = {0};
	struct walker *walker;
	thread_adopt("bench", &label_main);
	if (walker_new(&mem_libc, &walker) < 0)
		return 1;
	for (unsigned i = 1; i <= seeds; i++) {
		uint64_t n = run_seed(walker, i, strtoull(argv[2], NULL, 10), ratio);
		least = n < least ? n : least;
	}
	(void)walker_free(walker);
	(void)printf("%llu", (unsigned long long)least);
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		(void)printf(" %.5f", ratio[i] / seeds);
	(void)printf("\n");
	return 0;
}
