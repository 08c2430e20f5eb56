#include "base/queue.h"
#include "base/thread.h"
#include "base/threads.h"
#include "base/waits.h"
#include "fake.h"
#include "profiling/goroutine.h"
#include "profiling/legacy.h"
#include "profiling/said.h"
#include "profiling/walker.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_queue, "queue");
static LABEL_SUBSYSTEM(label_poll, "poll");

struct bench {
	struct walker *walker;
	struct sampler *sampler;
	struct symbols *symbols;
	struct queue *queue;
	int fd;
	unsigned stop, deaf;
	struct self *waits, *polls, *spins;
	struct thread *t[3];
};

__attribute__((noinline)) static void wait_on_queue(void *arg)
{
	struct bench *b = arg;
	void *item;
	__atomic_store_n(&b->waits, &nl6_self, __ATOMIC_SEQ_CST);
	while (queue_take(b->queue, &item) == 0)
		;
}

__attribute__((noinline)) static void wait_for_events(void *arg)
{
	struct bench *b = arg;
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);
	ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, b->fd, &e), 0);
	__atomic_store_n(&b->polls, &nl6_self, __ATOMIC_SEQ_CST);
	while (wait_epoll(fd, &e, 1, -1) < 1) /* the question for the stack interrupts it */
		ck_assert_int_eq(errno, EINTR);
	close(fd);
}

__attribute__((noinline)) static void spin_on(void *arg)
{
	struct bench *b = arg;
	sigset_t prof;
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	__atomic_store_n(&b->spins, &nl6_self, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED))
		pthread_sigmask(
			__atomic_load_n(&b->deaf, __ATOMIC_RELAXED) ? SIG_BLOCK : SIG_UNBLOCK,
			&prof, NULL);
}

static void await(struct self **thread, enum wait_kind kind)
{
	struct self *s;
	while (!(s = __atomic_load_n(thread, __ATOMIC_SEQ_CST)) ||
		__atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST) != kind)
		sched_yield();
}

static void opened(struct bench *b)
{
	*b = (struct bench){.fd = eventfd(0, EFD_CLOEXEC)};
	struct thread_conf conf[3] = {{"queue-0", &label_queue, wait_on_queue, b},
		{"poll-0", &label_poll, wait_for_events, b}, {"spin-0", NULL, spin_on, b}};
	unsigned before = threads_count();
	ck_assert_int_eq(walker_new(&mem_libc, &b->walker), 0);
	ck_assert_int_eq(symbols_new(&mem_libc, &b->symbols), 0);
	ck_assert_int_eq(queue_new(&mem_libc, 4, &b->queue), 0);
	struct sampler_env env = {&mem_libc, &clk_system, b->walker};
	ck_assert_int_eq(sampler_open(&env, &(struct sampler_conf){100}, &b->sampler), 0);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf[i], &b->t[i]), 0);
	await(&b->waits, WAIT_QUEUE);
	await(&b->polls, WAIT_IO);
	await(&b->spins, WAIT_NONE);
	while (threads_count() < before + 4) /* the sampler's own may begin last */
		sched_yield();
}

static void closed(struct bench *b)
{
	uint64_t one = 1;
	queue_close(b->queue);
	ck_assert_int_eq(write(b->fd, &one, sizeof(one)), sizeof(one));
	__atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 3; i++)
		thread_join(b->t[i]);
	ck_assert_ptr_null(sampler_close(b->sampler));
	b->walker = walker_free(b->walker);
	b->symbols = symbols_free(b->symbols);
	b->queue = queue_free(b->queue);
	close(b->fd);
}

struct look {
	struct symbols *symbols;
	int64_t all, queue, unanswered, by_test;
};

static bool has(struct symbols *symbols, const struct stack *s, const char *name)
{
	struct symbol sym;
	for (unsigned i = 0; i < s->n; i++) {
		if (said_is(s->pcs[i]))
			continue;
		ck_assert_int_eq(symbols_find(symbols, s->pcs[i], &sym), 0);
		for (unsigned k = 0; k < sym.n; k++)
			if (strcmp(sym.frames[k].name, name) == 0)
				return true;
	}
	return false;
}

static void look(void *arg, const struct stack *s)
{
	struct look *l = arg;
	l->all += s->values[0];
	if (s->label == &label_queue && has(l->symbols, s, "wait_on_queue") &&
		has(l->symbols, s, "queue_take"))
		l->queue += s->values[0];
	if (s->pcs[0] == said_pc(SAID_NO_ANSWER))
		l->unanswered += s->values[0];
	if (has(l->symbols, s, "opened"))
		l->by_test += s->values[0];
}

static struct look look_at(struct bench *b, const struct stacks *stacks)
{
	struct look l = {.symbols = b->symbols};
	stacks_each(stacks, look, &l);
	return l;
}

START_TEST(every_thread_once_by_place_and_by_maker)
{
	struct bench b;
	AUTO(stacks) struct stacks *running = NULL, *made = NULL;
	opened(&b);
	ck_assert_int_eq(stacks_new(&mem_libc, 100, &running), 0);
	ck_assert_int_eq(stacks_new(&mem_libc, 100, &made), 0);
	ck_assert_int_eq(goroutine_gather(&mem_libc, b.sampler, running, made), 0);
	struct look l = look_at(&b, running);
	ck_assert_int_eq(l.all, threads_count());
	ck_assert_int_eq(l.queue, 1);
	ck_assert_int_eq(l.unanswered, 0);
	l = look_at(&b, made);
	ck_assert_int_eq(l.all, threads_count());
	ck_assert_int_eq(l.by_test, 4); /* the sampler's thread as well */
	/* Either alone. */
	ck_assert_int_eq(goroutine_gather(&mem_libc, b.sampler, NULL, made), 0);
	ck_assert_int_eq(look_at(&b, made).by_test, 8);
	ck_assert_int_eq(goroutine_gather(&mem_libc, b.sampler, running, NULL), 0);
	ck_assert_int_eq(look_at(&b, running).queue, 2);
	closed(&b);
}
END_TEST

