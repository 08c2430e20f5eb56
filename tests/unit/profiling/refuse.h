/* Refuses perf_event_open(2) as a container's seccomp does, for tests of what happens then. */
#pragma once

/* In the calling thread, for good: every call fails with the errno. */
void refuse_perf(int errno_code);
