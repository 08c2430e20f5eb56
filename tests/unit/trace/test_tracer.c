#include "base/label.h"
#include "base/lock.h"
#include "base/stats.h"
#include "base/thread.h"
#include "fake.h"
#include "trace/tracer.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* What came, in order, until the tracer stops. */
struct seen {
	struct lock lock;
	struct cond more;
	uint32_t n;
	struct tracer_span spans[64];
	char profile[64][20];
	char state[64][64];
};
struct bed {
	struct stats *stats;
	struct tracer *tracer;
	struct seen seen;
};

static void on_batch(void *arg, const struct tracer_span *const *spans, uint32_t n)
{
	struct seen *s = arg;
	LOCK_SCOPE(&s->lock);
	for (uint32_t i = 0; i < n && s->n < ARRAY_SIZE(s->spans); i++) {
		s->profile[s->n][0] = s->state[s->n][0] = 0;
		for (uint32_t a = 0; a < spans[i]->n_attrs; a++)
			if (strcmp(spans[i]->attrs[a].key, "pyroscope.profile.id") == 0)
				(void)snprintf(s->profile[s->n], 20, "%s", spans[i]->attrs[a].str);
		if (spans[i]->state)
			(void)snprintf(s->state[s->n], 64, "%s", spans[i]->state);
		s->spans[s->n++] = *spans[i];
	}
	cond_wake_all(&s->more);
}

static void bed_make(struct bed *b, const struct tracer_conf *conf)
{
	*b = (struct bed){0};
	lock_init(&b->seen.lock);
	cond_init(&b->seen.more);
	ck_assert_int_eq(stats_new(&mem_libc, &b->stats), 0);
	struct tracer_env env = {&mem_libc, &clk_system, b->stats, on_batch, &b->seen};
	ck_assert_int_eq(tracer_new(&env, conf, &b->tracer), 0);
	ck_assert_int_eq(tracer_start(b->tracer), 0);
}

static void bed_end(struct bed *b)
{
	tracer_stop(b->tracer);
	b->tracer = tracer_free(b->tracer);
	b->stats = stats_free(b->stats);
	cond_done(&b->seen.more);
	lock_done(&b->seen.lock);
}

static const struct tracer_conf all = {1000000, 1000000, 0};

static struct span *begin_root(const char *name)
{
	return span_begin(&(struct span_ask){.name = name, .kind = SPAN_SERVER});
}

static const struct label_context *outside(void)
{
	const struct label_context **word = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");
	return *word;
}

START_TEST(without_a_tracer_there_are_no_spans)
{
	ck_assert_ptr_null(begin_root("x"));
	{
		SPAN_SCOPE(NULL);
		SPAN_WORK("y");
		ck_assert_ptr_null(nl6_self.span);
	}
	span_set_str(NULL, "k", "v");
	span_fail(NULL, "why");
	span_end(NULL);
}
END_TEST

START_TEST(a_thread_shows_the_span_that_it_works_in)
{
	struct bed b;
	bed_make(&b, &all);
	struct span *s = begin_root("root");
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(nl6_self.span_link[2], 0);
	{
		SPAN_SCOPE(s);
		ck_assert_ptr_eq(nl6_self.span, s);
		ck_assert_mem_eq(nl6_self.span_link, s->context.trace_id, 16);
		ck_assert_mem_eq(&nl6_self.span_link[2], s->context.span_id, 8);
		ck_assert_str_eq(nl6_self.span_name, "root");
		ck_assert_mem_eq(outside()->trace_id, s->context.trace_id, 16);
		ck_assert_mem_eq(outside()->span_id, s->context.span_id, 8);
		ck_assert_uint_eq(outside()->valid, 1);
		{
			SPAN_WORK("child");
			ck_assert_ptr_ne(nl6_self.span, s);
			/* Samples are the root's; who looks from outside sees the child. */
			ck_assert_mem_eq(&nl6_self.span_link[2], s->context.span_id, 8);
			ck_assert_mem_eq(outside()->span_id, nl6_self.span->context.span_id, 8);
			LABEL_SCOPE(&label_snmp);
			ck_assert_mem_eq(outside()->span_id, nl6_self.span->context.span_id, 8);
			ck_assert_mem_eq(outside()->attr, "snmp", 4);
		}
		ck_assert_ptr_eq(nl6_self.span, s);
		ck_assert_mem_eq(outside()->attr, nl6_self.label->context.attr, 3);
	}
	ck_assert_ptr_null(nl6_self.span);
	ck_assert_uint_eq(nl6_self.span_link[2], 0);
	ck_assert_ptr_eq(outside(), &nl6_self.label->context);
	span_end(s);
	bed_end(&b);
	ck_assert_uint_eq(b.seen.n, 2);
	ck_assert_str_eq(b.seen.spans[0].name, "child");
	ck_assert(b.seen.spans[0].has_parent && !b.seen.spans[0].parent_is_remote);
	ck_assert_mem_eq(b.seen.spans[0].parent_id, b.seen.spans[1].span.context.span_id, 8);
	ck_assert(!b.seen.spans[1].has_parent);
	ck_assert_uint_ge(b.seen.spans[1].ended_ns, b.seen.spans[0].ended_ns);
	ck_assert_uint_ge(b.seen.spans[0].begun_ns, b.seen.spans[1].begun_ns);
}
END_TEST

