/* Pulls profiles from an address, once or on an interval. */
#pragma once
#include "halt.h"
#include "work.h"

/* Until the end is asked for, or with no interval until there was a profile: 0; or else what is
 * wrong with it, with a fault, or -EIO when there was none after several tries. */
MUST_CHECK int pull_run(struct work *w, struct halt *halt, struct fault *reterr_fault);
