/* The address of a server that is sent to: one judgement for the flag and for REST. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include <stdbool.h>

#define ADDRESS_BYTES 512
struct address_use { /* what faults tell */
	const char *field;
	const char *auth_flag; /* of the credentials, which do not belong into a URL */
	const char *path;      /* what is appended to the URL's */
};
/* -EINVAL with a fault of the field: not an http or https URL with a host, credentials in it
 * (which the fault does not show), a query or a fragment, too long. */
MUST_CHECK int address_check(
	const char *address, const struct address_use *use, struct fault *reterr_fault);
/* Do both name the same place? Scheme and host in any case, one slash at the end more or less. */
bool address_is_same(const char *a, const char *b);
