/* What the system says of this process and its host, read from /proc. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include <stdint.h>

struct sysinfo_host {
	uint64_t total_bytes, available_bytes;
	double load[3];
	unsigned cpus; /* online */
};
struct sysinfo_self {
	uint64_t resident_bytes, virtual_bytes, anonymous_bytes;
	uint64_t fds, max_fds, threads;
	double cpu_seconds;
	double start_unix_seconds;
};
/* Busy and all CPU time of the host since boot, in ticks. */
struct sysinfo_cpu {
	uint64_t busy, all;
};
/* What cannot be read is 0. */
void sysinfo_read_host(struct sysinfo_host *ret_host);
void sysinfo_read_self(struct sysinfo_self *ret_self);
void sysinfo_read_cpu(struct sysinfo_cpu *ret_cpu);
/* Percent of all CPUs between two readings; 0 when no time passed. */
double sysinfo_cpu_percent(const struct sysinfo_cpu *before, const struct sysinfo_cpu *now);
