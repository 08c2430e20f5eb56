#include "profiling/blocked.h"
#include "base/thread.h"
#include "base/threads.h"
#include "profiling/said.h"
#include "profiling/switches.h"
#include <errno.h>
#include <unistd.h>

/* Different stacks in the kernel that a thread is told by. */
#define THREAD_STACKS 64
/* A thread whose own waits are less than a hundredth of its blocked time hardly waits in ours. */
#define HARDLY 100

struct blocked_thread {
	struct blocked_thread *next;
	struct self *self; /* NULL: gone */
	bool open, hushed;
	struct switches switches;
	bool off, guessed; /* since off_ns; guessed: by what /proc told at the start */
	uint64_t off_ns;
	unsigned kernel_n; /* of off: call sites */
	uintptr_t kernel[SWITCHES_KERNEL_DEPTH];
	const struct label *label;
	uint64_t n, total_ns, own_ns;
	struct stacks *stacks; /* values: intervals, nanoseconds */
};
struct blocked {
	struct blocked_env env;
	struct threads_hooks hooks;
	bool hooked, kernel;
	/* Guards what follows; taken within the registry's lock, never around it. */
	struct lock lock;
	struct blocked_thread *threads;
};

static int open_switches(struct blocked *b, pid_t tid, struct switches *ret_switches)
{
	int r = b->kernel ? switches_open(tid, true, ret_switches) : -EACCES;
	return r < 0 ? switches_open(tid, false, ret_switches) : r;
}

static void born(void *arg, struct self *self)
{
	struct blocked *b = arg;
	struct blocked_thread *t = mem_zalloc(b->env.mem, sizeof(*t));
	if (!t)
		return;
	t->self = self;
	t->off_ns = clk_ns(b->env.clk);
	if (stacks_new(b->env.mem, THREAD_STACKS, &t->stacks) < 0 ||
		open_switches(b, self->tid, &t->switches) < 0) {
		(void)stacks_free(t->stacks);
		(void)mem_free(b->env.mem, t);
		return;
	}
	t->open = true;
	t->off = t->guessed = self != &nl6_self && switches_is_asleep(self->tid);
	LOCK_SCOPE(&b->lock);
	t->next = b->threads;
	b->threads = t;
}

static void end_off(struct blocked_thread *t, uint64_t at_ns)
{
	uintptr_t pcs[SWITCHES_KERNEL_DEPTH + 1];
	unsigned n = 0;
	if (!t->off || at_ns <= t->off_ns)
		return;
	for (; n < t->kernel_n; n++)
		pcs[n] = t->kernel[n];
	pcs[n++] = said_pc(SAID_ELSEWHERE);
	t->n++;
	t->total_ns += at_ns - t->off_ns;
	stacks_add(t->stacks, &(struct stack){.values = {1, (int64_t)(at_ns - t->off_ns)},
				      .end = UNWIND_ENTRY,
				      .n = (uint16_t)n,
				      .pcs = pcs});
}

static void take(struct blocked_thread *t, const struct switches_event *e)
{
	if (e->lost || e->out)
		t->off = false; /* what is not known is not told */
	end_off(t, e->at_ns);
	t->off = e->out && !e->preempted;
	t->off_ns = e->at_ns;
	t->kernel_n = e->kernel_n;
	for (unsigned i = 0; i < e->kernel_n; i++)
		t->kernel[i] = (uintptr_t)e->kernel[i] - (i > 0);
}

static void drain(struct blocked_thread *t)
{
	struct switches_event e;
	while (t->open && switches_next(&t->switches, &e))
		take(t, &e);
}

static void finish(struct blocked_thread *t, uint64_t now_ns)
{
	if (!t->open)
		return;
	drain(t);
	end_off(t, now_ns);
	switches_close(&t->switches);
	t->open = t->off = false;
}

static void gone(void *arg, struct self *self)
{
	struct blocked *b = arg;
	LOCK_SCOPE(&b->lock);
	for (struct blocked_thread *t = b->threads; t; t = t->next) {
		if (t->self != self)
			continue;
		finish(t, clk_ns(b->env.clk));
		t->own_ns = __atomic_load_n(&self->offcpu_ns, __ATOMIC_RELAXED);
		t->label = __atomic_load_n(&self->label, __ATOMIC_RELAXED);
		t->hushed = __atomic_load_n(&self->hushed, __ATOMIC_RELAXED);
		t->self = NULL;
	}
}

int blocked_start(const struct blocked_env *env, struct blocked **ret_blocked)
{
	struct switches s;
	int r = switches_open(gettid(), true, &s);
	bool kernel = r == 0;
	if (r < 0)
		r = switches_open(gettid(), false, &s);
	if (r < 0)
		return r;
	switches_close(&s);
	struct blocked *b = mem_zalloc(env->mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->env = *env;
	b->kernel = kernel;
	lock_init(&b->lock);
	b->hooks = (struct threads_hooks){born, gone, b, NULL};
	b->hooked = true;
	threads_subscribe(&b->hooks);
	*ret_blocked = b;
	return 0;
}

void blocked_poll(struct blocked *b)
{
	LOCK_SCOPE(&b->lock);
	for (struct blocked_thread *t = b->threads; t; t = t->next)
		drain(t);
}

void blocked_stop(struct blocked *b)
{
	LOCK_SCOPE(&b->lock);
	uint64_t now_ns = clk_ns(b->env.clk);
	for (struct blocked_thread *t = b->threads; t; t = t->next)
		finish(t, now_ns);
}

struct adding {
	const struct blocked_thread *thread;
	struct stacks *to;
};

/* What share of the thread's blocked time was not in its own waits. */
static int64_t foreign(const struct blocked_thread *t, int64_t value)
{
	return (int64_t)((double)value * (double)(t->total_ns - t->own_ns) / (double)t->total_ns);
}

static void add_stack(void *arg, const struct stack *stack)
{
	struct adding *a = arg;
	struct stack s = *stack;
	s.label = a->thread->label;
	s.values[1] = foreign(a->thread, s.values[1]);
	stacks_add(a->to, &s);
}

static void add_thread(const struct blocked_thread *t, struct stacks *to)
{
	if (t->hushed || t->total_ns <= t->own_ns)
		return;
	if (t->own_ns * HARDLY < t->total_ns && stacks_folded(t->stacks)->values[0] == 0) {
		stacks_each(t->stacks, add_stack, &(struct adding){t, to});
		return;
	}
	stacks_add_said(to, SAID_ELSEWHERE, t->label,
		(int64_t[STACKS_VALUES]){MAX(foreign(t, (int64_t)t->n), (int64_t)1),
			(int64_t)(t->total_ns - t->own_ns)});
}

static void unhook(struct blocked *b)
{
	if (b->hooked)
		threads_unsubscribe(&b->hooks);
	b->hooked = false;
}

void blocked_add(struct blocked *b, struct stacks *to)
{
	unhook(b); /* which reads each thread's own waits */
	for (const struct blocked_thread *t = b->threads; t; t = t->next)
		add_thread(t, to);
}

struct blocked *blocked_free(struct blocked *b)
{
	if (!b)
		return NULL;
	unhook(b);
	for (struct blocked_thread *t = b->threads, *next; t; t = next) {
		next = t->next;
		(void)stacks_free(t->stacks);
		(void)mem_free(b->env.mem, t);
	}
	lock_done(&b->lock);
	return mem_free(b->env.mem, b);
}
