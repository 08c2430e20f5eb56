/* Turns of the gate: open, close, where to push, and the way back after a time. */
#include "base/log.h"
#include "base/num.h"
#include "profiling/gate_impl.h"
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES (2 * ADDRESS_BYTES + 512)

static void copy_text(char *to, size_t room, const char *from)
{
	(void)snprintf(to, room, "%s", from ? from : "");
}

static void drop_tools(const struct gate *g, struct capture_tools *t)
{
	t->contention = contention_close(t->contention);
	if (!g->boot_heap)
		t->heap = heap_close(t->heap);
	t->sampler = sampler_close(t->sampler);
	t->symbols = symbols_free(t->symbols);
	for (unsigned i = 0; i < CAPTURE_DELTAS; i++)
		t->last[i] = stacks_free(t->last[i]);
	if (!g->boot_walker)
		t->walker = walker_free(t->walker);
}

static int make_tools(const struct gate *g, struct capture_tools *t)
{
	int r = t->walker ? 0 : walker_new(t->mem, &t->walker);
	if (r == 0)
		r = symbols_new(t->mem, &t->symbols);
	if (r == 0)
		r = sampler_open(&(struct sampler_env){t->mem, t->clk, t->walker},
			&(struct sampler_conf){t->cpu_hz, g->conf.kernel}, &t->sampler);
	if (r == 0 && !t->heap)
		r = heap_open(&(struct heap_env){t->mem, t->walker},
			&(struct heap_conf){.rate_bytes = t->heap_rate_bytes}, &t->heap);
	if (r == 0)
		r = contention_open(&(struct contention_env){t->mem, t->clk, t->walker},
			&(struct contention_conf){t->mutex_fraction, t->block_rate_ns},
			&t->contention);
	return r;
}

static void note_kernel(const struct gate *g, struct sampler *sampler)
{
	struct sampler_status st;
	sampler_status(sampler, &st);
	if (g->conf.kernel && st.threads_kernel < st.threads)
		log_warn("-profiling-kernel", 0, "stacks in the kernel: %s", st.kernel_state);
}

static int open_tools(struct gate *g, struct capture_tools *ret_tools)
{
	struct capture_tools t = {.mem = g->env.mem,
		.clk = g->env.clk,
		.cpu_hz = g->conf.cpu_hz,
		.heap_rate_bytes = g->conf.heap_rate_bytes,
		.mutex_fraction = g->conf.mutex_fraction,
		.block_rate_ns = g->conf.block_rate_ns,
		.walker = g->boot_walker,
		.heap = g->boot_heap};
	int r = make_tools(g, &t);
	if (r < 0) {
		drop_tools(g, &t);
		return r;
	}
	note_kernel(g, t.sampler);
	char switches[sizeof(g->switches)];
	timeline_switches_probe(t.mem, switches, sizeof(switches));
	LOCK_SCOPE(&g->lock);
	memcpy(g->switches, switches, sizeof(g->switches));
	*ret_tools = t;
	return 0;
}

/* The state as people write it. */
static const char *pair_text(
	const struct gate *g, const struct gate_pair *p, bool pushing, char buf[static LINE_BYTES])
{
	if (!p->enabled)
		return "off";
	if (!p->address[0] && g->env.sink && !p->pull_only)
		return "on (/debug/pprof/ is served, the CPU is sent by OTLP, nothing is pushed)";
	if (!p->address[0])
		return "on (pull-only: /debug/pprof/ is served, nothing is pushed)";
	(void)snprintf(
		buf, LINE_BYTES, "on, %s to %s", pushing ? "pushing" : "not pushing", p->address);
	return buf;
}

static bool is_same(const struct gate_pair *a, const struct gate_pair *b)
{
	return a->enabled == b->enabled && a->pull_only == b->pull_only &&
	       address_is_same(a->address, b->address);
}

/* Does the push that runs go on in that state? */
static bool keeps_push(const struct gate *g, const struct gate_pair *to)
{
	return g->pushing && is_same(&g->now, to);
}

/* A timed turn is undone later; the first of a chain of one direction says to what. With the lock,
 * before the state changes. */
static void set_revert(struct gate *g, const struct gate_turning *turn)
{
	uint64_t after_ns = turn->job ? turn->job->duration_ns : 0;
	bool in_chain = g->revert_pending && g->revert_chain == turn->to.enabled;
	g->revert_pending = after_ns > 0;
	if (!g->revert_pending)
		return;
	if (!in_chain)
		g->revert_to = g->now;
	g->revert_chain = turn->to.enabled;
	g->revert_after_ns = after_ns;
	g->revert_ns = clk_ns(g->env.clk) + after_ns;
	g->revert_at_ns = clk_wall_ns(g->env.clk) + after_ns;
}

