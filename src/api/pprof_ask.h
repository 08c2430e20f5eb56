/* What a request below /debug/pprof/ asks for, by Go's rules for its parameters: others are
 * ignored, and so is what is no number, but where a difference is asked for. */
#pragma once
#include "api/url.h"
#include "base/attr.h"
#include "base/mem.h"
#include "profiling/gate.h"

#define PPROF_ASK_ADDRESSES 4096

/* Fills duration and form of *ret_ask for its kind. -EINVAL: *reterr_text (constant) says why. */
MUST_CHECK int pprof_ask_read(
	const struct url *url, struct capture_ask *ret_ask, const char **reterr_text);
/* The addresses in s, with a plus or a blank between them, hex with 0x or decimal; what is none is
 * passed over, and so is what comes after PPROF_ASK_ADDRESSES. The caller frees *ret_pcs (may be
 * NULL) with mem_free. -ENOMEM. */
MUST_CHECK int pprof_ask_addresses(
	const struct mem *mem, const char *s, uintptr_t **ret_pcs, uint32_t *ret_n);
