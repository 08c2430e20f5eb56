#include "profiling/contention.h"
#include "base/rnd.h"
#include "base/threads.h"
#include "base/waits.h"
#include "profiling/said.h"
#include "profiling/sampler.h"
#include "profiling/walker.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Locks that are contended at one time, at most; further unlocks go unseen. */
#define SLOTS 128
#define MAX_STACKS 16000

/* Who dropped a lock, from there to the waiter that is let in. A lock's note tells its slot. */
struct slot {
	struct slot *next;
	const struct label *label;
	uint16_t n;
	uint8_t end;
	uintptr_t pcs[UNWIND_DEPTH];
};
enum offcpu { OFFCPU_OFF, OFFCPU_ON, OFFCPU_ENDS };
struct contention {
	struct contention_env env;
	struct contention_conf conf;
	struct waits_hooks hooks;
	uint64_t seed;
	/* Exception: bare mutexes, since locks of ours would tell of themselves. None is held while
	 * another is taken, but for control. */
	pthread_mutex_t control; /* captures */
	pthread_mutex_t slots_guard, table;
	struct slot *slots, *free; /* slots: NULL while no contention is measured */
	/* Guarded by table. */
	struct stacks *stacks[CONTENTION_KINDS];
	enum offcpu offcpu; /* also read without it */
	uint64_t offcpu_from_ns, offcpu_to_ns;
};

static void must(int r)
{
	assert(r == 0);
}

/* The calling thread's stack from the function of base that waits. */
static void walk(struct contention *c, const void *site, uintptr_t pcs[static UNWIND_DEPTH],
	struct stack *ret_stack)
{
	struct unwind_regs regs = UNWIND_REGS_HERE();
	enum unwind_end end = UNWIND_ENTRY;
	unsigned n = walker_here(c->env.walker, &regs, pcs, UNWIND_DEPTH, &end), skip = 0;
	for (unsigned i = 1; i < n && !skip; i++)
		if (pcs[i] + 1 == (uintptr_t)site)
			skip = i;
	*ret_stack = (struct stack){.label = nl6_self.label,
		.n = (uint16_t)(n - skip),
		.end = (uint8_t)end,
		.pcs = pcs + skip};
}

static void add(struct contention *c, enum contention_kind kind, const struct stack *s)
{
	must(pthread_mutex_lock(&c->table));
	stacks_add(c->stacks[kind], s);
	must(pthread_mutex_unlock(&c->table));
}

static uint64_t draw(const struct contention *c, uint64_t use)
{
	return rnd_u64(c->seed + use, (uint64_t)nl6_self.tid, nl6_self.waits);
}

static void begins(void *arg, struct wait *w)
{
	struct contention *c = arg;
	if (w->kind == WAIT_LOCK && c->conf.mutex_fraction)
		w->wants_drop = draw(c, 0) % c->conf.mutex_fraction == 0;
	w->began_ns = clk_ns(c->env.clk);
}

static uint64_t note_of(const struct contention *c, const struct slot *s)
{
	return (uint64_t)c->hooks.session << 32 | (uint32_t)(s - c->slots + 1);
}

/* NULL also for what an earlier opening left. */
static struct slot *noted(const struct contention *c, uint64_t note)
{
	if (note >> 32 != c->hooks.session || !c->slots)
		return NULL;
	return &c->slots[(uint32_t)note - 1];
}

static struct slot *take_slot(struct contention *c)
{
	must(pthread_mutex_lock(&c->slots_guard));
	struct slot *s = c->free;
	if (s)
		c->free = s->next;
	must(pthread_mutex_unlock(&c->slots_guard));
	return s;
}

static void give_slot(struct contention *c, struct slot *s)
{
	must(pthread_mutex_lock(&c->slots_guard));
	s->next = c->free;
	c->free = s;
	must(pthread_mutex_unlock(&c->slots_guard));
}

