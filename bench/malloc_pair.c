/* Prints nanoseconds of malloc and free: of a tight pair of 64 bytes, and of mixed sizes with 1,024
 * live. Built twice: with the program's allocator hook, and bare. The best of many short rounds
 * each, since whatever else runs here only adds. */
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

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.2;
	double tight_ns = best(tight, seconds), mixed_ns = best(mixed, seconds);
	(void)printf("%.3f %.3f\n", tight_ns, mixed_ns);
	return 0;
}
