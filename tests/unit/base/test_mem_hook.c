#include "base/mem_hook.h"
#include "base/pool.h"
#include "base/self.h"
#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A hook that sees everything of one thread, and notes the last of it. */
struct seen {
	struct mem_hook hook;
	pthread_t thread;
	uint64_t gap_bytes, firsts;
	uint64_t allocated, mapped, freed, stayed;
	uint64_t bytes;
	void *p;
	uintptr_t caller;
	bool allocates; /* itself, within the hook */
};

static uint64_t gap(void *arg, uint64_t *state UNUSED, bool first)
{
	struct seen *s = arg;
	(void)__atomic_fetch_add(&s->firsts, first, __ATOMIC_RELAXED);
	return s->gap_bytes;
}

static void allocated(void *arg, void *p, uint64_t bytes, uintptr_t caller)
{
	struct seen *s = arg;
	if (!pthread_equal(s->thread, pthread_self()))
		return;
	s->allocated++;
	s->p = p;
	s->bytes = bytes;
	s->caller = caller;
	mem_hook_watch(p);
	errno = ERANGE;
	if (s->allocates)
		free(malloc(100));
}

static void mapped(void *arg, void *p, uint64_t bytes, uintptr_t caller)
{
	struct seen *s = arg;
	s->mapped++;
	s->p = p;
	s->bytes = bytes;
	s->caller = caller;
	mem_hook_watch(p);
}

static bool freed(void *arg, void *p, uint64_t kept[3])
{
	struct seen *s = arg;
	kept[0] = (uintptr_t)p;
	if (p != s->p)
		return false;
	mem_hook_unwatch(p);
	s->freed++;
	errno = ERANGE;
	return true;
}

static void stayed(void *arg, const uint64_t kept[3])
{
	struct seen *s = arg;
	ck_assert_uint_eq(kept[0], (uintptr_t)s->p);
	mem_hook_watch(s->p);
	s->stayed++;
}

static void open_for(struct seen *s)
{
	s->thread = pthread_self();
	s->hook = (struct mem_hook){gap, allocated, mapped, freed, stayed, s};
	ck_assert_int_eq(mem_hook_open(&s->hook), 0);
}

/* Each form is seen with the size that was asked for, and so is its end. */
static void check_form(struct seen *s, void *p, uint64_t bytes)
{
	struct seen was = *s;
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_eq(was.p, p);
	ck_assert_uint_eq(was.bytes, bytes);
	free(p);
	ck_assert_uint_eq(s->freed, was.freed + 1);
}

START_TEST(every_form_is_seen)
{
	struct seen s = {0};
	void *p = NULL;
	open_for(&s);
	check_form(&s, malloc(10), 10);
	check_form(&s, calloc(3, 7), 21);
	check_form(&s, realloc(NULL, 30), 30);
	check_form(&s, reallocarray(NULL, 5, 8), 40);
	check_form(&s, memalign(64, 50), 50);
	check_form(&s, aligned_alloc(64, 64), 64);
	ck_assert_int_eq(posix_memalign(&p, 32, 70), 0);
	check_form(&s, p, 70);
	check_form(&s, valloc(80), 80);
	p = pvalloc(90);
	check_form(&s, p, 90);
	check_form(&s, malloc(0), 0);
#if !UNIT_SANITIZED /* whose strdup asks their own allocator */
	check_form(&s, strdup("a library's"), 12);
#endif
	mem_hook_close();
	uint64_t all = s.allocated;
	free(malloc(10));
	ck_assert_uint_eq(s.allocated, all);
}
END_TEST

START_TEST(forms_keep_their_meaning)
{
	void *p = NULL;
	ck_assert_int_eq(posix_memalign(&p, 3, 8), EINVAL);
	ck_assert_int_eq(posix_memalign(&p, 4, 8), EINVAL);
	ck_assert_ptr_null(p);
	volatile size_t half = SIZE_MAX / 2;
	errno = 0;
	ck_assert_ptr_null(reallocarray(NULL, half, 3));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(posix_memalign(&p, 4096, 10), 0);
	ck_assert_uint_eq((uintptr_t)p % 4096, 0);
	ck_assert_uint_ge(malloc_usable_size(p), 10);
	p = realloc(p, 10000);
	memset(p, 1, 10000);
	free(p);
	unsigned char *zeros = calloc(100, 10);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_uint_eq(zeros[i], 0);
	free(zeros);
	free(NULL);
}
END_TEST

START_TEST(resizing_is_a_free_and_an_allocation)
{
	struct seen s = {0};
	open_for(&s);
	char *p = malloc(10);
	p = realloc(p, 100000);
	ck_assert_uint_eq(s.allocated, 2);
	ck_assert_uint_eq(s.freed, 1);
	ck_assert_uint_eq(s.bytes, 100000);
#if !UNIT_SANITIZED /* whose allocators give up */
	volatile size_t too_many = SIZE_MAX / 2 + 2;
	uint64_t bytes = nl6_self.mem_bytes;
	ck_assert_ptr_null(realloc(p, too_many));
	ck_assert_uint_eq(s.freed, 2);
	ck_assert_uint_eq(s.stayed, 1);
	ck_assert_ptr_null(malloc(too_many));
	ck_assert_uint_eq(nl6_self.mem_bytes, bytes);
	ck_assert_uint_eq(s.allocated, 2);
#endif
	free(p);
	ck_assert_uint_eq(s.freed, s.stayed + 2);
	mem_hook_close();
}
END_TEST