/* Overwrites what an earlier drop noted that let in another than the waiter. */
static void drops(void *arg, uint64_t *note, const void *site)
{
	struct contention *c = arg;
	struct slot *s = noted(c, *note);
	struct stack stack;
	uintptr_t pcs[UNWIND_DEPTH];
	*note = 0;
	if (!s && !(s = take_slot(c)))
		return;
	walk(c, site, pcs, &stack);
	s->label = stack.label;
	s->n = stack.n;
	s->end = stack.end;
	memcpy(s->pcs, stack.pcs, stack.n * sizeof(pcs[0]));
	*note = note_of(c, s);
}

static void let_in(struct contention *c, const struct wait *w, uint64_t *note, uint64_t delay_ns)
{
	static const uintptr_t unseen[] = {SAID_START + 16 * SAID_UNLOCK_UNSEEN};
	struct slot *s = noted(c, *note);
	if (!w->wants_drop)
		return; /* not chosen; the note is for one who was */
	*note = 0;
	if (w->session == c->hooks.session && w->kind != WAIT_NONE) {
		struct stack stack = {.label = &label_main, .n = 1, .pcs = unseen};
		if (s)
			stack = (struct stack){
				.label = s->label, .n = s->n, .end = s->end, .pcs = s->pcs};
		stack.values[0] = c->conf.mutex_fraction;
		stack.values[1] = (int64_t)(delay_ns * c->conf.mutex_fraction);
		add(c, CONTENTION_MUTEX, &stack);
	}
	if (s)
		give_slot(c, s);
}

/* Go's rule: a wait shorter than the rate counts for the rate with the probability of its share. */
static bool weigh_block(
	const struct contention *c, uint64_t delay_ns, int64_t *ret_count, int64_t *ret_delay_ns)
{
	uint64_t rate = c->conf.block_rate_ns;
	*ret_count = 1;
	*ret_delay_ns = (int64_t)delay_ns;
	if (delay_ns >= rate)
		return true;
	if (draw(c, 1) % rate >= delay_ns)
		return false;
	*ret_count = (int64_t)(rate / delay_ns);
	if (draw(c, 2) % delay_ns < rate % delay_ns) /* the fraction, in the mean */
		++*ret_count;
	*ret_delay_ns = (int64_t)rate;
	return true;
}

/* Of the wait what lies within the capture; 0: nothing. The table's mutex is held. */
static int64_t within_capture(const struct contention *c, const struct wait *w, uint64_t now_ns)
{
	bool known = w->session == c->hooks.session;
	uint64_t from_ns = known ? MAX(w->began_ns, c->offcpu_from_ns) : c->offcpu_from_ns;
	uint64_t to_ns = c->offcpu == OFFCPU_ENDS ? MIN(now_ns, c->offcpu_to_ns) : now_ns;
	return c->offcpu != OFFCPU_OFF && to_ns > from_ns ? (int64_t)(to_ns - from_ns) : 0;
}

static void ends(void *arg, const struct wait *w, bool claimed, uint64_t *note, const void *site)
{
	struct contention *c = arg;
	uint64_t now_ns = clk_ns(c->env.clk), delay_ns = now_ns - w->began_ns;
	int64_t count, block_ns;
	if (note)
		let_in(c, w, note, delay_ns);
	if (w->kind == WAIT_NONE)
		return;
	bool block = c->conf.block_rate_ns && w->session == c->hooks.session &&
		     w->kind != WAIT_IO && weigh_block(c, delay_ns, &count, &block_ns);
	bool offcpu = !claimed && __atomic_load_n(&c->offcpu, __ATOMIC_RELAXED) != OFFCPU_OFF;
	if (!block && !offcpu)
		return;
	struct stack stack;
	uintptr_t pcs[UNWIND_DEPTH];
	walk(c, site, pcs, &stack);
	must(pthread_mutex_lock(&c->table));
	if (block) {
		stack.values[0] = count;
		stack.values[1] = block_ns;
		stacks_add(c->stacks[CONTENTION_BLOCK], &stack);
	}
	int64_t off_ns = offcpu ? within_capture(c, w, now_ns) : 0;
	if (off_ns > 0) {
		(void)__atomic_fetch_add(&nl6_self.offcpu_ns, (uint64_t)off_ns, __ATOMIC_RELAXED);
		stack.values[0] = 1;
		stack.values[1] = off_ns;
		stacks_add(c->stacks[CONTENTION_OFFCPU], &stack);
	}
	must(pthread_mutex_unlock(&c->table));
}

