#include "trace/linked.h"
#include "base/lock.h"
#include "base/log.h"
#include "wire/otlp_profile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BUILD_ID "process.executable.build_id.gnu"
#define FRAME_TYPE "profile.frame.type"
#define PLACES_FIRST 1024u

#define TOTAL(field, text) \
	{ \
		"linked", #field, text, offsetof(struct linked_totals, field), STAT_COUNTER \
	}
const struct counter linked_counters[] = {
	TOTAL(windows, "Windows of the CPU made into OTLP profiles"),
	TOTAL(samples, "Samples in them"),
	TOTAL(linked_samples, "Samples in them that are linked with a span"),
	TOTAL(missed_windows,
		"Windows without CPU: it could not be sampled, or no memory was left"),
	{0},
};

/* Locations by address, in the message under way. */
struct places {
	uint64_t *addresses; /* 0: free */
	uint32_t *ids, size, n;
};
struct linked {
	struct linked_env env;
	struct linked_totals *totals;
	struct cpu_sink sink;
	struct lock lock; /* of what follows */
	bool has_arrived;
	uint32_t unanswered; /* windows since one arrived */
	char why[LINKED_WHY_BYTES];
	bool is_told; /* of the missed, in the log */
};
/* A window on its way into messages. */
struct writing {
	struct linked *linked;
	const struct cpu_window *window;
	struct otlp_profile *message;
	struct places places;
	bool is_sent;
	int err;
};

static int places_grow(const struct mem *mem, struct places *p)
{
	struct places to = {.size = p->size ? p->size * 2 : PLACES_FIRST, .n = p->n};
	to.addresses = mem_array(mem, to.size, sizeof(*to.addresses));
	to.ids = mem_array(mem, to.size, sizeof(*to.ids));
	if (!to.addresses || !to.ids) {
		(void)mem_free(mem, to.addresses);
		(void)mem_free(mem, to.ids);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->size; i++) {
		if (!p->addresses[i])
			continue;
		uint32_t at = (uint32_t)(p->addresses[i] * 0x9e3779b97f4a7c15ull >> 32);
		while (to.addresses[at &= to.size - 1])
			at++;
		to.addresses[at] = p->addresses[i];
		to.ids[at] = p->ids[i];
	}
	(void)mem_free(mem, p->addresses);
	(void)mem_free(mem, p->ids);
	*p = to;
	return 0;
}

/* Where the address is, or is to be. */
static uint32_t places_slot(const struct places *p, uint64_t address)
{
	uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 32);
	while (p->addresses[at &= p->size - 1] && p->addresses[at] != address)
		at++;
	return at;
}

static void places_done(const struct mem *mem, struct places *p)
{
	p->addresses = mem_free(mem, p->addresses);
	p->ids = mem_free(mem, p->ids);
	p->size = p->n = 0;
}

static int begin_message(struct writing *w)
{
	const struct linked_env *env = &w->linked->env;
	const struct cpu_window *win = w->window;
	struct otlp_scope scope = {"nl6", env->version};
	int r = otlp_profile_new(env->mem, env->resource, env->resource_bytes, &scope, &w->message);
	if (r < 0)
		return r;
	struct otlp_head head = {.type = "samples",
		.unit = "count",
		.period_type = "cpu",
		.period_unit = "nanoseconds",
		.period = (int64_t)win->period_ns,
		.time_ns = win->from_ns,
		.duration_ns = win->until_ns > win->from_ns ? win->until_ns - win->from_ns : 1};
	otlp_profile_begin(w->message, &head);
	return 0;
}

/* The first message of a window is the window's; one without samples has none. */
static void note_sent(struct writing *w)
{
	struct linked *l = w->linked;
	if (w->is_sent)
		return;
	w->is_sent = true;
	LOCK_SCOPE(&l->lock);
	l->unanswered = MIN(l->unanswered + 1, (uint32_t)LINKED_FAILED_WINDOWS);
}

/* Sends what there is of the message. */
static void end_message(struct writing *w)
{
	const struct linked_env *env = &w->linked->env;
	struct text body = TEXT(env->mem);
	otlp_profile_end(w->message);
	int r = otlp_profile_finish(w->message, &body);
	w->message = otlp_profile_free(w->message);
	places_done(env->mem, &w->places);
	if (r == 0) {
		note_sent(w);
		env->send(env->arg, &body, 1);
		return;
	}
	text_done(&body);
	if (r != -ENODATA)
		w->err = r;
}

/* A message that is full goes out, and the next begins: nothing is left out of a window. */
static bool has_room(void *arg)
{
	struct writing *w = arg;
	if (w->err == 0 && w->message &&
		(otlp_profile_samples(w->message) >= LINKED_MAX_SAMPLES ||
			otlp_profile_bytes(w->message) >= LINKED_MAX_BYTES / 8 * 7))
		end_message(w);
	if (w->err == 0 && !w->message)
		w->err = begin_message(w);
	return true;
}

/* What is no file has no build id, and is told as unknown. */
static uint32_t add_mapping(void *arg, const struct pprof_mapping *m)
{
	struct writing *w = arg;
	if (w->err < 0 || !m->build_id || !*m->build_id)
		return 0;
	uint32_t attr = otlp_profile_attr_str(w->message, BUILD_ID, m->build_id, "");
	struct otlp_mapping to = {.start = m->start,
		.limit = m->limit,
		.file_offset = m->file_offset,
		.filename = m->filename,
		.attrs = &attr,
		.n_attrs = 1};
	return otlp_profile_mapping(w->message, &to);
}

