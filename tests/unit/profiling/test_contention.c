#include "base/queue.h"
#include "base/thread.h"
#include "base/threads.h"
#include "base/waits.h"
#include "fake.h"
#include "profiling/contention.h"
#include "profiling/sampler.h"
#include "profiling/symbol.h"
#include "profiling/task.h"
#include "profiling/walker.h"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_holder, "holder");
static LABEL_SUBSYSTEM(label_waiter, "waiter");

struct bench { /* what each test stands on */
	struct walker *walker;
	struct contention *c;
	struct symbols *symbols;
};

static struct bench opened(uint32_t fraction, uint64_t rate_ns, const struct clk *clk)
{
	struct bench b = {0};
	ck_assert_int_eq(walker_new(&mem_libc, &b.walker), 0);
	ck_assert_int_eq(symbols_new(&mem_libc, &b.symbols), 0);
	struct contention_env env = {&mem_libc, clk, b.walker};
	struct contention_conf conf = {fraction, rate_ns};
	ck_assert_int_eq(contention_open(&env, &conf, &b.c), 0);
	return b;
}

static void closed(struct bench *b)
{
	ck_assert_ptr_null(contention_close(b->c));
	ck_assert_ptr_null(waits_hooks);
	b->walker = walker_free(b->walker);
	b->symbols = symbols_free(b->symbols);
}

/* Sums over the stacks of a label whose leaf and some frame are functions of these names. */
struct sum {
	struct symbols *symbols;
	const struct label *label;
	const char *leaf, *within;
	int64_t count, ns, all;
};

static bool is_named(struct sum *s, uintptr_t pc, const char *name)
{
	struct symbol sym;
	ck_assert_int_eq(symbols_find(s->symbols, pc, &sym), 0);
	for (unsigned i = 0; i < sym.n; i++)
		if (strcmp(sym.frames[i].name, name) == 0)
			return true;
	return false;
}

/* The innermost name, inlined functions included. */
static bool is_leaf(struct sum *s, uintptr_t pc)
{
	struct symbol sym;
	ck_assert_int_eq(symbols_find(s->symbols, pc, &sym), 0);
	return !s->leaf || (sym.n && strcmp(sym.frames[0].name, s->leaf) == 0);
}

static void add_up(void *arg, const struct stack *stack)
{
	struct sum *s = arg;
	s->all += stack->values[0];
	bool within = !s->within;
	for (unsigned i = 0; i < stack->n; i++)
		within = within || is_named(s, stack->pcs[i], s->within);
	if (stack->label != s->label || !within || !is_leaf(s, stack->pcs[0]))
		return;
	s->count += stack->values[0];
	s->ns += stack->values[1];
}

static struct sum sum_of(struct bench *b, enum contention_kind kind, const struct label *label,
	const char *leaf, const char *within)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	struct sum s = {b->symbols, label, leaf, within, 0, 0, 0};
	ck_assert_int_eq(stacks_new(&mem_libc, 1000, &stacks), 0);
	contention_read(b->c, kind, stacks);
	stacks_each(stacks, add_up, &s);
	return s;
}

static uint64_t now(void)
{
	return clk_ns(&clk_system);
}

static void spin(uint64_t ns)
{
	for (uint64_t until = now() + ns; now() < until;)
		;
}

/* Until it sleeps in its wait: before, it could still find the lock free. */
static void await_sleep(struct self **thread)
{
	struct task_state task = {0};
	struct self *s;
	while (task.state != 'S') {
		sched_yield();
		s = __atomic_load_n(thread, __ATOMIC_SEQ_CST);
		if (s && __atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST) == WAIT_LOCK)
			task_look(s->tid, &task);
	}
}

#define ROUNDS 10
#define HOLD_NS (10 * NS_PER_MS)

/* One thread waits for a lock again and again, and measures it. */
struct fight {
	struct lock lock;
	struct self *waiter;
	unsigned turn; /* odd: the holder has it */
	uint64_t waited_ns, held_ns;
};

static void wait_rounds(void *arg)
{
	struct fight *f = arg;
	__atomic_store_n(&f->waiter, &nl6_self, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < ROUNDS; i++) {
		while (__atomic_load_n(&f->turn, __ATOMIC_SEQ_CST) != 2 * i + 1)
			sched_yield();
		uint64_t from = now();
		lock_take(&f->lock);
		f->waited_ns += now() - from;
		lock_drop(&f->lock);
		__atomic_store_n(&f->turn, 2 * i + 2, __ATOMIC_SEQ_CST);
	}
}

