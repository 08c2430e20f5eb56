/* Create batches in JSON. */
#pragma once
#include "base/text.h"
#include "sim/fleet/batch.h"

/* The members of a batch's object, without braces. now_ns: monotonic, of the batches' clock. */
void batch_json(struct text *t, const struct batch_info *b, uint64_t now_ns);
/* The items, without brackets, that tell of devices left as they are; none if there are none. */
void batch_json_warnings(struct text *t, const struct batch_info *b);
/* One item; writes a comma before it unless it is the first of its list. */
void batch_json_warning(struct text *t, const char *field, const char *requested,
	const char *effective, const char *message);
