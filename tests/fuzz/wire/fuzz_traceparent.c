/* The headers of W3C Trace Context: lines, the first a traceparent, the others tracestates. What is
 * accepted holds to the limits, and reads back as it was written. */
#include "fuzz.h"
#include "wire/traceparent.h"
#include <assert.h>
#include <string.h>

static unsigned members(const struct text *t)
{
	unsigned n = t->len > 0;
	for (size_t i = 0; i < t->len; i++)
		n += t->s[i] == ',';
	return n;
}

static void try_parent(const char *line)
{
	struct span_context c, again;
	char buf[TRACEPARENT_BYTES];
	if (traceparent_read(line, &c) < 0)
		return;
	traceparent_write(&c, buf);
	int r = traceparent_read(buf, &again);
	assert(r == 0 && again.flags == c.flags);
	assert(memcmp(again.trace_id, c.trace_id, sizeof(c.trace_id)) == 0);
	assert(memcmp(again.span_id, c.span_id, sizeof(c.span_id)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_TEXT struct text lines = TEXT(&mem_libc), state = TEXT(&mem_libc);
	text_write(&lines, data, size);
	if (!lines.s)
		return 0;
	char *save = NULL, *line = strtok_r(lines.s, "\n", &save);
	if (line)
		try_parent(line);
	int r = 0;
	while (r == 0 && (line = strtok_r(NULL, "\n", &save)))
		r = tracestate_add(&state, line);
	if (r < 0 || !state.len)
		return 0;
	assert(members(&state) <= 32);
	tracestate_cut(&state);
	assert(state.len <= TRACESTATE_MAX_BYTES && strlen(state.s) == state.len);
	AUTO_TEXT struct text again = TEXT(&mem_libc);
	r = state.len ? tracestate_add(&again, state.s) : 0;
	assert(r == 0 && again.len == state.len);
	return 0;
}
