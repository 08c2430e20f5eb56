/* The query of a profile and the addresses of a lookup: the first byte says which kind. What passes
 * is within the bounds that the gate relies on. */
#include "api/pprof_ask.h"
#include "fuzz.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void try_query(enum capture_kind kind, char *target)
{
	struct url url;
	struct fault fault;
	struct capture_ask ask = {.kind = kind};
	const char *why = NULL;
	if (url_parse(target, &url, &fault) < 0)
		return;
	int r = pprof_ask_read(&url, &ask, &why);
	if (r < 0) {
		assert(r == -EINVAL && why);
		return;
	}
	assert(!why && ask.duration_ns <= GATE_CAPTURE_MAX_NS && ask.debug <= 2);
	assert(!(ask.duration_ns && ask.debug));
	assert(!capture_lasts(kind) || ask.duration_ns > 0);
}

static void try_addresses(const char *s)
{
	uintptr_t *pcs;
	uint32_t n;
	assert(pprof_ask_addresses(&mem_libc, s, &pcs, &n) == 0);
	assert(n <= PPROF_ASK_ADDRESSES && n <= strlen(s));
	for (uint32_t i = 0; i < n; i++)
		assert(pcs[i]);
	mem_free(&mem_libc, pcs);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	if (bytes == 0)
		return 0;
	char *text = malloc(bytes + 3);
	if (!text)
		abort();
	memcpy(text, "/x?", 3);
	memcpy(text + 3, p + 1, bytes - 1);
	text[bytes + 2] = 0;
	try_addresses(text + 3);
	try_query((enum capture_kind)(p[0] % CAPTURE_KINDS), text);
	free(text);
	return 0;
}