static int make_slots(struct contention *c)
{
	c->slots = mem_array(c->env.mem, SLOTS, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	for (unsigned i = 0; i < SLOTS; i++) {
		c->slots[i].next = c->free;
		c->free = &c->slots[i];
	}
	return 0;
}

static bool measures(const struct contention *c)
{
	return c->conf.mutex_fraction || c->conf.block_rate_ns;
}

int contention_open(const struct contention_env *env, const struct contention_conf *conf,
	struct contention **ret_c)
{
	struct contention *c = mem_zalloc(env->mem, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->env = *env;
	c->conf = *conf;
	c->hooks = (struct waits_hooks){begins, ends, drops, c, 0};
	c->seed = clk_ns(env->clk);
	must(pthread_mutex_init(&c->control, NULL));
	must(pthread_mutex_init(&c->slots_guard, NULL));
	must(pthread_mutex_init(&c->table, NULL));
	int r = conf->mutex_fraction ? make_slots(c) : 0;
	for (unsigned i = 0; i < CONTENTION_KINDS && r == 0; i++)
		r = stacks_new(env->mem, MAX_STACKS, &c->stacks[i]);
	if (r == 0 && measures(c))
		waits_set_hooks(&c->hooks);
	if (r < 0) {
		(void)contention_close(c);
		return r;
	}
	*ret_c = c;
	return 0;
}

struct contention *contention_close(struct contention *c)
{
	if (!c)
		return NULL;
	if (c->hooks.session)
		waits_set_hooks(NULL);
	for (unsigned i = 0; i < CONTENTION_KINDS; i++)
		(void)stacks_free(c->stacks[i]);
	mem_free(c->env.mem, c->slots);
	must(pthread_mutex_destroy(&c->table));
	must(pthread_mutex_destroy(&c->slots_guard));
	must(pthread_mutex_destroy(&c->control));
	return mem_free(c->env.mem, c);
}

void contention_read(struct contention *c, enum contention_kind kind, struct stacks *to)
{
	must(pthread_mutex_lock(&c->table));
	stacks_add_all(to, c->stacks[kind]);
	struct stack folded = *stacks_folded(c->stacks[kind]);
	must(pthread_mutex_unlock(&c->table));
	if (folded.values[0])
		stacks_add_said(to, SAID_FOLDED, &label_main, folded.values);
}

uint64_t contention_bytes(struct contention *c)
{
	uint64_t bytes = sizeof(*c) + (c->slots ? SLOTS * sizeof(*c->slots) : 0);
	must(pthread_mutex_lock(&c->table));
	for (unsigned i = 0; i < CONTENTION_KINDS; i++)
		bytes += stacks_bytes(c->stacks[i]);
	must(pthread_mutex_unlock(&c->table));
	return bytes;
}

/* Waits that go on belong to no capture yet, whatever an earlier one made of them. */
static void unclaim(void *arg UNUSED, struct self *thread)
{
	(void)__atomic_fetch_and(&thread->waiting, ~WAIT_CLAIMED, __ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->offcpu_ns, 0, __ATOMIC_RELAXED);
}

int contention_offcpu_start(struct contention *c)
{
	int r = 0;
	must(pthread_mutex_lock(&c->control));
	if (c->offcpu != OFFCPU_OFF) {
		r = -EBUSY;
	} else {
		threads_each(unclaim, NULL);
		must(pthread_mutex_lock(&c->table));
		stacks_clear(c->stacks[CONTENTION_OFFCPU]);
		c->offcpu_from_ns = clk_ns(c->env.clk);
		__atomic_store_n(&c->offcpu, OFFCPU_ON, __ATOMIC_RELAXED);
		must(pthread_mutex_unlock(&c->table));
		if (!measures(c))
			waits_set_hooks(&c->hooks);
	}
	must(pthread_mutex_unlock(&c->control));
	return r;
}

/* The waits that go on at the end of a capture. */
struct claim {
	pid_t tid;
	int64_t delay_ns;
	bool shown;
	const struct label *label;
};
struct claims {
	struct contention *c;
	uint64_t from_ns, to_ns;
	unsigned n, room;
	struct claim *all;
};

static void claim(void *arg, struct self *thread)
{
	struct claims *cl = arg;
	uint32_t was = __atomic_load_n(&thread->waiting, __ATOMIC_SEQ_CST);
	/* Its end, if that comes now, sees the claim or has been counted when hooks have passed. */
	bool mine = cl->n < cl->room && was != WAIT_NONE &&
		    !__atomic_load_n(&thread->hushed, __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&thread->waiting, &was, was | WAIT_CLAIMED, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	waits_pass(thread);
	uint64_t since_ns = __atomic_load_n(&thread->waits_since_ns, __ATOMIC_RELAXED);
	since_ns = MAX(since_ns, cl->from_ns);
	if (!mine || since_ns >= cl->to_ns)
		return;
	(void)__atomic_fetch_add(&thread->offcpu_ns, cl->to_ns - since_ns, __ATOMIC_RELAXED);
	cl->all[cl->n++] = (struct claim){thread->tid, (int64_t)(cl->to_ns - since_ns), false,
		__atomic_load_n(&thread->label, __ATOMIC_RELAXED)};
}

static void add_claim(struct contention *c, struct claim *cl, const struct stack *where)
{
	struct stack stack = *where;
	stack.label = cl->label;
	stack.values[0] = 1;
	stack.values[1] = cl->delay_ns;
	add(c, CONTENTION_OFFCPU, &stack);
	cl->shown = true;
}

static void show_claim(void *arg, const struct sampler_thread_info *t)
{
	struct claims *cl = arg;
	for (unsigned i = 0; i < cl->n && t->answered && t->n; i++)
		if (cl->all[i].tid == t->tid && !cl->all[i].shown)
			add_claim(cl->c, &cl->all[i],
				&(struct stack){.n = (uint16_t)t->n,
					.end = (uint8_t)t->end,
					.pcs = t->pcs});
}

static int take_claims(struct claims *cl, struct sampler *sampler)
{
	static const uintptr_t no_answer[] = {SAID_START + 16 * SAID_NO_ANSWER};
	int r = cl->all ? 0 : -ENOMEM;
	threads_each(claim, cl);
	must(pthread_mutex_lock(&cl->c->table));
	__atomic_store_n(&cl->c->offcpu, OFFCPU_OFF, __ATOMIC_RELAXED);
	must(pthread_mutex_unlock(&cl->c->table));
	if (r == 0 && sampler)
		r = sampler_threads(sampler, show_claim, cl);
	for (unsigned i = 0; i < cl->n; i++)
		if (!cl->all[i].shown)
			add_claim(cl->c, &cl->all[i], &(struct stack){.n = 1, .pcs = no_answer});
	return r;
}

int contention_offcpu_stop(struct contention *c, struct sampler *sampler)
{
	int r = 0;
	must(pthread_mutex_lock(&c->control));
	if (c->offcpu == OFFCPU_ON) {
		struct claims cl = {.c = c, .room = threads_count() + 16};
		cl.all = mem_array(c->env.mem, cl.room, sizeof(*cl.all));
		if (!cl.all)
			cl.room = 0;
		must(pthread_mutex_lock(&c->table));
		cl.from_ns = c->offcpu_from_ns;
		cl.to_ns = c->offcpu_to_ns = clk_ns(c->env.clk);
		__atomic_store_n(&c->offcpu, OFFCPU_ENDS, __ATOMIC_RELAXED);
		must(pthread_mutex_unlock(&c->table));
		r = take_claims(&cl, sampler);
		if (!measures(c))
			waits_set_hooks(NULL);
		mem_free(c->env.mem, cl.all);
	}
	must(pthread_mutex_unlock(&c->control));
	return r;
}

bool contention_offcpu_running(struct contention *c)
{
	return __atomic_load_n(&c->offcpu, __ATOMIC_RELAXED) != OFFCPU_OFF;
}
