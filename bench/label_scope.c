/* What a label scope costs beside an empty function call: pairs of runs in alternating order, each
 * of so many rounds. bench-label-scope PAIRS ROUNDS     prints a line a pair, "SCOPE_NS CALL_NS",
 * and at the end "allocated BYTES". */
#include "base/clk.h"
#include "base/self.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static LABEL_SUBSYSTEM(label_bench, "bench");

static uint64_t now_ns(void)
{
	return clk_ns(&clk_system);
}

/* Empty, yet called. */
static __attribute__((noinline)) void empty(void)
{
	__asm__ volatile("");
}

static double call_ns(uint64_t rounds)
{
	uint64_t begun = now_ns();
	for (uint64_t i = 0; i < rounds; i++)
		empty();
	return (double)(now_ns() - begun) / (double)rounds;
}

static double scope_ns(uint64_t rounds)
{
	uint64_t begun = now_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		LABEL_SCOPE(&label_bench);
		__asm__ volatile("" ::: "memory"); /* the scope's work */
	}
	return (double)(now_ns() - begun) / (double)rounds;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	unsigned long pairs = strtoul(argv[1], NULL, 10);
	uint64_t rounds = strtoull(argv[2], NULL, 10);
	size_t before = mallinfo2().uordblks;
	size_t grown = 0;
	(void)scope_ns(rounds);
	for (unsigned long i = 0; i < pairs; i++) {
		double scope = i % 2 ? scope_ns(rounds) : 0;
		double call = call_ns(rounds);
		if (i % 2 == 0)
			scope = scope_ns(rounds);
		if (i == 0) /* without the buffer of standard output */
			grown = mallinfo2().uordblks - before;
		if (printf("%.4f %.4f\n", scope, call) < 0)
			return 1;
	}
	(void)printf("allocated %zu\n", grown);
	return 0;
}
