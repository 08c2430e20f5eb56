/* The span of a request: from its headers to the end of its answer. On the API's thread. */
#pragma once
#include "api/request.h"
#include "base/span.h"
#include <microhttpd.h>

/* Begins it, if it is to be sampled: as the client's traceparent says, else as the tracer draws.
 * name: lives as long as the process. */
struct span *request_span_begin(struct request *rq, const char *name, const char *method,
	struct MHD_Connection *connection);
/* The answer is known: gives it the header traceresponse, and the span its status. */
void request_span_answer(struct span *s, struct request *rq);
