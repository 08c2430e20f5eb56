#include "profiling/sampler.h"
#include "base/log.h"
#include "base/mem_hook.h"
#include "base/rnd.h"
#include "base/thread.h"
#include "base/threads.h"
#include "base/waits.h"
#include "profiling/handler.h"
#include "profiling/linking.h"
#include "profiling/said.h"
#include "profiling/sampler_perf.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_NS (100 * NS_PER_MS)
#define SNAPSHOT_NS (2 * NS_PER_SEC)

const char *const sampler_lost_text[SAMPLER_LOST_N] = {"ring full", "foreign stack"};

struct sampler {
	struct sampler_env env;
	struct sampler_conf conf;
	struct thread *thread;
	struct threads_hooks hooks;
	/* Guards what follows; taken within the registry's lock, never around it. */
	struct lock lock;
	struct cond changed;
	struct handler_thread *threads; /* living and, until drained, gone */
	struct sampler_reader *readers;
	bool stop, sampling;
	uint64_t samples, lost[SAMPLER_LOST_N], ends[UNWIND_ENDS];
	uint64_t links, unlinked; /* of what readers gathered */
	uint32_t snapshot;	  /* id of the last request */
	struct snapshot *asking;
	int kernel_error; /* of the last thread whose kernel stacks cannot be sampled */
	uint64_t born;	  /* threads armed so far; spreads their first expiry */
	/* Threads for which no memory was left: not in the list, and one of their names. */
	uint32_t bare;
	char bare_name[16];
};
struct sampler_reader {
	struct sampler *sampler;
	struct sampler_reader *next;
	struct stacks *stacks;
	uint32_t max_stacks;
	uint64_t started_ns;
	uint64_t lost[SAMPLER_LOST_N]; /* of the sampler when it started */
};
struct snapshot_thread {
	struct sampler_thread_info info;
	uintptr_t birth[SELF_BIRTH_DEPTH], pcs[UNWIND_DEPTH];
	struct handler_thread *t;
};
struct snapshot {
	uint32_t request;
	unsigned n, room, answered;
	struct snapshot_thread *threads;
};

static void set_timer(struct sampler *s, struct handler_thread *t, bool on)
{
	struct itimerspec every = {{0, 0}, {0, 0}};
	if (t->armed == on)
		return;
	if (t->perf.fd >= 0)
		sampler_perf_arm(t, on);
	if (!t->has_timer)
		return;
	if (on) {
		/* Threads born together must not tick in step. */
		uint64_t period_ns = NS_PER_SEC / s->conf.hz;
		uint64_t drawn = rnd_u64(clk_ns(s->env.clk), (uint64_t)t->self->tid, s->born++);
		uint64_t first_ns = 1 + drawn % period_ns;
		every.it_interval = (struct timespec){
			(time_t)(period_ns / NS_PER_SEC), (long)(period_ns % NS_PER_SEC)};
		every.it_value = (struct timespec){
			(time_t)(first_ns / NS_PER_SEC), (long)(first_ns % NS_PER_SEC)};
	}
	if (timer_settime(t->timer, 0, &every, NULL) == 0)
		t->armed = on;
}

static void make_timer(struct sampler *s, struct handler_thread *t)
{
	int r = s->conf.kernel ? sampler_perf_open(t, s->conf.hz) : -EOPNOTSUPP;
	if (r == 0)
		return;
	__atomic_store_n(&s->kernel_error, r, __ATOMIC_RELAXED);
	/* The CPU clock of a thread, as the kernel encodes it. */
	clockid_t clock = (clockid_t)((~(unsigned)t->self->tid << 3) | 6);
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	ev.sigev_value.sival_ptr = t;
	ev._sigev_un._tid = t->self->tid;
	t->has_timer = timer_create(clock, &ev, &t->timer) == 0;
}

/* A thread is there: from the registry's hook, in that thread, or for each when the sampler opens.
 */
