/* Ended spans as the request that OTLP exports them with (ExportTraceServiceRequest). */
#pragma once
#include "base/text.h"
#include "trace/tracer.h"

struct span_message_from {    /* who made them */
	const void *resource; /* an encoded Resource message */
	size_t resource_bytes;
	const char *scope, *version;
};
/* Appends the message to *out, whose sticky error tells of want of memory. */
void span_message_write(struct text *out, const struct span_message_from *from,
	const struct tracer_span *const *spans, uint32_t n);
