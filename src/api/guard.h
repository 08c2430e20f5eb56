/* Who may ask: the token, and the checks that keep a web page from elsewhere from driving the API
 * through its visitor's browser. Immutable once made. */
#pragma once
#include "api/request.h"
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"

#define GUARD_TOKEN_MIN 16
#define GUARD_TOKEN_MAX 512
struct guard;
struct guard_conf {
	const char *token; /* copied; NULL: everybody may */
	/* Names that a Host header may have besides IP literals, localhost and this host's; copied
	 */
	const char *const *allowed_hosts;
	unsigned n_allowed_hosts;
};
/* -EINVAL with a fault: the token is shorter than GUARD_TOKEN_MIN, longer than GUARD_TOKEN_MAX or
 * not of RFC 6750 2.1's characters, or a host name is none. */
MUST_CHECK int guard_new(const struct mem *mem, const struct guard_conf *conf,
	struct guard **ret_guard, struct fault *reterr_fault);
struct guard *guard_free(struct guard *g);
CLEANUP(guard);

/* 0, or the status of the refusal: 401 without the token below /api, /debug/pprof and for
 * /metrics; 403 for a foreign Host, Origin or Sec-Fetch-Site; 415 for a form or text body of a
 * browser. Fills rq->fault and, for 401, the WWW-Authenticate header. rq->url must be parsed. */
unsigned guard_check(const struct guard *g, struct request *rq);
