/* Records a timeline of itself at work and writes it to standard output: threads under nested
 * labels that compute, sleep and hand a lock to each other. timeline_driver [MILLISECONDS]     The
 * default is 300. */
#include "base/self.h"
#include "base/thread.h"
#include "profiling/timeline.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_trap, "trap");
static LABEL_SUBSYSTEM(label_syslog, "syslog");
static LABEL_SUBSYSTEM(label_flow, "flow");

static struct lock shared;
static bool leave;

static void spin(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		continue;
}

static void fire(void)
{
	LABEL_SCOPE(&label_trap);
	spin(20000);
	LOCK_SCOPE(&shared);
	LABEL_SCOPE(&label_syslog);
	spin(20000);
}

static void run(void *arg)
{
	while (!__atomic_load_n(&leave, __ATOMIC_RELAXED)) {
		fire();
		(void)poll(NULL, 0, arg ? 3 : 1);
	}
}

static void run_briefly(void *arg UNUSED)
{
	fire();
}

static int write_out(struct timeline *t)
{
	char buf[1 << 16];
	ssize_t n;
	while ((n = timeline_read(t, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			return 1;
	return n == TIMELINE_END && fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct timeline_env env = {&mem_libc, &clk_system};
	struct timeline_conf conf = {100000, true};
	struct timeline *t;
	struct thread *threads[3];
	int rounds = (argc > 1 ? atoi(argv[1]) : 300) / 20;
	thread_adopt("main", &label_main);
	lock_init(&shared);
	struct thread_conf early = {"trap-0", &label_trap, run, NULL};
	struct thread_conf late = {"flow-0", &label_flow, run, &shared};
	struct thread_conf brief = {"flow-1", &label_flow, run_briefly, NULL};
	if (thread_start(&mem_libc, &early, &threads[0]) < 0 || timeline_start(&env, &conf, &t) < 0)
		return 1;
	if (thread_start(&mem_libc, &late, &threads[1]) < 0 ||
		thread_start(&mem_libc, &brief, &threads[2]) < 0)
		return 1;
	for (int i = 0; i < rounds; i++) {
		(void)poll(NULL, 0, 20);
		timeline_poll(t);
	}
	(void)thread_join(threads[2]);
	timeline_stop(t);
	__atomic_store_n(&leave, true, __ATOMIC_RELAXED);
	(void)thread_join(threads[0]);
	(void)thread_join(threads[1]);
	int status = write_out(t);
	(void)timeline_free(t);
	lock_done(&shared);
	return status;
}
