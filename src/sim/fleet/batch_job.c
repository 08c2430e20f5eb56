#include "base/log.h"
#include "sim/fleet/batch_impl.h"
#include "sim/fleet/store_create.h"
#include <errno.h>
#include <stdio.h>

void batch_job_drop_types(struct batches *b, struct batch_job *j)
{
	for (uint32_t i = 0; j->types && i < j->add.n_types; i++)
		(void)type_unref(j->types[i]);
	j->types = mem_free(b->env.mem, j->types);
	j->add.conf.access = access_unref(j->add.conf.access);
}

struct batch_job *batch_job_free(struct batches *b, struct batch_job *j)
{
	if (j) {
		batch_job_drop_types(b, j);
		(void)mem_free(b->env.mem, j->runs);
		(void)mem_free(b->env.mem, j->auto_flags);
		(void)mem_free(b->env.mem, (void *)j->add.conf.write_community);
	}
	return mem_free(b->env.mem, j);
}

/* Undoes what lost its last device. */
void batch_undo_dead(struct batches *b)
{
	for (;;) {
		lock_take(&b->lock);
		struct batch_holding *h = batch_book_dead(&b->book);
		lock_drop(&b->lock);
		if (!h)
			return;
		b->env.undo(b->env.arg, &h->first, &h->last, h->snmp_port);
		lock_take(&b->lock);
		batch_book_free(&b->book, h);
		lock_drop(&b->lock);
	}
}

/* From the fleet, with its lock held. */
void batch_on_gone(void *arg, uint32_t batch, uint64_t n)
{
	struct batches *b = arg;
	LOCK_SCOPE(&b->lock);
	batch_book_gone(&b->book, batch, n);
}

/* Is the job to end early? Then says why. */
static int job_goes_on(struct batches *b, struct fault *reterr_fault)
{
	LOCK_SCOPE(&b->lock);
	if (b->stopping)
		return fault_set(
			reterr_fault, -ESHUTDOWN, "", NULL, "nl6 was stopped before the end");
	if (b->deleting)
		return fault_set(
			reterr_fault, -EBUSY, "", NULL, "all devices were deleted before the end");
	return 0;
}

static int job_run_of(struct batches *b, struct batch_job *j, const struct batch_run *run,
	struct fault *reterr_fault)
{
	struct fleet_added added = j->info.added;
	for (uint32_t at = run->first, n; at < run->first + run->n; at += n) {
		int r = job_goes_on(b, reterr_fault);
		if (r < 0)
			return r;
		n = MIN(BATCH_SLICE, run->first + run->n - at);
		r = fleet_add_slice(b->env.fleet, &j->add, at, n, &added);
		if (r < 0)
			return fault_set(reterr_fault, r, "", NULL,
				"no memory for devices from number %u on", at + 1);
		LOCK_SCOPE(&b->lock);
		j->info.added = added;
		j->info.done = at + n;
	}
	return 0;
}

static int job_slices(struct batches *b, struct batch_job *j, struct fault *reterr_fault)
{
	const struct batch_run all = {0, j->add.count};
	int r = 0;
	SPAN_WORK("add devices");
	if (!j->runs)
		return job_run_of(b, j, &all, reterr_fault);
	for (uint32_t i = 0; r == 0 && i < j->n_runs; i++)
		r = job_run_of(b, j, &j->runs[i], reterr_fault);
	return r;
}

/* Deletes what a failed job created: nothing half-made is left. */
static void job_take_back(struct batches *b, struct batch_job *j)
{
	struct fleet_gone gone = {batch_on_gone, b};
	SPAN_WORK("take devices back");
	(void)fleet_del_range(b->env.fleet, &j->info.first, &j->info.last, j->add.batch, &gone);
}

static int job_prepare(struct batches *b, struct batch_job *j, struct fault *reterr_fault)
{
	SPAN_WORK("prepare network");
	return b->env.prepare(
		b->env.arg, &j->info.first, &j->info.last, j->add.conf.snmp_port, reterr_fault);
}