/* What a turn changes, in one step for who asks for the status. *tools: those that were opened, or
 * is given those to close. */
static void publish(struct gate *g, const struct gate_turning *turn, const struct fault *push,
	struct capture_tools *tools)
{
	const struct gate_pair *to = &turn->to;
	LOCK_SCOPE(&g->lock);
	set_revert(g, turn);
	if (to->enabled && !g->now.enabled) {
		g->tools = *tools;
		g->symbols_info = (struct symbols_info){0};
		stat_add(&g->opens, 1);
	} else if (!to->enabled && g->now.enabled) {
		*tools = g->tools;
		g->tools = (struct capture_tools){0};
		stat_add(&g->closes, 1);
	}
	g->now = *to;
	g->pushing = g->push != NULL;
	copy_text(g->last_error, sizeof(g->last_error), push->code ? push->text : "");
}

static int open_gate(struct gate *g, const struct gate_turning *turn, struct capture_tools *tools)
{
	int r = open_tools(g, tools);
	if (r < 0)
		return r;
	LOCK_SCOPE(&g->lock);
	g->opened_by = turn->by;
	copy_text(g->peer, sizeof(g->peer), turn->peer);
	g->opened_at_ns = clk_wall_ns(g->env.clk);
	return 0;
}

/* Goes to a state; a push that is not to go on has ended. Negative: it could not be opened, and
 * nothing is changed. *ret_push is what the push said, if it was to start. */
static int apply(struct gate *g, const struct gate_turning *turn, struct fault *ret_push)
{
	const struct gate_pair *to = &turn->to;
	bool was_open = g->now.enabled;
	struct capture_tools tools = {0};
	if (to->enabled && !was_open) {
		int r = open_gate(g, turn, &tools);
		if (r < 0)
			return r;
	}
	if (to->enabled && to->address[0] && !g->push)
		ret_push->code =
			gate_push_start(g, to->address, was_open ? &g->tools : &tools, ret_push);
	if (to->enabled)
		gate_sink_set(g, was_open ? &g->tools : &tools, !to->pull_only);
	if (!to->enabled && was_open) {
		gate_sink_set(g, &g->tools, false);
		gate_end_captures(g, "ended early: the gate was closed");
	}
	publish(g, turn, ret_push, &tools);
	if (!to->enabled && was_open) {
		drop_tools(g, &tools);
		/* What reading debug information took goes back to the system. */
		(void)malloc_trim(0);
	}
	return 0;
}

/* Why the push to a new address lacks what the flags gave. */
static const char *withheld_text(const struct gate *g, bool keeps)
{
	return g->push && !keeps && push_conf_withholds(&g->conf.push, g->now.address)
		       ? "; credentials withheld: address differs from -profiling-pyroscope"
		       : "";
}

static void log_turn(const struct gate *g, const struct gate_pair *was, bool was_pushing,
	bool keeps, const struct fault *push, const char *after)
{
	char now_text[LINE_BYTES], was_text[LINE_BYTES];
	bool same = is_same(was, &g->now) && was_pushing == g->pushing;
	const char *now = pair_text(g, &g->now, g->pushing, now_text);
	const char *before = same ? "unchanged" : pair_text(g, was, was_pushing, was_text);
	if (push->code)
		log_warn(NULL, 0, "[profiling] %s (%s%s); push NOT started: %s%s", now,
			same ? "" : "was ", before, push->text, after);
	else
		log_info(NULL, 0, "[profiling] %s (%s%s)%s%s", now, same ? "" : "was ", before,
			withheld_text(g, keeps), after);
}

/* The push that a turn ends is over. */
static void stop_push(struct gate *g)
{
	if (!g->push)
		return;
	if (!push_is_idle(g->push))
		log_warn(NULL, 0,
			"[profiling] the last profiles for %s were not all sent within %u s: given "
			"up",
			g->now.address, (unsigned)(PUSH_FLUSH_NS / NS_PER_SEC));
	gate_push_stop(g);
}

/* One that cannot be done is not tried again and again. */
static void forget_revert(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	g->revert_pending = false;
}

/* Goes there and logs it. */
static void end_turn(struct gate *g, const struct gate_turning *turn)
{
	struct gate_pair was = g->now;
	bool was_pushing = g->pushing, keeps = keeps_push(g, &turn->to);
	struct fault push = {0};
	int r;
	{
		SPAN_SCOPE(turn->job ? turn->job->span : NULL);
		if (!keeps)
			stop_push(g);
		r = apply(g, turn, &push);
	}
	if (r < 0)
		log_error(NULL, r, "[profiling] cannot be switched on%s", turn->after);
	else
		log_turn(g, &was, was_pushing, keeps, &push, turn->after);
	if (r < 0 && turn->by == GATE_BY_REVERT)
		forget_revert(g);
	if (!turn->job)
		return;
	gate_status(g, &turn->job->status);
	gate_finish(turn->job, r);
}

