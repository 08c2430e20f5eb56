#include "fake.h"
#include "profiling/unwind.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

static struct unwind_stack my_stack(void)
{
	pthread_attr_t attr;
	void *lo;
	size_t bytes;
	ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attr), 0);
	ck_assert_int_eq(pthread_attr_getstack(&attr, &lo, &bytes), 0);
	pthread_attr_destroy(&attr);
	return (struct unwind_stack){(uintptr_t)lo, (uintptr_t)lo + bytes};
}

static const char *name_of(uintptr_t pc)
{
	Dl_info info;
	return dladdr((void *)pc, &info) && info.dli_sname ? info.dli_sname : "?";
}

struct walk {
	const struct unwind_tables *t;
	struct unwind_stack stack;
	uintptr_t pcs[UNWIND_DEPTH];
	unsigned n;
	enum unwind_end end;
};
static struct walk *walking;

static int compare_and_walk(const void *a, const void *b)
{
	struct unwind_regs regs = UNWIND_REGS_HERE();
	walking->n = unwind_walk(
		walking->t, &regs, &walking->stack, walking->pcs, UNWIND_DEPTH, &walking->end);
	return *(const int *)a - *(const int *)b;
}

static bool has_name(const struct walk *w, const char *name)
{
	for (unsigned i = 0; i < w->n; i++)
		if (strcmp(name_of(w->pcs[i]), name) == 0)
			return true;
	return false;
}

/* libc has no frame pointers, so the way through qsort shows that the tables are used. */
START_TEST(through_a_library_without_frame_pointers)
{
	struct fake f = fake_make();
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(f.mem, &t), 0);
	struct unwind_info info;
	unwind_tables_info(t, &info);
	ck_assert_uint_gt(info.rows, 10000);
	ck_assert_uint_eq(info.bad_fdes, 0);
	struct walk w = {.t = t, .stack = my_stack()};
	walking = &w;
	int v[] = {3, 1, 2};
	qsort(v, 3, sizeof(v[0]), compare_and_walk);
	ck_assert_int_eq(w.end, UNWIND_ENTRY);
	ck_assert(has_name(&w, "qsort_r"));
	ck_assert(has_name(&w, "__libc_start_main"));
	unwind_tables_free(t);
	fake_done(&f);
}
END_TEST

/* Its stack arguments and the alignment have gcc keep the frame's address in memory. */
static __attribute__((noinline)) int walk_realigned(
	int a, int b, int c, int d, int e, int f, int g, size_t bytes)
{
	int v[16] __attribute__((aligned(64))) = {a, b, c, d, e, f, g};
	char *more = __builtin_alloca(bytes);
	memset(more, 1, bytes);
	qsort(v, 7, sizeof(v[0]), compare_and_walk);
	return v[0] + more[bytes / 2];
}

START_TEST(through_a_frame_that_aligns_the_stack_anew)
{
	struct fake f = fake_make();
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(f.mem, &t), 0);
	struct walk w = {.t = t, .stack = my_stack()};
	walking = &w;
	ck_assert_int_eq(walk_realigned(7, 6, 5, 4, 3, 2, 1, 100), 2);
	ck_assert_int_eq(w.end, UNWIND_ENTRY);
	ck_assert(has_name(&w, "__libc_start_main"));
	unwind_tables_free(t);
	fake_done(&f);
}
END_TEST

static void *thread_walks(void *arg)
{
	struct walk *w = arg;
	w->stack = my_stack();
	walking = w;
	int v[] = {2, 1};
	qsort(v, 2, sizeof(v[0]), compare_and_walk);
	return NULL;
}

START_TEST(up_to_the_entry_of_a_thread)
{
	struct fake f = fake_make();
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(f.mem, &t), 0);
	struct walk w = {.t = t};
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, thread_walks, &w), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(w.end, UNWIND_ENTRY);
	ck_assert(has_name(&w, "qsort_r"));
	unwind_tables_free(t);
	fake_done(&f);
}
END_TEST

static volatile sig_atomic_t walks, entries, ends[UNWIND_ENDS];
static char blob[1 << 16], blob2[1 << 16];

static void on_signal(int sig UNUSED, siginfo_t *si UNUSED, void *uc)
{
	struct unwind_regs regs;
	enum unwind_end end;
	uintptr_t pcs[UNWIND_DEPTH];
	unwind_regs_from_ucontext(uc, &regs);
	(void)unwind_walk(walking->t, &regs, &walking->stack, pcs, UNWIND_DEPTH, &end);
	walks++;
	entries += end == UNWIND_ENTRY;
	ends[end]++;
}