START_TEST(what_the_caller_says_of_sampling_is_heeded)
{
	struct bed b;
	struct tracer_conf none = {0, 1000000, 0};
	bed_make(&b, &none);
	struct span_context remote = {.trace_id = {1}, .span_id = {2}, .flags = SPAN_SAMPLED};
	struct span_ask ask = {.name = "x", .kind = SPAN_SERVER};
	ck_assert_ptr_null(span_begin(&ask)); /* its own are not sampled here */
	ask.remote = &remote;
	ask.state = "a=1";
	struct span *s = span_begin(&ask);
	ck_assert_ptr_nonnull(s);
	ck_assert_mem_eq(s->context.trace_id, remote.trace_id, 16);
	ck_assert_uint_eq(s->context.flags, SPAN_SAMPLED);
	remote.flags = SPAN_RANDOM;
	ck_assert_ptr_null(span_begin(&ask));
	span_end(s);
	bed_end(&b);
	ck_assert_uint_eq(b.seen.n, 1);
	ck_assert(b.seen.spans[0].parent_is_remote);
	ck_assert_mem_eq(b.seen.spans[0].parent_id, remote.span_id, 8);
	ck_assert_str_eq(b.seen.state[0], "a=1");
}
END_TEST

START_TEST(a_root_lasts_as_long_as_what_is_below_it)
{
	struct bed b;
	bed_make(&b, &all);
	struct span *root = begin_root("root");
	struct span_ask ask = {.name = "job", .kind = SPAN_INTERNAL, .parent = root};
	struct span *job = span_begin(&ask);
	ask.name = "detached";
	ask.detached = true;
	struct span *free_job = span_begin(&ask);
	ck_assert_mem_eq(job->link, root->link, sizeof(job->link));
	ck_assert_mem_eq(&free_job->link[2], free_job->context.span_id, 8);
	ck_assert_mem_eq(free_job->context.trace_id, root->context.trace_id, 16);
	span_end(root);
	struct tracer_status st;
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.live, 3);
	span_end(job);
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.live, 1);
	span_end(free_job);
	bed_end(&b);
	ck_assert_uint_eq(b.seen.n, 3);
	ck_assert_str_eq(b.seen.spans[1].name, "root");
	ck_assert_uint_ge(b.seen.spans[1].ended_ns, b.seen.spans[0].ended_ns);
}
END_TEST

static uint64_t now(void)
{
	return clk_ns(&clk_system);
}

START_TEST(only_spans_with_samples_name_a_profile)
{
	struct bed b;
	bed_make(&b, &all);
	const struct span_sink *sink = span_sink_now();
	sink->sampling(sink->arg, true);
	struct span *with = begin_root("with"), *without = begin_root("without");
	uint64_t link[3];
	memcpy(link, with->link, sizeof(link));
	char id[17] = "";
	for (unsigned i = 0; i < 8; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", with->context.span_id[i]);
	uint64_t before_ns = now();
	span_end(with);
	span_end(without);
	struct tracer_status st;
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.held, 2);
	sink->drained(sink->arg, before_ns); /* of before the ends */
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.held, 2);
	sink->sampled(sink->arg, link); /* comes late, with the drain */
	sink->drained(sink->arg, now() + 1);
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.held, 0);
	bed_end(&b);
	ck_assert_uint_eq(b.seen.n, 2);
	ck_assert_str_eq(b.seen.profile[0], id);
	ck_assert_str_eq(b.seen.profile[1], "");
}
END_TEST

