#include "profiling/sampler_perf.h"
#include "base/clk.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* At 1,000 samples a second of 30 frames, half a second. */
#define PAGES 32

struct sample {
	struct perf_event_header header;
	uint64_t n, ips[];
};
struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* Each sample sends SIGPROF to the thread, with the descriptor in si_fd. */
static int route_signal(int fd, int tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, tid};
	if (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, SIGPROF) < 0 ||
		fcntl(fd, F_SETFL, O_RDONLY | O_ASYNC | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int sampler_perf_open(struct handler_thread *t, uint32_t hz)
{
	struct perf_event_attr a;
	struct perf_ring ring;
	perf_attr_init(&a, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	a.exclude_kernel = 0;
	a.disabled = 1;
	a.sample_period = NS_PER_SEC / hz;
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	a.exclude_callchain_user = 1;
	a.sample_max_stack = SAMPLER_KERNEL_DEPTH;
	a.wakeup_events = 1;
	int r = perf_ring_open(&a, t->self->tid, PAGES, &ring);
	if (r < 0)
		return r;
	r = route_signal(ring.fd, t->self->tid);
	if (r < 0) {
		perf_ring_close(&ring);
		return r;
	}
	t->perf = ring;
	return 0;
}

static unsigned kernel_pcs(const struct sample *s, uintptr_t pcs[static SAMPLER_KERNEL_DEPTH])
{
	uint64_t room = (s->header.size - sizeof(*s)) / sizeof(s->ips[0]);
	unsigned n = 0;
	for (uint64_t i = 0; i < MIN(s->n, room) && n < SAMPLER_KERNEL_DEPTH; i++)
		if (s->ips[i] < PERF_CONTEXT_MAX) { /* above are marks of contexts */
			pcs[n] = s->ips[i] - (n > 0);
			n++;
		}
	return n;
}

bool sampler_perf_next(struct handler_thread *t, uint64_t until,
	uintptr_t pcs[static SAMPLER_KERNEL_DEPTH], unsigned *ret_n, uint64_t *lost)
{
	const struct perf_event_header *h;
	while (perf_ring_tail(&t->perf) < until && (h = perf_ring_next(&t->perf))) {
		if (h->type == PERF_RECORD_LOST)
			*lost += ((const struct lost *)h)->lost;
		if (h->type == PERF_RECORD_SAMPLE) {
			*ret_n = kernel_pcs((const struct sample *)h, pcs);
			return true;
		}
	}
	return false;
}

void sampler_perf_arm(struct handler_thread *t, bool on)
{
	uintptr_t pcs[SAMPLER_KERNEL_DEPTH];
	uint64_t lost = 0;
	unsigned n;
	while (on && sampler_perf_next(t, UINT64_MAX, pcs, &n, &lost))
		continue;
	if (ioctl(t->perf.fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) == 0)
		t->armed = on;
}

uint64_t sampler_perf_close(struct handler_thread *t)
{
	uintptr_t pcs[SAMPLER_KERNEL_DEPTH];
	uint64_t untaken = 0, lost = 0;
	unsigned n;
	if (t->perf.fd < 0)
		return 0;
	sampler_perf_arm(t, false);
	while (sampler_perf_next(t, UINT64_MAX, pcs, &n, &lost))
		untaken++;
	perf_ring_close(&t->perf);
	return untaken + lost;
}

void sampler_perf_state(struct sampler_status *st, bool asked, int error)
{
	const char *why = strerrorname_np(-error);
	if (!asked)
		(void)snprintf(st->kernel_state, sizeof(st->kernel_state), "not asked for");
	else if (st->threads_kernel == st->threads)
		(void)snprintf(st->kernel_state, sizeof(st->kernel_state), "sampled");
	else
		(void)snprintf(st->kernel_state, sizeof(st->kernel_state),
			"not sampled in %u of %u threads (%s)", st->threads - st->threads_kernel,
			st->threads, why ? why : "?");
}