START_TEST(the_hook_is_asked_once_in_so_many_bytes)
{
	struct seen s = {.gap_bytes = 1000};
	open_for(&s);
	s.allocates = true; /* neither seen nor counted as another's */
	for (unsigned i = 0; i < 100; i++)
		free(malloc(300));
	mem_hook_close();
	/* 4 times 300 bytes each time, since a gap begins where the last allocation ended. */
	ck_assert_uint_eq(s.allocated, 25);
	ck_assert_uint_eq(nl6_self.mem_busy, 0);
}
END_TEST

START_TEST(errno_stays)
{
	struct seen s = {0};
	open_for(&s);
	errno = EDOM;
	void *p = malloc(10);
	ck_assert_int_eq(errno, EDOM);
	p = realloc(p, 20);
	ck_assert_int_eq(errno, EDOM);
	free(p);
	ck_assert_int_eq(errno, EDOM);
	mem_hook_close();
}
END_TEST

START_TEST(only_one_is_open)
{
	struct seen s = {0}, other = {0};
	open_for(&s);
	other.hook = s.hook;
	ck_assert_int_eq(mem_hook_open(&other.hook), -EBUSY);
	mem_hook_close();
	ck_assert_int_eq(mem_hook_open(&other.hook), 0);
	mem_hook_close();
}
END_TEST

START_TEST(pools_are_told)
{
	struct seen s = {0};
	uint64_t before = mem_hook_mapped_bytes();
	AUTO(pool) struct pool *p = NULL, *q = NULL;
	ck_assert_int_eq(pool_new(&mem_libc, "one", 64, 8, &p), 0);
	ck_assert_ptr_nonnull(pool_take(p));
	ck_assert_uint_eq(mem_hook_mapped_bytes() - before, pool_mapped_bytes(p));
	open_for(&s);
	ck_assert_int_eq(pool_new(&mem_libc, "two", 64, 8, &q), 0);
	ck_assert_ptr_nonnull(pool_take(q));
	ck_assert_uint_eq(s.mapped, 1);
	ck_assert_uint_eq(s.bytes, pool_mapped_bytes(q));
	uint64_t was = s.freed;
	p = pool_free(p); /* nobody saw its chunk */
	ck_assert_uint_eq(s.freed, was);
	ck_assert_uint_eq(mem_hook_mapped_bytes() - before, pool_mapped_bytes(q));
	mem_hook_close();
	q = pool_free(q);
	ck_assert_uint_eq(mem_hook_mapped_bytes(), before);
}
END_TEST

/* Threads that were there before, and those that come, with and without their registration. */
static void allocate_until_told(void *arg)
{
	while (!__atomic_load_n((bool *)arg, __ATOMIC_ACQUIRE)) {
		void *volatile p = malloc(100);
		p = realloc(p, 200);
		free(p);
	}
}

START_TEST(threads_allocate_while_it_opens_and_closes)
{
	enum { THREADS = 2 };
	bool stop = false;
	struct thread *t[THREADS];
	struct thread_conf conf = {.name = "allocates", .run = allocate_until_told, .arg = &stop};
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t[i]), 0);
	for (unsigned i = 0; i < 50; i++) {
		struct seen s = {.gap_bytes = i % 3 * 100};
		open_for(&s);
		/* Every thread that runs comes to the hook: it is not missed. */
		while (__atomic_load_n(&s.firsts, __ATOMIC_RELAXED) < THREADS)
			sched_yield();
		mem_hook_close();
		memset(&s, 0x5a, sizeof(s)); /* nobody looks at it any more */
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(t[i]);
}
END_TEST

START_TEST(a_child_of_fork_is_free_of_it)
{
	struct seen s = {0};
	open_for(&s);
	uint64_t all = s.allocated;
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		free(malloc(10));
		if (s.allocated != all)
			_exit(1);
		struct seen own = {0};
		open_for(&own);
		free(malloc(10));
		mem_hook_close();
		_exit(own.allocated == 1 ? 0 : 2);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	mem_hook_close();
}
END_TEST

static void *begin_and_end(void *arg)
{
	return arg;
}

/* What frees in a thread that begins may be a sanitizer that does not know the thread yet. */
START_TEST(threads_begin_while_all_is_watched)
{
	enum { THREADS = 100, ADDRESSES = 1 << 18 };
	struct seen s = {.gap_bytes = UINT64_MAX};
	pthread_t thread;
	open_for(&s);
	for (uintptr_t i = 1; i < ADDRESSES; i++)
		mem_hook_watch((void *)(i << 4));
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, begin_and_end, &s), 0);
		(void)pthread_join(thread, NULL);
	}
	mem_hook_close();
}
END_TEST

UNIT_MAIN(every_form_is_seen, forms_keep_their_meaning, resizing_is_a_free_and_an_allocation,
	the_hook_is_asked_once_in_so_many_bytes, errno_stays, only_one_is_open, pools_are_told,
	threads_allocate_while_it_opens_and_closes, threads_begin_while_all_is_watched,
	a_child_of_fork_is_free_of_it)
