#include "profiling/capture.h"
#include "profiling/goroutine.h"
#include "profiling/legacy.h"
#include "profiling/profile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const enum profile_kind profile_of[CAPTURE_KINDS] = {
	[CAPTURE_CPU] = PROFILE_CPU,
	[CAPTURE_HEAP] = PROFILE_HEAP,
	[CAPTURE_ALLOCS] = PROFILE_ALLOCS,
	[CAPTURE_GOROUTINE] = PROFILE_GOROUTINE,
	[CAPTURE_THREADCREATE] = PROFILE_THREADCREATE,
	[CAPTURE_MUTEX] = PROFILE_MUTEX,
	[CAPTURE_BLOCK] = PROFILE_BLOCK,
	[CAPTURE_OFFCPU] = PROFILE_OFFCPU,
	[CAPTURE_DELTA_HEAP] = PROFILE_HEAP,
	[CAPTURE_DELTA_MUTEX] = PROFILE_MUTEX,
	[CAPTURE_DELTA_BLOCK] = PROFILE_BLOCK,
};

enum profile_kind capture_profile(enum capture_kind kind)
{
	return profile_of[kind];
}

static bool is_delta(enum capture_kind kind)
{
	return kind >= CAPTURE_DELTA_HEAP && kind <= CAPTURE_DELTA_BLOCK;
}

bool capture_lasts(enum capture_kind kind)
{
	return kind == CAPTURE_CPU || kind == CAPTURE_OFFCPU || kind == CAPTURE_TRACE;
}

bool capture_has_form(enum capture_kind kind, uint64_t duration_ns, unsigned debug)
{
	if (capture_lasts(kind))
		return duration_ns > 0;
	if (kind == CAPTURE_SYMBOL || is_delta(kind))
		return duration_ns == 0 && debug == 0;
	return !(duration_ns && debug);
}

static int gather(struct capture_tools *t, enum capture_kind kind, struct stacks *to)
{
	switch (profile_of[kind]) {
	case PROFILE_HEAP:
	case PROFILE_ALLOCS:
		heap_read(t->heap, to);
		return 0;
	case PROFILE_GOROUTINE:
		return goroutine_gather(t->mem, t->sampler, to, NULL);
	case PROFILE_THREADCREATE:
		return goroutine_gather(t->mem, t->sampler, NULL, to);
	case PROFILE_MUTEX:
		contention_read(t->contention, CONTENTION_MUTEX, to);
		return 0;
	case PROFILE_BLOCK:
		contention_read(t->contention, CONTENTION_BLOCK, to);
		return 0;
	case PROFILE_OFFCPU:
		contention_read(t->contention, CONTENTION_OFFCPU, to);
		return 0;
	default:
		return 0;
	}
}

struct subtracting {
	struct stacks *from;
	enum profile_kind kind;
};

static void subtract_stack(void *arg, const struct stack *stack)
{
	struct subtracting *s = arg;
	struct stack less = *stack;
	/* What is in use now is no sum over time: it stays as it is. */
	bool heap = s->kind == PROFILE_HEAP || s->kind == PROFILE_ALLOCS;
	for (unsigned i = 0; i < STACKS_VALUES; i++)
		less.values[i] = heap && i >= 2 ? 0 : -stack->values[i];
	stacks_add(s->from, &less);
}

/* *now becomes what came since before. */
static int subtract(struct capture_tools *t, enum profile_kind kind, const struct stacks *now,
	const struct stacks *before, struct stacks **ret_diff)
{
	int r = stacks_new(t->mem, CAPTURE_STACKS, ret_diff);
	if (r < 0)
		return r;
	stacks_add_all(*ret_diff, now);
	if (before)
		stacks_each(before, subtract_stack, &(struct subtracting){*ret_diff, kind});
	return 0;
}

int capture_gather(struct capture_tools *t, enum capture_kind kind, struct stacks **ret_stacks)
{
	AUTO(stacks) struct stacks *s = NULL;
	int r = stacks_new(t->mem, CAPTURE_STACKS, &s);
	if (r == 0)
		r = gather(t, kind, s);
	if (r < 0)
		return r;
	*ret_stacks = TAKE(s);
	return 0;
}

int capture_since(struct capture_tools *t, enum capture_kind kind, struct stacks **last,
	struct stacks **ret_stacks)
{
	AUTO(stacks) struct stacks *now = NULL;
	int r = capture_gather(t, kind, &now);
	if (r == 0)
		r = subtract(t, profile_of[kind], now, *last, ret_stacks);
	if (r < 0)
		return r;
	(void)stacks_free(*last);
	*last = TAKE(now);
	return 0;
}

/* Waits that are not ours. Without them the profile says what it lacks. */
static void begin_blocked(struct capture_tools *t, struct capture *c)
{
	int r = blocked_start(&(struct blocked_env){t->mem, t->clk}, &c->blocked);
	if (r < 0)
		(void)snprintf(c->note, sizeof(c->note),
			"own waits only: perf is not permitted (%s)", strerrorname_np(-r));
}

int capture_begin(struct capture_tools *t, struct capture *c)
{
	walker_refresh(t->walker); /* of every kind, not only where the CPU is sampled */
	c->begun_ns = clk_ns(t->clk);
	c->begun_wall_ns = clk_wall_ns(t->clk);
	if (c->ask.duration_ns == 0)
		return 1;
	int r;
	if (c->ask.kind == CAPTURE_CPU)
		r = sampler_read_start(t->sampler, CAPTURE_STACKS, &c->reader);
	else if (c->ask.kind == CAPTURE_OFFCPU)
		r = contention_offcpu_start(t->contention);
	else if (c->ask.kind == CAPTURE_TRACE)
		r = timeline_start(&(struct timeline_env){t->mem, t->clk},
			&(struct timeline_conf){CAPTURE_TRACE_EVENTS, true}, &c->timeline);
	else
		r = capture_gather(t, c->ask.kind, &c->before);
	if (r < 0)
		return r;
	if (c->ask.kind == CAPTURE_OFFCPU) {
		c->offcpu = t->contention;
		begin_blocked(t, c);
	}
	c->ends_ns = c->begun_ns + c->ask.duration_ns;
	return 0;
}