__attribute__((noinline)) static void hold(struct fight *f, unsigned i)
{
	LABEL_SCOPE(&label_holder);
	lock_take(&f->lock);
	__atomic_store_n(&f->turn, 2 * i + 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&f->lock.watched, __ATOMIC_SEQ_CST))
		sched_yield();
	await_sleep(&f->waiter);
	uint64_t from = now();
	spin(HOLD_NS);
	f->held_ns += now() - from;
	lock_drop(&f->lock);
	while (__atomic_load_n(&f->turn, __ATOMIC_SEQ_CST) != 2 * i + 2)
		sched_yield();
}

START_TEST(contention_is_charged_to_who_held_the_lock)
{
	struct bench b = opened(1, 1, &clk_system);
	struct fight f = {0};
	struct thread *t;
	struct thread_conf conf = {"waiter", &label_waiter, wait_rounds, &f};
	lock_init(&f.lock);
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		hold(&f, i);
	thread_join(t);
	struct sum s = sum_of(&b, CONTENTION_MUTEX, &label_holder, "lock_drop", "hold");
	ck_assert_int_eq(s.count, ROUNDS);
	ck_assert_int_eq(s.all, ROUNDS);
	/* What was measured lies around the wait, and that around what was held. */
	ck_assert_uint_ge(s.ns, f.held_ns);
	ck_assert_uint_le(s.ns, f.waited_ns);
	s = sum_of(&b, CONTENTION_BLOCK, &label_waiter, "lock_take", "wait_rounds");
	ck_assert_int_eq(s.count, ROUNDS);
	ck_assert_uint_ge(s.ns, f.held_ns);
	ck_assert_uint_le(s.ns, f.waited_ns);
	lock_done(&f.lock);
	closed(&b);
}
END_TEST

#define CROWD 4

struct crowd {
	struct lock lock;
	unsigned n;
	struct self *all[CROWD];
};

static void pass_once(void *arg)
{
	struct crowd *c = arg;
	unsigned i = __atomic_fetch_add(&c->n, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->all[i], &nl6_self, __ATOMIC_SEQ_CST);
	lock_take(&c->lock);
	lock_drop(&c->lock);
	__asm__ volatile(""); /* else the last call is a jump, and this frame is not seen */
}

/* The first is let in by the holder, each other one by one of them. */
START_TEST(each_of_a_crowd_is_counted_once)
{
	struct bench b = opened(1, 0, &clk_system);
	struct crowd crowd = {0};
	struct thread *t[CROWD];
	struct thread_conf conf = {"waiter", &label_waiter, pass_once, &crowd};
	lock_init(&crowd.lock);
	lock_take(&crowd.lock);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t[i]), 0);
	for (unsigned i = 0; i < CROWD; i++)
		await_sleep(&crowd.all[i]);
	{
		LABEL_SCOPE(&label_holder);
		lock_drop(&crowd.lock);
	}
	for (unsigned i = 0; i < CROWD; i++)
		thread_join(t[i]);
	struct sum s = sum_of(&b, CONTENTION_MUTEX, &label_holder, "lock_drop", NULL);
	ck_assert_int_eq(s.count, 1);
	ck_assert_int_eq(s.all, CROWD);
	s = sum_of(&b, CONTENTION_MUTEX, &label_waiter, "lock_drop", "pass_once");
	ck_assert_int_eq(s.count, CROWD - 1);
	ck_assert_int_eq(sum_of(&b, CONTENTION_BLOCK, NULL, NULL, NULL).all, 0);
	lock_done(&crowd.lock);
	closed(&b);
}
END_TEST

struct waits {
	struct queue *queue;
	struct lock lock;
	struct cond changed;
	struct self *self;
	int fd;
	unsigned open;
	uint64_t measured_ns;
};

__attribute__((noinline)) static void wait_on_queue(struct waits *w)
{
	void *item;
	while (queue_take(w->queue, &item) == 0)
		;
}

__attribute__((noinline)) static void wait_on_condition(struct waits *w)
{
	LOCK_SCOPE(&w->lock);
	for (unsigned i = 1; i <= ROUNDS; i++)
		while (w->open < i)
			cond_wait(&w->changed, &w->lock);
}

static void wait_for_each(void *arg)
{
	struct waits *w = arg;
	__atomic_store_n(&w->self, &nl6_self, __ATOMIC_SEQ_CST);
	wait_on_queue(w);
	wait_on_condition(w);
}

