/* Writes gzip (RFC 1952): a member at a time, fast rather than small. */
#pragma once
#include "base/attr.h"
#include "base/text.h"

/* Appends one member with the bytes (below 4 GiB), with an honest length in its trailer. -ENOMEM,
 * also of the text before; what was appended then is of no use. */
MUST_CHECK int gzip_write(struct text *out, const void *bytes, size_t len);
