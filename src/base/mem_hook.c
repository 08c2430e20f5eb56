#include "base/mem_hook.h"
#include "base/self.h"
#include "base/threads.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef MEM_HOOK_SANITIZED
/* The sanitizers' own, which ours hide. */
#define BARE(name) __interceptor_##name
#else
#define BARE(name) __libc_##name
#endif
void *BARE(malloc)(size_t);
void BARE(free)(void *);
void *BARE(calloc)(size_t, size_t);
void *BARE(realloc)(void *, size_t);
void *BARE(memalign)(size_t, size_t);
void *BARE(valloc)(size_t);
void *BARE(pvalloc)(size_t);
/* What a sanitizer's allocator has handed out; glibc's knows nothing then. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

#ifdef MEM_HOOK_TSAN
/* This file carries no instrumentation, so the order it makes is told. */
#include <sanitizer/tsan_interface.h>
#define TSAN_ACQUIRE(p) __tsan_acquire(p)
#define TSAN_RELEASE(p) __tsan_release(p)
/* It may not know the thread yet, and the hook is instrumented: not before we know it, too. */
#define MAY_ASK() (nl6_self.tid != 0)
/* A thread that ends frees much when it is no longer registered: its stack is known since then. */
#define MAY_TELL() (nl6_self.stack_hi != 0)
#else
#define TSAN_ACQUIRE(p) ((void)0)
#define TSAN_RELEASE(p) ((void)0)
#define MAY_ASK() true
#define MAY_TELL() true
#endif

#define WATCH_SLOTS ((size_t)1 << 16)
#define WATCH_MAX UINT8_MAX /* a slot that came so far stays there: it only asks too often */
#define INSIDE_SLOTS 16

/* Exception: writable globals; there is one malloc. */
static const struct mem_hook *mem_hook;
static uint32_t mem_hook_epoch = 1; /* grows with each opening and closing */
static bool mem_hook_is_taken;
static uint64_t mem_hook_mapped_sum;
/* How many watched addresses fall into each slot. Apart from all else, so that it can be given back
 * to the kernel; never written while there is no hook. */
static uint8_t mem_hook_watched[WATCH_SLOTS] __attribute__((aligned(4096)));
static struct inside {
	uint32_t n; /* threads in the hook */
	uint8_t pad[60];
} mem_hook_inside[INSIDE_SLOTS];