static void begin_turn(struct gate *g, struct gate_turning *turn)
{
	if (keeps_push(g, &turn->to)) {
		turn->to = g->now; /* also as it was spelt */
	} else if (g->push) {
		SPAN_SCOPE(turn->job ? turn->job->span : NULL);
		push_finish(g->push, &g->tools);
		g->turning = *turn;
		g->turning.until_ns = clk_ns(g->env.clk) + PUSH_FLUSH_NS;
		return;
	}
	end_turn(g, turn);
}

void gate_end_turn(struct gate *g)
{
	struct gate_turning turn = g->turning;
	g->turning.until_ns = 0;
	end_turn(g, &turn);
}

/* Each turn may wait for the last uploads of a push. At the end of the program none is begun; nor
 * is one that nobody waits for any more when another comes after it. */
static bool is_moot(struct gate *g, const struct gate_job *j)
{
	LOCK_SCOPE(&g->lock);
	bool more = false;
	for (const struct gate_job *q = g->queue; q && !more; q = q->next)
		more = q->kind == GATE_TURN;
	return g->stopping || (j->dropped && more);
}

void gate_do_turn(struct gate *g, struct gate_job *j)
{
	struct gate_turning turn = {.to = {.enabled = j->enabled}, .by = j->by, .job = j};
	char duration[DURATION_TEXT_BYTES];
	if (is_moot(g, j)) {
		gate_finish(j, -ESHUTDOWN);
		return;
	}
	copy_text(turn.peer, sizeof(turn.peer), j->peer);
	turn.to.pull_only = j->enabled && j->has_address && !j->address[0];
	if (j->enabled)
		copy_text(turn.to.address, sizeof(turn.to.address),
			j->has_address	       ? j->address
			: g->pushing	       ? g->now.address
			: g->conf.push.address ? g->conf.push.address
					       : "");
	if (j->duration_ns)
		(void)snprintf(turn.after, sizeof(turn.after), ", auto-reverting in %s",
			num_duration_text(j->duration_ns, duration));
	begin_turn(g, &turn);
}

void gate_do_revert(struct gate *g)
{
	struct gate_turning turn = {.by = GATE_BY_REVERT};
	char duration[DURATION_TEXT_BYTES];
	{
		LOCK_SCOPE(&g->lock);
		turn.to = g->revert_to; /* pending until it is done */
		(void)snprintf(turn.after, sizeof(turn.after), " [auto-revert after %s]",
			num_duration_text(g->revert_after_ns, duration));
	}
	begin_turn(g, &turn);
}

void gate_shut(struct gate *g)
{
	begin_turn(g, &(struct gate_turning){.by = GATE_BY_REST, .after = " [shutdown]"});
}

static int check_ask(const struct gate_ask *ask, struct fault *f)
{
	if (ask->address && !ask->enabled)
		return fault_set(
			f, -EINVAL, "/server_address", NULL, "only meaningful with enabled:true");
	if (ask->duration_ns > GATE_DURATION_MAX_NS)
		return fault_set(f, -EINVAL, "/duration", "up to 24h", "exceeds maximum of 24h");
	return ask->address && ask->address[0]
		       ? push_conf_check_address(ask->address, "/server_address", f)
		       : 0;
}

int gate_turn(struct gate *g, const struct gate_ask *ask, const struct gate_done *done,
	struct gate_job **ret_job, struct fault *reterr_fault)
{
	int r = check_ask(ask, reterr_fault);
	if (r < 0)
		return r;
	struct gate_job *j = gate_job_new(g, GATE_TURN, done);
	if (!j)
		return -ENOMEM;
	j->by = ask->by_flag ? GATE_BY_FLAG : GATE_BY_REST;
	j->enabled = ask->enabled;
	j->has_address = ask->address != NULL;
	j->duration_ns = ask->duration_ns;
	copy_text(j->address, sizeof(j->address), ask->address);
	copy_text(j->peer, sizeof(j->peer), ask->peer);
	r = gate_submit(g, j);
	if (r < 0) {
		(void)gate_job_drop(j);
		return r;
	}
	*ret_job = j;
	return 0;
}

int gate_turned(const struct gate_job *j, const struct gate_status **ret_status)
{
	*ret_status = &j->status;
	return j->r;
}
