/* Every thread of the process, as Go shows its goroutines: where each is, where each was made, and
 * what each waits in. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include "profiling/sampler.h"
#include "profiling/stacks.h"
#include "profiling/symbol.h"

#define GOROUTINE_DUMP_MAX_BYTES (64u << 20)

/* Adds one sample (values[0] = 1) a thread to *running, by its stack and label now, and to *made,
 * by the stack of the one that created it (main: its own entry). Either may be NULL. A thread that
 * did not answer has the one frame of SAID_NO_ANSWER. Takes up to 2 s when a thread does not
 * answer. -ENOMEM. */
MUST_CHECK int goroutine_gather(
	const struct mem *mem, struct sampler *s, struct stacks *running, struct stacks *made);

/* Appends a paragraph a thread in the form of Go's panics, at most GOROUTINE_DUMP_MAX_BYTES: kernel
 * id, what it waits in (a wait of ours, the system call, the kernel's wait channel where the kernel
 * tells), name, labels, frames, where it was made. -ENOMEM. */
MUST_CHECK int goroutine_dump(
	const struct mem *mem, struct sampler *s, struct symbols *symbols, struct text *out);
