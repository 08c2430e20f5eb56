#include "profiling/heap.h"
#include "base/mem_hook.h"
#include "base/rnd.h"
#include "base/self.h"
#include "profiling/heap_live.h"
#include "profiling/heap_stacks.h"
#include "profiling/said.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sys/random.h>

#define OWN_BYTES_MAX ((uint64_t)256 << 20)
#define OWN_FRAMES 8 /* at most so many lie between the caller of malloc and the walk */

const char *const heap_lost_text[HEAP_LOST_N] = {"no memory", "free not seen"};

/* What is counted without a stack; its sizes differ, so that weights are summed. */
struct folded {
	struct heap_lock lock;
	uint64_t allocated, freed; /* samples */
	double alloc_objects, alloc_bytes, free_objects, free_bytes;
};
struct heap {
	struct heap_env env;
	struct heap_conf conf;
	struct mem_hook hook;
	struct heap_own own;
	struct heap_live live;
	struct heap_stacks stacks;
	struct folded folded;
	struct heap_stack no_stack[2]; /* stand for the stacks of what is folded; [1]: exact */
	uint64_t threads;	       /* that drew random numbers so far */
	uint64_t lost[HEAP_LOST_N];
};

/* How many allocations a sampled one of bytes stands for. */
static double weight(const struct heap *h, uint64_t bytes, bool is_exact)
{
	if (is_exact || h->conf.rate_bytes == 1 || bytes == 0)
		return 1;
	return -1 / expm1(-(double)bytes / (double)h->conf.rate_bytes);
}

/* Bytes to the next sample: exponential, so that each byte has the same chance whatever came
 * before.
 */
static uint64_t draw_gap(void *arg, uint64_t *state, bool first)
{
	struct heap *h = arg;
	if (first)
		*state = rnd_u64(
			h->conf.seed, __atomic_fetch_add(&h->threads, 1, __ATOMIC_RELAXED), 0);
	if (h->conf.rate_bytes == 1)
		return 0;
	*state += 0x9e3779b97f4a7c15ull;
	double uniform = ((double)(rnd_mix(*state) >> 11) + 1) * 0x1p-53; /* above 0, up to 1 */
	double gap = ceil(-log(uniform) * (double)h->conf.rate_bytes);
	return (uint64_t)MIN(MAX(gap, 1.0), 0x1p62);
}

static void lose(struct heap *h, enum heap_lost why)
{
	(void)__atomic_fetch_add(&h->lost[why], 1, __ATOMIC_RELAXED);
}

static void folded_allocated(struct heap *h, uint64_t bytes, double w)
{
	struct folded *f = &h->folded;
	heap_lock_take(&f->lock);
	f->allocated++;
	f->alloc_objects += w;
	f->alloc_bytes += w * (double)bytes;
	heap_lock_drop(&f->lock);
}

static void folded_freed(struct heap *h, const struct heap_live_entry *e, int sign)
{
	struct folded *f = &h->folded;
	double w = sign * weight(h, e->bytes, e->stack->is_exact);
	heap_lock_take(&f->lock);
	f->freed += (uint64_t)(int64_t)sign;
	f->free_objects += w;
	f->free_bytes += w * (double)e->bytes;
	heap_lock_drop(&f->lock);
}

/* The sampled allocation *e is in use no more (1), or is again (-1). */
static void count_freed(struct heap *h, const struct heap_live_entry *e, int sign)
{
	if (e->stack->n == 0)
		folded_freed(h, e, sign);
	else /* pairs with count_of */
		(void)__atomic_fetch_add(
			&e->stack->freed, (uint64_t)(int64_t)sign, __ATOMIC_RELEASE);
}

static void put_live(struct heap *h, const struct heap_live_entry *e)
{
	struct heap_live_entry old;
	mem_hook_watch((void *)e->p);
	int r = heap_live_put(&h->live, e, &old);
	if (r == 0)
		return;
	mem_hook_unwatch((void *)e->p);
	count_freed(h, r == -EEXIST ? &old : e, 1);
	lose(h, r == -EEXIST ? HEAP_LOST_STALE : HEAP_LOST_NO_MEMORY);
}

