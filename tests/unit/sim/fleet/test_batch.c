#include "fleet_fixture.h"
#include "sim/fleet/batch.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

/* The hooks of a test: a gate that holds prepare, and what they were told. */
struct hooks {
	struct lock lock;
	struct cond changed;
	bool shut;		   /* prepare waits */
	int refuse;		   /* prepare fails with this */
	unsigned entered;	   /* prepares that began */
	unsigned prepared, undone; /* and those that succeeded, and were undone */
	struct addr first, last;   /* of the last prepare */
	uint16_t snmp_port;
	unsigned ended; /* calls of done */
	uint64_t ended_id;
	uint64_t available; /* bytes */
};
struct bx {
	struct fixture x;
	struct hooks h;
	struct batches *b;
};

static int hook_prepare(void *arg, const struct addr *first, const struct addr *last,
	uint16_t snmp_port, struct fault *reterr_fault)
{
	struct hooks *h = arg;
	LOCK_SCOPE(&h->lock);
	h->entered++;
	cond_wake_all(&h->changed);
	while (h->shut)
		cond_wait(&h->changed, &h->lock);
	if (h->refuse)
		return fault_set(reterr_fault, h->refuse, "/start_ip", NULL, "no route there");
	h->first = *first;
	h->last = *last;
	h->snmp_port = snmp_port;
	h->prepared++;
	return 0;
}

static void hook_undo(
	void *arg, const struct addr *first, const struct addr *last, uint16_t snmp_port)
{
	struct hooks *h = arg;
	LOCK_SCOPE(&h->lock);
	h->undone++;
	h->first = *first;
	h->last = *last;
	h->snmp_port = snmp_port;
}

static uint64_t hook_available(void *arg)
{
	struct hooks *h = arg;
	LOCK_SCOPE(&h->lock);
	return h->available;
}

static void on_done(void *arg, uint64_t id)
{
	struct hooks *h = arg;
	LOCK_SCOPE(&h->lock);
	h->ended++;
	h->ended_id = id;
	cond_wake_all(&h->changed);
}

static void hooks_init(struct hooks *h)
{
	*h = (struct hooks){.available = UINT64_MAX};
	lock_init(&h->lock);
	cond_init(&h->changed);
}

static void hooks_done(struct hooks *h)
{
	cond_done(&h->changed);
	lock_done(&h->lock);
}

static uint64_t gone_all(struct batches *b)
{
	uint64_t n = UINT64_MAX;
	ck_assert_int_eq(batches_delete_all(b, &n, NULL), 0);
	return n;
}

static struct batches_env bx_env(struct bx *t)
{
	return (struct batches_env){.mem = t->x.f.mem,
		.clk = t->x.f.clk,
		.stats = t->x.stats,
		.fleet = t->x.fleet,
		.prepare = hook_prepare,
		.undo = hook_undo,
		.arg = &t->h,
		.available_bytes = hook_available};
}

static void bx_make(struct bx *t)
{
	t->x = fx_make(1);
	hooks_init(&t->h);
	struct batches_env env = bx_env(t);
	ck_assert_int_eq(batches_new(&env, &t->b), 0);
	ck_assert_int_eq(batches_start(t->b), 0);
}

static void bx_free(struct bx *t)
{
	(void)batches_free(t->b);
	hooks_done(&t->h);
	fx_done(&t->x);
}

static void gate(struct hooks *h, bool shut)
{
	LOCK_SCOPE(&h->lock);
	h->shut = shut;
	cond_wake_all(&h->changed);
}

/* Waits until *field, under the lock, is at least n; at most 60 s. */
static void wait_for(struct hooks *h, const unsigned *field, unsigned n)
{
	uint64_t until_ns = clk_ns(&clk_system) + 60 * NS_PER_SEC;
	LOCK_SCOPE(&h->lock);
	while (*field < n)
		ck_assert_int_eq(cond_wait_until(&h->changed, &h->lock, until_ns), 0);
}

static int submit(struct bx *t, const char *start, uint32_t count, uint64_t *ret_id,
	struct fault *reterr_fault)
{
	struct batch_ask ask = {fx_add(fx_addr(start), 16, count)};
	return batch_submit(t->b, &ask, on_done, &t->h, ret_id, reterr_fault);
}

