/* Where exports go: to a receiver of OTLP, or to a file. */
#pragma once
#include "base/fault.h"
#include "base/text.h"
#include "conf.h"
#include "halt.h"

#define SINK_WAITING 4 /* exports queued or on their way; then whoever has another one waits */

struct sink;
struct sink_totals {
	uint64_t exports, bytes; /* put here; uncompressed protobuf */
	uint64_t accepted, failed, rejected;
	uint64_t retried;
};
/* A fault tells what is wrong. */
MUST_CHECK int sink_new(const struct link_conf *conf, struct halt *halt, struct sink **ret_s,
	struct fault *reterr_fault);
struct sink *sink_free(struct sink *s); /* drops what still waits; takes NULL */
CLEANUP(sink);
/* Takes an export over, of so many profiles; waits for room. -ECANCELED: the end is asked for;
 * errno of the file. One thread. */
MUST_CHECK int sink_put(struct sink *s, struct text *body, uint32_t profiles);
bool sink_has_room(struct sink *s, uint32_t exports);
/* Waits until all was sent or given up. -ECANCELED: the end is asked for; errno of the file. */
MUST_CHECK int sink_flush(struct sink *s);
void sink_totals(struct sink *s, struct sink_totals *ret_totals);
