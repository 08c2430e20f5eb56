#include "profiling/cpu_windows.h"
#include <stdio.h>
#include <string.h>

void cpu_windows_note(const struct cpu_windows *w, const char *what, int r)
{
	char text[128];
	(void)snprintf(text, sizeof(text), "%s: %s", what, strerrordesc_np(-r));
	w->env.note(w->env.arg, text);
}

void cpu_windows_begin(struct cpu_windows *w, struct capture_tools *t)
{
	if (w->reader)
		return;
	if (!w->env.take(w->env.arg)) {
		w->env.note(w->env.arg,
			"could not start the CPU collector: cpu profiling already in use");
		return;
	}
	w->begun_wall_ns = clk_wall_ns(w->env.clk);
	int r = sampler_read_start(t->sampler, CAPTURE_STACKS, &w->reader);
	if (r < 0) {
		cpu_windows_note(w, "could not start the CPU collector", r);
		w->env.drop(w->env.arg);
	}
}

bool cpu_windows_end(struct cpu_windows *w, struct capture_tools *t UNUSED, bool goes_on,
	struct capture_made *ret_made, struct stacks **ret_stacks, uint64_t *ret_until_wall_ns)
{
	struct stacks *stacks = NULL;
	struct capture_made made = {.kind = CAPTURE_CPU, .begun_wall_ns = w->begun_wall_ns};
	uint64_t until_wall_ns = clk_wall_ns(w->env.clk);
	if (!w->reader)
		return false;
	if (goes_on) {
		int r = sampler_read_turn(w->reader, &stacks, &made.duration_ns);
		if (r < 0) {
			/* What was gathered stays, and is of the next window. */
			cpu_windows_note(w, "a window of the CPU grows", r);
			return false;
		}
		w->begun_wall_ns = until_wall_ns;
	} else {
		sampler_read_stop(w->reader, &stacks, &made.duration_ns);
		w->reader = NULL;
		w->env.drop(w->env.arg);
	}
	made.stacks = stacks;
	*ret_made = made;
	*ret_stacks = stacks;
	*ret_until_wall_ns = until_wall_ns;
	return true;
}
