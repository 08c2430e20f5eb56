/* What made other profilers fail (docs/profiling-faults.md), tried on the sampler. */
#include "base/clk.h"
#include "base/self.h"
#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include "profiling/profile.h"
#include "profiling/said.h"
#include "profiling/sampler.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#else
#define TSAN 0
#endif

extern char **environ;
static LABEL_SUBSYSTEM(label_load, "load");

static bool is_full(void)
{
	const char *full = getenv("TEST_FULL");
	return full && strcmp(full, "1") == 0;
}

static struct walker *walker;
static struct sampler *sampler;
static struct sampler_reader *reader;

static void start(uint32_t hz)
{
	thread_adopt("test", &label_main);
	ck_assert_int_eq(walker_new(&mem_libc, &walker), 0);
	struct sampler_env env = {&mem_libc, &clk_system, walker};
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){hz}, &sampler), 0);
	ck_assert_int_eq(sampler_read_start(sampler, 10000, &reader), 0);
}

struct sums {
	int64_t all, load, entry, load_entry, lost;
};

static void sum(void *arg, const struct stack *stack)
{
	struct sums *t = arg;
	t->all += stack->values[0];
	t->lost += stack->n == 1 && stack->pcs[0] == said_pc(SAID_LOST_RING_FULL) ? stack->values[0]
										  : 0;
	t->load += stack->label == &label_load ? stack->values[0] : 0;
	t->entry += stack->end == UNWIND_ENTRY ? stack->values[0] : 0;
	t->load_entry +=
		stack->label == &label_load && stack->end == UNWIND_ENTRY ? stack->values[0] : 0;
}

static struct sums stop(void)
{
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t ns;
	struct sums t = {0};
	sampler_read_stop(reader, &stacks, &ns);
	stacks_each(stacks, sum, &t);
	sampler = sampler_close(sampler);
	walker = walker_free(walker);
	return t;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;
	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void burn(uint64_t ns)
{
	volatile unsigned x = 0;
	for (uint64_t until = thread_cpu_ns() + ns; thread_cpu_ns() < until;)
		for (unsigned i = 0; i < 1000; i++)
			x = x * 3 + i;
}

/* Threads that burn until told to end. */
static bool over;
static struct thread *burners[2];

static void burn_on(void *arg UNUSED)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		burn(NS_PER_MS);
}

static void load_on(void)
{
	struct thread_conf conf = {.name = "load", .label = &label_load, .run = burn_on};
	__atomic_store_n(&over, false, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_SIZE(burners); i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &burners[i]), 0);
}

static void load_off(void)
{
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_SIZE(burners); i++)
		thread_join(burners[i]);
}

static int status_of(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	return status;
}

/* The CPU time of a fork, which copies the page tables, and of the child's end. */
static uint64_t fork_ns(unsigned times)
{
	uint64_t before = thread_cpu_ns();
	for (unsigned i = 0; i < times; i++) {
		pid_t pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			_exit(7);
		ck_assert_int_eq(status_of(pid), 7 << 8);
	}
	return thread_cpu_ns() - before;
}

START_TEST(a_large_process_forks_and_spawns_at_full_rate)
{
	size_t bytes = UNIT_SANITIZED ? 64u << 20 : is_full() ? 1u << 30 : 256u << 20;
	char *large = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(large, MAP_FAILED);
	(void)madvise(large, bytes, MADV_NOHUGEPAGE); /* so that page tables are large, too */
	for (size_t i = 0; i < bytes; i += 4096)
		large[i] = 1;
	thread_adopt("test", &label_main);
	uint64_t plain_ns = fork_ns(5);
	start(1000);
	uint64_t sampled_ns = fork_ns(5);
	char *const argv[] = {(char[]){"true"}, NULL};
	for (unsigned i = 0; i < 50; i++) {
		pid_t pid;
		ck_assert_int_eq(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ), 0);
		ck_assert_int_eq(status_of(pid), 0);
	}
	(void)stop();
	ck_assert_msg(sampled_ns < 4 * plain_ns + 20 * NS_PER_MS, "%lu us became %lu us",
		(unsigned long)plain_ns / 1000, (unsigned long)sampled_ns / 1000);
	munmap(large, bytes);
}
END_TEST

