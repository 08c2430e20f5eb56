/* Reads gzip (RFC 1952), all its members, into memory that is bounded whatever they claim. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/text.h"
#include <stdbool.h>

bool gunzip_is_gzip(const void *bytes, size_t len);
/* Appends what was packed. -EFBIG: it is more than max bytes; -EBADMSG: it is no whole gzip; both
 * with a fault that tells the byte of the input; -ENOMEM. What was appended then is of no use. */
MUST_CHECK int gunzip_read(
	const void *bytes, size_t len, size_t max, struct text *out, struct fault *reterr_fault);
