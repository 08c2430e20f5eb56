/* The other clock of the CPU sampler: an event of perf on each thread, whose samples carry the
 * stack in the kernel and which signals the thread for its own. Takes CAP_PERFMON. The sampler owns
 * what is here; the handler reads the position in the ring. */
#pragma once
#include "base/attr.h"
#include "profiling/handler.h"
#include "profiling/sampler.h"

#define SAMPLER_KERNEL_DEPTH 64

/* Opens the thread's event, disarmed. -EACCES, -EPERM, -ENOSYS: not permitted; others of
 * perf_ring_open. */
MUST_CHECK int sampler_perf_open(struct handler_thread *t, uint32_t hz);
/* Starts or stops its clock. What nobody took before it starts is dropped. */
void sampler_perf_arm(struct handler_thread *t, bool on);
/* Disarms and closes; the thread is in no handler that uses it. Returns the samples that nobody
 * took. Takes one that was not opened. */
uint64_t sampler_perf_close(struct handler_thread *t);
/* Takes the next sample before position until of the ring: call sites in the kernel, innermost
 * first, none if it was taken outside of the kernel. false: there is none. *lost grows by what
 * found no room. */
bool sampler_perf_next(struct handler_thread *t, uint64_t until,
	uintptr_t pcs[static SAMPLER_KERNEL_DEPTH], unsigned *ret_n, uint64_t *lost);
/* Fills st->kernel_state; error: why some thread has no event, negative errno. */
void sampler_perf_state(struct sampler_status *st, bool asked, int error);
