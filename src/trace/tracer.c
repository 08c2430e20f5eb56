#include "base/log.h"
#include "base/rnd.h"
#include "base/text.h"
#include "trace/tracer_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* How long a span is held at most. The sampler drains ten times a second, where it gets the
 * processor, and once more when it ends to sample. */
#define HOLD_NS (5 * NS_PER_SEC)

const struct counter tracer_counters[] = {
	COUNTER(struct tracer, spans, "Spans begun"),
	COUNTER(struct tracer, dropped_spans, "Spans not begun or not kept for want of room"),
	{0},
};

static void list_init(struct traced_list *l)
{
	*l = (struct traced_list){.end = &l->first};
}

static void list_push(struct traced_list *l, struct traced *s)
{
	s->next = NULL;
	*l->end = s;
	l->end = &s->next;
	l->n++;
}

static struct traced *list_pop(struct traced_list *l)
{
	struct traced *s = l->first;
	if (!s)
		return NULL;
	l->first = s->next;
	if (!l->first)
		l->end = &l->first;
	l->n--;
	return s;
}

static void traced_free(struct tracer *t, struct traced *s)
{
	(void)mem_free(t->env.mem, s->state);
	(void)mem_free(t->env.mem, s);
}

static uint64_t draw(struct tracer *t)
{
	uint64_t v;
	do
		v = rnd_u64(t->seed, 0, t->drawn++);
	while (v == 0);
	return v;
}

/* Level 2 of W3C Trace Context wants the last 7 bytes random. */
static uint64_t random_part(const uint8_t trace_id[16])
{
	uint64_t v = 0;
	for (unsigned i = 9; i < 16; i++)
		v = v << 8 | trace_id[i];
	return v;
}

/* Is a number of 40 random bits within that part of all? */
static bool is_within(uint64_t bits, uint64_t millionths)
{
	return (bits & ((1ull << 40) - 1)) * 1000000 >> 40 < millionths;
}

/* Of a span's text this much is for the failure and for the id of the profile, which come last. */
#define FAILURE_BYTES 128
#define PROFILE_ID_BYTES 17

/* A copy that stays with the span; cut at what is left but for `spare`, "" when nothing is. */
static const char *keep_text(struct traced *s, const char *from, size_t spare)
{
	size_t end = sizeof(s->text) - spare, n = strlen(from);
	size_t room = end > s->text_bytes ? end - s->text_bytes : 0;
	if (room == 0)
		return "";
	char *to = s->text + s->text_bytes;
	n = MIN(n, room - 1);
	while (n > 0 && from[n] && ((unsigned char)from[n] & 0xc0) == 0x80)
		n--; /* not within a character of UTF-8 */
	memcpy(to, from, n);
	to[n] = 0;
	for (unsigned good; *to; to += MAX(good, 1u))
		if ((good = text_utf8_bytes(to)) == 0)
			*to = '?';
	to = s->text + s->text_bytes;
	s->text_bytes += (uint32_t)n + 1;
	return to;
}

static void add_attr(struct traced *s, const char *key, const char *str, int64_t num, size_t spare)
{
	struct tracer_span *o = &s->out;
	for (uint32_t i = 0; i < o->n_attrs; i++)
		if (strcmp(s->attrs[i].key, key) == 0) {
			s->attrs[i].str = str ? keep_text(s, str, spare) : NULL;
			s->attrs[i].num = num;
			return;
		}
	if (o->n_attrs == TRACER_ATTRS || (str && s->text_bytes + spare >= sizeof(s->text))) {
		o->dropped_attrs++;
		return;
	}
	s->attrs[o->n_attrs++] =
		(struct tracer_attr){key, str ? keep_text(s, str, spare) : NULL, num};
}

