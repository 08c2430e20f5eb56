/* Points in time, as answers tell them. */
#pragma once
#include "base/text.h"

/* "key":"2026-03-01T09:30:00Z" (RFC 3339, UTC) of nanoseconds since 1970. */
void when_kv(struct text *t, const char *key, uint64_t wall_ns);