/* Submits, waits for the end, and returns what became of it. */
static struct batch_info run(struct bx *t, const char *start, uint32_t count)
{
	struct batch_info info;
	uint64_t id;
	lock_take(&t->h.lock);
	unsigned ended = t->h.ended;
	lock_drop(&t->h.lock);
	ck_assert_int_eq(submit(t, start, count, &id, NULL), 0);
	wait_for(&t->h, &t->h.ended, ended + 1);
	ck_assert_int_eq(batch_get(t->b, id, &info), 0);
	return info;
}

START_TEST(a_batch_runs_to_its_end)
{
	struct bx t;
	bx_make(&t);
	clk_step_ns(t.x.f.clk, 5);
	struct batch_info info = run(&t, "10.0.0.1", 10000);
	ck_assert_uint_eq(info.id, 1);
	ck_assert_uint_eq(t.h.ended_id, 1);
	ck_assert_int_eq(info.state, BATCH_DONE);
	ck_assert_uint_eq(info.requested, 10000);
	ck_assert_uint_eq(info.done, 10000);
	ck_assert_uint_eq(info.added.created, 10000);
	ck_assert_uint_eq(info.asked_ns, clk_ns(t.x.f.clk));
	ck_assert_uint_eq(info.ended_ns, clk_ns(t.x.f.clk));
	ck_assert_uint_eq(t.h.prepared, 1);
	struct addr first = fx_addr("10.0.0.1"), last = fx_addr("10.0.39.16");
	ck_assert(addr_eq(&t.h.first, &first) && addr_eq(&t.h.last, &last));
	ck_assert(addr_eq(&info.first, &first) && addr_eq(&info.last, &last));
	ck_assert_uint_eq(t.h.snmp_port, 161);
	ck_assert_uint_eq(fleet_count(t.x.fleet), 10000);
	ck_assert_int_eq(batch_get(t.b, 2, &info), -ENOENT);
	bx_free(&t);
}
END_TEST

static void count_active(void *arg, const struct batch_info *info)
{
	unsigned *n = arg;
	ck_assert_uint_eq(info->id, ++*n);
}

START_TEST(ranges_in_progress_may_not_meet)
{
	struct bx t;
	uint64_t id;
	struct fault fault;
	bx_make(&t);
	gate(&t.h, true);
	ck_assert_int_eq(submit(&t, "10.0.0.10", 100, &id, NULL), 0);
	wait_for(&t.h, &t.h.entered, 1);
	clk_step_ns(t.x.f.clk, 12 * NS_PER_SEC);
	static const struct {
		const char *start;
		uint32_t count;
	} meet[] = {{"10.0.0.1", 10}, {"10.0.0.1", 1000}, {"10.0.0.50", 1}, {"10.0.0.109", 5}};
	for (unsigned i = 0; i < ARRAY_SIZE(meet); i++) {
		ck_assert_int_eq(submit(&t, meet[i].start, meet[i].count, &id, &fault), -EBUSY);
		ck_assert_ptr_nonnull(
			strstr(fault.text, "meets batch 1 (10.0.0.10-10.0.0.109), which runs"));
		ck_assert_ptr_nonnull(strstr(fault.text, "12 s old"));
	}
	/* Neighbours run at the same time, four in all; a fifth waits. */
	ck_assert_int_eq(submit(&t, "10.0.0.1", 9, &id, NULL), 0);
	ck_assert_int_eq(submit(&t, "10.0.0.110", 9, &id, NULL), 0);
	ck_assert_int_eq(submit(&t, "10.9.0.1", 9, &id, NULL), 0);
	wait_for(&t.h, &t.h.entered, 4);
	ck_assert_int_eq(submit(&t, "10.10.0.1", 9, &id, NULL), 0);
	ck_assert_uint_eq(id, 5);
	unsigned active = 0;
	batch_each_active(t.b, count_active, &active);
	ck_assert_uint_eq(active, 5);
	struct batch_info info;
	ck_assert_int_eq(batch_get(t.b, 5, &info), 0);
	ck_assert_int_eq(info.state, BATCH_WAITING);
	ck_assert_int_eq(submit(&t, "10.10.0.1", 1, &id, &fault), -EBUSY);
	ck_assert_ptr_nonnull(strstr(fault.text, "which waits"));
	gate(&t.h, false);
	wait_for(&t.h, &t.h.ended, 5);
	ck_assert_uint_eq(fleet_count(t.x.fleet), 136);
	ck_assert_int_eq(run(&t, "10.0.0.1", 100).state, BATCH_DONE);
	bx_free(&t);
}
END_TEST