START_TEST(a_forked_child_survives_and_execs_untouched)
{
	start(1000);
	load_on();
	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			volatile unsigned x = 0;
			for (unsigned k = 0; k < 3000000; k++)
				x = x * 3 + k;
			(void)syscall(SYS_tgkill, getpid(), gettid(), SIGPROF);
			(void)execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		ck_assert_int_eq(status_of(pid), 0);
	}
	load_off();
	ck_assert_int_gt(stop().load, 0);
}
END_TEST

START_TEST(starts_and_stops_under_load_and_stray_signals)
{
	unsigned times = is_full() ? 10000 : UNIT_SANITIZED ? 200 : 500;
	start(1000);
	load_on();
	for (unsigned i = 0; i < times; i++) {
		AUTO(stacks) struct stacks *stacks = NULL;
		uint64_t ns;
		sampler_read_stop(reader, &stacks, &ns);
		ck_assert_int_eq(syscall(SYS_tgkill, getpid(), gettid(), SIGPROF), 0);
		ck_assert_int_eq(kill(getpid(), SIGPROF), 0); /* to any thread */
		if (i % 10 == 0) {
			sampler = sampler_close(sampler);
			ck_assert_int_eq(kill(getpid(), SIGPROF), 0);
			struct sampler_env env = {&mem_libc, &clk_system, walker};
			ck_assert_int_eq(
				sampler_open(&env, &(struct sampler_conf){1000}, &sampler), 0);
		}
		ck_assert_int_eq(sampler_read_start(sampler, 100, &reader), 0);
	}
	struct sampler_status st;
	sampler_status(sampler, &st);
	ck_assert_uint_eq(st.threads_unarmed, 0);
	(void)stop();
	load_off();
	ck_assert_int_eq(kill(getpid(), SIGPROF), 0);
}
END_TEST

/* What a signal interrupts whatever SA_RESTART says (signal(7)): each loop goes on against its
 * deadline, as ours do, and sees nothing but EINTR. */
static unsigned interrupted;
static struct queue_end {
	int event, epoll;
	struct lock lock;
	struct cond changed;
} end;

static void wait_all_ways(void *arg UNUSED)
{
	struct pollfd p = {end.event, POLLIN, 0};
	struct epoll_event ev;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		struct timespec ts = {0, 2000000};
		int r[] = {poll(&p, 1, 2), epoll_wait(end.epoll, &ev, 1, 2), nanosleep(&ts, NULL)};
		for (unsigned i = 0; i < ARRAY_SIZE(r); i++) {
			ck_assert(r[i] == 0 || errno == EINTR);
			interrupted += r[i] < 0;
		}
	}
}

static void wait_on_ours(void *arg UNUSED)
{
	LOCK_SCOPE(&end.lock);
	uint64_t until_ns = clk_ns(&clk_system) + 300 * NS_PER_MS;
	while (cond_wait_until(&end.changed, &end.lock, until_ns) == 0)
		; /* nobody wakes it */
	ck_assert_uint_ge(clk_ns(&clk_system), until_ns);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
}

static void see_nothing(void *arg UNUSED, const struct sampler_thread_info *info UNUSED)
{
}