static void adopt_thread(void *arg, struct self *self)
{
	struct sampler *s = arg;
	struct handler_thread *t = mem_zalloc(s->env.mem, sizeof(*t));
	void *ring = t ? mmap(NULL, HANDLER_RING_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		       : MAP_FAILED;
	if (ring == MAP_FAILED) {
		mem_free(s->env.mem, t);
		LOCK_SCOPE(&s->lock);
		s->bare++;
		memcpy(s->bare_name, self->name, sizeof(s->bare_name));
		return;
	}
	mem_hook_mapped(ring, HANDLER_RING_WORDS * sizeof(uint64_t));
	t->self = self;
	t->walker = s->env.walker;
	t->ring = ring_make(ring, HANDLER_RING_WORDS);
	t->perf = PERF_RING_NONE;
	make_timer(s, t);
	LOCK_SCOPE(&s->lock);
	t->next = s->threads;
	s->threads = t;
	__atomic_store_n(&self->sampler, t, __ATOMIC_RELEASE);
	set_timer(s, t, s->sampling);
}

static void deliver(struct sampler *s, const struct handler_record *rec, uint32_t weight,
	const uintptr_t *pcs, unsigned n, enum unwind_end end)
{
	struct stack_span span = {.name = rec->span_name};
	memcpy(span.trace_id, rec->span, sizeof(span.trace_id));
	memcpy(span.span_id, &rec->span[2], sizeof(span.span_id));
	struct stack stack = {.label = rec->label,
		.span = rec->span[2] ? &span : NULL,
		.values = {weight, (int64_t)weight * (int64_t)(NS_PER_SEC / s->conf.hz)},
		.end = (uint8_t)end,
		.n = (uint16_t)n,
		.pcs = pcs};
	s->samples += weight;
	s->ends[end]++;
	bool linked = false;
	for (struct sampler_reader *r = s->readers; r; r = r->next)
		linked = stacks_add(r->stacks, &stack) || linked;
	if (stack.span && linked)
		linking_sampled(stack.span);
}

/* The samples of perf that a record goes with: each has its own stack in the kernel, and the
 * record's below it. */
static void deliver_perf(
	struct sampler *s, struct handler_thread *t, const struct handler_record *rec)
{
	uintptr_t pcs[UNWIND_DEPTH];
	unsigned n;
	uint64_t *lost = &s->lost[SAMPLER_LOST_RING_FULL];
	while (sampler_perf_next(t, rec->perf_from, pcs, &n, lost))
		(*lost)++; /* their records found no room */
	while (sampler_perf_next(t, rec->perf_to, pcs, &n, lost)) {
		unsigned room = UNWIND_DEPTH - n, user = MIN(room, (unsigned)rec->n);
		memcpy(pcs + n, rec + 1, user * sizeof(pcs[0]));
		deliver(s, rec, 1, pcs, n + user, user < rec->n ? UNWIND_DEEP : rec->end);
	}
}

static void answer_snapshot(
	struct sampler *s, struct handler_thread *t, const struct handler_record *rec)
{
	struct snapshot *a = s->asking;
	if (!a || rec->request != a->request)
		return;
	for (unsigned i = 0; i < a->n; i++) {
		struct snapshot_thread *st = &a->threads[i];
		if (st->t != t || st->info.answered)
			continue;
		memcpy(st->pcs, rec + 1, rec->n * sizeof(st->pcs[0]));
		st->info.n = rec->n;
		st->info.end = rec->end;
		st->info.label = rec->label;
		st->info.answered = true;
		a->answered++;
	}
}

static void free_thread(struct sampler *s, struct handler_thread *t)
{
	s->lost[SAMPLER_LOST_RING_FULL] += t->lost_ring_full;
	s->lost[SAMPLER_LOST_FOREIGN_STACK] += t->lost_foreign_stack;
	mem_hook_unmapped(t->ring.words, HANDLER_RING_WORDS * sizeof(uint64_t));
	(void)munmap(t->ring.words, HANDLER_RING_WORDS * sizeof(uint64_t));
	mem_free(s->env.mem, t);
}

/* Empties its ring; the lock is held. */
static void drain_thread(struct sampler *s, struct handler_thread *t)
{
	const struct handler_record *rec;
	while ((rec = ring_peek(&t->ring))) {
		if (rec->kind == HANDLER_CPU)
			deliver(s, rec, rec->weight, (const uintptr_t *)(rec + 1), rec->n,
				rec->end);
		else if (rec->kind == HANDLER_PERF)
			deliver_perf(s, t, rec);
		else
			answer_snapshot(s, t, rec);
		ring_next(&t->ring);
	}
}

static void drain(struct sampler *s)
{
	uint64_t begun_ns = clk_ns(s->env.clk);
	for (struct handler_thread **at = &s->threads, *t; (t = *at);) {
		drain_thread(s, t);
		if (t->gone) {
			*at = t->next;
			free_thread(s, t);
		} else {
			at = &t->next;
		}
	}
	linking_drained(begun_ns);
}

/* A thread leaves: its timer goes first, then the record is left to the drainer. */
static void release_thread(void *arg, struct self *self)
{
	struct sampler *s = arg;
	struct handler_thread *t = self->sampler;
	LOCK_SCOPE(&s->lock);
	if (!t) {
		s->bare--;
		return;
	}
	if (t->has_timer)
		(void)timer_delete(t->timer);
	__atomic_store_n(&self->sampler, NULL, __ATOMIC_SEQ_CST);
	handler_wait(self);
	drain_thread(s, t);
	s->lost[SAMPLER_LOST_RING_FULL] += sampler_perf_close(t);
	t->has_timer = t->armed = false;
	t->gone = true;
	t->self = NULL;
}

static void run(void *arg)
{
	struct sampler *s = arg;
	waits_hush();
	for (;;) {
		{
			LOCK_SCOPE(&s->lock);
			if (!s->stop && s->sampling)
				(void)cond_wait_until(
					&s->changed, &s->lock, clk_ns(s->env.clk) + DRAIN_NS);
			while (!s->stop && !s->sampling)
				cond_wait(&s->changed, &s->lock);
			drain(s);
			if (s->stop)
				return;
		}
		walker_refresh(s->env.walker);
	}
}

int sampler_open(const struct sampler_env *env, const struct sampler_conf *conf,
	struct sampler **ret_sampler)
{
	assert(conf->hz >= 1 && conf->hz <= 1000);
	struct sampler *s = mem_zalloc(env->mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->conf = *conf;
	int r = handler_install();
	if (r < 0) {
		mem_free(env->mem, s);
		return r;
	}
	lock_init(&s->lock);
	cond_init(&s->changed);
	struct thread_conf tc = {.name = "profiling-0", .run = run, .arg = s};
	s->hooks = (struct threads_hooks){adopt_thread, release_thread, s, NULL};
	threads_subscribe(&s->hooks);
	r = thread_start(env->mem, &tc, &s->thread);
	if (r < 0) {
		(void)sampler_close(s);
		return r;
	}
	*ret_sampler = s;
	return 0;
}

struct sampler *sampler_close(struct sampler *s)
{
	if (!s)
		return NULL;
	assert(!s->readers);
	if (s->thread) {
		{
			LOCK_SCOPE(&s->lock);
			s->stop = true;
			cond_wake_all(&s->changed);
		}
		s->thread = thread_join(s->thread);
	}
	threads_unsubscribe(&s->hooks);
	{
		LOCK_SCOPE(&s->lock);
		drain(s);
	}
	if (UNLIKELY(s->threads)) {
		/* Its timer may point to the record: better a leak than a crash of the program. */
		log_error(NULL, 0, "the sampler closes with a thread it was not told the end of");
		return NULL;
	}
	cond_done(&s->changed);
	lock_done(&s->lock);
	return mem_free(s->env.mem, s);
}

/* Arms or disarms all; the lock is held. Threads that got no timer before are tried again. */
static void set_sampling(struct sampler *s, bool on)
{
	s->sampling = on;
	linking_sampling(on);
	for (struct handler_thread *t = s->threads; t; t = t->next) {
		if (on && !t->gone && !t->has_timer && t->perf.fd < 0)
			make_timer(s, t);
		set_timer(s, t, on);
	}
	cond_wake_all(&s->changed);
}

/* Of all threads so far; the lock is held. */
static void sum_lost(const struct sampler *s, uint64_t ret_lost[SAMPLER_LOST_N])
{
	memcpy(ret_lost, s->lost, sizeof(s->lost));
	for (const struct handler_thread *t = s->threads; t; t = t->next) {
		ret_lost[SAMPLER_LOST_RING_FULL] +=
			__atomic_load_n(&t->lost_ring_full, __ATOMIC_RELAXED);
		ret_lost[SAMPLER_LOST_FOREIGN_STACK] +=
			__atomic_load_n(&t->lost_foreign_stack, __ATOMIC_RELAXED);
	}
}

/* What was lost was time spent all the same: it goes into the profile under its reason. */
static void add_lost(struct sampler_reader *r)
{
	static const enum said said[SAMPLER_LOST_N] = {
		SAID_LOST_RING_FULL, SAID_LOST_FOREIGN_STACK};
	uint64_t now[SAMPLER_LOST_N];
	sum_lost(r->sampler, now);
	for (unsigned i = 0; i < SAMPLER_LOST_N; i++) {
		int64_t n = (int64_t)(now[i] - r->lost[i]);
		if (n > 0)
			stacks_add_said(r->stacks, said[i], &label_main,
				(int64_t[STACKS_VALUES]){
					n, n * (int64_t)(NS_PER_SEC / r->sampler->conf.hz)});
	}
	memcpy(r->lost, now, sizeof(now));
}

int sampler_read_start(struct sampler *s, uint32_t max_stacks, struct sampler_reader **ret_reader)
{
	struct sampler_reader *r = mem_zalloc(s->env.mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->sampler = s;
	r->max_stacks = max_stacks;
	int e = stacks_new(s->env.mem, max_stacks, &r->stacks);
	if (e < 0) {
		mem_free(s->env.mem, r);
		return e;
	}
	LOCK_SCOPE(&s->lock);
	drain(s); /* what was sampled before belongs to the other readers */
	r->next = s->readers;
	s->readers = r;
	if (!s->sampling)
		set_sampling(s, true);
	sum_lost(s, r->lost);
	r->started_ns = clk_ns(s->env.clk);
	*ret_reader = r;
	return 0;
}

/* Of what a reader has gathered. */
static void end_links(struct sampler *s, struct stacks **stacks)
{
	linking_unlink_short(stacks);
	LOCK_SCOPE(&s->lock);
	s->links += stacks_spans(*stacks);
	s->unlinked += (uint64_t)stacks_unlinked(*stacks);
}

void sampler_read_stop(
	struct sampler_reader *r, struct stacks **ret_stacks, uint64_t *ret_duration_ns)
{
	struct sampler *s = r->sampler;
	{
		LOCK_SCOPE(&s->lock);
		struct sampler_reader **at = &s->readers;
		while (*at != r)
			at = &(*at)->next;
		if (s->readers == r && !r->next)
			set_sampling(s, false);
		drain(s);
		add_lost(r);
		*at = r->next;
		*ret_duration_ns = clk_ns(s->env.clk) - r->started_ns;
	}
	*ret_stacks = r->stacks;
	mem_free(s->env.mem, r);
	end_links(s, ret_stacks);
}

int sampler_read_turn(
	struct sampler_reader *r, struct stacks **ret_stacks, uint64_t *ret_duration_ns)
{
	struct sampler *s = r->sampler;
	struct stacks *fresh;
	int e = stacks_new(s->env.mem, r->max_stacks, &fresh);
	if (e < 0)
		return e;
	{
		LOCK_SCOPE(&s->lock);
		drain(s);
		add_lost(r);
		uint64_t now_ns = clk_ns(s->env.clk);
		*ret_stacks = r->stacks;
		*ret_duration_ns = now_ns - r->started_ns;
		r->stacks = fresh;
		r->started_ns = now_ns;
	}
	end_links(s, ret_stacks);
	return 0;
}

uint32_t sampler_readers(struct sampler *s)
{
	LOCK_SCOPE(&s->lock);
	uint32_t n = 0;
	for (struct sampler_reader *r = s->readers; r; r = r->next)
		n++;
	return n;
}

void sampler_status(struct sampler *s, struct sampler_status *ret_status)
{
	LOCK_SCOPE(&s->lock);
	struct sampler_status st = {.hz = s->conf.hz,
		.sampling = s->sampling,
		.samples = s->samples,
		.links = s->links,
		.unlinked = s->unlinked,
		.threads = s->bare,
		.threads_unarmed = s->bare};
	memcpy(st.unarmed_name, s->bare_name, sizeof(st.unarmed_name));
	sum_lost(s, st.lost);
	memcpy(st.ends, s->ends, sizeof(st.ends));
	for (struct handler_thread *t = s->threads; t; t = t->next) {
		st.bytes += sizeof(*t) + HANDLER_RING_WORDS * sizeof(uint64_t) + t->perf.data_bytes;
		if (t->gone)
			continue;
		st.threads++;
		st.threads_kernel += t->perf.fd >= 0;
		if (t->perf.fd < 0 && !t->has_timer && st.threads_unarmed++ == 0)
			memcpy(st.unarmed_name, t->self->name, sizeof(st.unarmed_name));
	}
	for (struct sampler_reader *r = s->readers; r; r = r->next)
		st.bytes += stacks_bytes(r->stacks);
	sampler_perf_state(
		&st, s->conf.kernel, __atomic_load_n(&s->kernel_error, __ATOMIC_RELAXED));
	*ret_status = st;
}

struct asking {
	struct sampler *s;
	struct snapshot *a;
};

static void ask_thread(void *arg, struct self *self)
{
	struct asking *k = arg;
	struct snapshot *a = k->a;
	struct handler_thread *t = self->sampler;
	if (!t || a->n == a->room)
		return;
	LOCK_SCOPE(&k->s->lock); /* those asked before may be answering */
	struct snapshot_thread *st = &a->threads[a->n++];
	st->t = t;
	st->info = (struct sampler_thread_info){.tid = self->tid,
		.label = __atomic_load_n(&self->label, __ATOMIC_RELAXED),
		.birth_n = self->birth_n};
	memcpy(st->info.name, self->name, sizeof(st->info.name));
	for (unsigned i = 0; i < self->birth_n; i++)
		st->birth[i] = self->birth[i] - 1;
	(void)handler_ask(t, getpid(), self->tid, a->request);
}

int sampler_threads(
	struct sampler *s, void (*fn)(void *arg, const struct sampler_thread_info *info), void *arg)
{
	struct snapshot a = {.room = threads_count() + 16};
	a.threads = mem_array(s->env.mem, a.room, sizeof(*a.threads));
	if (!a.threads)
		return -ENOMEM;
	{
		LOCK_SCOPE(&s->lock);
		while (s->asking) /* one at a time */
			cond_wait(&s->changed, &s->lock);
		a.request = ++s->snapshot;
		s->asking = &a;
	}
	threads_each(ask_thread, &(struct asking){s, &a});
	uint64_t until_ns = clk_ns(s->env.clk) + SNAPSHOT_NS;
	{
		LOCK_SCOPE(&s->lock);
		for (drain(s); a.answered < a.n && clk_ns(s->env.clk) < until_ns; drain(s))
			(void)cond_wait_until(
				&s->changed, &s->lock, clk_ns(s->env.clk) + NS_PER_MS);
		s->asking = NULL;
		cond_wake_all(&s->changed);
	}
	for (unsigned i = 0; i < a.n; i++) {
		a.threads[i].info.pcs = a.threads[i].pcs;
		a.threads[i].info.birth = a.threads[i].birth;
		fn(arg, &a.threads[i].info);
	}
	mem_free(s->env.mem, a.threads);
	return 0;
}