/* Until the thread is in a wait of this kind that began after the time given. */
static void await_wait(struct waits *w, enum wait_kind kind, uint64_t after_ns)
{
	struct self *s;
	while (!(s = __atomic_load_n(&w->self, __ATOMIC_SEQ_CST)) ||
		__atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST) != kind ||
		__atomic_load_n(&s->waits_since_ns, __ATOMIC_SEQ_CST) < after_ns)
		sched_yield();
}

START_TEST(waits_are_charged_to_who_waits)
{
	struct bench b = opened(0, 1, &clk_system);
	struct waits w = {0};
	struct thread *t;
	struct thread_conf conf = {"waiter", &label_waiter, wait_for_each, &w};
	uint64_t least_ns = 0, last_ns = 0, from_ns, closed_ns = 0, begun_ns = now();
	lock_init(&w.lock);
	cond_init(&w.changed);
	ck_assert_int_eq(queue_new(&mem_libc, 4, &w.queue), 0);
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		await_wait(&w, WAIT_QUEUE, last_ns);
		from_ns = now();
		spin(HOLD_NS);
		last_ns = now();
		least_ns += last_ns - from_ns;
		if (i + 1 < ROUNDS)
			ck_assert_int_eq(queue_put(w.queue, &w), 0);
		else
			closed_ns = now(), queue_close(w.queue);
	}
	struct sum s;
	do /* it is counted when it has ended */
		s = sum_of(&b, CONTENTION_BLOCK, &label_waiter, "queue_take", "wait_on_queue");
	while (s.count < ROUNDS);
	uint64_t queue_ns = now() - begun_ns;
	ck_assert_int_eq(s.count, ROUNDS);
	ck_assert_uint_ge(s.ns, least_ns);
	ck_assert_uint_le(s.ns, queue_ns);
	least_ns = 0;
	for (unsigned i = 1; i <= ROUNDS; i++) {
		await_wait(&w, WAIT_COND, last_ns);
		from_ns = now();
		spin(HOLD_NS);
		last_ns = now();
		least_ns += last_ns - from_ns;
		LOCK_SCOPE(&w.lock);
		w.open = i;
		cond_wake(&w.changed);
	}
	thread_join(t);
	uint64_t cond_ns = now() - closed_ns;
	s = sum_of(&b, CONTENTION_BLOCK, &label_waiter, "cond_wait", "wait_on_condition");
	ck_assert_int_ge(s.count, ROUNDS); /* a condition may wake for nothing */
	ck_assert_int_le(s.count, ROUNDS + 1);
	ck_assert_uint_ge(s.ns, least_ns);
	ck_assert_uint_le(s.ns, cond_ns);
	ck_assert_int_eq(sum_of(&b, CONTENTION_MUTEX, NULL, NULL, NULL).all, 0);
	w.queue = queue_free(w.queue);
	cond_done(&w.changed);
	lock_done(&w.lock);
	closed(&b);
}
END_TEST

static bool near(int64_t value, int64_t truth, unsigned percent)
{
	int64_t off = value > truth ? value - truth : truth - value;
	return off * 100 <= truth * percent;
}

/* Waits whose length a clock of our own tells: many, and each known. */
#define MANY 20000

START_TEST(what_stands_for_many_is_scaled)
{
	struct fake f = fake_make();
	struct bench b = opened(10, 1000, f.clk);
	uint64_t note = 0;
	for (unsigned i = 0; i < MANY; i++) {
		struct wait w;
		wait_begins(&w, WAIT_LOCK);
		clk_step_ns(f.clk, 300);
		if (w.wants_drop)
			waits_tell_drop(&note, __builtin_return_address(0));
		wait_ends(&w, &note, __builtin_return_address(0));
		wait_begins(&w, WAIT_COND);
		clk_step_ns(f.clk, 2500); /* above the rate: always */
		wait_ends(&w, NULL, __builtin_return_address(0));
	}
	struct sum s = sum_of(&b, CONTENTION_MUTEX, nl6_self.label, NULL, NULL);
	ck_assert_msg(near(s.count, MANY, 12), "%ld of %d", (long)s.count, MANY);
	ck_assert_int_eq(s.ns, s.count * 300);
	ck_assert_int_eq(s.count % 10, 0);
	s = sum_of(&b, CONTENTION_BLOCK, nl6_self.label, NULL, NULL);
	ck_assert_msg(near(s.count, 2 * MANY, 4), "%ld of %d", (long)s.count, 2 * MANY);
	ck_assert_msg(near(s.ns, MANY * 2800ll, 2), "%ld of %lld", (long)s.ns, MANY * 2800ll);
	ck_assert_uint_eq(note, 0);
	closed(&b);
	fake_done(&f);
}
END_TEST