START_TEST(what_cannot_be_prepared_leaves_nothing)
{
	struct bx t;
	bx_make(&t);
	t.h.refuse = -EPERM;
	struct batch_info info = run(&t, "10.0.0.1", 100);
	ck_assert_int_eq(info.state, BATCH_FAILED);
	ck_assert_int_eq(info.fault.code, -EPERM);
	ck_assert_str_eq(info.fault.text, "no route there");
	ck_assert_str_eq(info.fault.field, "/start_ip");
	ck_assert_uint_eq(fleet_count(t.x.fleet), 0);
	ck_assert_uint_eq(t.h.undone, 0);
	bx_free(&t);
}
END_TEST

START_TEST(refused_before_they_are_queued)
{
	struct bx t;
	uint64_t id = 99;
	struct fault fault;
	bx_make(&t);
	struct batch_ask ask = {fx_add(fx_addr("10.0.0.1"), 24, 1000)};
	ask.add.netmask_given = true;
	ck_assert_int_eq(batch_submit(t.b, &ask, NULL, NULL, &id, &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.text, "10.0.0.254"));
	ck_assert_int_eq(submit(&t, "224.0.0.1", 1, &id, &fault), -EINVAL);
	t.h.available = 100 << 20;
	ck_assert_int_eq(submit(&t, "10.0.0.1", 1000000, &id, &fault), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(fault.text, "1000000 devices need 2"));
	ck_assert_ptr_nonnull(strstr(fault.text, " 100.0 MiB are available"));
	ck_assert_uint_eq(id, 99);
	/* What a batch in progress will take is not available. */
	gate(&t.h, true);
	ck_assert_int_eq(submit(&t, "10.0.0.1", 400000, &id, NULL), 0);
	ck_assert_int_eq(submit(&t, "11.0.0.1", 400000, &id, &fault), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(fault.text, "beside the batches in progress"));
	gate(&t.h, false);
	wait_for(&t.h, &t.h.ended, 1);
	/* What is there already needs no memory. */
	t.h.available = 1;
	ck_assert_int_eq(run(&t, "10.0.0.1", 400000).state, BATCH_DONE);
	t.h.available = UINT64_MAX;
	batches_stop(t.b);
	ck_assert_int_eq(submit(&t, "12.0.0.1", 1, &id, &fault), -ESHUTDOWN);
	bx_free(&t);
}
END_TEST

START_TEST(prepared_ranges_live_as_long_as_their_devices)
{
	struct bx t;
	bx_make(&t);
	(void)run(&t, "10.0.0.1", 10);
	/* The same again makes nothing, so it needs nothing. */
	struct batch_info info = run(&t, "10.0.0.1", 10);
	ck_assert_uint_eq(info.added.existing, 10);
	ck_assert_uint_eq(t.h.prepared, 2);
	ck_assert_uint_eq(t.h.undone, 1);
	/* Ten more through a range that covers the old ones, too. */
	info = run(&t, "10.0.0.1", 20);
	ck_assert_uint_eq(info.added.created, 10);
	ck_assert_uint_eq(t.h.undone, 1);
	struct addr a = fx_addr("10.0.0.1");
	for (unsigned i = 0; i < 10; i++, a = addr_add(&a, 1)) {
		ck_assert_uint_eq(t.h.undone, 1);
		ck_assert_int_eq(batches_delete(t.b, &a, NULL), 0);
		ck_assert_int_eq(batches_delete(t.b, &a, NULL), -ENOENT);
	}
	ck_assert_uint_eq(t.h.undone, 2);
	struct addr last = fx_addr("10.0.0.10");
	ck_assert(addr_eq(&t.h.last, &last));
	(void)run(&t, "10.5.0.1", 3);
	ck_assert_uint_eq(gone_all(t.b), 13);
	ck_assert_uint_eq(t.h.undone, 4);
	ck_assert_uint_eq(t.h.prepared, 4);
	ck_assert_uint_eq(fleet_count(t.x.fleet), 0);
	ck_assert_int_eq(fake_type_refs_all(), 0);
	ck_assert_uint_eq(gone_all(t.b), 0);
	bx_free(&t);
}
END_TEST