START_TEST(one_that_does_not_answer_is_shown)
{
	struct bench b;
	AUTO(stacks) struct stacks *running = NULL;
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	opened(&b);
	ck_assert_int_eq(stacks_new(&mem_libc, 100, &running), 0);
	__atomic_store_n(&b.deaf, 1, __ATOMIC_RELAXED);
	do { /* until it has heard that it is deaf */
		stacks_clear(running);
		ck_assert_int_eq(goroutine_gather(&mem_libc, b.sampler, running, NULL), 0);
	} while (look_at(&b, running).unanswered == 0);
	ck_assert_int_eq(look_at(&b, running).all, threads_count());
	ck_assert_int_eq(goroutine_dump(&mem_libc, b.sampler, b.symbols, &out), 0);
	const char *at = strstr(out.s, "# thread: spin-0\n");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(strstr(at, "\n[no answer]\ncreated by opened\n"));
	closed(&b);
}
END_TEST

/* A paragraph of the dump: from its head to the empty line. */
static char *paragraph(const struct text *out, int tid)
{
	char head[64];
	(void)snprintf(head, sizeof(head), "goroutine %d [", tid);
	const char *at = strstr(out->s, head), *end = at ? strstr(at, "\n\n") : NULL;
	ck_assert_msg(at && end, "no %s in %s", head, out->s);
	return strndup(at, (size_t)(end - at));
}

static void expect(const char *text, const char *const *words, unsigned n)
{
	const char *rest = text;
	for (unsigned i = 0; i < n; i++) {
		const char *at = strstr(rest, words[i]);
		ck_assert_msg(at != NULL, "no \"%s\" in the rest of %s", words[i], text);
		rest = at + strlen(words[i]);
	}
}

START_TEST(a_dump_tells_what_each_waits_in)
{
	struct bench b;
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	opened(&b);
	/* It has said that it will wait, and is about to. */
	char *waits = NULL, *polls = NULL, *spins;
	do {
		free(waits);
		free(polls);
		text_clear(&out);
		ck_assert_int_eq(goroutine_dump(&mem_libc, b.sampler, b.symbols, &out), 0);
		waits = paragraph(&out, b.waits->tid);
		polls = paragraph(&out, b.polls->tid);
	} while (strstr(waits, "[running]") || strstr(polls, "[running]"));
	spins = paragraph(&out, b.spins->tid);
	const char *queue[] = {"[queue wait",
		"]:\n# thread: queue-0\n# labels: {\"subsystem\":", "\"queue\"}\n",
		"queue_take(...)\n\t", "queue.c:", " +0x", "wait_on_queue(...)\n\t",
		"test_goroutine.c:", "\ncreated by opened\n\t"};
	const char *poll[] = {"[epoll_", "]:\n# thread: poll-0\n", "\"poll\"}\n",
		"wait_epoll(...)\n", "wait_for_events(...)\n\t", "\ncreated by opened\n\t"};
	const char *spin[] = {"]:\n# thread: spin-0\n", "spin_on(...)\n", "\ncreated by opened"};
	expect(waits, queue, ARRAY_SIZE(queue));
	expect(polls, poll, ARRAY_SIZE(poll));
	expect(spins, spin, ARRAY_SIZE(spin));
	free(waits);
	free(polls);
	free(spins);
	unsigned n = 0;
	for (const char *at = out.s; (at = strstr(at, "goroutine ")); at++)
		n++;
	ck_assert_uint_eq(n, threads_count());
	closed(&b);
}
END_TEST

START_TEST(a_dump_is_bounded)
{
	struct bench b;
	AUTO_TEXT struct text out = TEXT(&mem_libc);
	char *much = calloc(1, GOROUTINE_DUMP_MAX_BYTES);
	ck_assert_ptr_nonnull(much);
	opened(&b);
	text_write(&out, much, GOROUTINE_DUMP_MAX_BYTES - 1);
	ck_assert_int_eq(goroutine_dump(&mem_libc, b.sampler, b.symbols, &out), 0);
	const char *said = out.s + GOROUTINE_DUMP_MAX_BYTES - 1;
	ck_assert_ptr_nonnull(strstr(said, "threads more: over the limit of 67108864 bytes\n"));
	ck_assert_ptr_nonnull(strstr(said, "goroutine "));
	ck_assert_ptr_null(strstr(strstr(said, "goroutine ") + 1, "goroutine "));
	free(much);
	closed(&b);
}
END_TEST

static int dump(struct fake *f, void *arg)
{
	struct bench *b = arg;
	AUTO_TEXT struct text out = TEXT(f->mem);
	return goroutine_dump(f->mem, b->sampler, b->symbols, &out);
}

START_TEST(each_failing_allocation)
{
	struct bench b;
	struct fake f = fake_make();
	opened(&b);
	fake_fail_each(&f, dump, &b);
	closed(&b);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(every_thread_once_by_place_and_by_maker, one_that_does_not_answer_is_shown,
	a_dump_tells_what_each_waits_in, a_dump_is_bounded, each_failing_allocation)
