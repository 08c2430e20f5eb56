#include "profiling/gate.h"
#include "net/caps.h"
#include "profiling/gate_impl.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

const struct flag gate_flags[] = {
	FLAG_U32(struct gate_conf, cpu_hz, "profiling-cpu-rate", 100, 1, 1000,
		"CPU samples a second of CPU time that the profiler takes while it is asked to"),
	FLAG_BOOL(struct gate_conf, kernel, "profiling-kernel", false,
		"Sample stacks in the kernel, too; keeps CAP_PERFMON and CAP_SYSLOG, see "
		"SECURITY.md"),
	FLAG_BOOL(struct gate_conf, share_cpu, "profiling-share-cpu", false,
		"Let any number of CPU profiles run at once; else the second is refused"),
	FLAG_U64(struct gate_conf, heap_rate_bytes, "profiling-heap-rate", 512 << 10, 1, 1 << 30,
		"Mean bytes allocated between two samples of the heap while the gate is open; "
		"1: every allocation"),
	FLAG_BOOL(struct gate_conf, heap_at_boot, "profiling-heap-at-boot", false,
		"Sample the heap from the start on, gate open or not, so that all of it has a "
		"stack"),
	FLAG_U32(struct gate_conf, mutex_fraction, "profiling-mutex-fraction", 0, 0, 1000000,
		"Note one of `N` contentions of locks while the gate is open; 0: none"),
	FLAG_U64(struct gate_conf, block_rate_ns, "profiling-block-rate", 0, 0, 1000000000000,
		"Note one wait for each `N` nanoseconds that threads wait while the gate is open; "
		"1: each wait; 0: none"),
	{0},
};

const struct counter gate_counters[] = {
	COUNTER(struct gate, opens, "Times the profiling gate was opened"),
	COUNTER(struct gate, closes, "Times the profiling gate was closed"),
	COUNTER(struct gate, captures_made, "Profiles taken"),
	COUNTER(struct gate, captures_refused, "Profiles refused while another used the sampler"),
	{0},
};

/* CAP_PERFMON for the samples, CAP_SYSLOG for the addresses in /proc/kallsyms. */
uint64_t gate_caps(const struct gate_conf *conf)
{
	return conf->kernel ? CAPS_BIT(CAP_PERFMON) | CAPS_BIT(CAP_SYSLOG) : 0;
}

