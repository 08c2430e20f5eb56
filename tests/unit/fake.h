/* What unit tests share: a counting allocator that can fail, a clock that stands still, UNIT_MAIN.
 */
#pragma once
#include "base/clk.h"
#include "base/mem.h"
#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* check notes each assertion that holds with a write(2), to tell where a test crashed: a thousand
 * times the cost of most assertions here, and the sanitizers tell as much. */
#define _mark_point(file, line) ((void)0)

struct fake_state;
struct fake {
	const struct mem *mem; /* counts; fails when told */
	const struct clk *clk; /* stands still until clk_step_ns */
	struct fake_state *state;
};
/* One per test; checks at fake_done that nothing leaked. */
struct fake fake_make(void);
void fake_done(struct fake *f);
/* Both clocks go forward by ns. */
void clk_step_ns(const struct clk *clk, uint64_t ns);
/* The n-th allocation from now (0: the next) fails, once; UINT64_MAX: none. */
void fake_fail_at(struct fake *f, uint64_t n);
bool fake_has_failed(const struct fake *f);
int64_t fake_live(const struct fake *f); /* allocations not freed */
/* Runs scenario with the 1st, 2nd, 3rd … allocation failing until one passes untouched; each run
 * must leave nothing behind. The scenario returns 0 or -ENOMEM. */
void fake_fail_each(struct fake *f, int (*scenario)(struct fake *f, void *arg), void *arg);

/* Runs the tests in this process, in a thread that is one of ours. */
int unit_run(const char *name, const TTest *const *tests, unsigned n);
#define UNIT_MAIN(...) \
	int main(void) \
	{ \
		const TTest *const tests_[] = {__VA_ARGS__}; \
		return unit_run(__FILE__, tests_, sizeof(tests_) / sizeof(tests_[0])); \
	}