static void fill_parent(struct traced *s, const struct span_context *parent, bool remote)
{
	memcpy(s->out.span.context.trace_id, parent->trace_id, sizeof(parent->trace_id));
	memcpy(s->out.parent_id, parent->span_id, sizeof(parent->span_id));
	s->out.span.context.flags = parent->flags;
	s->out.has_parent = true;
	s->out.parent_is_remote = remote;
}

/* The root of a part of a trace in this process. */
static void fill_root(struct tracer *t, struct traced *s)
{
	struct span *span = &s->out.span;
	s->root = s;
	/* Mixed, so that it does not pick the same as the sampling of traces. */
	if (is_within(rnd_mix(random_part(span->context.trace_id)), t->conf.link_millionths)) {
		memcpy(span->link, span->context.trace_id, sizeof(span->context.trace_id));
		memcpy(&span->link[2], span->context.span_id, sizeof(span->context.span_id));
		span->link_name = s->out.name;
	}
	tracer_roots_add(t, s);
}

static void fill(
	struct tracer *t, struct traced *s, const struct span_ask *ask, const uint8_t trace_id[16])
{
	struct traced *parent = (struct traced *)ask->parent;
	struct span *span = &s->out.span;
	uint64_t id = draw(t);
	s->out.name = ask->name;
	s->out.kind = ask->kind;
	s->out.attrs = s->attrs;
	s->out.failure = "";
	if (parent) {
		fill_parent(s, &parent->out.span.context, false);
	} else if (ask->remote) {
		fill_parent(s, ask->remote, true);
	} else {
		memcpy(span->context.trace_id, trace_id, sizeof(span->context.trace_id));
		span->context.flags = SPAN_SAMPLED | SPAN_RANDOM;
	}
	memcpy(span->context.span_id, &id, sizeof(id));
	if (parent && !ask->detached) {
		s->root = parent->root;
		memcpy(span->link, s->root->out.span.link, sizeof(span->link));
		span->link_name = s->root->out.span.link_name;
	} else {
		fill_root(t, s);
	}
	s->root->live++;
	s->begun_ns = clk_ns(t->env.clk);
	s->out.begun_ns = clk_wall_ns(t->env.clk);
}

/* Is the trace sampled? A new one is given its id. */
static bool is_sampled(struct tracer *t, const struct span_ask *ask, uint8_t trace_id[16])
{
	if (ask->parent)
		return true;
	if (ask->remote)
		return ask->remote->flags & SPAN_SAMPLED;
	uint64_t id[2] = {draw(t), draw(t)};
	memcpy(trace_id, id, sizeof(id));
	return is_within(random_part(trace_id) >> 16, t->conf.trace_millionths);
}

static struct span *on_begin(void *arg, const struct span_ask *ask)
{
	struct tracer *t = arg;
	uint8_t trace_id[16];
	if (!ask->parent && ask->remote && !(ask->remote->flags & SPAN_SAMPLED))
		return NULL;
	struct traced *s = mem_zalloc(t->env.mem, sizeof(*s));
	if (s && ask->state && *ask->state)
		s->out.state = s->state = mem_strdup(t->env.mem, ask->state);
	{
		LOCK_SCOPE(&t->lock);
		bool sampled = is_sampled(t, ask, trace_id);
		if (s && sampled && t->live < TRACER_LIVE_MAX) {
			t->live++;
			stat_add(&t->spans, 1);
			fill(t, s, ask, trace_id);
			return &s->out.span;
		}
		if (sampled)
			stat_add(&t->dropped_spans, 1);
	}
	if (s)
		traced_free(t, s);
	return NULL;
}

