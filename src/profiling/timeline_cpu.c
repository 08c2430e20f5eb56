#include "profiling/timeline_cpu.h"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum timeline_switches timeline_cpu_probe(int *ret_error)
{
	struct switches s;
	*ret_error = switches_open(gettid(), true, &s);
	enum timeline_switches found = TIMELINE_SWITCHES_KERNEL;
	if (*ret_error < 0) {
		int r = switches_open(gettid(), false, &s);
		if (r < 0) {
			*ret_error = r;
			return TIMELINE_SWITCHES_NONE;
		}
		found = TIMELINE_SWITCHES_USER;
	}
	switches_close(&s);
	return found;
}

int timeline_cpu_open(struct timeline_cpu *c, int tid, enum timeline_switches most, uint64_t now_ns)
{
	int r = -EACCES;
	*c = (struct timeline_cpu){.since_ns = now_ns};
	if (most == TIMELINE_SWITCHES_KERNEL)
		r = switches_open(tid, true, &c->switches);
	if (r < 0)
		r = switches_open(tid, false, &c->switches);
	if (r < 0)
		return r;
	c->open = true;
	if (tid == gettid()) {
		int cpu = sched_getcpu();
		c->on = cpu >= 0;
		c->cpu = (uint32_t)MAX(cpu, 0);
	} else {
		c->off = c->guessed = switches_is_asleep(tid);
	}
	return 0;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The innermost function that is not the scheduler's own. */
static uint64_t wait_of(const struct kallsyms *k, const struct switches_event *e)
{
	static const char *const inner[] = {
		"__schedule", "schedule", "io_schedule", "preempt_schedule", "perf_", "__perf_"};
	for (unsigned i = 0; k && i < e->kernel_n; i++) {
		const char *name = kallsyms_find(k, e->kernel[i], NULL);
		bool skip = !name;
		for (unsigned n = 0; !skip && n < ARRAY_SIZE(inner); n++)
			skip = has_prefix(name, inner[n]);
		if (!skip)
			return e->kernel[i];
	}
	return 0;
}

static void end(struct timeline_cpu *c, struct timeline_cpus *all,
	const struct timeline_track *track, uint64_t at_ns)
{
	struct timeline_event e = {.at_ns = c->since_ns,
		.for_ns = MAX(at_ns, c->since_ns) - c->since_ns,
		.track = track->index};
	if (c->on) {
		e.kind = TIMELINE_ON;
		e.what = c->cpu;
		/* Some threads never leave the processor on which they began. */
		all->n = MAX(all->n, c->cpu + 1);
		timeline_store_add(all->store, e);
	} else if (c->off) {
		e.kind = TIMELINE_OFF;
		e.what = c->wait;
		e.preempted = c->preempted;
		timeline_store_add(all->store, e);
	}
	c->on = c->off = c->guessed = false;
}

static void take(struct timeline_cpu *c, struct timeline_cpus *all,
	const struct timeline_track *track, const struct switches_event *e)
{
	all->lost += e->lost;
	/* What is not known is not told; a guess that the thread slept is wrong if it leaves now.
	 */
	if (e->lost || (c->guessed && e->out) || (e->out ? c->off : c->on))
		c->on = c->off = c->guessed = false;
	end(c, all, track, e->at_ns);
	c->since_ns = e->at_ns;
	c->on = !e->out;
	c->off = e->out;
	c->cpu = e->cpu;
	c->preempted = e->preempted;
	c->wait = e->out && !e->preempted ? wait_of(all->kernel, e) : 0;
}

void timeline_cpu_drain(
	struct timeline_cpu *c, struct timeline_cpus *all, const struct timeline_track *track)
{
	struct switches_event e;
	while (c->open && switches_next(&c->switches, &e))
		take(c, all, track, &e);
}

void timeline_cpu_close(struct timeline_cpu *c, struct timeline_cpus *all,
	const struct timeline_track *track, uint64_t now_ns)
{
	if (!c->open)
		return;
	timeline_cpu_drain(c, all, track);
	end(c, all, track, now_ns);
	switches_close(&c->switches);
	c->open = false;
}