START_TEST(long_attributes_leave_room_for_the_profile_and_the_failure)
{
	struct bed b;
	bed_make(&b, &all);
	const struct span_sink *sink = span_sink_now();
	sink->sampling(sink->arg, true);
	struct span *s = begin_root("long");
	char big[2000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	span_set_str(s, "user_agent.original", big);
	span_fail(s, "told");
	ck_assert_str_eq(((const struct tracer_span *)s)->failure, "told");
	span_fail(s, big);
	uint64_t link[3];
	memcpy(link, s->link, sizeof(link));
	span_end(s);
	sink->sampled(sink->arg, link);
	sink->drained(sink->arg, now() + 1);
	bed_end(&b);
	ck_assert_uint_eq(b.seen.n, 1);
	ck_assert_uint_eq(strlen(b.seen.profile[0]), 16);
}
END_TEST

START_TEST(a_sampler_that_tells_no_more_holds_nothing_for_long)
{
	struct bed b;
	bed_make(&b, &all);
	const struct span_sink *sink = span_sink_now();
	sink->sampling(sink->arg, true);
	span_end(begin_root("x"));
	{
		LOCK_SCOPE(&b.seen.lock);
		uint64_t until_ns = now() + 20 * NS_PER_SEC;
		while (b.seen.n == 0 && now() < until_ns)
			(void)cond_wait_until(&b.seen.more, &b.seen.lock, until_ns);
	}
	ck_assert_uint_eq(b.seen.n, 1);
	bed_end(&b);
}
END_TEST

static void wait_ns(uint64_t ns)
{
	for (uint64_t until_ns = now() + ns; now() < until_ns;)
		;
}

START_TEST(short_spans_are_told_from_long_ones)
{
	struct bed b;
	struct tracer_conf conf = {1000000, 1000000, 3600 * NS_PER_SEC};
	bed_make(&b, &conf);
	const struct span_sink *sink = span_sink_now();
	sink->sampling(sink->arg, true);
	struct span *s = begin_root("short");
	uint64_t link[3], unknown[3] = {1, 2, 3};
	memcpy(link, s->link, sizeof(link));
	ck_assert(sink->is_short(sink->arg, link));
	ck_assert(!sink->is_short(sink->arg, unknown));
	sink->sampled(sink->arg, link);
	span_end(s);
	sink->drained(sink->arg, now() + 1);
	ck_assert(sink->is_short(sink->arg, link)); /* also when it is over */
	bed_end(&b);
	ck_assert_str_eq(b.seen.profile[0], "");
	conf.link_min_duration_ns = NS_PER_MS;
	bed_make(&b, &conf);
	sink = span_sink_now();
	sink->sampling(sink->arg, true);
	s = begin_root("long");
	memcpy(link, s->link, sizeof(link));
	wait_ns(NS_PER_MS);
	ck_assert(!sink->is_short(sink->arg, link));
	sink->sampled(sink->arg, link);
	span_end(s);
	sink->drained(sink->arg, now() + 1);
	ck_assert(!sink->is_short(sink->arg, link));
	bed_end(&b);
	ck_assert_str_ne(b.seen.profile[0], "");
}
END_TEST

START_TEST(links_may_be_of_a_part_of_the_spans)
{
	struct bed b;
	struct tracer_conf conf = {500000, 250000, 0};
	bed_make(&b, &conf);
	unsigned sampled = 0, linked = 0;
	for (unsigned i = 0; i < 8000; i++) {
		struct span *s = begin_root("x");
		sampled += s != NULL;
		linked += s && s->link[2];
		span_end(s);
	}
	/* Six standard deviations. */
	ck_assert_uint_ge(sampled, 3730);
	ck_assert_uint_le(sampled, 4270);
	ck_assert_uint_ge(linked, 820);
	ck_assert_uint_le(linked, 1180);
	bed_end(&b);
}
END_TEST

START_TEST(what_finds_no_room_is_counted)
{
	struct bed b;
	bed_make(&b, &all);
	static struct span *live[TRACER_LIVE_MAX];
	for (unsigned i = 0; i < TRACER_LIVE_MAX; i++) {
		live[i] = begin_root("x");
		ck_assert_ptr_nonnull(live[i]);
	}
	ck_assert_ptr_null(begin_root("one more"));
	struct tracer_status st;
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.dropped, 1);
	ck_assert_uint_eq(st.live, TRACER_LIVE_MAX);
	for (unsigned i = 0; i < TRACER_LIVE_MAX; i++)
		span_end(live[i]);
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.live, 0);
	bed_end(&b);
}
END_TEST

