/* Reads whole small files: configuration, secrets, device types. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"

/* The bytes of a file of at most max bytes, which the caller frees with mem_free; a NUL that is not
 * counted follows. A pipe will do. Negative errno of open or read; -EISDIR; -EFBIG; -ENOMEM. */
MUST_CHECK int file_read(
	const struct mem *mem, const char *path, size_t max, char **ret_bytes, size_t *ret_len);