static uint32_t add_function(void *arg, const char *name, const char *system_name, const char *file)
{
	struct writing *w = arg;
	return w->err < 0 ? 0 : otlp_profile_function(w->message, name, system_name, file, 0);
}

static bool find_location(void *arg, uint64_t address, uint32_t *ret_id)
{
	struct writing *w = arg;
	if (!w->places.size)
		return false;
	uint32_t at = places_slot(&w->places, address);
	*ret_id = w->places.ids[at];
	return w->places.addresses[at] != 0;
}

static uint32_t add_location(void *arg, uint32_t mapping, uint64_t address,
	const struct pprof_line *lines, uint32_t n_lines)
{
	struct writing *w = arg;
	struct places *p = &w->places;
	struct otlp_line to[16];
	if (w->err == 0 && p->n * 2 >= p->size)
		w->err = places_grow(w->linked->env.mem, p);
	if (w->err < 0)
		return 0;
	n_lines = MIN(n_lines, (uint32_t)ARRAY_SIZE(to));
	for (uint32_t i = 0; i < n_lines; i++)
		to[i] = (struct otlp_line){.function = lines[i].function, .line = lines[i].line};
	uint32_t attr = otlp_profile_attr_str(
		w->message, FRAME_TYPE, address >= SYMBOL_KERNEL_START ? "kernel" : "native", "");
	uint32_t id = otlp_profile_location(w->message, mapping, address, to, n_lines, &attr, 1);
	uint32_t at = places_slot(p, address);
	p->addresses[at] = address;
	p->ids[at] = id;
	p->n++;
	return id;
}

static void add_sample(void *arg, const uint32_t *locations, uint32_t n, const struct stack *stack)
{
	struct writing *w = arg;
	struct linked_totals *totals = w->linked->totals;
	uint32_t attrs[LABEL_PAIRS], n_attrs = 0;
	if (w->err < 0)
		return;
	for (size_t i = 0; stack->label && i < stack->label->count; i++)
		attrs[n_attrs++] = otlp_profile_attr_str(w->message, stack->label->pairs[i].key.s,
			stack->label->pairs[i].value.s, "");
	uint32_t link = stack->span ? otlp_profile_link(w->message, stack->span->trace_id,
					      stack->span->span_id)
				    : 0;
	uint32_t to = otlp_profile_stack(w->message, locations, n);
	otlp_profile_sample(w->message, to, attrs, n_attrs, link, stack->values[0]);
	stat_add(&totals->samples, (uint64_t)stack->values[0]);
	if (stack->span)
		stat_add(&totals->linked_samples, (uint64_t)stack->values[0]);
}

static void on_missed(void *arg, const char *why)
{
	struct linked *l = arg;
	bool tell;
	stat_add(&l->totals->missed_windows, 1);
	{
		LOCK_SCOPE(&l->lock);
		(void)snprintf(l->why, sizeof(l->why), "%s", why);
		tell = !l->is_told;
		l->is_told = true;
	}
	if (tell)
		log_warn(NULL, 0, "[profiling] a window for OTLP was missed: %s", why);
}

static void on_window(void *arg, const struct cpu_window *window)
{
	struct linked *l = arg;
	struct writing w = {.linked = l, .window = window};
	struct profile_out out = {
		has_room, add_mapping, add_function, find_location, add_location, add_sample, &w};
	int r = begin_message(&w); /* the walk names what is to be first before any stack */
	if (r == 0)
		r = profile_walk(window->symbols, window->stacks, 1, &out);
	if (r == 0)
		r = w.err;
	if (r == 0 && w.message)
		end_message(&w);
	w.message = otlp_profile_free(w.message);
	places_done(l->env.mem, &w.places);
	if (r == 0)
		r = w.err;
	if (r < 0)
		on_missed(l, strerrordesc_np(-r));
	else
		stat_add(&l->totals->windows, 1);
}

static bool on_carries(void *arg)
{
	return linked_carries(arg);
}

int linked_new(
	const struct linked_env *env, struct linked_totals *totals, struct linked **ret_linked)
{
	struct linked *l = mem_zalloc(env->mem, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->env = *env;
	l->totals = totals;
	l->sink = (struct cpu_sink){on_window, on_missed, on_carries, l};
	lock_init(&l->lock);
	*ret_linked = l;
	return 0;
}

struct linked *linked_free(struct linked *l)
{
	if (!l)
		return NULL;
	lock_done(&l->lock);
	return mem_free(l->env.mem, l);
}

const struct cpu_sink *linked_sink(struct linked *l)
{
	return &l->sink;
}

void linked_done(struct linked *l, bool accepted)
{
	LOCK_SCOPE(&l->lock);
	if (!accepted)
		return;
	l->has_arrived = true;
	l->unanswered = 0;
}

bool linked_carries(struct linked *l)
{
	LOCK_SCOPE(&l->lock);
	return l->has_arrived && l->unanswered < LINKED_FAILED_WINDOWS;
}

void linked_missed(struct linked *l, char why[static LINKED_WHY_BYTES])
{
	LOCK_SCOPE(&l->lock);
	memcpy(why, l->why, LINKED_WHY_BYTES);
}
