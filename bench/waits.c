/* What waits cost: a pair of a free lock, a pair of a lock that two threads fight for, and a wait
 * on a queue, beside bare ones of pthread that nobody watches; closed and at several rates.
 * bench-waits PAIRS ROUNDS     prints a line a measure and pair,
 * "lock|fight|queue bare|closed|RATE NS" with the CPU time of each, all rates of a pair in turn. */
#include "base/waits.h"
#include "base/clk.h"
#include "base/queue.h"
#include "base/thread.h"
#include "profiling/contention.h"
#include "profiling/walker.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BARE UINT64_MAX

/* A lock and a queue of one entry, of ours or bare. */
struct bare {
	pthread_mutex_t m;
	pthread_cond_t c;
	bool full;
};
struct both {
	bool bare;
	uint64_t rounds;
	struct lock lock;
	pthread_mutex_t m;
	struct queue *there, *back;
	struct bare bare_there, bare_back;
};

/* Of the whole process: on a loaded machine the wall clock says little. */
static uint64_t cpu_ns(void)
{
	struct timespec ts = {0};
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void must(int r)
{
	if (r != 0) {
		(void)fprintf(stderr, "bench-waits: %s\n", strerror(abs(r)));
		exit(1);
	}
}

static void take(struct both *b)
{
	if (b->bare)
		must(pthread_mutex_lock(&b->m));
	else
		lock_take(&b->lock);
}

static void drop(struct both *b)
{
	if (b->bare)
		must(pthread_mutex_unlock(&b->m));
	else
		lock_drop(&b->lock);
}

static void bare_put(struct bare *q)
{
	must(pthread_mutex_lock(&q->m));
	q->full = true;
	must(pthread_cond_signal(&q->c));
	must(pthread_mutex_unlock(&q->m));
}

static void bare_take(struct bare *q)
{
	must(pthread_mutex_lock(&q->m));
	while (!q->full)
		must(pthread_cond_wait(&q->c, &q->m));
	q->full = false;
	must(pthread_mutex_unlock(&q->m));
}

static double free_lock(struct both *b)
{
	uint64_t begun = cpu_ns();
	for (uint64_t i = 0; i < b->rounds; i++) {
		take(b);
		drop(b);
	}
	return (double)(cpu_ns() - begun) / (double)b->rounds;
}

/* Gives the processor away with the lock held, so that the other finds it so and waits. */
static void fight(void *arg)
{
	struct both *b = arg;
	for (uint64_t i = 0; i < b->rounds / 200; i++) {
		take(b);
		(void)sched_yield();
		drop(b);
	}
}

static double fought_lock(struct both *b)
{
	struct thread *t;
	struct thread_conf conf = {.name = "fight-0", .run = fight, .arg = b};
	must(thread_start(&mem_libc, &conf, &t));
	uint64_t begun = cpu_ns();
	fight(b);
	thread_join(t);
	return (double)(cpu_ns() - begun) / (double)(b->rounds / 200 * 2);
}

static void echo(void *arg)
{
	struct both *b = arg;
	void *item;
	for (uint64_t i = 0; i < b->rounds / 200; i++) {
		if (b->bare) {
			bare_take(&b->bare_there);
			bare_put(&b->bare_back);
		} else {
			must(queue_take(b->there, &item));
			must(queue_put(b->back, item));
		}
	}
}

/* Each turn is two waits. */
static double waited_queue(struct both *b)
{
	struct thread *t;
	struct thread_conf conf = {.name = "echo-0", .run = echo, .arg = b};
	void *item;
	must(thread_start(&mem_libc, &conf, &t));
	uint64_t begun = cpu_ns();
	for (uint64_t i = 0; i < b->rounds / 200; i++) {
		if (b->bare) {
			bare_put(&b->bare_there);
			bare_take(&b->bare_back);
		} else {
			must(queue_put(b->there, b));
			must(queue_take(b->back, &item));
		}
	}
	double ns = (double)(cpu_ns() - begun) / (double)(b->rounds / 200 * 2);
	thread_join(t);
	return ns;
}

static void measure(struct both *b, struct walker *walker, const char *what, uint64_t rate,
	double (*fn)(struct both *b))
{
	struct contention_env env = {&mem_libc, &clk_system, walker};
	struct contention_conf conf = {0};
	struct contention *c = NULL;
	char name[24];
	b->bare = rate == BARE;
	if (strcmp(what, "queue") == 0)
		conf.block_rate_ns = rate;
	else
		conf.mutex_fraction = (uint32_t)rate;
	if (!b->bare && rate)
		must(contention_open(&env, &conf, &c));
	double ns = fn(b);
	c = contention_close(c);
	(void)snprintf(name, sizeof(name), "%llu", (unsigned long long)rate);
	(void)printf("%s %s %.3f\n", what, b->bare ? "bare" : rate ? name : "closed", ns);
}

int main(int argc, char **argv)
{
	static const uint64_t rates[] = {BARE, 0, 1, 100, 10000, 1000000};
	struct both b = {0};
	struct walker *walker = NULL;
	if (argc != 3)
		return 2;
	thread_adopt("bench", &label_main);
	unsigned long pairs = strtoul(argv[1], NULL, 10);
	b.rounds = strtoull(argv[2], NULL, 10);
	lock_init(&b.lock);
	must(pthread_mutex_init(&b.m, NULL));
	for (unsigned i = 0; i < 2; i++) {
		struct bare *q = i ? &b.bare_back : &b.bare_there;
		must(pthread_mutex_init(&q->m, NULL));
		must(pthread_cond_init(&q->c, NULL));
		must(queue_new(&mem_libc, 1, i ? &b.back : &b.there));
	}
	must(walker_new(&mem_libc, &walker));
	for (unsigned long i = 0; i < pairs; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(rates); k++) {
			/* Each rate is first, and follows each other, in its share of the pairs. */
			uint64_t rate = rates[(i % 2 ? k : ARRAY_SIZE(rates) - 1 - k)];
			if (rate == BARE || rate <= 100)
				measure(&b, walker, "lock", rate, free_lock);
			if (rate == BARE || rate <= 100)
				measure(&b, walker, "fight", rate, fought_lock);
			measure(&b, walker, "queue", rate, waited_queue);
		}
	walker = walker_free(walker);
	b.there = queue_free(b.there);
	b.back = queue_free(b.back);
	lock_done(&b.lock);
	return 0;
}