/* Ended, and all is known of it; with the lock. What finds no room is returned to be freed. */
static struct traced *queue(struct tracer *t, struct traced *s)
{
	if (s->root == s) {
		tracer_roots_del(t, s);
		bool is_short = s->ended_ns - s->begun_ns < t->conf.link_min_duration_ns;
		if (s->has_samples && is_short)
			tracer_shorts_add(t, s);
		else if (s->has_samples) {
			char id[PROFILE_ID_BYTES];
			for (unsigned i = 0; i < 8; i++)
				(void)snprintf(
					id + 2 * i, 3, "%02x", s->out.span.context.span_id[i]);
			/* Where Grafana offers the way to the profile. */
			add_attr(s, "pyroscope.profile.id", id, 0, 0);
		}
	}
	if (t->queue.n >= TRACER_QUEUE_MAX) {
		stat_add(&t->dropped_spans, 1);
		return s;
	}
	list_push(&t->queue, s);
	if (t->queue.n == 1 || t->queue.n == TRACER_BATCH_MAX)
		cond_wake_all(&t->changed);
	return NULL;
}

/* With the lock; returns what is to be freed. */
static struct traced *end(struct tracer *t, struct traced *s, uint64_t now_ns)
{
	s->ended_ns = now_ns;
	s->out.ended_ns = s->out.begun_ns + (now_ns - s->begun_ns);
	t->live--;
	if (s->root != s || !t->sampling || !s->out.span.link[2])
		return queue(t, s);
	list_push(&t->held, s);
	if (t->held.n == 1)
		cond_wake_all(&t->changed);
	return NULL;
}

static void on_end(void *arg, struct span *span)
{
	struct tracer *t = arg;
	struct traced *s = (struct traced *)span, *root = s->root;
	uint64_t now_ns = clk_ns(t->env.clk);
	struct traced *over[2] = {NULL, NULL};
	{
		LOCK_SCOPE(&t->lock);
		/* A root lasts as long as what is below it: samples are linked with it. */
		bool last = --root->live == 0;
		if (s != root)
			over[0] = end(t, s, now_ns);
		if (last)
			over[1] = end(t, root, now_ns);
	}
	for (unsigned i = 0; i < 2; i++)
		if (over[i])
			traced_free(t, over[i]);
}

static void on_attr(
	void *arg UNUSED, struct span *span, const char *key, const char *str, int64_t num)
{
	add_attr((struct traced *)span, key, str, num, FAILURE_BYTES + PROFILE_ID_BYTES);
}

static void on_fail(void *arg UNUSED, struct span *span, const char *why)
{
	struct traced *s = (struct traced *)span;
	s->out.failed = true;
	if (why && *why)
		s->out.failure = keep_text(s, why, PROFILE_ID_BYTES);
}

static void on_sampled(void *arg, const uint64_t link[3])
{
	struct tracer *t = arg;
	LOCK_SCOPE(&t->lock);
	struct traced *s = tracer_roots_find(t, link);
	if (s)
		s->has_samples = true;
}

/* Of the held: those that ended before ns; with the lock. */
static void release(struct tracer *t, uint64_t ns)
{
	struct traced *over = NULL;
	while (t->held.first && t->held.first->ended_ns < ns) {
		struct traced *s = queue(t, list_pop(&t->held));
		if (!s)
			continue;
		s->next = over;
		over = s;
	}
	for (struct traced *next; over; over = next) {
		next = over->next;
		traced_free(t, over);
	}
}

static void on_drained(void *arg, uint64_t ns)
{
	struct tracer *t = arg;
	LOCK_SCOPE(&t->lock);
	release(t, ns);
}

static void on_sampling(void *arg, bool on)
{
	struct tracer *t = arg;
	LOCK_SCOPE(&t->lock);
	t->sampling = on;
}

static bool on_is_short(void *arg, const uint64_t link[3])
{
	struct tracer *t = arg;
	LOCK_SCOPE(&t->lock);
	const struct traced *s = tracer_roots_find(t, link);
	if (!s)
		return tracer_shorts_has(t, link);
	uint64_t until_ns = s->ended_ns ? s->ended_ns : clk_ns(t->env.clk);
	return until_ns - s->begun_ns < t->conf.link_min_duration_ns;
}

