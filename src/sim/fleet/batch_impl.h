/* The inside of struct batches, shared by batch.c and batch_job.c only. */
#pragma once
#include "base/queue.h"
#include "base/span.h"
#include "base/thread.h"
#include "sim/fleet/batch.h"
#include "sim/fleet/batch_book.h"

#define BATCH_THREADS 4
#define BATCH_SLICE 4096u /* devices between two looks at progress and stop */

struct batch_job {
	struct batch_info info; /* under the lock */
	struct fleet_add add;
	const struct type **types; /* owned, with references */
	struct batch_run *runs;	   /* owned; NULL: all */
	uint32_t n_runs;
	bool is_kept;	  /* already, as it comes from the store */
	char *auto_flags; /* owned; may be NULL */
	void (*done)(void *arg, uint64_t id);
	void *done_arg;
	struct span *span;	/* below the asker's; ends with the job */
	struct batch_job *next; /* active ones, by id */
};
struct batches {
	struct batches_env env;
	struct lock lock;  /* of all below; taken after the fleet's */
	struct cond ended; /* an active job ended, or a delete of all did */
	struct batch_job *active;
	struct batch_job *history[BATCH_HISTORY];
	uint64_t n_history;
	uint64_t last_id;
	struct batch_book book;
	struct queue *queue; /* of struct batch_job; NULL: not started */
	struct thread *threads[BATCH_THREADS];
	bool stopping, deleting, restoring;
	uint64_t waiting_batches, running_batches, done_batches, failed_batches, refused_batches;
};

/* Runs a job from begin to end, and calls its done. */
void batch_job_run(struct batches *b, struct batch_job *j);
void batch_job_drop_types(struct batches *b, struct batch_job *j);
struct batch_job *batch_job_free(struct batches *b, struct batch_job *j); /* takes NULL */
/* For the deletes of the fleet: keeps the book; arg: struct batches. */
void batch_on_gone(void *arg, uint32_t batch, uint64_t n);
/* Undoes what lost its last device. Not with the lock. */
void batch_undo_dead(struct batches *b);
/* batch_keep.c: puts what the job has created into the store. From a job thread. */
MUST_CHECK int batch_keep(struct batches *b, const struct batch_job *j, struct fault *reterr_fault);
/* batch_delete.c: deletes the device, or all (NULL), from the store and then from the fleet. */
MUST_CHECK int batch_delete(
	struct batches *b, const struct addr *a, uint64_t *ret_n, struct fault *reterr_fault);