/* A timer interrupts libc's assembly, the vdso, the PLT, prologues: wherever it falls. */
START_TEST(from_wherever_a_signal_falls)
{
	struct fake f = fake_make();
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(f.mem, &t), 0);
	struct walk w = {.t = t, .stack = my_stack()};
	walking = &w;
	walks = entries = 0;
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
	sigaction(SIGALRM, &sa, &old);
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	timer_settime(timer, 0, &every, NULL);
	unsigned char x = 0;
	while (walks < 5000) {
		struct timespec ts;
		clock_gettime(CLOCK_MONOTONIC, &ts);
		memcpy(blob, blob2, (size_t)ts.tv_nsec % sizeof(blob));
		x ^= (unsigned char)blob[rand() % (int)sizeof(blob)];
		free(malloc((size_t)(ts.tv_nsec % 4096) + 1));
	}
	timer_delete(timer);
	sigaction(SIGALRM, &old, NULL);
	blob2[0] = (char)x;
	for (int i = 0; i < UNWIND_ENDS; i++)
		if (ends[i] && i != UNWIND_ENTRY)
			fprintf(stderr, "%s: %d of %d\n", unwind_end_text((enum unwind_end)i),
				(int)ends[i], (int)walks);
	/* The run-time of TSan has code of its own that cannot be unwound. */
	ck_assert_msg(entries * 1000L >= walks * (UNIT_SANITIZED ? 850L : 999L),
		"%d of %d walks reached the entry", (int)entries, (int)walks);
	unwind_tables_free(t);
	fake_done(&f);
}
END_TEST

static int compile_and_free(struct fake *f, void *arg UNUSED)
{
	struct unwind_tables *t;
	int r = unwind_compile(f->mem, &t);
	if (r < 0)
		return r;
	unwind_tables_free(t);
	return 0;
}

START_TEST(each_failing_allocation)
{
	struct fake f = fake_make();
	fake_fail_each(&f, compile_and_free, NULL);
	fake_done(&f);
}
END_TEST

/* Random bytes as a stack: the walk ends, within the room, without a fault. */
START_TEST(wild_stacks)
{
	struct fake f = fake_make();
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(f.mem, &t), 0);
	static uintptr_t fake_stack[512];
	struct unwind_stack stack = {
		(uintptr_t)fake_stack, (uintptr_t)(fake_stack + ARRAY_SIZE(fake_stack))};
	uintptr_t text = (uintptr_t)&qsort, pcs[UNWIND_DEPTH];
	srand(1);
	for (int round = 0; round < 20000; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(fake_stack); i++)
			fake_stack[i] = rand() % 3 == 0 ? text + (uintptr_t)(rand() % 100000)
					: rand() % 2	? stack.lo + (uintptr_t)(rand() % 600) *
									  sizeof(uintptr_t)
						     : (uintptr_t)rand();
		struct unwind_regs regs = {.pc = text + (uintptr_t)(rand() % 100000),
			.sp = stack.lo + (uintptr_t)(rand() % 512) * sizeof(uintptr_t),
			.fp = stack.lo + (uintptr_t)(rand() % 600) * sizeof(uintptr_t)};
		enum unwind_end end;
		unsigned n = unwind_walk(t, &regs, &stack, pcs, UNWIND_DEPTH, &end);
		ck_assert(n >= 1 && n <= UNWIND_DEPTH);
	}
	unwind_tables_free(t);
	fake_done(&f);
}
END_TEST

START_TEST(a_loaded_library_makes_the_tables_stale)
{
	struct unwind_tables *t;
	ck_assert_int_eq(unwind_compile(&mem_libc, &t), 0);
	ck_assert(!unwind_is_stale(t));
	void *lib = dlopen("libBrokenLocale.so.1", RTLD_NOW);
	ck_assert_ptr_nonnull(lib);
	ck_assert(unwind_is_stale(t));
	dlclose(lib);
	unwind_tables_free(t);
}
END_TEST

UNIT_MAIN(through_a_library_without_frame_pointers, through_a_frame_that_aligns_the_stack_anew,
	up_to_the_entry_of_a_thread, from_wherever_a_signal_falls, each_failing_allocation,
	wild_stacks, a_loaded_library_makes_the_tables_stale)
