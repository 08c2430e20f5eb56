#include "base/label.h"
#include "base/rcu.h"
#include "sim/fleet/batch_impl.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

const struct counter batches_counters[] = {
	GAUGE(struct batches, waiting_batches, "Create batches that wait"),
	GAUGE(struct batches, running_batches, "Create batches that run"),
	COUNTER(struct batches, done_batches, "Create batches done"),
	COUNTER(struct batches, failed_batches, "Create batches that failed"),
	COUNTER(struct batches, refused_batches, "Create batches refused when asked for"),
	{0},
};

int batches_new(const struct batches_env *env, struct batches **ret_batches)
{
	struct batches *b = mem_zalloc(env->mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->env = *env;
	b->book.mem = env->mem;
	lock_init(&b->lock);
	cond_init(&b->ended);
	int r = stats_attach(env->stats, batches_counters, NULL, b);
	if (r < 0) {
		(void)batches_free(b);
		return r;
	}
	*ret_batches = b;
	return 0;
}

struct batches *batches_free(struct batches *b)
{
	if (!b)
		return NULL;
	batches_stop(b);
	stats_detach(b->env.stats, b);
	for (unsigned i = 0; i < BATCH_HISTORY; i++)
		(void)batch_job_free(b, b->history[i]);
	batch_book_done(&b->book);
	cond_done(&b->ended);
	lock_done(&b->lock);
	return mem_free(b->env.mem, b);
}

static void thread_run(void *arg)
{
	struct batches *b = arg;
	void *item;
	while (queue_take(b->queue, &item) == 0)
		batch_job_run(b, item);
}

int batches_start(struct batches *b)
{
	struct queue *q;
	int r = queue_new(b->env.mem, BATCH_WAITING_MAX, &q);
	if (r < 0)
		return r;
	lock_take(&b->lock);
	b->stopping = false;
	b->queue = q;
	lock_drop(&b->lock);
	for (unsigned i = 0; r == 0 && i < BATCH_THREADS; i++) {
		struct thread_conf conf = {.label = &label_main, .run = thread_run, .arg = b};
		(void)snprintf(conf.name, sizeof(conf.name), "fleet-%u", i);
		r = thread_start(b->env.mem, &conf, &b->threads[i]);
	}
	if (r < 0)
		batches_stop(b);
	return r;
}

void batches_stop(struct batches *b)
{
	lock_take(&b->lock);
	b->stopping = true;
	struct queue *q = b->queue;
	lock_drop(&b->lock);
	if (!q)
		return;
	/* The threads end what is queued, at once for they see that it stops, and then themselves.
	 */
	queue_close(q);
	for (unsigned i = 0; i < BATCH_THREADS; i++)
		b->threads[i] = thread_join(b->threads[i]);
	/* What is left was queued while no thread could be started. */
	for (void *item; queue_take(q, &item) == 0;)
		batch_job_run(b, item);
	lock_take(&b->lock);
	b->queue = queue_free(q);
	lock_drop(&b->lock);
}

void batches_restore(struct batches *b, uint32_t last_id)
{
	LOCK_SCOPE(&b->lock);
	b->last_id = MAX(b->last_id, last_id);
	b->restoring = true;
}

void batches_restored(struct batches *b)
{
	LOCK_SCOPE(&b->lock);
	b->restoring = false;
}

static int refuse_restoring(struct fault *reterr_fault)
{
	return fault_set(reterr_fault, -EAGAIN, "", NULL,
		"the fleet of the state directory is coming back: try again");
}

int batches_may_delete(struct batches *b, struct fault *reterr_fault)
{
	LOCK_SCOPE(&b->lock);
	return b->restoring ? refuse_restoring(reterr_fault) : 0;
}

static bool job_copy(const struct mem *mem, const struct batch_ask *ask, struct batch_job *j)
{
	j->types = mem_copy(mem, ask->add.types, ask->add.n_types * sizeof(const struct type *));
	for (uint32_t i = 0; j->types && i < j->add.n_types; i++)
		if (j->types[i])
			(void)type_ref(j->types[i]);
	if (ask->runs)
		j->runs = mem_copy(mem, ask->runs, MAX(ask->n_runs, 1u) * sizeof(*j->runs));
	j->n_runs = ask->n_runs;
	if (ask->auto_flags)
		j->auto_flags = mem_strdup(mem, ask->auto_flags);
	const char *community = ask->add.conf.write_community;
	j->add.conf.write_community = community ? mem_strdup(mem, community) : NULL;
	return j->types && (j->runs || !ask->runs) && (j->auto_flags || !ask->auto_flags) &&
	       (j->add.conf.write_community || !community);
}

static struct batch_job *job_new(
	struct batches *b, const struct batch_ask *ask, const struct addr *last)
{
	struct batch_job *j = mem_zalloc(b->env.mem, sizeof(*j));
	if (!j)
		return NULL;
	j->add = ask->add;
	if (!job_copy(b->env.mem, ask, j))
		return batch_job_free(b, j);
	j->is_kept = ask->id != 0 || !b->env.store;
	j->info.id = ask->id;
	j->add.types = j->types;
	(void)access_ref(j->add.conf.access);
	j->info.first = ask->add.start;
	j->info.last = *last;
	j->info.requested = ask->add.count;
	return j;
}

static int refuse_meeting(const struct batches *b, const struct batch_job *j,
	const struct batch_job *other, struct fault *reterr_fault)
{
	char first[ADDR_TEXT_BYTES], last[ADDR_TEXT_BYTES], first2[ADDR_TEXT_BYTES],
		last2[ADDR_TEXT_BYTES];
	uint64_t age_ns = clk_ns(b->env.clk) - other->info.asked_ns;
	return fault_set(reterr_fault, -EBUSY, "/start_ip", NULL,
		"%s-%s meets batch %llu (%s-%s), which %s and is %llu s old",
		addr_text(&j->info.first, first), addr_text(&j->info.last, last),
		(unsigned long long)other->info.id, addr_text(&other->info.first, first2),
		addr_text(&other->info.last, last2),
		other->info.state == BATCH_WAITING ? "waits" : "runs",
		(unsigned long long)(age_ns / NS_PER_SEC));
}

/* Devices that the active batches have yet to make. */
static uint64_t devices_promised(struct batches *b)
{
	uint64_t n = 0;
	LOCK_SCOPE(&b->lock);
	for (const struct batch_job *j = b->active; j; j = j->next)
		n += j->info.requested - j->info.done;
	return n;
}

/* Devices that are there already between first and last. */
static uint32_t count_there(
	const struct fleet *f, const struct addr *first, const struct addr *last)
{
	uint32_t n = 0;
	struct addr at = *first;
	rcu_in();
	n += fleet_find(f, &at) != NULL;
	for (const struct device *d; (d = fleet_next(f, &at)) && addr_cmp(&d->addr, last) <= 0;) {
		at = d->addr;
		if (++n % BATCH_SLICE == 0) {
			rcu_out();
			rcu_in();
		}
	}
	rcu_out();
	return n;
}

static int check_memory(struct batches *b, const struct batch_job *j, struct fault *reterr_fault)
{
	if (!b->env.available_bytes)
		return 0;
	uint64_t available = b->env.available_bytes(b->env.arg);
	uint64_t promised = devices_promised(b), count = j->add.count;
	if (fleet_bytes_needed(promised + count) <= available)
		return 0;
	uint32_t there = count_there(b->env.fleet, &j->info.first, &j->info.last);
	count -= MIN(there, j->add.count);
	if (count == 0 || fleet_bytes_needed(promised + count) <= available)
		return 0;
	uint64_t taken = promised ? fleet_bytes_needed(promised) : 0;
	const double mib = 1 << 20;
	return fault_set(reterr_fault, -ENOSPC, "/device_count", NULL,
		"%u devices need %.1f MiB of memory, %.1f MiB are available%s", j->add.count,
		(double)fleet_bytes_needed(count) / mib,
		(double)(available - MIN(available, taken)) / mib,
		promised ? " beside the batches in progress" : "");
}

/* Numbers the job and queues it; needs the lock. */
static int job_queue(struct batches *b, struct batch_job *j, struct fault *reterr_fault)
{
	if (!b->queue || b->stopping)
		return fault_set(reterr_fault, -ESHUTDOWN, "", NULL, "no batch is taken now");
	if (b->deleting)
		return fault_set(reterr_fault, -EBUSY, "", NULL, "all devices are being deleted");
	if (b->restoring && !j->info.id)
		return refuse_restoring(reterr_fault);
	struct batch_job **at = &b->active;
	for (; *at; at = &(*at)->next)
		if (addr_cmp(&j->info.first, &(*at)->info.last) <= 0 &&
			addr_cmp(&(*at)->info.first, &j->info.last) <= 0)
			return refuse_meeting(b, j, *at, reterr_fault);
	/* A batch is known to the fleet by 32 bits, of which 0 means none. */
	if (!j->info.id)
		j->info.id = b->last_id + 1 + ((uint32_t)(b->last_id + 1) == 0);
	j->add.batch = (uint32_t)j->info.id;
	j->info.asked_ns = clk_ns(b->env.clk);
	/* The threads look at the job under the lock first: it may still change here. */
	int r = queue_put(b->queue, j);
	if (r < 0)
		return fault_set(reterr_fault, r == -EPIPE ? -ESHUTDOWN : r, "", NULL,
			"%u create batches wait already", BATCH_WAITING_MAX);
	b->last_id = MAX(b->last_id, j->info.id);
	*at = j;
	stat_add(&b->waiting_batches, 1);
	return 0;
}

static struct span *job_span(bool detached)
{
	if (!nl6_self.span)
		return NULL;
	return span_begin(&(struct span_ask){.name = "create batch",
		.kind = SPAN_INTERNAL,
		.parent = nl6_self.span,
		.detached = detached});
}

int batch_submit(struct batches *b, const struct batch_ask *ask,
	void (*done)(void *arg, uint64_t id), void *done_arg, uint64_t *ret_id,
	struct fault *reterr_fault)
{
	const struct fleet_add *add = &ask->add;
	assert(add->n_types > 0);
	struct addr last;
	struct batch_job *j = NULL;
	int r = fleet_range_check(&add->start, add->conf.netmask_len, add->netmask_given,
		add->count, &last, reterr_fault);
	if (r == 0 && !(j = job_new(b, ask, &last)))
		r = fault_set(reterr_fault, -ENOMEM, "", NULL, "no memory for the batch");
	if (r == 0)
		r = check_memory(b, j, reterr_fault);
	LOCK_SCOPE(&b->lock);
	if (r == 0) {
		j->done = done;
		j->done_arg = done_arg;
		j->span = job_span(ask->detached);
		r = job_queue(b, j, reterr_fault);
	}
	if (r < 0) {
		stat_add(&b->refused_batches, 1);
		if (j)
			span_end(j->span);
		(void)batch_job_free(b, j);
		return r;
	}
	*ret_id = j->info.id;
	return 0;
}

int batch_get(struct batches *b, uint64_t id, struct batch_info *ret_info)
{
	LOCK_SCOPE(&b->lock);
	for (const struct batch_job *j = b->active; j; j = j->next)
		if (j->info.id == id) {
			*ret_info = j->info;
			return 0;
		}
	for (unsigned i = 0; i < BATCH_HISTORY; i++)
		if (b->history[i] && b->history[i]->info.id == id) {
			*ret_info = b->history[i]->info;
			return 0;
		}
	return -ENOENT;
}

void batch_each_active(
	struct batches *b, void (*fn)(void *arg, const struct batch_info *info), void *arg)
{
	LOCK_SCOPE(&b->lock);
	for (const struct batch_job *j = b->active; j; j = j->next)
		fn(arg, &j->info);
}

int batches_delete(struct batches *b, const struct addr *a, struct fault *reterr_fault)
{
	uint64_t n;
	SPAN_WORK("delete device");
	int r = batches_may_delete(b, reterr_fault);
	return r < 0 ? r : batch_delete(b, a, &n, reterr_fault);
}

int batches_delete_all(struct batches *b, uint64_t *ret_n, struct fault *reterr_fault)
{
	int r = batches_may_delete(b, reterr_fault);
	if (r < 0)
		return r;
	lock_take(&b->lock);
	while (b->deleting)
		cond_wait(&b->ended, &b->lock);
	b->deleting = true;
	while (b->active)
		cond_wait(&b->ended, &b->lock);
	lock_drop(&b->lock);
	SPAN_WORK("delete all devices");
	r = batch_delete(b, NULL, ret_n, reterr_fault);
	LOCK_SCOPE(&b->lock);
	b->deleting = false;
	cond_wake_all(&b->ended);
	return r;
}