/* Fills key with the calling thread's stack from caller (a return address) up. */
static void walk(struct heap *h, uintptr_t caller, uintptr_t *pcs, struct heap_stack_key *key)
{
	const struct unwind_regs regs = UNWIND_REGS_HERE();
	enum unwind_end end = UNWIND_BAD_STACK;
	unsigned n = walker_here(h->env.walker, &regs, pcs, UNWIND_DEPTH + OWN_FRAMES, &end);
	unsigned from = 0;
	if (n == 0) /* not registered: about to begin or to end */
		pcs[n++] = caller - 1;
	while (from < n && from < OWN_FRAMES && pcs[from] != caller - 1)
		from++;
	if (from == MIN(n, (unsigned)OWN_FRAMES))
		from = 0;
	n -= from;
	key->end = (uint8_t)(n > UNWIND_DEPTH ? UNWIND_DEEP : end);
	key->n = (uint16_t)MIN(n, (unsigned)UNWIND_DEPTH);
	key->pcs = pcs + from;
}

static void sample(struct heap *h, void *p, uint64_t bytes, uintptr_t caller, bool is_exact)
{
	uintptr_t pcs[UNWIND_DEPTH + OWN_FRAMES];
	struct heap_stack_key key = {.label = nl6_self.label, .bytes = bytes, .is_exact = is_exact};
	walk(h, caller, pcs, &key);
	struct heap_stack *s = heap_stacks_find(&h->stacks, &key);
	if (s) {
		(void)__atomic_fetch_add(&s->allocated, 1, __ATOMIC_RELAXED);
	} else {
		s = &h->no_stack[is_exact];
		folded_allocated(h, bytes, weight(h, bytes, is_exact));
	}
	put_live(h, &(struct heap_live_entry){(uintptr_t)p, s, bytes});
}

static void allocated(void *arg, void *p, uint64_t bytes, uintptr_t caller)
{
	sample(arg, p, bytes, caller, false);
}

static void mapped(void *arg, void *p, uint64_t bytes, uintptr_t caller)
{
	sample(arg, p, bytes, caller, true);
}

static bool freed(void *arg, void *p, uint64_t kept[3])
{
	struct heap *h = arg;
	struct heap_live_entry e;
	if (!heap_live_take(&h->live, (uintptr_t)p, &e))
		return false;
	mem_hook_unwatch(p);
	count_freed(h, &e, 1);
	kept[0] = e.p;
	kept[1] = (uintptr_t)e.stack;
	kept[2] = e.bytes;
	return true;
}

static void stayed(void *arg, const uint64_t kept[3])
{
	struct heap *h = arg;
	struct heap_live_entry e = {kept[0], (struct heap_stack *)kept[1], kept[2]};
	count_freed(h, &e, -1);
	put_live(h, &e);
}

