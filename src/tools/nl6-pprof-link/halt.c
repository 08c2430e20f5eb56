#include "halt.h"
#include "base/clk.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void turn_on(struct halt *h)
{
	LOCK_SCOPE(&h->lock);
	h->is_on = true;
	cond_wake_all(&h->changed);
	if (h->fetch)
		fetch_wake(h->fetch);
}

/* The second signal ends the program at once. */
static void wait_for_signals(void *arg)
{
	struct halt *h = arg;
	struct pollfd fds[2] = {{h->signal_fd, POLLIN, 0}, {h->end_fd, POLLIN, 0}};
	struct signalfd_siginfo info;
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			return;
		if (read(h->signal_fd, &info, sizeof(info)) != sizeof(info))
			continue;
		if (halt_is_on(h))
			_exit(EXIT_FAILURE);
		turn_on(h);
	}
}

int halt_init(struct halt *h)
{
	*h = (struct halt){.signal_fd = -1, .end_fd = -1};
	lock_init(&h->lock);
	cond_init(&h->changed);
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	h->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	h->end_fd = eventfd(0, EFD_CLOEXEC);
	if (h->signal_fd < 0 || h->end_fd < 0)
		return -errno;
	struct thread_conf conf = {"link-signal", NULL, wait_for_signals, h};
	return thread_start(&mem_libc, &conf, &h->thread);
}

void halt_done(struct halt *h)
{
	uint64_t one = 1;
	if (h->end_fd >= 0)
		(void)!write(h->end_fd, &one, sizeof(one));
	(void)thread_join(h->thread);
	if (h->signal_fd >= 0)
		(void)close(h->signal_fd);
	if (h->end_fd >= 0)
		(void)close(h->end_fd);
	cond_done(&h->changed);
	lock_done(&h->lock);
}

bool halt_is_on(struct halt *h)
{
	LOCK_SCOPE(&h->lock);
	return h->is_on;
}

bool halt_wait_until(struct halt *h, uint64_t until_ns)
{
	LOCK_SCOPE(&h->lock);
	while (!h->is_on && clk_ns(&clk_system) < until_ns)
		(void)cond_wait_until(&h->changed, &h->lock, until_ns);
	return !h->is_on;
}
