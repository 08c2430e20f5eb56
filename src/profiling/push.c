#include "profiling/push.h"
#include "profiling/cpu_windows.h"
#include "profiling/symbol.h"
#include "profiling/walker.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In this order, after the CPU. */
static const enum capture_kind pushed[] = {
	CAPTURE_GOROUTINE, CAPTURE_BLOCK, CAPTURE_MUTEX, CAPTURE_HEAP};
struct window { /* of one kind: each begins when the one before was gathered */
	uint64_t begun_ns, begun_wall_ns;
	struct stacks *last; /* at the end of the one before */
};
struct push {
	struct push_env env;
	struct upload *upload;
	uint64_t due_ns;
	struct cpu_windows cpu;
	struct window windows[ARRAY_SIZE(pushed)];
};

static bool is_wanted(const struct capture_tools *t, enum capture_kind kind)
{
	return kind == CAPTURE_MUTEX   ? t->mutex_fraction > 0
	       : kind == CAPTURE_BLOCK ? t->block_rate_ns > 0
				       : true;
}

/* Of the end of a window, not of all of it. */
static bool is_now(enum capture_kind kind)
{
	return kind == CAPTURE_GOROUTINE;
}

static void upload(struct push *p, struct capture_tools *t, const struct capture_made *made,
	uint64_t until_wall_ns)
{
	struct upload_profile up = {.kind = capture_profile(made->kind),
		.hz = t->cpu_hz,
		.from_ns = made->begun_wall_ns,
		.until_ns = until_wall_ns,
		.body = TEXT(p->env.mem)};
	int r = capture_encode(t, made, &up.body);
	if (r == 0) {
		upload_queue(p->upload, &up);
		return;
	}
	text_done(&up.body);
	cpu_windows_note(&p->cpu, "a profile was lost", r);
}

static void begin_kind(struct push *p, struct window *w)
{
	w->begun_ns = clk_ns(p->env.clk);
	w->begun_wall_ns = clk_wall_ns(p->env.clk);
}

static void end_kind(
	struct push *p, struct capture_tools *t, enum capture_kind kind, struct window *w)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t begun_ns = w->begun_ns, begun_wall_ns = w->begun_wall_ns;
	int r = is_now(kind) ? capture_gather(t, kind, &stacks)
			     : capture_since(t, kind, &w->last, &stacks);
	if (r < 0) {
		cpu_windows_note(&p->cpu, "a profile was lost", r);
		return;
	}
	begin_kind(p, w);
	struct capture_made made = {.kind = kind,
		.stacks = stacks,
		.begun_wall_ns = begun_wall_ns,
		.duration_ns = is_now(kind) ? 0 : w->begun_ns - begun_ns};
	upload(p, t, &made, w->begun_wall_ns);
}

static bool take_cpu(void *arg)
{
	struct push *p = arg;
	return p->env.take_cpu(p->env.arg);
}

static void drop_cpu(void *arg)
{
	struct push *p = arg;
	p->env.drop_cpu(p->env.arg);
}

static void note_cpu(void *arg, const char *text)
{
	upload_note(((struct push *)arg)->upload, text);
}

/* goes_on: into the next window, without a gap. What is sent another way is not sent twice. */
static void end_cpu(struct push *p, struct capture_tools *t, bool goes_on)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	struct capture_made made;
	uint64_t until_wall_ns;
	bool carried = p->env.cpu_is_carried(p->env.arg);
	if (cpu_windows_end(&p->cpu, t, goes_on, &made, &stacks, &until_wall_ns) && !carried)
		upload(p, t, &made, until_wall_ns);
}

static void end_window(struct push *p, struct capture_tools *t, bool goes_on)
{
	walker_refresh(t->walker);
	int r = symbols_refresh(t->symbols);
	if (r < 0)
		cpu_windows_note(&p->cpu, "names may be missing", r);
	end_cpu(p, t, goes_on);
	for (unsigned i = 0; i < ARRAY_SIZE(pushed); i++)
		if (is_wanted(t, pushed[i]))
			end_kind(p, t, pushed[i], &p->windows[i]);
}

/* From here on is the first window: what was before is not its. */
static int begin_windows(struct push *p, struct capture_tools *t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(pushed); i++) {
		struct window *w = &p->windows[i];
		begin_kind(p, w);
		if (is_now(pushed[i]) || !is_wanted(t, pushed[i]))
			continue;
		int r = capture_gather(t, pushed[i], &w->last);
		if (r < 0)
			return r;
	}
	p->due_ns = clk_ns(p->env.clk) + PUSH_WINDOW_NS;
	return 0;
}

static int start(struct push *p, const struct push_conf *conf, const char *address,
	struct capture_tools *t, struct fault *reterr_fault)
{
	struct upload_env env = {p->env.mem, p->env.clk, p->env.totals, p->env.idle, p->env.arg};
	int r = begin_windows(p, t);
	if (r < 0)
		return r;
	struct push_target target;
	push_target_make(conf, address, p->env.version, &target);
	r = upload_start(&env, &target.upload, &p->upload, reterr_fault);
	push_target_done(&target);
	return r;
}

int push_start(const struct push_env *env, const struct push_conf *conf, const char *address,
	struct capture_tools *t, struct push **ret_push, struct fault *reterr_fault)
{
	if (push_conf_is_diverted())
		return fault_set(reterr_fault, -EINVAL, "", NULL,
			PUSH_CONF_FOREIGN " is set in the environment: clients of Pyroscope "
					  "would push there instead");
	struct push *p = mem_zalloc(env->mem, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->env = *env;
	p->cpu.env = (struct cpu_windows_env){env->mem, env->clk, take_cpu, drop_cpu, note_cpu, p};
	int r = start(p, conf, address, t, reterr_fault);
	if (r < 0) {
		(void)push_stop(p);
		return r;
	}
	cpu_windows_begin(&p->cpu, t);
	*ret_push = p;
	return 0;
}

uint64_t push_due_ns(const struct push *p)
{
	return p->due_ns;
}

void push_turn(struct push *p, struct capture_tools *t)
{
	uint64_t now_ns = clk_ns(p->env.clk);
	end_window(p, t, true);
	cpu_windows_begin(&p->cpu, t);
	/* After a stall windows begin anew: short ones that catch up tell nothing. */
	p->due_ns = now_ns < p->due_ns + PUSH_WINDOW_NS ? p->due_ns + PUSH_WINDOW_NS
							: now_ns + PUSH_WINDOW_NS;
}

void push_finish(struct push *p, struct capture_tools *t)
{
	end_window(p, t, false);
	p->due_ns = UINT64_MAX;
}

bool push_is_idle(struct push *p)
{
	return upload_is_idle(p->upload);
}

struct push *push_stop(struct push *p)
{
	if (!p)
		return NULL;
	p->upload = upload_stop(p->upload);
	for (unsigned i = 0; i < ARRAY_SIZE(pushed); i++)
		p->windows[i].last = stacks_free(p->windows[i].last);
	return mem_free(p->env.mem, p);
}

void push_status(struct push *p, struct upload_status *ret_status)
{
	upload_status(p->upload, ret_status);
}