/* A symbol a line for what is known: the protocol of the pprof tool's symbol lookups. */
static int end_symbol(struct capture_tools *t, const struct capture_ask *ask, struct text *out)
{
	text_put(out, "num_symbols: 1\n");
	for (uint32_t i = 0; i < ask->n_pcs; i++) {
		char name[1024];
		if (symbols_name(t->symbols, ask->pcs[i], name, sizeof(name)))
			text_printf(out, "0x%lx %s\n", (unsigned long)ask->pcs[i], name);
	}
	return out->err;
}

static int offcpu_stacks(struct capture_tools *t, struct capture *c, struct stacks **ret_stacks,
	uint64_t *ret_duration_ns)
{
	if (c->blocked)
		blocked_stop(c->blocked);
	int r = contention_offcpu_stop(TAKE(c->offcpu), t->sampler);
	if (r == 0)
		r = capture_gather(t, CAPTURE_OFFCPU, ret_stacks);
	if (r < 0)
		return r;
	if (c->blocked) {
		blocked_add(c->blocked, *ret_stacks);
		c->blocked = blocked_free(c->blocked);
	}
	*ret_duration_ns = clk_ns(t->clk) - c->begun_ns;
	return 0;
}

static int stacks_of(struct capture_tools *t, struct capture *c, struct stacks **ret_stacks,
	uint64_t *ret_duration_ns)
{
	enum capture_kind kind = c->ask.kind;
	*ret_duration_ns = 0;
	if (c->reader) {
		sampler_read_stop(c->reader, ret_stacks, ret_duration_ns);
		c->reader = NULL;
		return 0;
	}
	if (is_delta(kind))
		return capture_since(t, kind, &t->last[kind - CAPTURE_DELTA_HEAP], ret_stacks);
	if (c->before) {
		int r = capture_since(t, kind, &c->before, ret_stacks);
		c->before = stacks_free(c->before);
		*ret_duration_ns = clk_ns(t->clk) - c->begun_ns;
		return r;
	}
	return c->offcpu ? offcpu_stacks(t, c, ret_stacks, ret_duration_ns)
			 : capture_gather(t, kind, ret_stacks);
}

static int64_t period_of(const struct capture_tools *t, enum profile_kind kind)
{
	switch (kind) {
	case PROFILE_CPU:
		return (int64_t)(NS_PER_SEC / t->cpu_hz);
	case PROFILE_HEAP:
	case PROFILE_ALLOCS:
		return (int64_t)t->heap_rate_bytes;
	default:
		return 0;
	}
}

static struct profile_ask profile_of_made(
	const struct capture_tools *t, const struct capture_made *made)
{
	return (struct profile_ask){.kind = profile_of[made->kind],
		.stacks = made->stacks,
		.period = period_of(t, profile_of[made->kind]),
		.time_ns = (int64_t)(made->kind == CAPTURE_CPU ? made->begun_wall_ns
							       : clk_wall_ns(t->clk)),
		.duration_ns = (int64_t)made->duration_ns,
		.comment = made->comment};
}

int capture_encode(struct capture_tools *t, const struct capture_made *made, struct text *out)
{
	struct profile_ask ask = profile_of_made(t, made);
	return profile_encode(t->mem, t->symbols, &ask, out);
}

int capture_end(struct capture_tools *t, struct capture *c, const char *why, struct text *out)
{
	c->ends_ns = 0;
	int r = symbols_refresh(t->symbols);
	if (r < 0)
		return r;
	if (c->ask.kind == CAPTURE_SYMBOL)
		return end_symbol(t, &c->ask, out);
	if (c->ask.kind == CAPTURE_TRACE) {
		timeline_stop(c->timeline);
		return 0;
	}
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t duration_ns;
	if (c->ask.kind == CAPTURE_GOROUTINE && c->ask.debug >= 2)
		return goroutine_dump(t->mem, t->sampler, t->symbols, out);
	r = stacks_of(t, c, &stacks, &duration_ns);
	if (r < 0)
		return r;
	struct capture_made made = {.kind = c->ask.kind,
		.stacks = stacks,
		.begun_wall_ns = c->begun_wall_ns,
		.duration_ns = duration_ns,
		.comment = why		? why
			   : c->note[0] ? c->note
					: NULL};
	struct profile_ask ask = profile_of_made(t, &made);
	return c->ask.debug ? legacy_encode(t->mem, t->symbols, &ask, out)
			    : profile_encode(t->mem, t->symbols, &ask, out);
}

void capture_poll(struct capture *c)
{
	if (c->timeline && c->ends_ns)
		timeline_poll(c->timeline);
	if (c->blocked && c->ends_ns)
		blocked_poll(c->blocked);
}

void capture_abort(struct capture *c)
{
	c->ends_ns = 0;
	if (c->reader) {
		struct stacks *stacks;
		uint64_t duration_ns;
		sampler_read_stop(c->reader, &stacks, &duration_ns);
		c->reader = NULL;
		(void)stacks_free(stacks);
	}
	if (c->offcpu)
		(void)!contention_offcpu_stop(TAKE(c->offcpu), NULL);
	c->blocked = blocked_free(c->blocked);
	c->timeline = timeline_free(c->timeline);
	c->before = stacks_free(c->before);
}
