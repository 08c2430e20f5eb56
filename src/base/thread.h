/* Our threads: a name, a label from birth, the log of their maker, all signals blocked but SIGPROF.
 * pthread_create is interposed so that threads made by libraries inherit label and log as well. */
#pragma once
#include "base/attr.h"
#include "base/label.h"
#include "base/lock.h"
#include "base/mem.h"

struct thread;
struct thread_conf {
	char name[16];		   /* "<subsystem>-<n>", at most 15 bytes */
	const struct label *label; /* NULL: the maker's */
	void (*run)(void *arg);
	void *arg; /* borrowed until run returns */
};
/* -EAGAIN: no more threads; -ENOMEM. */
MUST_CHECK int thread_start(
	const struct mem *mem, const struct thread_conf *conf, struct thread **ret_t);
/* Waits for the end; frees; takes NULL, returns NULL. */
struct thread *thread_join(struct thread *t);
/* Makes the calling thread (main, or a test) one of ours. */
void thread_adopt(const char *name, const struct label *label);
