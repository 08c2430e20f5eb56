/* How much memory a create may still take: what the kernel deems available, or less where a control
 * group of this process leaves less. */
#pragma once
#include <stdint.h>

/* Bytes: MemAvailable of /proc/meminfo, and for each memory cgroup from this process's own up to
 * the root its limit less its usage, where page cache that can be dropped does not count as usage;
 * cgroup v2 (memory.max, memory.high) and v1 (memory.limit_in_bytes). The least of them; what
 * cannot be read is left out. root comes before each path: "", or a directory of a test. */
uint64_t batch_memory_available(const char *root);
