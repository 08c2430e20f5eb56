/* Between the sampler and whoever makes spans (base/span.h): tells of samples within spans, and
 * takes the spans off those that are too short to be linked with. Without a sink nothing is done.
 */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "profiling/stacks.h"
#include <stdbool.h>

/* The sampler begins or ends to sample. */
void linking_sampling(bool on);
/* A sample within the span has come. */
void linking_sampled(const struct stack_span *span);
/* All samples taken before ns (monotonic) have come. */
void linking_drained(uint64_t ns);
/* For what a reader gathered. Without memory the spans stay. */
void linking_unlink_short(struct stacks **s);
