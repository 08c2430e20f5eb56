/* Time that threads were blocked outside of our own waits: in libraries, on the disk, in page
 * faults. For off-CPU profiles, by the kernel's records of context switches, where perf is
 * permitted; with the stack in the kernel where that is. One thread calls all of it. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "profiling/stacks.h"

struct blocked;
struct blocked_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
};
/* Recording begins; own waits must be counted already (contention_offcpu_start), so that no time is
 * taken for foreign that is not. -EACCES, -EPERM, -ENOSYS: perf is not permitted; -ENOMEM. */
MUST_CHECK int blocked_start(const struct blocked_env *env, struct blocked **ret_blocked);
/* About every 50 ms, or records are lost: their time is then missing. */
void blocked_poll(struct blocked *b);
/* Recording ends: before own waits do. */
void blocked_stop(struct blocked *b);
/* Adds to *to what remains of each thread's blocked time when its own waits are taken off, once
 * those have been counted to their end: values as of enum contention_kind. Of a thread that hardly
 * waited in ours by stack in the kernel, else as a sum. Only once, after blocked_stop. */
void blocked_add(struct blocked *b, struct stacks *to);
struct blocked *blocked_free(struct blocked *b); /* takes NULL, returns NULL */
CLEANUP(blocked);