static inline uint8_t *watch_slot(const void *p)
{
	/* Nothing allocated is less than 16 bytes apart. */
	return &mem_hook_watched[((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 48];
}

void mem_hook_watch(const void *p)
{
	uint8_t *slot = watch_slot(p), n = __atomic_load_n(slot, __ATOMIC_RELAXED);
	while (n < WATCH_MAX && !__atomic_compare_exchange_n(slot, &n, (uint8_t)(n + 1), true,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void mem_hook_unwatch(const void *p)
{
	uint8_t *slot = watch_slot(p), n = __atomic_load_n(slot, __ATOMIC_RELAXED);
	while (n < WATCH_MAX && n > 0 &&
		!__atomic_compare_exchange_n(
			slot, &n, (uint8_t)(n - 1), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Whoever got p got it after it was watched, so relaxed loads suffice. */
static inline bool is_watched(const void *p)
{
	return UNLIKELY(__atomic_load_n(&mem_hook, __ATOMIC_RELAXED) != NULL) &&
	       __atomic_load_n(watch_slot(p), __ATOMIC_RELAXED) != 0;
}

/* The fast path of every allocation: true when the hook may have to be asked. */
static inline bool count(size_t bytes)
{
	uint64_t sum = nl6_self.mem_bytes + bytes;
	nl6_self.mem_bytes = sum;
	return UNLIKELY(sum >= __atomic_load_n(&nl6_self.mem_limit, __ATOMIC_RELAXED));
}

static uint32_t *inside_slot(void)
{
	return &mem_hook_inside[((uintptr_t)&nl6_self >> 12) * 0x9e3779b97f4a7c15ull >> 60].n;
}

/* Between hook_enter and hook_leave the hook that it returned stays; NULL: there is none. */
static const struct mem_hook *hook_enter(void)
{
	nl6_self.mem_busy++;
	/* Pairs with mem_hook_close: either that sees us, or we see NULL. */
	(void)__atomic_fetch_add(inside_slot(), 1, __ATOMIC_SEQ_CST);
	const struct mem_hook *h = __atomic_load_n(&mem_hook, __ATOMIC_SEQ_CST);
	if (h) /* without, the sanitizer may not have begun yet */
		TSAN_ACQUIRE(&mem_hook);
	return h;
}

static void hook_leave(const struct mem_hook *h)
{
	if (h)
		TSAN_RELEASE(&mem_hook_inside);
	(void)__atomic_fetch_sub(
		inside_slot(), 1, __ATOMIC_RELEASE); /* pairs with mem_hook_close */
	nl6_self.mem_busy--;
}

/* bytes more than sum, or never. */
static uint64_t far_from(uint64_t sum, uint64_t bytes)
{
	return sum + bytes < sum ? UINT64_MAX : sum + bytes;
}

static uint32_t load_epoch(void)
{
	return __atomic_load_n(&mem_hook_epoch, __ATOMIC_SEQ_CST);
}

/* p of bytes has been allocated and counted: tells the hook if its time has come. epoch was loaded
 * before h. */
static void ask(const struct mem_hook *h, uint32_t epoch, void *p, size_t bytes, uintptr_t caller)
{
	struct self *s = &nl6_self;
	if (!h) {
		s->mem_due = UINT64_MAX;
	} else if (load_epoch() != epoch) {
		s->mem_due = 0; /* opened or closed meanwhile; see below */
		h = NULL;
	} else if (s->mem_epoch != epoch) {
		s->mem_epoch = epoch;
		s->mem_due = far_from(s->mem_bytes - bytes, h->gap(h->arg, &s->mem_rnd, true));
	}
	if (h && s->mem_bytes >= s->mem_due) {
		h->allocated(h->arg, p, bytes, caller);
		s->mem_due = far_from(s->mem_bytes, h->gap(h->arg, &s->mem_rnd, false));
	}
	__atomic_store_n(&s->mem_limit, s->mem_due, __ATOMIC_SEQ_CST);
	/* Pairs with invite: a limit set to 0 before our store is not lost. */
	if (load_epoch() != epoch)
		__atomic_store_n(&s->mem_limit, 0, __ATOMIC_SEQ_CST);
}

static void *noted(void *p, size_t bytes, const void *caller)
{
	int saved = errno;
	if (!p)
		nl6_self.mem_bytes -= bytes;
	if (!p || nl6_self.mem_busy || !MAY_ASK())
		return p;
	uint32_t epoch = load_epoch();
	const struct mem_hook *h = hook_enter();
	ask(h, epoch, p, bytes, (uintptr_t)caller);
	hook_leave(h);
	errno = saved;
	return p;
}

static __attribute__((noinline)) void freed(void *p)
{
	int saved = errno;
	uint64_t kept[3];
	if (nl6_self.mem_busy || !MAY_TELL())
		return;
	const struct mem_hook *h = hook_enter();
	if (h)
		(void)h->freed(h->arg, p, kept);
	hook_leave(h);
	errno = saved;
}

/* The hook stays over all of it, so that what it kept is still its own if the memory stays. */
static __attribute__((noinline)) void *resized(void *p, size_t bytes, const void *caller)
{
	uint64_t kept[3];
	if (nl6_self.mem_busy || !MAY_TELL())
		return BARE(realloc)(p, bytes);
	int saved = errno;
	uint32_t epoch = load_epoch();
	const struct mem_hook *h = hook_enter();
	bool was = h && p && h->freed(h->arg, p, kept);
	errno = saved;
	void *q = BARE(realloc)(p, bytes);
	saved = errno;
	if (q) {
		if (MAY_ASK() && nl6_self.mem_bytes >=
					 __atomic_load_n(&nl6_self.mem_limit, __ATOMIC_RELAXED))
			ask(h, epoch, q, bytes, (uintptr_t)caller);
	} else {
		nl6_self.mem_bytes -= bytes;
		if (was && bytes) /* of 0 bytes: glibc has freed it */
			h->stayed(h->arg, kept);
	}
	hook_leave(h);
	errno = saved;
	return q;
}

#define CALLER __builtin_return_address(0)

/* Functions of their own, so that the fast path is a jump and keeps nothing on the stack. */
static __attribute__((noinline)) void *malloc_noted(size_t bytes, const void *caller)
{
	return noted(BARE(malloc)(bytes), bytes, caller);
}

static __attribute__((noinline)) void *calloc_noted(size_t n, size_t each, const void *caller)
{
	return noted(BARE(calloc)(n, each), n * each, caller);
}

static __attribute__((noinline)) void *memalign_noted(
	size_t align, size_t bytes, const void *caller)
{
	return noted(BARE(memalign)(align, bytes), bytes, caller);
}

EXPORT void *malloc(size_t bytes)
{
	return count(bytes) ? malloc_noted(bytes, CALLER) : BARE(malloc)(bytes);
}

static __attribute__((noinline)) void free_watched(void *p)
{
	freed(p);
	BARE(free)(p);
}

EXPORT void free(void *p)
{
	if (is_watched(p))
		free_watched(p);
	else
		BARE(free)(p);
}

EXPORT void *calloc(size_t n, size_t each)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, each, &bytes) || !count(bytes))
		return BARE(calloc)(n, each);
	return calloc_noted(n, each, CALLER);
}

EXPORT void *realloc(void *p, size_t bytes)
{
	if (!count(bytes) && !is_watched(p))
		return BARE(realloc)(p, bytes);
	return resized(p, bytes, CALLER);
}

EXPORT void *reallocarray(void *p, size_t n, size_t each)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, each, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!count(bytes) && !is_watched(p))
		return BARE(realloc)(p, bytes);
	return resized(p, bytes, CALLER);
}

EXPORT void *memalign(size_t align, size_t bytes)
{
	return count(bytes) ? memalign_noted(align, bytes, CALLER) : BARE(memalign)(align, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
	return count(bytes) ? memalign_noted(align, bytes, CALLER) : BARE(memalign)(align, bytes);
}

EXPORT int posix_memalign(void **ret_p, size_t align, size_t bytes)
{
	if (align % sizeof(void *) || align == 0 || (align & (align - 1)))
		return EINVAL;
	int saved = errno;
	void *p = BARE(memalign)(align, bytes);
	errno = saved;
	if (count(bytes))
		(void)noted(p, bytes, CALLER);
	if (!p)
		return ENOMEM;
	*ret_p = p;
	return 0;
}

EXPORT void *valloc(size_t bytes)
{
	void *p = BARE(valloc)(bytes);
	return count(bytes) ? noted(p, bytes, CALLER) : p;
}

EXPORT void *pvalloc(size_t bytes)
{
	void *p = BARE(pvalloc)(bytes);
	return count(bytes) ? noted(p, bytes, CALLER) : p;
}

void mem_hook_mapped(void *p, uint64_t bytes)
{
	(void)__atomic_fetch_add(&mem_hook_mapped_sum, bytes, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&mem_hook, __ATOMIC_RELAXED) || nl6_self.mem_busy)
		return;
	int saved = errno;
	const struct mem_hook *h = hook_enter();
	if (h)
		h->mapped(h->arg, p, bytes, (uintptr_t)CALLER);
	hook_leave(h);
	errno = saved;
}

void mem_hook_unmapped(void *p, uint64_t bytes)
{
	(void)__atomic_fetch_sub(&mem_hook_mapped_sum, bytes, __ATOMIC_RELAXED);
	if (is_watched(p))
		freed(p);
}

uint64_t mem_hook_mapped_bytes(void)
{
	return __atomic_load_n(&mem_hook_mapped_sum, __ATOMIC_RELAXED);
}

uint64_t mem_hook_malloc_bytes(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

void *mem_hook_bare_malloc(size_t bytes)
{
	return BARE(malloc)(bytes);
}

void mem_hook_bare_free(void *p)
{
	BARE(free)(p);
}

static void set_limit(void *arg UNUSED, struct self *thread)
{
	__atomic_store_n(&thread->mem_limit, 0, __ATOMIC_SEQ_CST);
}

/* Every thread asks at its next allocation. */
static void invite(void)
{
	(void)__atomic_fetch_add(&mem_hook_epoch, 1, __ATOMIC_SEQ_CST);
	threads_each(set_limit, NULL);
	set_limit(NULL, &nl6_self); /* of one that is not registered, too */
}

int mem_hook_open(const struct mem_hook *hook)
{
	if (__atomic_exchange_n(&mem_hook_is_taken, true, __ATOMIC_SEQ_CST))
		return -EBUSY;
	TSAN_RELEASE(&mem_hook);
	__atomic_store_n(&mem_hook, hook, __ATOMIC_SEQ_CST);
	invite();
	return 0;
}

void mem_hook_close(void)
{
	__atomic_store_n(&mem_hook, NULL, __ATOMIC_SEQ_CST);
	invite();
	for (unsigned i = 0; i < INSIDE_SLOTS; i++)
		while (__atomic_load_n(&mem_hook_inside[i].n, __ATOMIC_SEQ_CST))
			(void)sched_yield();
	TSAN_ACQUIRE(&mem_hook_inside);
	(void)madvise(mem_hook_watched, sizeof(mem_hook_watched), MADV_DONTNEED);
	__atomic_store_n(&mem_hook_is_taken, false, __ATOMIC_SEQ_CST);
}

/* In a child of fork nobody profiles, and the threads that were in the hook are not there. */
static void child_after_fork(void)
{
	__atomic_store_n(&mem_hook, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mem_hook_is_taken, false, __ATOMIC_SEQ_CST);
	memset(mem_hook_inside, 0, sizeof(mem_hook_inside));
	(void)madvise(mem_hook_watched, sizeof(mem_hook_watched), MADV_DONTNEED);
	(void)__atomic_fetch_add(&mem_hook_epoch, 1, __ATOMIC_SEQ_CST);
	nl6_self.mem_busy = 0;
	set_limit(NULL, &nl6_self);
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, child_after_fork);
}
