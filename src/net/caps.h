/* Capabilities of the calling thread (Linux keeps them per thread). Nobody owns state here. */
#pragma once
#include "base/attr.h"
#include <stdbool.h>
#include <stdint.h>

#define CAPS_BIT(cap) (1ull << (cap)) /* cap: CAP_NET_ADMIN ... of <sys/capability.h> */

/* Effective ones. */
uint64_t caps_mask(void);
/* Keeps at most those in mask, effective and permitted; empties the inheritable, ambient and (while
 * it may) bounding sets; no exec gives any back. For good. Negative errno. */
MUST_CHECK int caps_keep(uint64_t mask);
/* "CAP_NET_ADMIN and CAP_SYS_ADMIN" of the bits of mask; at most bytes with the NUL. */
const char *caps_text(uint64_t mask, char *buf, size_t bytes);