int tracer_new(
	const struct tracer_env *env, const struct tracer_conf *conf, struct tracer **ret_tracer)
{
	AUTO(tracer) struct tracer *t = mem_zalloc(env->mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->env = *env;
	t->conf = *conf;
	lock_init(&t->lock);
	cond_init(&t->changed);
	list_init(&t->held);
	list_init(&t->queue);
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = clk_wall_ns(env->clk) ^ (uint64_t)(uintptr_t)t;
	t->sink = (struct span_sink){on_begin, on_end, on_attr, on_fail, on_sampling, on_sampled,
		on_drained, conf->link_min_duration_ns ? on_is_short : NULL, t};
	if (conf->link_min_duration_ns) {
		t->shorts = mem_array(env->mem, TRACER_SHORT, sizeof(*t->shorts));
		if (!t->shorts)
			return -ENOMEM;
	}
	int r = stats_attach(env->stats, tracer_counters, NULL, t);
	if (r < 0)
		return r;
	*ret_tracer = TAKE(t);
	return 0;
}

/* At most a batch, when there is one or its first has waited long enough. 0: the end. */
static uint32_t take_batch(struct tracer *t, struct traced *batch[static TRACER_BATCH_MAX])
{
	LOCK_SCOPE(&t->lock);
	uint64_t due_ns = 0; /* of the first that waits */
	for (;;) {
		uint64_t now_ns = clk_ns(t->env.clk);
		/* The sampler may have closed in the meantime, and tells no more. */
		release(t, t->stopping ? UINT64_MAX : now_ns - MIN(now_ns, HOLD_NS));
		if (t->queue.n && !due_ns)
			due_ns = now_ns + TRACER_DELAY_NS;
		if (t->stopping || t->queue.n >= TRACER_BATCH_MAX ||
			(t->queue.n && due_ns <= now_ns))
			break;
		if (t->queue.n || t->held.n)
			(void)cond_wait_until(
				&t->changed, &t->lock, due_ns ? due_ns : now_ns + HOLD_NS / 4);
		else
			cond_wait(&t->changed, &t->lock);
	}
	uint32_t n = 0;
	while (n < TRACER_BATCH_MAX && t->queue.n)
		batch[n++] = list_pop(&t->queue);
	return n;
}

static void run(void *arg)
{
	struct tracer *t = arg;
	struct traced *batch[TRACER_BATCH_MAX];
	for (uint32_t n; (n = take_batch(t, batch));) {
		t->env.batch(t->env.arg, (const struct tracer_span *const *)batch, n);
		for (uint32_t i = 0; i < n; i++)
			traced_free(t, batch[i]);
	}
}

int tracer_start(struct tracer *t)
{
	struct thread_conf conf = {"trace-0", &label_trace, run, t};
	t->stopping = false;
	int r = thread_start(t->env.mem, &conf, &t->thread);
	if (r == 0)
		span_set_sink(&t->sink);
	return r;
}

void tracer_stop(struct tracer *t)
{
	if (!t->thread)
		return;
	span_set_sink(NULL);
	{
		LOCK_SCOPE(&t->lock);
		t->stopping = true;
		cond_wake_all(&t->changed);
	}
	t->thread = thread_join(t->thread);
}

struct tracer *tracer_free(struct tracer *t)
{
	if (!t)
		return NULL;
	tracer_stop(t);
	for (struct traced *s; (s = list_pop(&t->held)) || (s = list_pop(&t->queue));)
		traced_free(t, s);
	stats_detach(t->env.stats, t);
	(void)mem_free(t->env.mem, t->shorts);
	cond_done(&t->changed);
	lock_done(&t->lock);
	return mem_free(t->env.mem, t);
}

void tracer_status(struct tracer *t, struct tracer_status *ret_status)
{
	LOCK_SCOPE(&t->lock);
	*ret_status = (struct tracer_status){.spans = t->spans,
		.dropped = t->dropped_spans,
		.live = t->live,
		.held = t->held.n,
		.queued = t->queue.n};
}