static void wait_for_queue(void *arg)
{
	struct waits *w = arg;
	__atomic_store_n(&w->self, &nl6_self, __ATOMIC_SEQ_CST);
	wait_on_queue(w);
}

__attribute__((noinline)) static void wait_for_events(void *arg)
{
	struct waits *w = arg;
	struct pollfd p = {w->fd, POLLIN, 0};
	__atomic_store_n(&w->self, &nl6_self, __ATOMIC_SEQ_CST);
	while (wait_poll(&p, 1, -1) < 1)
		;
}

START_TEST(a_capture_holds_what_began_before_and_goes_on)
{
	struct bench b = opened(0, 0, &clk_system);
	struct sampler *sampler = NULL;
	struct sampler_env env = {&mem_libc, &clk_system, b.walker};
	struct waits w = {0}, p = {.fd = eventfd(0, EFD_CLOEXEC)};
	struct thread *t[2];
	struct thread_conf conf[2] = {{"queue", &label_waiter, wait_for_queue, &w},
		{"poll", &label_holder, wait_for_events, &p}};
	ck_assert_int_eq(queue_new(&mem_libc, 4, &w.queue), 0);
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){100}, &sampler), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf[i], &t[i]), 0);
	await_wait(&w, WAIT_QUEUE, 0);
	await_wait(&p, WAIT_IO, 0);
	ck_assert_ptr_null(waits_hooks);
	uint64_t before_ns = now();
	ck_assert_int_eq(contention_offcpu_start(b.c), 0);
	ck_assert_int_eq(contention_offcpu_start(b.c), -EBUSY);
	ck_assert(contention_offcpu_running(b.c));
	uint64_t from_ns = now();
	spin(5 * HOLD_NS);
	uint64_t one = 1; /* ends the wait of the second, which began before as well */
	ck_assert_int_eq(write(p.fd, &one, sizeof(one)), sizeof(one));
	thread_join(t[1]);
	spin(5 * HOLD_NS);
	uint64_t least_ns = now() - from_ns;
	ck_assert_int_eq(contention_offcpu_stop(b.c, sampler), 0);
	uint64_t most_ns = now() - before_ns;
	ck_assert(!contention_offcpu_running(b.c));
	ck_assert_ptr_null(waits_hooks);
	struct sum s = sum_of(&b, CONTENTION_OFFCPU, &label_waiter, NULL, "wait_on_queue");
	ck_assert_int_eq(s.count, 1);
	ck_assert_uint_ge(s.ns, least_ns);
	ck_assert_uint_le(s.ns, most_ns);
	s = sum_of(&b, CONTENTION_OFFCPU, &label_holder, "wait_poll", "wait_for_events");
	ck_assert_int_eq(s.count, 1);
	ck_assert_uint_ge(s.ns, 5 * HOLD_NS);
	ck_assert_uint_le(s.ns, most_ns - 5 * HOLD_NS);
	/* A second capture begins anew, with what it sees of the same wait. */
	ck_assert_int_eq(contention_offcpu_start(b.c), 0);
	from_ns = now();
	spin(HOLD_NS);
	least_ns = now() - from_ns;
	queue_close(w.queue);
	thread_join(t[0]);
	ck_assert_int_eq(contention_offcpu_stop(b.c, sampler), 0);
	s = sum_of(&b, CONTENTION_OFFCPU, &label_waiter, "queue_take", "wait_on_queue");
	ck_assert_int_eq(s.count, 1);
	ck_assert_uint_ge(s.ns, least_ns);
	ck_assert_ptr_null(sampler_close(sampler));
	w.queue = queue_free(w.queue);
	close(p.fd);
	closed(&b);
}
END_TEST

/* Threads that fight and feed each other for as long as a test opens and closes. */
struct load {
	struct lock lock;
	struct queue *queue;
	unsigned stop;
	uint64_t passed;
};

static void fight_on(void *arg)
{
	struct load *l = arg;
	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		LOCK_SCOPE(&l->lock);
		l->passed++;
		if (l->passed % 8 == 0)
			sched_yield(); /* so that others find it held */
	}
}

static void feed(void *arg)
{
	struct load *l = arg;
	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		(void)!queue_put(l->queue, l);
		sched_yield();
	}
	queue_close(l->queue);
}

static void eat(void *arg)
{
	struct load *l = arg;
	void *item;
	while (queue_take(l->queue, &item) == 0)
		;
}

static bool seen_none(const int64_t seen[static CONTENTION_KINDS])
{
	return !seen[CONTENTION_MUTEX] || !seen[CONTENTION_BLOCK] || !seen[CONTENTION_OFFCPU];
}

