/* Windows of the CPU for the sink of the gate. */
#include "profiling/gate_impl.h"

static bool take_cpu(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	if (!g->conf.share_cpu && g->under_way[CAPTURE_CPU])
		return false;
	g->sink_has_cpu = true;
	return true;
}

static void drop_cpu(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	g->sink_has_cpu = false;
}

static void note(void *arg, const char *text)
{
	const struct gate *g = arg;
	g->env.sink->missed(g->env.sink->arg, text);
}

static void end_window(struct gate *g, struct capture_tools *t, bool goes_on)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	struct capture_made made;
	struct cpu_window w = {.period_ns = NS_PER_SEC / t->cpu_hz};
	walker_refresh(t->walker);
	if (!cpu_windows_end(&g->sinking, t, goes_on, &made, &stacks, &w.until_ns))
		return;
	int r = symbols_refresh(t->symbols);
	if (r < 0)
		cpu_windows_note(&g->sinking, "names may be missing", r);
	w.symbols = t->symbols;
	w.stacks = stacks;
	w.from_ns = made.begun_wall_ns;
	g->env.sink->window(g->env.sink->arg, &w);
}

static void set_due(struct gate *g, uint64_t ns)
{
	LOCK_SCOPE(&g->lock);
	g->sink_due_ns = ns;
}

void gate_sink_set(struct gate *g, struct capture_tools *t, bool on)
{
	if (!g->env.sink || on == (g->sink_due_ns != 0))
		return;
	if (!on) {
		end_window(g, t, false);
		set_due(g, 0);
		return;
	}
	g->sinking.env =
		(struct cpu_windows_env){g->env.mem, g->env.clk, take_cpu, drop_cpu, note, g};
	cpu_windows_begin(&g->sinking, t);
	set_due(g, clk_ns(g->env.clk) + CPU_SINK_WINDOW_NS);
}

void gate_sink_turn(struct gate *g)
{
	uint64_t now_ns = clk_ns(g->env.clk), next_ns = g->sink_due_ns + CPU_SINK_WINDOW_NS;
	end_window(g, &g->tools, true);
	cpu_windows_begin(&g->sinking, &g->tools);
	/* After a stall windows begin anew: short ones that catch up tell nothing. */
	set_due(g, now_ns < next_ns ? next_ns : now_ns + CPU_SINK_WINDOW_NS);
}
