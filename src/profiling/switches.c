#include "profiling/switches.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A busy thread is switched some ten thousand times a second, at 64 bytes for out and in; with a
 * stack a switch takes about four times the room. Rings get smaller as the limit is neared. */
#define PAGES 32
#define KERNEL_PAGES 64

/* What sample_id_all puts at the end of each record but samples, in this order. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};
/* A sample with the same fields and a call chain. */
struct sample {
	struct perf_event_header header;
	struct sample_id id;
	uint64_t n, ips[];
};
struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

int switches_open(pid_t tid, bool kernel, struct switches *ret_switches)
{
	struct perf_event_attr a;
	perf_attr_init(&a, PERF_TYPE_SOFTWARE,
		kernel ? PERF_COUNT_SW_CONTEXT_SWITCHES : PERF_COUNT_SW_DUMMY);
	a.context_switch = 1;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	if (kernel) {
		a.exclude_kernel = 0;
		a.sample_period = 1;
		a.sample_type |= PERF_SAMPLE_CALLCHAIN;
		a.exclude_callchain_user = 1;
		a.sample_max_stack = SWITCHES_KERNEL_DEPTH;
	}
	struct perf_ring ring;
	int r = perf_ring_open(&a, tid, kernel ? KERNEL_PAGES : PAGES, &ring);
	if (r < 0)
		return r;
	*ret_switches = (struct switches){.ring = ring};
	return 0;
}

void switches_close(struct switches *s)
{
	perf_ring_close(&s->ring);
}

/* The sample comes before the record of the switch that it was taken in. */
static void keep_stack(struct switches *s, const struct perf_event_header *h)
{
	const struct sample *sample = (const struct sample *)h;
	uint64_t room = (h->size - sizeof(*sample)) / sizeof(sample->ips[0]);
	s->kernel_n = 0;
	for (uint64_t i = 0; i < MIN(sample->n, room) && s->kernel_n < SWITCHES_KERNEL_DEPTH; i++)
		if (sample->ips[i] < PERF_CONTEXT_MAX) /* above are marks of contexts */
			s->kernel[s->kernel_n++] = sample->ips[i];
}

static struct sample_id id_of(const struct perf_event_header *h)
{
	struct sample_id id;
	memcpy(&id, (const uint8_t *)h + h->size - sizeof(id), sizeof(id));
	return id;
}

bool switches_next(struct switches *s, struct switches_event *ret_event)
{
	const struct perf_event_header *h;
	uint64_t lost = 0;
	while ((h = perf_ring_next(&s->ring))) {
		if (h->type == PERF_RECORD_SAMPLE)
			keep_stack(s, h);
		else if (h->type == PERF_RECORD_LOST)
			lost += ((const struct lost *)h)->lost;
		else if (h->type == PERF_RECORD_SWITCH)
			break;
	}
	if (!h)
		return false;
	struct sample_id id = id_of(h);
	*ret_event = (struct switches_event){.at_ns = id.time,
		.lost = lost,
		.cpu = id.cpu,
		.out = h->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
		.kernel_n = s->kernel_n,
		.kernel = s->kernel};
	s->kernel_n = 0;
	return true;
}

/* proc(5): the state follows the name, which ends at the last ')'. */
bool switches_is_asleep(pid_t tid)
{
	char path[64], buf[256];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	buf[MAX(n, 0)] = 0;
	const char *name_end = strrchr(buf, ')');
	return name_end && (strncmp(name_end, ") S", 3) == 0 || strncmp(name_end, ") D", 3) == 0);
}
