#include "base/span.h"
#include <stdatomic.h>
#include <string.h>

const struct span_sink *span_sink;

void span_set_sink(const struct span_sink *sink)
{
	__atomic_store_n(&span_sink, sink, __ATOMIC_RELEASE); /* pairs with span_sink_now */
}

struct span *span_begin(const struct span_ask *ask)
{
	const struct span_sink *sink = span_sink_now();
	return sink ? sink->begin(sink->arg, ask) : NULL;
}

struct span *span_begin_child(const char *name, enum span_kind kind)
{
	if (LIKELY(!nl6_self.span))
		return NULL;
	return span_begin(&(struct span_ask){.name = name, .kind = kind, .parent = nl6_self.span});
}

void span_end(struct span *s)
{
	const struct span_sink *sink = s ? span_sink_now() : NULL;
	if (sink)
		sink->end(sink->arg, s);
}

void span_set_str(struct span *s, const char *key, const char *value)
{
	const struct span_sink *sink = s && value ? span_sink_now() : NULL;
	if (sink)
		sink->attr(sink->arg, s, key, value, 0);
}

void span_set_int(struct span *s, const char *key, int64_t value)
{
	const struct span_sink *sink = s ? span_sink_now() : NULL;
	if (sink)
		sink->attr(sink->arg, s, key, NULL, value);
}

void span_fail(struct span *s, const char *why)
{
	const struct span_sink *sink = s ? span_sink_now() : NULL;
	if (sink)
		sink->fail(sink->arg, s, why);
}

/* Readers see the thread stopped, so the order that the compiler keeps is enough. */
static void order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* The record that otel_thread_ctx_v1 points to while the thread works in a span. */
static void tell_outside(struct self *me, const struct span *s)
{
	struct label_context *c = &me->span_context;
	const struct label_context *l = &me->label->context;
	c->valid = 0;
	order();
	memcpy(c->trace_id, s->context.trace_id, sizeof(c->trace_id));
	memcpy(c->span_id, s->context.span_id, sizeof(c->span_id));
	c->trace_flags = s->context.flags;
	c->attrs_bytes = l->attrs_bytes;
	c->attr_key = l->attr_key;
	c->attr_bytes = l->attr_bytes;
	memcpy(c->attr, l->attr, sizeof(c->attr));
	order();
	c->valid = 1;
	__atomic_store_n(&otel_thread_ctx_v1, c, __ATOMIC_RELAXED);
}

struct span *span_swap(struct span *s)
{
	struct self *me = &nl6_self;
	struct span *old = me->span;
	if (old == s)
		return old;
	__atomic_store_n(&me->span_link[2], 0, __ATOMIC_RELAXED);
	order();
	me->span = s;
	if (!s) {
		__atomic_store_n(&otel_thread_ctx_v1, &me->label->context, __ATOMIC_RELAXED);
		return old;
	}
	me->span_link[0] = s->link[0];
	me->span_link[1] = s->link[1];
	me->span_name = s->link_name;
	order();
	__atomic_store_n(&me->span_link[2], s->link[2], __ATOMIC_RELAXED);
	tell_outside(me, s);
	return old;
}

void span_relabel(void)
{
	if (nl6_self.span)
		tell_outside(&nl6_self, nl6_self.span);
}