static int job_enter(struct batches *b, const struct batch_job *j)
{
	AUTO_TEXT struct text wish = TEXT(b->env.mem);
	struct batch_holding holding = {.first = j->info.first,
		.last = j->info.last,
		.count = j->add.count,
		.snmp_port = j->add.conf.snmp_port};
	store_create_rest(&wish, &j->add, false);
	if (wish.err < 0)
		return wish.err;
	LOCK_SCOPE(&b->lock);
	return batch_book_open(&b->book, j->add.batch, &holding, wish.s);
}

static int job_work(struct batches *b, struct batch_job *j, struct fault *reterr_fault)
{
	int r = job_goes_on(b, reterr_fault);
	if (r < 0)
		return r;
	r = job_enter(b, j);
	if (r < 0)
		return fault_set(reterr_fault, r, "", NULL, "no memory to begin the batch");
	r = job_prepare(b, j, reterr_fault);
	if (r < 0) {
		LOCK_SCOPE(&b->lock);
		batch_book_forget(&b->book, j->add.batch);
		return r;
	}
	r = job_slices(b, j, reterr_fault);
	if (r == 0 && !j->is_kept)
		r = batch_keep(b, j, reterr_fault);
	if (r < 0)
		job_take_back(b, j);
	lock_take(&b->lock);
	batch_book_close(&b->book, j->add.batch, j->info.added.created);
	lock_drop(&b->lock);
	batch_undo_dead(b);
	return r;
}

static void job_tell(const struct batch_job *j, int r, const struct fault *fault)
{
	char subject[32], first[ADDR_TEXT_BYTES], last[ADDR_TEXT_BYTES];
	(void)snprintf(subject, sizeof(subject), "batch %llu", (unsigned long long)j->info.id);
	(void)addr_text(&j->info.first, first);
	(void)addr_text(&j->info.last, last);
	if (r < 0)
		log_warn(subject, r, "%s-%s failed: %s", first, last, fault->text);
	else
		log_info(subject, 0, "%s-%s done: %u created, %u there already, %u differ", first,
			last, j->info.added.created, j->info.added.existing,
			j->info.added.differing);
}

static void job_begin(struct batches *b, struct batch_job *j)
{
	LOCK_SCOPE(&b->lock);
	j->info.state = BATCH_RUNNING;
	j->info.started_ns = clk_ns(b->env.clk);
	stat_set(&b->waiting_batches, b->waiting_batches - 1);
	stat_add(&b->running_batches, 1);
}

/* The job leaves the active ones; what it was stays in the history, for a while. */
static void job_end(struct batches *b, struct batch_job *j, int r, const struct fault *fault)
{
	LOCK_SCOPE(&b->lock);
	j->info.state = r < 0 ? BATCH_FAILED : BATCH_DONE;
	j->info.ended_ns = clk_ns(b->env.clk);
	if (r < 0) {
		j->info.fault = *fault;
		j->info.fault.code = r;
		j->info.added.created = 0;
	}
	stat_add(r < 0 ? &b->failed_batches : &b->done_batches, 1);
	stat_set(&b->running_batches, b->running_batches - 1);
	struct batch_job **at = &b->active;
	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	struct batch_job **kept = &b->history[b->n_history++ % BATCH_HISTORY];
	(void)batch_job_free(b, *kept);
	*kept = j;
	cond_wake_all(&b->ended);
}

/* Its span has ended when the asker is told: nothing of the work is below a span that is over. */
static int job_do(struct batches *b, struct batch_job *j, struct fault *reterr_fault)
{
	struct span *span = TAKE(j->span);
	int r;
	{
		SPAN_SCOPE(span);
		span_set_int(span, "nl6.batch.id", (int64_t)j->info.id);
		span_set_int(span, "nl6.batch.devices", j->add.count);
		r = job_work(b, j, reterr_fault);
		batch_job_drop_types(b, j);
		job_tell(j, r, reterr_fault);
	}
	if (r < 0)
		span_fail(span, reterr_fault->text);
	span_end(span);
	return r;
}

void batch_job_run(struct batches *b, struct batch_job *j)
{
	/* The job may leave the history and be freed as soon as it ended. */
	void (*done)(void *arg, uint64_t id) = j->done;
	void *done_arg = j->done_arg;
	uint64_t id = j->info.id;
	struct fault fault = {0};
	job_begin(b, j);
	int r = job_do(b, j, &fault);
	job_end(b, j, r, &fault);
	if (done)
		done(done_arg, id);
}
