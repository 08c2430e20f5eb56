#include "profiling/linking.h"
#include "base/log.h"
#include "base/span.h"
#include <string.h>

static void words_of(const struct stack_span *span, uint64_t ret_link[3])
{
	memcpy(ret_link, span->trace_id, sizeof(span->trace_id));
	memcpy(&ret_link[2], span->span_id, sizeof(span->span_id));
}

void linking_sampling(bool on)
{
	const struct span_sink *sink = span_sink_now();
	if (sink)
		sink->sampling(sink->arg, on);
}

void linking_sampled(const struct stack_span *span)
{
	const struct span_sink *sink = span_sink_now();
	uint64_t link[3];
	if (!sink)
		return;
	words_of(span, link);
	sink->sampled(sink->arg, link);
}

void linking_drained(uint64_t ns)
{
	const struct span_sink *sink = span_sink_now();
	if (sink)
		sink->drained(sink->arg, ns);
}

static bool is_short(void *arg, const struct stack_span *span)
{
	const struct span_sink *sink = arg;
	uint64_t link[3];
	words_of(span, link);
	return sink->is_short(sink->arg, link);
}

void linking_unlink_short(struct stacks **s)
{
	const struct span_sink *sink = span_sink_now();
	int r = sink && sink->is_short ? stacks_unlink(s, is_short, (void *)(uintptr_t)sink) : 0;
	if (r < 0)
		log_debug(NULL, r, "short spans stay linked");
}
