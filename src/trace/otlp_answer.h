/* What a receiver's answer to an export of OTLP means: was it taken, may it be sent again, and
 * when. Pure: the answer is foreign, and judged here alone. Source: the OTLP specification, "OTLP
 * Connection" to "OTLP/HTTP Response"; gRPC over HTTP/2. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

enum export_signal { EXPORT_TRACES, EXPORT_PROFILES };
enum otlp_verdict {
	OTLP_ACCEPTED, /* all of it or, with rejected, a part; never sent again */
	OTLP_RETRY,
	OTLP_REFUSED, /* it would be so again */
};
struct otlp_heard { /* borrowed; strings that were not told are NULL */
	enum export_signal signal;
	bool grpc;
	int status;	   /* of HTTP; 0: there was no answer */
	const char *error; /* then: why */
	bool too_long;	   /* then: since it had no end */
	const char *body;
	size_t body_bytes;
	uint32_t retry_after_s; /* 0: not told */
	const char *type;	/* Content-Type */
	/* grpc-status, grpc-message, grpc-status-details-bin, wherever they came. */
	const char *grpc_status, *grpc_message, *grpc_details;
};
struct otlp_answer {
	enum otlp_verdict verdict;
	uint64_t rejected; /* ACCEPTED: spans or profiles that were not taken */
	uint64_t wait_ns;  /* RETRY: not before; 0: not told */
	/* What the receiver has to say, in printable ASCII: why not, or with ACCEPTED a warning.
	 * text "": nothing. */
	struct fault told;
};
#define OTLP_ANSWER_WAIT_MAX_NS (3600 * NS_PER_SEC) /* wait_ns is cut to it */
void otlp_answer_read(
	const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *ret_answer);