static void *delete_all(void *arg)
{
	struct bx *t = arg;
	(void)gone_all(t->b);
	LOCK_SCOPE(&t->h.lock);
	t->h.ended += 100;
	cond_wake_all(&t->h.changed);
	return NULL;
}

START_TEST(a_delete_of_all_ends_what_is_in_progress)
{
	struct bx t;
	uint64_t id;
	struct fault fault;
	bx_make(&t);
	(void)run(&t, "10.0.0.1", 10);
	gate(&t.h, true);
	ck_assert_int_eq(submit(&t, "10.1.0.1", 100, &id, NULL), 0);
	wait_for(&t.h, &t.h.entered, 2);
	pthread_t deleter;
	ck_assert_int_eq(pthread_create(&deleter, NULL, delete_all, &t), 0);
	/* A create that meets the one in progress is refused in any case; from when the deleter is
	 * at work on, for another reason. */
	uint64_t until_ns = clk_ns(&clk_system) + 60 * NS_PER_SEC;
	do {
		ck_assert_uint_lt(clk_ns(&clk_system), until_ns);
		ck_assert_int_eq(submit(&t, "10.1.0.1", 1, &id, &fault), -EBUSY);
	} while (strcmp(fault.text, "all devices are being deleted") != 0);
	gate(&t.h, false);
	wait_for(&t.h, &t.h.ended, 102); /* two batches, and the deleter */
	ck_assert_int_eq(pthread_join(deleter, NULL), 0);
	struct batch_info info;
	ck_assert_int_eq(batch_get(t.b, 2, &info), 0);
	ck_assert_int_eq(info.state, BATCH_FAILED);
	ck_assert_int_eq(info.fault.code, -EBUSY);
	ck_assert_uint_eq(info.added.created, 0);
	ck_assert_uint_eq(fleet_count(t.x.fleet), 0);
	ck_assert_uint_eq(t.h.prepared, t.h.undone);
	ck_assert_int_eq(run(&t, "10.0.0.1", 10).state, BATCH_DONE);
	bx_free(&t);
}
END_TEST

static void *stop(void *arg)
{
	batches_stop(arg);
	return NULL;
}

START_TEST(a_stop_fails_what_runs_and_waits)
{
	struct bx t;
	uint64_t id;
	bx_make(&t);
	gate(&t.h, true);
	for (unsigned i = 0; i < 6; i++) {
		char start[32];
		(void)snprintf(start, sizeof(start), "10.%u.0.1", i);
		ck_assert_int_eq(submit(&t, start, 100, &id, NULL), 0);
	}
	wait_for(&t.h, &t.h.entered, 4);
	pthread_t stopper;
	ck_assert_int_eq(pthread_create(&stopper, NULL, stop, t.b), 0);
	struct fault fault = {0};
	uint64_t until_ns = clk_ns(&clk_system) + 60 * NS_PER_SEC;
	while (submit(&t, "10.0.0.1", 1, &id, &fault) != -ESHUTDOWN)
		ck_assert_uint_lt(clk_ns(&clk_system), until_ns);
	gate(&t.h, false);
	ck_assert_int_eq(pthread_join(stopper, NULL), 0);
	ck_assert_uint_eq(t.h.ended, 6);
	ck_assert_uint_eq(t.h.prepared, 4);
	ck_assert_uint_eq(t.h.undone, 4);
	for (uint64_t i = 1; i <= 6; i++) {
		struct batch_info info;
		ck_assert_int_eq(batch_get(t.b, i, &info), 0);
		ck_assert_int_eq(info.state, BATCH_FAILED);
		ck_assert_int_eq(info.fault.code, -ESHUTDOWN);
	}
	ck_assert_uint_eq(fleet_count(t.x.fleet), 0);
	/* A start may follow a stop. */
	ck_assert_int_eq(batches_start(t.b), 0);
	ck_assert_int_eq(run(&t, "10.0.0.1", 10).state, BATCH_DONE);
	bx_free(&t);
}
END_TEST

