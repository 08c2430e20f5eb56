/* OpenTelemetry's process context (OTEP 4719): a mapping by the name OTEL_CTX that tells profilers
 * outside of the process what it is and what the attributes in its threads' records are called. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"

struct procctx;
struct procctx_conf {
	const char *service, *version; /* borrowed while it is published */
	const char *const *keys;       /* of the threads' attributes, in order; ends with NULL */
};
/* Maps and publishes it. The caller owns *ret_ctx. -ENOMEM; -EOPNOTSUPP: this kernel gives the
 * mapping no name, so nobody would find it. Not inherited by a child of fork. */
MUST_CHECK int procctx_publish(
	const struct mem *mem, const struct procctx_conf *conf, struct procctx **ret_ctx);
/* Takes it back. Takes NULL, returns NULL. */
struct procctx *procctx_free(struct procctx *c);
CLEANUP(procctx);
