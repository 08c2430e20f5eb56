/* Rings of perf_event_open(2) on threads of this process. One thread reads each. Unprivileged, all
 * rings of a user share kernel.perf_event_mlock_kb a processor. */
#pragma once
#include "base/attr.h"
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_ring {
	int fd; /* -1: none */
	struct perf_event_mmap_page *head;
	uint8_t *data;
	size_t data_bytes, page_bytes;
	uint64_t buf[128]; /* the record of the last perf_ring_next */
};
#define PERF_RING_NONE ((struct perf_ring){.fd = -1})

/* Attributes of an event whose samples and records bear CLOCK_MONOTONIC, sized and without kernel,
 * hypervisor and limits of their own. */
void perf_attr_init(struct perf_event_attr *a, uint32_t type, uint64_t config);
/* Opens the event on thread tid, on any processor, with a ring of at most max_pages (a power of
 * two), fewer when the limit is met. -EACCES, -EPERM, -ENOSYS: not permitted; -EPERM also: no more
 * memory for rings; -EMFILE, -ESRCH, … The caller ends it with perf_ring_close. */
MUST_CHECK int perf_ring_open(
	const struct perf_event_attr *a, pid_t tid, unsigned max_pages, struct perf_ring *ret_ring);
/* Takes one that was never opened. */
void perf_ring_close(struct perf_ring *r);
/* The oldest record, valid until the next call; NULL when there is none. A record that is longer
 * than there is room for is skipped. */
const struct perf_event_header *perf_ring_next(struct perf_ring *r);
/* Positions in the ring, which only grow: of what is next to be read, and of what is next to be
 * written, as a signal handler of the thread sees it. */
static inline uint64_t perf_ring_tail(const struct perf_ring *r)
{
	return r->head->data_tail;
}
static inline uint64_t perf_ring_head(const struct perf_ring *r)
{
	return __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
}