START_TEST(waits_that_are_interrupted_go_on)
{
	start(1000);
	over = false;
	interrupted = 0;
	end.event = eventfd(0, EFD_CLOEXEC);
	end.epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN};
	ck_assert_int_eq(epoll_ctl(end.epoll, EPOLL_CTL_ADD, end.event, &ev), 0);
	lock_init(&end.lock);
	cond_init(&end.changed);
	struct thread *t[2];
	struct thread_conf conf[2] = {{.name = "ways", .label = &label_load, .run = wait_all_ways},
		{.name = "ours", .label = &label_load, .run = wait_on_ours}};
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf[i], &t[i]), 0);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) /* asks each thread, waiting or not */
		ck_assert_int_eq(sampler_threads(sampler, see_nothing, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		thread_join(t[i]);
	ck_assert_uint_gt(interrupted, 0);
	cond_done(&end.changed);
	lock_done(&end.lock);
	close(end.epoll);
	close(end.event);
	(void)stop();
}
END_TEST

static void visit(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	unsigned (*fn)(unsigned);
	*(void **)&fn = dlsym(lib, "visitor_burn");
	ck_assert_ptr_nonnull(fn);
	(void)fn(20);
	ck_assert_int_eq(dlclose(lib), 0);
}

START_TEST(libraries_come_and_go_while_sampling)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	ck_assert_int_gt(n, 0);
	path[n] = 0;
	(void)strcpy(strrchr(path, '/'), "/libvisitor.so");
	start(1000);
	load_on();
	uint64_t until = thread_cpu_ns() + (is_full() ? 5 : 1) * NS_PER_SEC / 2;
	while (thread_cpu_ns() < until)
		visit(path);
	AUTO(stacks) struct stacks *stacks = NULL;
	AUTO(symbols) struct symbols *symbols = NULL;
	uint64_t ns;
	ck_assert_int_eq(sampler_read_turn(reader, &stacks, &ns), 0);
	load_off();
	struct text out = TEXT(&mem_libc);
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	struct profile_ask ask = {.kind = PROFILE_CPU, .stacks = stacks, .time_ns = 1};
	ck_assert_int_eq(profile_encode(&mem_libc, symbols, &ask, &out), 0);
	text_done(&out);
	struct sums sums = {0};
	stacks_each(stacks, sum, &sums);
	ck_assert_int_gt(sums.load, 0);
	(void)stop();
}
END_TEST

#define FLOOD 20000

/* As the kernel would, if a timer could expire that often: more than the ring holds until it is
 * drained. Asking for stacks, too, which is no CPU time, whether it is answered or not. */
START_TEST(what_a_ring_cannot_hold_is_counted)
{
	start(1);
	siginfo_t si = {.si_signo = SIGPROF};
	si.si_value.sival_ptr = nl6_self.sampler;
	for (unsigned i = 0; i < 2 * FLOOD; i++) {
		si.si_code = i % 2 ? SI_TIMER : SI_QUEUE;
		si.si_overrun = 0;
		ck_assert_int_eq(
			syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &si), 0);
	}
	struct sampler_status st;
	sampler_status(sampler, &st);
	ck_assert_uint_gt(st.lost[SAMPLER_LOST_RING_FULL], 0);
	struct sums sums = stop();
	ck_assert_int_ge(sums.lost, (int64_t)st.lost[SAMPLER_LOST_RING_FULL]);
	ck_assert_int_ge(sums.all, FLOOD);
	ck_assert_int_le(sums.all, FLOOD + 20); /* and what was sampled of it */
}
END_TEST

static void *burn_on_little(void *arg)
{
	burn(*(uint64_t *)arg);
	return NULL;
}

/* 16 KiB, the least that there is, above a page that cannot be touched. */
START_TEST(a_small_stack_is_enough)
{
	size_t bytes = UNIT_SANITIZED ? 2u << 20 : PTHREAD_STACK_MIN;
	char *at = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_eq(mprotect(at, 4096, PROT_NONE), 0);
	uint64_t ns = 100 * NS_PER_MS;
	pthread_attr_t attr;
	pthread_t t;
	ck_assert_int_eq(pthread_attr_init(&attr), 0);
	ck_assert_int_eq(pthread_attr_setstack(&attr, at + 4096, bytes), 0);
	start(1000);
	{
		LABEL_SCOPE(&label_load); /* the thread inherits it */
		ck_assert_int_eq(pthread_create(&t, &attr, burn_on_little, &ns), 0);
	}
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	struct sums sums = stop();
	ck_assert_int_gt(sums.load, 50);
	ck_assert_int_ge(sums.entry * 100, sums.all * (UNIT_SANITIZED ? 95 : 99));
	pthread_attr_destroy(&attr);
	munmap(at, bytes + 4096);
}
END_TEST

static sigjmp_buf after_crash;
static uint64_t crash_ns;

