/* What else is served at addresses of profiles, or lies in such files: gperftools' formats, binary
 * and text, and the texts of Go's debug=1 and of servers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Its name, or NULL: it may be a profile. */
const char *pprof_other(const uint8_t *p, size_t n);
