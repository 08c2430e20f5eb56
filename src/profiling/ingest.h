/* How a Pyroscope server wants a profile: the address of one upload below that of the server, and
 * what it is told of the values in it. Pure. */
#pragma once
#include "base/text.h"
#include "profiling/upload.h"

/* Labels of the series as the server reads them, "nl6{a=b,c=d}", names in order of their bytes; it
 * has no escapes: what cannot be in a value becomes '_'. session: of the push. */
void ingest_name(const struct upload_tag *tags, uint32_t n_tags, uint64_t session, struct text *to);
/* Where to send a profile. address: of the server, whose path is kept; name: of ingest_name. */
void ingest_url(const char *address, const char *name, const struct upload_profile *profile,
	struct text *to);
/* What the server is told of the values of such profiles, or NULL where it needs nothing. */
const char *ingest_config(enum profile_kind kind);
