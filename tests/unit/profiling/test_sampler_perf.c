#include "base/clk.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include "net/caps.h"
#include "profiling/refuse.h"
#include "profiling/sampler.h"
#include "profiling/symbol.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_one, "one");

struct open {
	struct walker *walker;
	struct sampler *sampler;
	struct sampler_reader *reader;
};

static struct open opened(uint32_t hz)
{
	struct open o;
	thread_adopt("test", &label_main);
	ck_assert_int_eq(walker_new(&mem_libc, &o.walker), 0);
	struct sampler_env env = {&mem_libc, &clk_system, o.walker};
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){hz, true}, &o.sampler), 0);
	ck_assert_int_eq(sampler_read_start(o.sampler, 10000, &o.reader), 0);
	return o;
}

/* What of the samples lies where. */
struct totals {
	int64_t all, entries, kernel, by_label;
	int64_t reads; /* in the kernel, below the function that reads */
	struct symbols *symbols;
	int64_t named;
};

__attribute__((noinline)) static void read_zeros(int fd, uint64_t until_ns);

static bool calls(const struct stack *s, const char *name, struct symbols *symbols)
{
	struct symbol sym;
	for (unsigned i = 0; i < s->n; i++)
		if (symbols_find(symbols, s->pcs[i], &sym) == 0)
			for (unsigned k = 0; k < sym.n; k++)
				if (strcmp(sym.frames[k].name, name) == 0)
					return true;
	return false;
}

static void sum(void *arg, const struct stack *s)
{
	struct totals *t = arg;
	struct symbol sym;
	int64_t n = s->values[0];
	t->all += n;
	t->entries += s->end == UNWIND_ENTRY ? n : 0;
	t->by_label += s->label == &label_one ? n : 0;
	if (!s->n || s->pcs[0] < SYMBOL_KERNEL_START)
		return;
	t->kernel += n;
	ck_assert_int_eq(symbols_find(t->symbols, s->pcs[0], &sym), 0);
	ck_assert_uint_eq(sym.mapping, SYMBOL_MAPPING_KERNEL);
	ck_assert_str_eq(symbols_mapping(t->symbols, sym.mapping)->file, "[kernel]");
	t->named += sym.n ? n : 0;
	t->reads += calls(s, "read_zeros", t->symbols) ? n : 0;
}

static struct totals closed(struct open *o, char state[static 64])
{
	AUTO(stacks) struct stacks *stacks = NULL;
	AUTO(symbols) struct symbols *symbols = NULL;
	struct sampler_status st;
	uint64_t ns;
	ck_assert_int_eq(symbols_new(&mem_libc, &symbols), 0);
	struct totals t = {.symbols = symbols};
	sampler_status(o->sampler, &st);
	memcpy(state, st.kernel_state, sizeof(st.kernel_state));
	sampler_read_stop(o->reader, &stacks, &ns);
	stacks_each(stacks, sum, &t);
	ck_assert_ptr_null(sampler_close(o->sampler));
	(void)walker_free(o->walker);
	return t;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nearly all of its time is the kernel's: a sanitizer would look at what read(2) gave. */
static void read_zeros(int fd, uint64_t until_ns)
{
	static char buf[1 << 20];
	while (cpu_ns() < until_ns)
		ck_assert_int_gt(syscall(SYS_read, fd, buf, sizeof(buf)), 0);
}

static void burn_in_kernel(uint64_t ns)
{
	LABEL_SCOPE(&label_one);
	AUTO_FD int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	read_zeros(fd, cpu_ns() + ns);
}

static void burn(uint64_t ns)
{
	uint64_t until = cpu_ns() + ns;
	volatile unsigned x = 0;
	while (cpu_ns() < until)
		for (unsigned i = 0; i < 1000; i++)
			x = x * 3 + i;
}

static bool is_sampled(const char *state)
{
	return strcmp(state, "sampled") == 0;
}

START_TEST(stacks_reach_from_the_kernel_to_the_entry)
{
	char state[64];
	struct open o = opened(1000);
	uint64_t begun = cpu_ns();
	burn_in_kernel(300 * NS_PER_MS);
	burn(300 * NS_PER_MS);
	int64_t used_ms = (int64_t)((cpu_ns() - begun) / NS_PER_MS);
	struct totals t = closed(&o, state);
	ck_assert_msg(t.all > used_ms * 93 / 100 && t.all < used_ms * 107 / 100,
		"%ld samples in %ld ms (%s)", (long)t.all, (long)used_ms, state);
	/* Of so few, one may fall where a stack is being made. */
	ck_assert_int_le(t.all - t.entries, MAX(t.all * (UNIT_SANITIZED ? 30 : 1) / 1000, 1));
	ck_assert_int_gt(t.by_label, t.all / 3);
	if (!is_sampled(state)) {
		ck_assert_int_eq(t.kernel, 0);
		return;
	}
	ck_assert_msg(t.kernel > t.all / 4 && t.kernel < t.all * 3 / 4, "%ld of %ld",
		(long)t.kernel, (long)t.all);
	ck_assert_int_gt(t.reads, t.kernel * 8 / 10);
	ck_assert(t.named == t.kernel || t.named == 0); /* all, or the names are hidden */
}
END_TEST

static void work(void *arg UNUSED)
{
	burn_in_kernel(20 * NS_PER_MS);
}

START_TEST(threads_come_and_go)
{
	char state[64];
	struct open o = opened(1000);
	struct thread *t;
	struct thread_conf conf = {"brief-0", &label_one, work, NULL};
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
		ck_assert_ptr_null(thread_join(t));
	}
	struct totals totals = closed(&o, state);
	ck_assert_int_gt(totals.by_label, 150);
	if (is_sampled(state))
		ck_assert_int_gt(totals.kernel, 50);
}
END_TEST

START_TEST(a_second_reading_begins_afresh)
{
	char state[64];
	struct open o = opened(1000);
	AUTO(stacks) struct stacks *stacks = NULL;
	uint64_t ns;
	burn_in_kernel(50 * NS_PER_MS);
	sampler_read_stop(o.reader, &stacks, &ns);
	burn_in_kernel(50 * NS_PER_MS);
	ck_assert_int_eq(sampler_read_start(o.sampler, 10000, &o.reader), 0);
	burn(20 * NS_PER_MS);
	struct totals t = closed(&o, state);
	ck_assert_int_le(t.by_label, 1);
	ck_assert_int_ge(t.all, 15);
}
END_TEST

static void check_degraded(const char *reason)
{
	char state[64];
	struct open o = opened(1000);
	burn_in_kernel(100 * NS_PER_MS);
	struct totals t = closed(&o, state);
	ck_assert_msg(
		strncmp(state, "not sampled in ", 15) == 0 && strstr(state, reason), "%s", state);
	ck_assert_int_gt(t.by_label, 80);
}

static void without_capabilities(void *arg UNUSED)
{
	ck_assert_int_eq(caps_keep(0), 0);
	check_degraded("EACCES");
}

static void refused(void *arg UNUSED)
{
	refuse_perf(ENOSYS);
	check_degraded("ENOSYS");
}

static void run_in_thread(void (*run)(void *))
{
	struct thread *t;
	struct thread_conf conf = {"poor-0", &label_main, run, NULL};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
}

START_TEST(without_perf_there_are_timers_and_a_reason)
{
	run_in_thread(without_capabilities);
	run_in_thread(refused);
}
END_TEST

UNIT_MAIN(stacks_reach_from_the_kernel_to_the_entry, threads_come_and_go,
	a_second_reading_begins_afresh, without_perf_there_are_timers_and_a_reason)
