#include "profiling/perf.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void perf_attr_init(struct perf_event_attr *a, uint32_t type, uint64_t config)
{
	*a = (struct perf_event_attr){.type = type, .size = sizeof(*a), .config = config};
	a->exclude_kernel = 1;
	a->exclude_hv = 1;
	a->sample_id_all = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

/* The ring is the kernel's memory: asking for less helps when a limit is met. */
static int map_ring(struct perf_ring *r, unsigned max_pages)
{
	int e = ENOMEM;
	for (unsigned pages = max_pages; pages; pages /= 2) {
		size_t bytes = (pages + 1) * r->page_bytes;
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		if (p != MAP_FAILED) {
			r->head = p;
			r->data = (uint8_t *)p + r->page_bytes;
			r->data_bytes = bytes - r->page_bytes;
			return 0;
		}
		e = errno;
		if (e != EPERM && e != ENOMEM)
			break;
	}
	return -e;
}

int perf_ring_open(
	const struct perf_event_attr *a, pid_t tid, unsigned max_pages, struct perf_ring *ret_ring)
{
	struct perf_ring r = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
	r.fd = (int)syscall(SYS_perf_event_open, a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r.fd < 0)
		return -errno;
	int e = map_ring(&r, max_pages);
	if (e < 0) {
		(void)close(r.fd);
		return e;
	}
	*ret_ring = r;
	return 0;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->head)
		(void)munmap(r->head, r->data_bytes + r->page_bytes);
	if (r->fd >= 0)
		(void)close(r->fd);
	*r = PERF_RING_NONE;
}

/* Records are whole words; one may go on at the ring's start. */
static void copy_out(struct perf_ring *r, uint64_t at, size_t bytes)
{
	size_t from = (size_t)(at & (r->data_bytes - 1));
	size_t first = MIN(bytes, r->data_bytes - from);
	memcpy(r->buf, r->data + from, first);
	memcpy((uint8_t *)r->buf + first, r->data, bytes - first);
}

const struct perf_event_header *perf_ring_next(struct perf_ring *r)
{
	struct perf_event_header h;
	if (!r->head)
		return NULL;
	/* Both pair with the kernel's side. */
	uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->head->data_tail;
	for (bool found = false; !found && tail != head; tail += h.size) {
		memcpy(&h, r->data + (tail & (r->data_bytes - 1)), sizeof(h));
		found = h.size <= sizeof(r->buf);
		if (found)
			copy_out(r, tail, h.size);
		if (h.size == 0) /* would not end; the kernel writes no such */
			return NULL;
		__atomic_store_n(&r->head->data_tail, tail + h.size, __ATOMIC_RELEASE);
		if (found)
			return (const struct perf_event_header *)r->buf;
	}
	return NULL;
}
