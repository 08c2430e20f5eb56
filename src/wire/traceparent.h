/* The headers of W3C Trace Context (level 2): traceparent, tracestate, traceresponse. */
#pragma once
#include "base/attr.h"
#include "base/span.h"
#include "base/text.h"

#define TRACEPARENT_BYTES 56 /* with the NUL */
#define TRACESTATE_MAX_BYTES 512

/* Reads a traceparent; of a later version, what this one has of it (3.2.4). -EBADMSG: to be taken
 * for absent. */
MUST_CHECK int traceparent_read(const char *header, struct span_context *ret_context);
/* Also the form of traceresponse. */
void traceparent_write(const struct span_context *c, char buf[static TRACEPARENT_BYTES]);
/* The whole header, "traceparent: …"; returns buf. */
#define TRACEPARENT_HEADER_BYTES (TRACEPARENT_BYTES + 13)
const char *traceparent_header(
	const struct span_context *c, char buf[static TRACEPARENT_HEADER_BYTES]);
/* Joins what may be several tracestate headers: appends to *state (empty, or a list already) the
 * members of one, checked (3.3.1); of a key that is there already the first stays. -EBADMSG: not a
 * list; it is to be dropped as a whole. Without memory *state has it. */
MUST_CHECK int tracestate_add(struct text *state, const char *header);
/* Shortens to TRACESTATE_MAX_BYTES by whole members: first those of more than 128 bytes, then from
 * the right (3.3.1.5). */
void tracestate_cut(struct text *state);
