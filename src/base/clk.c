#include "base/clk.h"
#include "base/attr.h"
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;
	(void)clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t system_mono_ns(void *arg UNUSED)
{
	return read_ns(CLOCK_MONOTONIC);
}

static uint64_t system_wall_ns(void *arg UNUSED)
{
	return read_ns(CLOCK_REALTIME);
}

const struct clk clk_system = {system_mono_ns, system_wall_ns, NULL};