START_TEST(opens_and_closes_under_load)
{
	static const struct contention_conf confs[] = {{1, 0}, {0, 1}, {1, 1}, {10, 1000}, {0, 0}};
	struct load l = {0};
	struct thread *t[5];
	struct thread_conf conf[5] = {{"fight-0", &label_holder, fight_on, &l},
		{"fight-1", &label_waiter, fight_on, &l}, {"fight-2", NULL, fight_on, &l},
		{"feed", NULL, feed, &l}, {"eat", NULL, eat, &l}};
	int64_t seen[CONTENTION_KINDS] = {0};
	lock_init(&l.lock);
	ck_assert_int_eq(queue_new(&mem_libc, 4, &l.queue), 0);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf[i], &t[i]), 0);
	uint64_t deadline_ns = now() + 60 * NS_PER_SEC;
	for (unsigned i = 0;
		i < (UNIT_SANITIZED ? 50 : 200) || (seen_none(seen) && now() < deadline_ns); i++) {
		const struct contention_conf *cc = &confs[i % ARRAY_SIZE(confs)];
		struct bench b = opened(cc->mutex_fraction, cc->block_rate_ns, &clk_system);
		if (i % 3 == 0)
			ck_assert_int_eq(contention_offcpu_start(b.c), 0);
		spin(NS_PER_MS);
		if (i % 6 == 0)
			ck_assert_int_eq(contention_offcpu_stop(b.c, NULL), 0);
		for (unsigned k = 0; k < CONTENTION_KINDS; k++)
			seen[k] += sum_of(&b, (enum contention_kind)k, NULL, NULL, NULL).all;
		ck_assert_uint_gt(contention_bytes(b.c), 0);
		closed(&b);
	}
	__atomic_store_n(&l.stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 5; i++)
		thread_join(t[i]);
	ck_assert(!seen_none(seen));
	ck_assert_uint_eq(l.lock.watched, 0);
	l.queue = queue_free(l.queue);
	lock_done(&l.lock);
}
END_TEST

START_TEST(the_hushed_are_not_told_of)
{
	struct bench b = opened(1, 1, &clk_system);
	struct wait w;
	nl6_self.hushed = true;
	wait_begins(&w, WAIT_COND);
	wait_ends(&w, NULL, NULL);
	nl6_self.hushed = false;
	ck_assert_int_eq(sum_of(&b, CONTENTION_BLOCK, nl6_self.label, NULL, NULL).all, 0);
	ck_assert_uint_eq(nl6_self.waiting, WAIT_NONE);
	closed(&b);
}
END_TEST

static void hush_and_wait(void *arg)
{
	struct wait w;
	waits_hush();
	while (!__atomic_load_n((bool *)arg, __ATOMIC_RELAXED)) {
		wait_begins(&w, WAIT_COND);
		(void)sched_yield();
		wait_ends(&w, NULL, NULL);
	}
}

START_TEST(a_thread_is_hushed_while_a_capture_ends)
{
	struct bench b = opened(0, 0, &clk_system);
	for (int i = 0; i < 50; i++) {
		struct thread *t;
		bool over = false;
		struct thread_conf conf = {"hushed-0", &label_waiter, hush_and_wait, &over};
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
		for (int k = 0; k < 10; k++) {
			ck_assert_int_eq(contention_offcpu_start(b.c), 0);
			ck_assert_int_eq(contention_offcpu_stop(b.c, NULL), 0);
		}
		__atomic_store_n(&over, true, __ATOMIC_RELAXED);
		ck_assert_ptr_null(thread_join(t));
	}
	closed(&b);
}
END_TEST

static int open_it(struct fake *f, void *arg)
{
	struct contention_env env = {f->mem, f->clk, arg};
	struct contention *c = NULL;
	int r = contention_open(&env, &(struct contention_conf){1, 1}, &c);
	if (r < 0)
		return r;
	r = contention_offcpu_start(c);
	if (r == 0)
		r = contention_offcpu_stop(c, NULL);
	c = contention_close(c);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct walker *walker = NULL;
	ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	fake_fail_each(&f, open_it, walker);
	walker = walker_free(walker);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(contention_is_charged_to_who_held_the_lock, each_of_a_crowd_is_counted_once,
	waits_are_charged_to_who_waits, what_stands_for_many_is_scaled,
	a_capture_holds_what_began_before_and_goes_on, opens_and_closes_under_load,
	the_hushed_are_not_told_of, a_thread_is_hushed_while_a_capture_ends,
	each_allocation_may_fail)
