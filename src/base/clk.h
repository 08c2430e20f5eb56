/* The injectable clock. */
#pragma once
#include <stdint.h>

#define NS_PER_SEC 1000000000ull
#define NS_PER_MS 1000000ull

struct clk {
	uint64_t (*mono_ns)(void *arg); /* CLOCK_MONOTONIC */
	uint64_t (*wall_ns)(void *arg); /* nanoseconds since 1970 UTC */
	void *arg;
};

extern const struct clk clk_system;

static inline uint64_t clk_ns(const struct clk *c)
{
	return c->mono_ns(c->arg);
}
static inline uint64_t clk_wall_ns(const struct clk *c)
{
	return c->wall_ns(c->arg);
}
