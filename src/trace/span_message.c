#include "trace/span_message.h"
#include "base/protobuf.h"
#include "otlp_trace.pb-c.h"
#include <errno.h>

/* Field numbers of otlp_service.proto and otlp_trace.proto that are written without their
 * messages: a batch need not be in memory twice. */
enum {
	REQUEST_RESOURCE_SPANS = 1,
	RESOURCE_SPANS_RESOURCE = 1,
	RESOURCE_SPANS_SCOPE_SPANS = 2,
	SCOPE_SPANS_SCOPE = 1,
	SCOPE_SPANS_SPANS = 2
};
/* Of Span.flags. */
#define FLAG_HAS_IS_REMOTE 0x100u
#define FLAG_IS_REMOTE 0x200u

struct attrs {
	Otlp__KeyValue pairs[TRACER_ATTRS], *list[TRACER_ATTRS];
	Otlp__AnyValue values[TRACER_ATTRS];
};

static void fill_attrs(struct attrs *a, const struct tracer_span *s)
{
	for (uint32_t i = 0; i < s->n_attrs; i++) {
		const struct tracer_attr *from = &s->attrs[i];
		otlp__any_value__init(&a->values[i]);
		otlp__key_value__init(&a->pairs[i]);
		if (from->str) {
			a->values[i].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
			a->values[i].string_value = (char *)(uintptr_t)from->str;
		} else {
			a->values[i].value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
			a->values[i].int_value = from->num;
		}
		a->pairs[i].key = (char *)(uintptr_t)from->key;
		a->pairs[i].value = &a->values[i];
		a->list[i] = &a->pairs[i];
	}
}

static ProtobufCBinaryData bytes_of(const uint8_t *p, size_t n)
{
	return (ProtobufCBinaryData){n, (uint8_t *)(uintptr_t)p};
}

/* A field with a message of protobuf-c. */
static void put_message(struct text *to, unsigned field, const ProtobufCMessage *m)
{
	struct text packed = TEXT(to->mem);
	size_t n = protobuf_c_message_get_packed_size(m);
	packed.s = mem_alloc(to->mem, n + 1);
	if (!packed.s) {
		to->err = -ENOMEM;
		return;
	}
	(void)protobuf_c_message_pack(m, (uint8_t *)packed.s);
	protobuf_bytes(to, field, packed.s, n);
	text_done(&packed);
}

static void put_span(struct text *to, const struct tracer_span *s)
{
	struct attrs attrs;
	Otlp__Status status = OTLP__STATUS__INIT;
	Otlp__Span m = OTLP__SPAN__INIT;
	fill_attrs(&attrs, s);
	m.trace_id = bytes_of(s->span.context.trace_id, sizeof(s->span.context.trace_id));
	m.span_id = bytes_of(s->span.context.span_id, sizeof(s->span.context.span_id));
	if (s->has_parent)
		m.parent_span_id = bytes_of(s->parent_id, sizeof(s->parent_id));
	if (s->state)
		m.trace_state = (char *)(uintptr_t)s->state;
	m.name = (char *)(uintptr_t)s->name;
	m.kind = (Otlp__Span__SpanKind)s->kind;
	m.start_time_unix_nano = s->begun_ns;
	m.end_time_unix_nano = s->ended_ns;
	m.n_attributes = s->n_attrs;
	m.attributes = attrs.list;
	m.dropped_attributes_count = s->dropped_attrs;
	m.flags = s->span.context.flags |
		  (s->has_parent ? FLAG_HAS_IS_REMOTE | (s->parent_is_remote ? FLAG_IS_REMOTE : 0)
				 : 0);
	if (s->failed) {
		status.code = OTLP__STATUS__STATUS_CODE__STATUS_CODE_ERROR;
		status.message = (char *)(uintptr_t)s->failure;
		m.status = &status;
	}
	put_message(to, SCOPE_SPANS_SPANS, &m.base);
}

void span_message_write(struct text *out, const struct span_message_from *from,
	const struct tracer_span *const *spans, uint32_t n)
{
	AUTO_TEXT struct text scope = TEXT(out->mem), resource = TEXT(out->mem);
	Otlp__InstrumentationScope m = OTLP__INSTRUMENTATION_SCOPE__INIT;
	m.name = (char *)(uintptr_t)from->scope;
	m.version = (char *)(uintptr_t)from->version;
	put_message(&scope, SCOPE_SPANS_SCOPE, &m.base);
	for (uint32_t i = 0; i < n; i++)
		put_span(&scope, spans[i]);
	protobuf_bytes(&resource, RESOURCE_SPANS_RESOURCE, from->resource, from->resource_bytes);
	protobuf_bytes(&resource, RESOURCE_SPANS_SCOPE_SPANS, scope.s, scope.len);
	protobuf_bytes(out, REQUEST_RESOURCE_SPANS, resource.s, resource.len);
	if (scope.err < 0 || resource.err < 0)
		out->err = -ENOMEM;
}