static void on_crash(int sig UNUSED)
{
	burn(crash_ns);
	static const char text[] = "the crash handler prints\n";
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	siglongjmp(after_crash, 1);
}

/* A thread that is in a crash handler is left alone: its stack may be what broke. */
START_TEST(a_crash_handler_is_left_alone)
{
	struct sigaction sa = {.sa_handler = on_crash}, old;
	if (TSAN)
		return; /* it runs handlers when it likes */
	crash_ns = 100 * NS_PER_MS;
	ck_assert_int_eq(sigaction(SIGSEGV, &sa, &old), 0);
	start(1000);
	{
		LABEL_SCOPE(&label_load);
		if (sigsetjmp(after_crash, 1) == 0)
			(void)raise(SIGSEGV);
	}
	ck_assert_int_le(stop().load, 10);
	ck_assert_int_eq(sigaction(SIGSEGV, &old, NULL), 0);
}
END_TEST

/* Another sampler's or timer's SIGPROF has no cookie of ours: nothing is counted for it. */
START_TEST(signals_of_others_are_not_counted)
{
	start(1);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_int_eq(syscall(SYS_tgkill, getpid(), gettid(), SIGPROF), 0);
	ck_assert_int_le(stop().all, 10);
}
END_TEST

START_TEST(errno_is_kept)
{
	start(1000);
	uint64_t until = thread_cpu_ns() + 100 * NS_PER_MS;
	struct timespec ts;
	do {
		errno = 12345;
		for (volatile unsigned i = 0; i < 100000; i++)
			ck_assert_int_eq(errno, 12345);
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while ((uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec < until);
	ck_assert_int_gt(stop().all, 0);
}
END_TEST

#if defined(__x86_64__)
/* Code by hand as it is in OpenSSL and behind compilers' epilogues: each loops as often as told. */
__asm__(".text\n"
	"odd_epilogue:\n" /* rbp is restored, and its row still says where it was saved */
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	xor %ebp, %ebp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"odd_scratch:\n" /* the frame is in rax, across a call of its own */
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register rax\n"
	"	sub $512, %rsp\n"
	"	and $-64, %rsp\n"
	"	call odd_inner\n"
	"	mov %rax, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"odd_inner:\n"
	"	.cfi_startproc\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"odd_indexed:\n" /* the frame is in a slot that r9 counts */
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register rax\n"
	"	sub $256, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov $3, %r9d\n"
	"	mov %rax, 32(%rsp)\n"
	"	.cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8\n"
	"	xor %eax, %eax\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	mov 32(%rsp), %rsp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n");
void odd_epilogue(uint64_t rounds);
void odd_scratch(uint64_t rounds);
void odd_indexed(uint64_t rounds);

START_TEST(code_by_hand_is_walked_out_of)
{
	void (*const odd[])(uint64_t) = {odd_epilogue, odd_scratch, odd_indexed};
	for (unsigned i = 0; i < ARRAY_SIZE(odd); i++) {
		start(1000);
		uint64_t until = thread_cpu_ns() + 100 * NS_PER_MS;
		while (thread_cpu_ns() < until) {
			LABEL_SCOPE(&label_load);
			odd[i](1000000);
		}
		struct sums sums = stop();
		ck_assert_int_gt(sums.load, 50);
		ck_assert_msg(sums.load_entry == sums.load, "%u: %ld of %ld reach the entry", i,
			(long)sums.load_entry, (long)sums.load);
	}
}
END_TEST
#else
START_TEST(code_by_hand_is_walked_out_of)
{
}
END_TEST
#endif

UNIT_MAIN(a_large_process_forks_and_spawns_at_full_rate,
	a_forked_child_survives_and_execs_untouched, starts_and_stops_under_load_and_stray_signals,
	waits_that_are_interrupted_go_on, what_a_ring_cannot_hold_is_counted,
	libraries_come_and_go_while_sampling, a_small_stack_is_enough,
	a_crash_handler_is_left_alone, signals_of_others_are_not_counted, errno_is_kept,
	code_by_hand_is_walked_out_of)