int gate_new(const struct gate_env *env, const struct gate_conf *conf, struct gate **ret_gate)
{
	struct gate *g = mem_zalloc(env->mem, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->env = *env;
	g->conf = *conf;
	lock_init(&g->lock);
	cond_init(&g->changed);
	int r = stats_attach(env->stats, gate_counters, NULL, g);
	if (r == 0)
		r = stats_attach(env->stats, upload_counters, NULL, &g->totals);
	if (r == 0 && conf->heap_at_boot)
		r = walker_new(env->mem, &g->boot_walker);
	if (r == 0 && conf->heap_at_boot)
		r = heap_open(&(struct heap_env){env->mem, g->boot_walker},
			&(struct heap_conf){.rate_bytes = conf->heap_rate_bytes}, &g->boot_heap);
	if (r < 0) {
		(void)gate_free(g);
		return r;
	}
	*ret_gate = g;
	return 0;
}

struct gate *gate_free(struct gate *g)
{
	if (!g)
		return NULL;
	gate_stop(g);
	stats_detach(g->env.stats, &g->totals);
	stats_detach(g->env.stats, g);
	g->boot_heap = heap_close(g->boot_heap);
	g->boot_walker = walker_free(g->boot_walker);
	cond_done(&g->changed);
	lock_done(&g->lock);
	return mem_free(g->env.mem, g);
}

struct opening {
	struct lock lock;
	struct cond done;
	bool is_done;
};

static void on_open(void *arg)
{
	struct opening *o = arg;
	LOCK_SCOPE(&o->lock);
	o->is_done = true;
	cond_wake_all(&o->done);
}

int gate_start(struct gate *g)
{
	struct opening o = {.is_done = false};
	struct gate_ask ask = {.enabled = true, .address = g->conf.push.address, .by_flag = true};
	struct gate_done done = {on_open, &o};
	struct gate_job *j;
	const struct gate_status *status;
	struct fault fault = {0};
	if (!g->conf.push.address)
		return 0;
	lock_init(&o.lock);
	cond_init(&o.done);
	int r = gate_turn(g, &ask, &done, &j, &fault);
	if (r == 0) {
		{
			LOCK_SCOPE(&o.lock);
			while (!o.is_done)
				cond_wait(&o.done, &o.lock);
		}
		r = gate_turned(j, &status);
		(void)gate_job_drop(j);
	}
	cond_done(&o.done);
	lock_done(&o.lock);
	return r;
}

void gate_stop(struct gate *g)
{
	struct thread *t;
	{
		LOCK_SCOPE(&g->lock);
		g->stopping = true;
		t = g->thread;
		g->thread = NULL;
		cond_wake_all(&g->changed);
	}
	(void)thread_join(t);
}

static void put_profiler(struct gate *g, struct gate_status *st)
{
	st->opened_by = g->opened_by;
	memcpy(st->peer, g->peer, sizeof(st->peer));
	st->opened_at_ns = g->opened_at_ns;
	for (unsigned i = 0; i < CAPTURE_KINDS; i++)
		st->captures += g->under_way[i];
	sampler_status(g->tools.sampler, &st->sampler);
	walker_info(g->tools.walker, &st->unwind);
	heap_status(g->tools.heap, &st->heap);
	st->symbols = g->symbols_info;
	memcpy(st->switches, g->switches, sizeof(st->switches));
	st->mutex_fraction = g->conf.mutex_fraction;
	st->block_rate_ns = g->conf.block_rate_ns;
	st->bytes = st->heap.bytes + contention_bytes(g->tools.contention) + st->sampler.bytes +
		    st->unwind.bytes + st->symbols.bytes;
}

void gate_status(struct gate *g, struct gate_status *ret_status)
{
	LOCK_SCOPE(&g->lock);
	struct gate_status st = {.enabled = g->now.enabled,
		.startup_flag = g->conf.push.address ? g->conf.push.address : "",
		.pushing = g->pushing,
		.sinking = g->sink_due_ns != 0,
		.revert_pending = g->revert_pending};
	memcpy(st.server_address, g->now.address, sizeof(st.server_address));
	memcpy(st.last_error, g->last_error, sizeof(st.last_error));
	if (g->push || g->pushing) {
		st.has_push = true;
		st.push = g->ended;
		if (g->push)
			push_status(g->push, &st.push);
		st.sdk_errors = st.push.errors;
		if (!st.last_error[0])
			memcpy(st.last_error, st.push.last_error, sizeof(st.last_error));
	}
	if (g->revert_pending) {
		st.revert_at_ns = g->revert_at_ns;
		st.revert_to = g->revert_to.enabled;
		memcpy(st.revert_to_address, g->revert_to.address, sizeof(st.revert_to_address));
	}
	if (g->now.enabled && g->tools.sampler)
		put_profiler(g, &st);
	*ret_status = st;
}

bool gate_is_open(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	return g->now.enabled;
}

uint64_t gate_count(const struct gate_status *st, enum capture_kind kind)
{
	switch (kind) {
	case CAPTURE_GOROUTINE:
	case CAPTURE_THREADCREATE:
		return st->sampler.threads;
	case CAPTURE_HEAP:
	case CAPTURE_ALLOCS:
		return st->heap.stacks;
	default:
		return 0;
	}
}

int gate_capture(struct gate *g, const struct capture_ask *ask, const struct gate_done *done,
	struct gate_job **ret_job)
{
	if (!capture_has_form(ask->kind, ask->duration_ns, ask->debug))
		return -EOPNOTSUPP;
	struct gate_job *j = gate_job_new(g, GATE_CAPTURE, done);
	if (!j)
		return -ENOMEM;
	j->capture.ask = *ask;
	j->capture.ask.pcs = NULL;
	int r = 0;
	if (ask->n_pcs) {
		j->capture.ask.pcs =
			mem_copy(g->env.mem, ask->pcs, ask->n_pcs * sizeof(ask->pcs[0]));
		r = j->capture.ask.pcs ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = gate_submit(g, j);
	if (r < 0) {
		(void)gate_job_drop(j);
		return r;
	}
	*ret_job = j;
	return 0;
}

struct timeline *gate_traced(struct gate_job *j)
{
	return TAKE(j->capture.timeline);
}

int gate_captured(struct gate_job *j, struct text **ret_body)
{
	*ret_body = &j->body;
	return j->r;
}