START_TEST(the_last_ended_ones_are_remembered)
{
	struct bx t;
	struct batch_info info;
	bx_make(&t);
	for (unsigned i = 0; i < BATCH_HISTORY + 3; i++)
		(void)run(&t, "10.0.0.1", 1);
	ck_assert_int_eq(batch_get(t.b, 3, &info), -ENOENT);
	for (uint64_t id = 4; id <= BATCH_HISTORY + 3; id++) {
		ck_assert_int_eq(batch_get(t.b, id, &info), 0);
		ck_assert_uint_eq(info.id, id);
	}
	bx_free(&t);
}
END_TEST

START_TEST(many_batches_keep_their_books)
{
	struct bx t;
	bx_make(&t);
	enum { N = 300 };
	for (unsigned i = 0; i < N; i++) {
		char start[32];
		(void)snprintf(start, sizeof(start), "10.0.%u.1", i / 2);
		if (i % 2)
			(void)snprintf(start, sizeof(start), "10.0.%u.100", i / 2);
		ck_assert_uint_eq(run(&t, start, 2).added.created, 2);
	}
	ck_assert_uint_eq(t.h.undone, 0);
	struct addr a = fx_addr("10.0.7.1"), next = addr_add(&a, 1);
	ck_assert_int_eq(batches_delete(t.b, &next, NULL), 0);
	ck_assert_uint_eq(t.h.undone, 0);
	ck_assert_int_eq(batches_delete(t.b, &a, NULL), 0);
	ck_assert_uint_eq(t.h.undone, 1);
	ck_assert(addr_eq(&t.h.first, &a) && addr_eq(&t.h.last, &next));
	ck_assert_uint_eq(gone_all(t.b), N * 2 - 2);
	ck_assert_uint_eq(t.h.undone, N);
	bx_free(&t);
}
END_TEST

/* A whole life with one allocation failing, in whatever thread it happens. */
static int life(struct fake *f, void *arg UNUSED)
{
	struct bx t = {.x.f = *f};
	hooks_init(&t.h);
	int r = stats_new(f->mem, &t.x.stats);
	struct fleet_env fleet_env = {f->mem, f->clk, t.x.stats};
	struct fleet_conf conf = {1};
	if (r == 0)
		r = fleet_new(&fleet_env, &conf, &t.x.fleet);
	struct batches_env env = bx_env(&t);
	if (r == 0)
		r = batches_new(&env, &t.b);
	if (r == 0)
		r = batches_start(t.b);
	uint64_t id;
	for (unsigned i = 0; r == 0 && i < 2; i++) {
		r = submit(&t, i ? "10.0.0.200" : "10.0.0.1", 5000, &id, NULL);
		if (r < 0)
			break;
		wait_for(&t.h, &t.h.ended, i + 1);
		struct batch_info info;
		ck_assert_int_eq(batch_get(t.b, id, &info), 0);
		ck_assert_uint_eq(fleet_count(t.x.fleet),
			info.state == BATCH_DONE ? (i ? 5199u : 5000u) : (i ? 5000u : 0u));
		r = info.state == BATCH_DONE ? 0 : info.fault.code;
	}
	if (t.b)
		(void)gone_all(t.b);
	ck_assert_uint_eq(t.h.prepared, t.h.undone);
	ck_assert_int_eq(fake_type_refs_all(), 0);
	(void)batches_free(t.b);
	(void)fleet_free(t.x.fleet);
	(void)stats_free(t.x.stats);
	hooks_done(&t.h);
	return r;
}

START_TEST(every_allocation_may_fail)
{
	struct fake f = fake_make();
	rcu_thread_init();
	fake_fail_each(&f, life, NULL);
	rcu_thread_done();
	fake_done(&f);
}
END_TEST

UNIT_MAIN(a_batch_runs_to_its_end, ranges_in_progress_may_not_meet,
	what_cannot_be_prepared_leaves_nothing, refused_before_they_are_queued,
	prepared_ranges_live_as_long_as_their_devices, a_delete_of_all_ends_what_is_in_progress,
	a_stop_fails_what_runs_and_waits, the_last_ended_ones_are_remembered,
	many_batches_keep_their_books, every_allocation_may_fail)
