/* malloc_pair SECONDS [open]: prints nanoseconds of malloc and free: of a tight pair of 64 bytes,
 * and of mixed sizes with 1,024 live. Built twice: with the program's allocator hook, and bare.
 * With "open" the heap sampler is open at its default rate. The best of many short rounds each,
 * since whatever else runs here only adds. */
#ifdef HOOKED
#include "base/thread.h"
#include "profiling/heap.h"
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIVE 1024
#define ROUND 20000

static uint64_t now_ns(void)
{
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void tight(void)
{
	for (unsigned i = 0; i < ROUND; i++) {
		void *volatile p = malloc(64);
		free(p);
	}
}

static uint64_t random_state = 88172645463325252u;
static void *live[LIVE];

/* 16 to 2,048 bytes, small ones more often. */
static void mixed(void)
{
	for (unsigned i = 0; i < ROUND; i++) {
		random_state ^= random_state << 13;
		random_state ^= random_state >> 7;
		random_state ^= random_state << 17;
		void **at = &live[random_state % LIVE];
		free(*at);
		*at = malloc((size_t)16 << (random_state >> 20) % 7 | (random_state >> 30) % 16);
	}
}

static double best(void (*run)(void), double seconds)
{
	uint64_t least = UINT64_MAX, end = now_ns() + (uint64_t)(seconds * 1e9);
	do {
		uint64_t begun = now_ns();
		run();
		uint64_t took = now_ns() - begun;
		least = took < least ? took : least;
	} while (now_ns() < end);
	return (double)least / ROUND;
}

static int open_heap(void)
{
#ifdef HOOKED
	struct heap_env env = {&mem_libc, NULL};
	struct heap *h;
	thread_adopt("bench", &label_main);
	if (walker_new(&mem_libc, &env.walker) < 0)
		return -1;
	return heap_open(&env, &(struct heap_conf){.rate_bytes = 512 << 10}, &h);
#else
	return -1;
#endif
}

int main(int argc, char **argv)
{
	if (argc > 2 && open_heap() < 0)
		return 1;
	double seconds = argc > 1 ? atof(argv[1]) : 0.2;
	double tight_ns = best(tight, seconds), mixed_ns = best(mixed, seconds);
	(void)printf("%.3f %.3f\n", tight_ns, mixed_ns);
	return 0;
}