int heap_open(const struct heap_env *env, const struct heap_conf *conf, struct heap **ret_heap)
{
	assert(conf->rate_bytes >= 1);
	struct heap *h = mem_zalloc(env->mem, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->env = *env;
	h->conf = *conf;
	h->own.max = conf->max_bytes ? conf->max_bytes : OWN_BYTES_MAX;
	h->live.own = h->stacks.own = &h->own;
	h->no_stack[1].is_exact = true;
	h->hook = (struct mem_hook){draw_gap, allocated, mapped, freed, stayed, h};
	if (!conf->seed)
		(void)!getrandom(&h->conf.seed, sizeof(h->conf.seed), GRND_NONBLOCK);
	int r = mem_hook_open(&h->hook);
	if (r < 0) {
		mem_free(env->mem, h);
		return r;
	}
	*ret_heap = h;
	return 0;
}

struct heap *heap_close(struct heap *h)
{
	if (!h)
		return NULL;
	mem_hook_close();
	heap_live_done(&h->live);
	heap_stacks_done(&h->stacks);
	return mem_free(h->env.mem, h);
}

struct reading {
	struct heap *h;
	struct stacks *to;
	double live_bytes;
};

/* Never more freed than allocated: the counts are loaded in that order. */
static void count_of(const struct heap_stack *s, uint64_t *ret_allocated, uint64_t *ret_live)
{
	uint64_t gone = __atomic_load_n(&s->freed, __ATOMIC_ACQUIRE); /* pairs with count_freed */
	*ret_allocated = __atomic_load_n(&s->allocated, __ATOMIC_RELAXED);
	*ret_live = *ret_allocated > gone ? *ret_allocated - gone : 0;
}

static void read_stack(void *arg, const struct heap_stack *s)
{
	struct reading *r = arg;
	uint64_t all, live;
	count_of(s, &all, &live);
	if (!all)
		return;
	double w = weight(r->h, s->bytes, s->is_exact), bytes = (double)s->bytes;
	r->live_bytes += (double)live * w * bytes;
	stacks_add(r->to,
		&(struct stack){.label = s->label,
			.values = {llround((double)all * w), llround((double)all * w * bytes),
				llround((double)live * w), llround((double)live * w * bytes)},
			.number = s->bytes,
			.end = s->end,
			.n = s->n,
			.pcs = s->pcs});
}

static void read_folded(struct reading *r)
{
	heap_lock_take(&r->h->folded.lock);
	struct folded f = r->h->folded;
	heap_lock_drop(&r->h->folded.lock);
	if (!f.allocated)
		return;
	/* What is left of sums of fractions is no memory. */
	double objects = f.allocated == f.freed ? 0 : f.alloc_objects - f.free_objects;
	double bytes = f.allocated == f.freed ? 0 : f.alloc_bytes - f.free_bytes;
	r->live_bytes += bytes;
	stacks_add_said(r->to, SAID_FOLDED, &label_main,
		(int64_t[STACKS_VALUES]){llround(f.alloc_objects), llround(f.alloc_bytes),
			llround(objects), llround(bytes)});
}

void heap_read(struct heap *h, struct stacks *to)
{
	struct reading r = {h, to, 0};
	/* First, so that what this reading itself allocates is not among what came before. */
	double held = (double)(mem_hook_malloc_bytes() + mem_hook_mapped_bytes());
	heap_stacks_each(&h->stacks, read_stack, &r);
	read_folded(&r);
	if (held - r.live_bytes >= 1)
		stacks_add_said(to, SAID_BEFORE, &label_main,
			(int64_t[STACKS_VALUES]){0, 0, 1, llround(held - r.live_bytes)});
}

static void sum_status(void *arg, const struct heap_stack *s)
{
	struct heap_status *st = arg;
	uint64_t n = __atomic_load_n(&s->allocated, __ATOMIC_RELAXED);
	st->samples += n;
	st->ends[s->end] += n;
}

void heap_status(struct heap *h, struct heap_status *ret_status)
{
	struct heap_status st = {.rate_bytes = h->conf.rate_bytes,
		.live = heap_live_count(&h->live),
		.stacks = heap_stacks_count(&h->stacks),
		.bytes = sizeof(*h) + __atomic_load_n(&h->own.bytes, __ATOMIC_RELAXED),
		.mapped_bytes = mem_hook_mapped_bytes()};
	heap_stacks_each(&h->stacks, sum_status, &st);
	heap_lock_take(&h->folded.lock);
	st.folded = h->folded.allocated;
	heap_lock_drop(&h->folded.lock);
	st.samples += st.folded;
	for (unsigned i = 0; i < HEAP_LOST_N; i++)
		st.lost[i] = __atomic_load_n(&h->lost[i], __ATOMIC_RELAXED);
	*ret_status = st;
}
