/* The push of the gate. */
#include "profiling/gate_impl.h"
#include <errno.h>

static bool take_cpu(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	if (!g->conf.share_cpu && g->under_way[CAPTURE_CPU])
		return false;
	g->push_has_cpu = true;
	return true;
}

static void drop_cpu(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	g->push_has_cpu = false;
}

static bool cpu_is_carried(void *arg)
{
	const struct gate *g = arg;
	return g->sink_due_ns && !g->conf.push.cpu_always && g->env.sink->carries(g->env.sink->arg);
}

static void on_idle(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	cond_wake_all(&g->changed);
}

int gate_push_start(struct gate *g, const char *address, struct capture_tools *tools,
	struct fault *reterr_fault)
{
	struct push_env env = {.mem = g->env.mem,
		.clk = g->env.clk,
		.version = g->env.version ? g->env.version : "unknown",
		.totals = &g->totals,
		.take_cpu = take_cpu,
		.drop_cpu = drop_cpu,
		.cpu_is_carried = cpu_is_carried,
		.idle = on_idle,
		.arg = g};
	struct push *p;
	int r = push_start(&env, &g->conf.push, address, tools, &p, reterr_fault);
	if (r == -ENOMEM)
		return fault_set(reterr_fault, r, "", NULL, "no memory is left");
	if (r < 0)
		return r;
	LOCK_SCOPE(&g->lock);
	g->push = p;
	return 0;
}

void gate_push_stop(struct gate *g)
{
	struct push *p;
	{
		LOCK_SCOPE(&g->lock);
		p = g->push;
		if (p)
			push_status(p, &g->ended);
		g->push = NULL;
	}
	(void)push_stop(p);
}
