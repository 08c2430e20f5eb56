/* What a receiver answers to an export: a byte of flags, two of the status of HTTP, three lines
 * (grpc-status, grpc-message, grpc-status-details-bin), then the body. Whatever it is, the verdict
 * is one of three, the time to wait is bounded and what is told can be printed. */
#include "fuzz.h"
#include "trace/otlp_answer.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GRPC = 1, PROFILES = 2, PROTOBUF = 4, TOO_LONG = 8 };

static void judge(const struct otlp_heard *heard)
{
	struct otlp_answer a;
	otlp_answer_read(&mem_libc, heard, &a);
	assert(a.verdict == OTLP_ACCEPTED || a.verdict == OTLP_RETRY || a.verdict == OTLP_REFUSED);
	assert(a.wait_ns <= OTLP_ANSWER_WAIT_MAX_NS);
	assert(a.verdict == OTLP_ACCEPTED || (a.rejected == 0 && a.told.text[0]));
	assert(heard->status || a.verdict != OTLP_ACCEPTED);
	assert(memchr(a.told.text, '\0', sizeof(a.told.text)));
	for (const char *c = a.told.text; *c; c++)
		assert(*c >= ' ' && *c <= '~');
}

/* The next line, NULL if it is empty. */
static const char *take_line(char **rest)
{
	char *line = strsep(rest, "\n");
	return line && line[0] ? line : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	if (bytes < 3)
		return 0;
	char *text = malloc(bytes - 2);
	if (!text)
		abort();
	memcpy(text, p + 3, bytes - 3);
	text[bytes - 3] = '\0';
	char *rest = text;
	struct otlp_heard heard = {.signal = p[0] & PROFILES ? EXPORT_PROFILES : EXPORT_TRACES,
		.grpc = p[0] & GRPC,
		.status = p[1] | p[2] << 8,
		.error = "none",
		.too_long = p[0] & TOO_LONG,
		.retry_after_s = p[2],
		.type = p[0] & PROTOBUF ? "application/x-protobuf" : NULL};
	heard.grpc_status = take_line(&rest);
	heard.grpc_message = take_line(&rest);
	heard.grpc_details = take_line(&rest);
	heard.body = rest ? rest : "";
	heard.body_bytes = rest ? (size_t)(text + bytes - 3 - rest) : 0;
	judge(&heard);
	free(text);
	return 0;
}
