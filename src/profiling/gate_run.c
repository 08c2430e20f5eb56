/* The gate's thread and what it is asked. */
#include "base/waits.h"
#include "profiling/gate_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct gate_job *gate_job_new(struct gate *g, enum gate_job_kind kind, const struct gate_done *done)
{
	struct gate_job *j = mem_zalloc(g->env.mem, sizeof(*j));
	if (!j)
		return NULL;
	j->gate = g;
	j->refs = 1;
	j->kind = kind;
	j->done = *done;
	j->body = (struct text)TEXT(g->env.mem);
	j->span = span_begin_child(
		kind == GATE_TURN ? "turn profiling" : "capture profile", SPAN_INTERNAL);
	return j;
}

static void unref(struct gate_job *j)
{
	/* Release and acquire pair among the droppers. */
	if (__atomic_sub_fetch(&j->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	const struct mem *mem = j->gate->env.mem;
	span_end(j->span); /* of what was never queued */
	text_done(&j->body);
	(void)timeline_free(j->capture.timeline);
	mem_free(mem, (void *)(uintptr_t)j->capture.ask.pcs);
	mem_free(mem, j);
}

struct gate_job *gate_job_drop(struct gate_job *j)
{
	if (!j)
		return NULL;
	{
		LOCK_SCOPE(&j->gate->lock);
		j->dropped = true;
		cond_wake_all(&j->gate->changed);
	}
	unref(j);
	return NULL;
}

void gate_finish(struct gate_job *j, int r)
{
	struct gate *g = j->gate;
	if (r < 0)
		span_fail(j->span, strerrordesc_np(-r));
	span_end(TAKE(j->span));
	{
		LOCK_SCOPE(&g->lock);
		j->r = r;
		if (j->kind == GATE_CAPTURE) {
			g->under_way[j->capture.ask.kind]--;
			if (r == 0)
				stat_add(&g->captures_made, 1);
		}
	}
	if (j->done.done)
		j->done.done(j->done.arg);
	unref(j);
}

/* A thread that has ended, or is about to, is joined before another starts; the lock is held. */
static int start_thread(struct gate *g)
{
	if (g->running)
		return 0;
	g->thread = thread_join(g->thread);
	struct thread_conf conf = {"profiling-1", &label_main, gate_run, g};
	int r = thread_start(g->env.mem, &conf, &g->thread);
	g->running = r == 0;
	return r;
}

/* Those that last go on once at a time, but for the CPU where it is shared. */
static int may_capture(struct gate *g, enum capture_kind kind)
{
	if (!g->now.enabled)
		return -ENOENT;
	bool shared = !capture_lasts(kind) || (kind == CAPTURE_CPU && g->conf.share_cpu);
	bool taken =
		g->under_way[kind] || (kind == CAPTURE_CPU && (g->push_has_cpu || g->sink_has_cpu));
	if (shared || !taken)
		return 0;
	stat_add(&g->captures_refused, 1);
	return -EBUSY;
}

int gate_submit(struct gate *g, struct gate_job *j)
{
	LOCK_SCOPE(&g->lock);
	int r = g->stopping ? -ESHUTDOWN : 0;
	if (r == 0 && j->kind == GATE_CAPTURE)
		r = may_capture(g, j->capture.ask.kind);
	if (r == 0)
		r = start_thread(g);
	if (r < 0)
		return r;
	(void)__atomic_fetch_add(&j->refs, 1, __ATOMIC_RELAXED);
	if (j->kind == GATE_CAPTURE)
		g->under_way[j->capture.ask.kind]++;
	struct gate_job **end = &g->queue;
	while (*end)
		end = &(*end)->next;
	*end = j;
	cond_wake_all(&g->changed);
	return 0;
}

/* Takes a capture off the list when it is due, dropped, or all are (now_ns UINT64_MAX). */
static struct gate_job *take_due(struct gate *g, uint64_t now_ns)
{
	for (struct gate_job **at = &g->captures, *j; (j = *at); at = &j->next)
		if (j->dropped || j->capture.ends_ns <= now_ns) {
			*at = j->next;
			return j;
		}
	return NULL;
}

static void note_symbols(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	symbols_info(g->tools.symbols, &g->symbols_info);
}

static void end_capture(struct gate *g, struct gate_job *j, const char *why)
{
	bool dropped;
	{
		LOCK_SCOPE(&g->lock);
		dropped = j->dropped;
	}
	int r = 0;
	if (dropped) {
		capture_abort(&j->capture);
	} else {
		SPAN_SCOPE(j->span);
		r = capture_end(&g->tools, &j->capture, why, &j->body);
	}
	if (r < 0)
		capture_abort(&j->capture);
	note_symbols(g);
	gate_finish(j, r);
}

void gate_end_captures(struct gate *g, const char *why)
{
	for (;;) {
		struct gate_job *j;
		{
			LOCK_SCOPE(&g->lock);
			j = take_due(g, UINT64_MAX);
		}
		if (!j)
			return;
		end_capture(g, j, why);
	}
}

static void begin_capture(struct gate *g, struct gate_job *j)
{
	int r = g->tools.sampler ? capture_begin(&g->tools, &j->capture) : -ENOENT;
	if (r < 0) {
		gate_finish(j, r);
	} else if (r == 1) {
		end_capture(g, j, NULL);
	} else {
		j->next = g->captures;
		g->captures = j;
	}
}

enum next {
	NEXT_JOB,
	NEXT_CAPTURE,
	NEXT_POLL,
	NEXT_WINDOW,
	NEXT_SINK,
	NEXT_FLUSHED,
	NEXT_REVERT,
	NEXT_END,
	NEXT_WAIT
};

/* The first that can be begun: turns come one after the other. */
static struct gate_job *take_job(struct gate *g)
{
	for (struct gate_job **at = &g->queue, *j; (j = *at); at = &j->next)
		if (j->kind == GATE_CAPTURE || !g->turning.until_ns) {
			*at = j->next;
			j->next = NULL;
			return j;
		}
	return NULL;
}

static bool is_polled(const struct gate *g)
{
	return g->captures && (g->under_way[CAPTURE_TRACE] || g->under_way[CAPTURE_OFFCPU]);
}

/* Of the turns: what is to be done now. */
static enum next next_turn(const struct gate *g, uint64_t now_ns)
{
	if (g->turning.until_ns)
		return push_is_idle(g->push) || g->turning.until_ns <= now_ns ? NEXT_FLUSHED
									      : NEXT_WAIT;
	if (g->stopping || (!g->tools.sampler && !g->revert_pending))
		return NEXT_END;
	return g->revert_pending && g->revert_ns <= now_ns ? NEXT_REVERT : NEXT_WAIT;
}

static enum next next_now(
	struct gate *g, uint64_t now_ns, uint64_t poll_ns, struct gate_job **ret_job)
{
	if ((*ret_job = take_job(g)))
		return NEXT_JOB;
	if ((*ret_job = take_due(g, now_ns)))
		return NEXT_CAPTURE;
	enum next turn = next_turn(g, now_ns);
	if (turn != NEXT_WAIT)
		return turn;
	if (g->push && push_due_ns(g->push) <= now_ns)
		return NEXT_WINDOW;
	if (g->sink_due_ns && g->sink_due_ns <= now_ns)
		return NEXT_SINK;
	return is_polled(g) && poll_ns <= now_ns ? NEXT_POLL : NEXT_WAIT;
}

/* When, if nothing is asked before. */
static uint64_t next_ns(const struct gate *g, uint64_t poll_ns)
{
	uint64_t until_ns = is_polled(g) ? poll_ns : UINT64_MAX;
	if (g->turning.until_ns)
		until_ns = MIN(until_ns, g->turning.until_ns);
	else if (g->revert_pending)
		until_ns = MIN(until_ns, g->revert_ns);
	if (g->push)
		until_ns = MIN(until_ns, push_due_ns(g->push));
	if (g->sink_due_ns)
		until_ns = MIN(until_ns, g->sink_due_ns);
	for (const struct gate_job *j = g->captures; j; j = j->next)
		until_ns = MIN(until_ns, j->capture.ends_ns);
	return until_ns;
}

/* Waits for what is next. */
static enum next wait_next(struct gate *g, struct gate_job **ret_job)
{
	LOCK_SCOPE(&g->lock);
	uint64_t poll_ns = clk_ns(g->env.clk) + CAPTURE_POLL_NS;
	for (;;) {
		enum next next = next_now(g, clk_ns(g->env.clk), poll_ns, ret_job);
		if (next == NEXT_END && !g->tools.sampler)
			g->running = g->stopping; /* nobody is to start another then */
		if (next != NEXT_WAIT)
			return next;
		uint64_t until_ns = next_ns(g, poll_ns);
		if (until_ns == UINT64_MAX)
			cond_wait(&g->changed, &g->lock);
		else
			(void)cond_wait_until(&g->changed, &g->lock, until_ns);
	}
}

void gate_run(void *arg)
{
	struct gate *g = arg;
	waits_hush();
	for (;;) {
		struct gate_job *j;
		switch (wait_next(g, &j)) {
		case NEXT_JOB:
			if (j->kind == GATE_CAPTURE)
				begin_capture(g, j);
			else
				gate_do_turn(g, j);
			break;
		case NEXT_CAPTURE:
			end_capture(g, j, NULL);
			break;
		case NEXT_POLL:
			for (j = g->captures; j; j = j->next)
				capture_poll(&j->capture);
			break;
		case NEXT_WINDOW:
			push_turn(g->push, &g->tools);
			note_symbols(g);
			break;
		case NEXT_SINK:
			gate_sink_turn(g);
			note_symbols(g);
			break;
		case NEXT_FLUSHED:
			gate_end_turn(g);
			break;
		case NEXT_REVERT:
			gate_do_revert(g);
			break;
		case NEXT_END:
			if (!g->tools.sampler)
				return;
			gate_shut(g);
			break;
		case NEXT_WAIT:
			break;
		}
	}
}
