/* The push to a Pyroscope server. This build has none: it refuses to start, and the gate tells that
 * as of any push that cannot start. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include <stdbool.h>

/* -ENOSYS with a fault that says why: PYROSCOPE_ADHOC_SERVER_ADDRESS is set, or this build. */
MUST_CHECK int push_start(const char *address, struct fault *reterr_fault);
/* Is that variable there? It would send a push elsewhere without a word. */
#define PUSH_FOREIGN_VARIABLE "PYROSCOPE_ADHOC_SERVER_ADDRESS"
bool push_is_diverted(void);
