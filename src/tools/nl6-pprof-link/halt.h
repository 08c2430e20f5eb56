/* The end of the program, asked for by a signal: what waits, waits here. */
#pragma once
#include "base/lock.h"
#include "base/thread.h"
#include "net/fetch.h"
#include <stdbool.h>

struct halt {
	struct lock lock;
	struct cond changed; /* also when an export has ended */
	bool is_on;	     /* guarded */
	struct fetch *fetch; /* guarded; woken as well; may be NULL */
	struct thread *thread;
	int signal_fd, end_fd;
};
/* Takes SIGINT and SIGTERM; before any other thread is made. Negative errno. */
MUST_CHECK int halt_init(struct halt *h);
void halt_done(struct halt *h);
bool halt_is_on(struct halt *h);
/* Until the monotonic time; false: the end is asked for. */
bool halt_wait_until(struct halt *h, uint64_t until_ns);