START_TEST(attributes_are_kept_within_bounds)
{
	struct bed b;
	bed_make(&b, &all);
	struct span *s = begin_root("x");
	static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
		"l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v"};
	char big[2000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
		span_set_int(s, keys[i], i);
	span_set_int(s, "a", 77); /* again: the last one counts */
	const struct tracer_span *t = (const struct tracer_span *)s;
	ck_assert_uint_eq(t->n_attrs, TRACER_ATTRS);
	ck_assert_uint_eq(t->dropped_attrs, 2);
	ck_assert_int_eq(t->attrs[0].num, 77);
	struct span *cut = begin_root("y");
	span_set_str(cut, "k", "\xc3\xa9");
	span_set_str(cut, "big", big);
	span_set_str(cut, "none", "left");
	t = (const struct tracer_span *)cut;
	ck_assert_str_eq(t->attrs[0].str, "\xc3\xa9");
	ck_assert_uint_lt(strlen(t->attrs[1].str), 1000);
	ck_assert_uint_eq(t->dropped_attrs, 1);
	span_end(cut);
	span_end(s);
	bed_end(&b);
}
END_TEST

static void *churn(void *arg)
{
	for (unsigned i = 0; i < 2000; i++) {
		struct span *root = begin_root("root");
		{
			SPAN_SCOPE(root);
			SPAN_WORK("a");
			span_set_int(nl6_self.span, "i", i);
			SPAN_WORK("b");
		}
		span_end(root);
	}
	return arg;
}

START_TEST(threads_may_all_have_spans)
{
	struct bed b;
	bed_make(&b, &all);
	const struct span_sink *sink = span_sink_now();
	pthread_t threads[4];
	sink->sampling(sink->arg, true);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (unsigned i = 0; i < 200; i++)
		sink->drained(sink->arg, now());
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	struct tracer_status st;
	tracer_status(b.tracer, &st);
	ck_assert_uint_eq(st.live, 0);
	bed_end(&b);
}
END_TEST

static int make_and_use(struct fake *f, void *arg UNUSED)
{
	struct stats *stats = NULL;
	struct tracer *t = NULL;
	struct seen *seen = arg;
	int r = stats_new(f->mem, &stats);
	struct tracer_env env = {f->mem, f->clk, stats, on_batch, seen};
	struct tracer_conf conf = {1000000, 1000000, 1};
	if (r == 0)
		r = tracer_new(&env, &conf, &t);
	if (r == 0)
		r = tracer_start(t);
	if (r == 0) {
		struct span *s = span_begin(
			&(struct span_ask){.name = "x", .kind = SPAN_SERVER, .state = "a=1"});
		bool got_state = s && ((struct tracer_span *)s)->state;
		span_end(s);
		r = got_state ? 0 : -12;
	}
	(void)tracer_free(t);
	(void)stats_free(stats);
	return r;
}

START_TEST(every_allocation_may_fail)
{
	struct fake f = fake_make();
	static struct seen seen;
	lock_init(&seen.lock);
	cond_init(&seen.more);
	fake_fail_each(&f, make_and_use, &seen);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(without_a_tracer_there_are_no_spans, a_thread_shows_the_span_that_it_works_in,
	what_the_caller_says_of_sampling_is_heeded, a_root_lasts_as_long_as_what_is_below_it,
	only_spans_with_samples_name_a_profile,
	long_attributes_leave_room_for_the_profile_and_the_failure,
	a_sampler_that_tells_no_more_holds_nothing_for_long, short_spans_are_told_from_long_ones,
	links_may_be_of_a_part_of_the_spans, what_finds_no_room_is_counted,
	attributes_are_kept_within_bounds, threads_may_all_have_spans, every_allocation_may_fail)
