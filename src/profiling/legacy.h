/* Profiles as text, the `debug=1` of net/http/pprof: for people to read, and still for pprof to
 * parse. */
#pragma once
#include "profiling/profile.h"

/* Appends the text of the profile to *out. Every kind but PROFILE_CPU, which has no text: -EINVAL.
 * Values are the profile's own, scaled already, so the text tells its readers not to scale again:
 * heaps are said to be sampled at each byte (`heap/2`), contentions at each (`sampling period=1`).
 * -ENOMEM. */
MUST_CHECK int legacy_encode(const struct mem *mem, struct symbols *symbols,
	const struct profile_ask *ask, struct text *out);
/* Appends `{"key":"value", …}`, keys sorted; NULL or an empty set: `{}`. */
void legacy_labels(struct text *out, const struct label *label);
/* The line `# labels: {…}`, where there are any. */
void legacy_labels_line(struct text *out, const struct label *label);
