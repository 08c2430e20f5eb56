/* The address of a Pyroscope server: one judgement for the flag and for REST. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include <stdbool.h>

#define ADDRESS_BYTES 512
/* -EINVAL with a fault of that field: not an http or https URL with a host, credentials in it
 * (which the fault does not show), a query or a fragment, too long. */
MUST_CHECK int address_check(const char *address, const char *field, struct fault *reterr_fault);
/* Do both name the same place? Scheme and host in any case, one slash at the end more or less. */
bool address_is_same(const char *a, const char *b);
