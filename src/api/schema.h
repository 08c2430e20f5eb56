/* A short notation for what answers look like, from which JSON Schema is made:
 *   str int num bool any      values; time is a str of RFC 3339
 *   {name:S, name?:S}         an object with exactly these members, ? may be absent
 *   [S]  map<S>  ~S           a list, an object of any keys, S or null
 *   Data<S>  Page<S>          the envelope around data, and with page behind it
 *   Name                      a named schema
 *   S 'text'                  with a description */
#pragma once
#include "base/attr.h"
#include "base/text.h"

/* A named schema. Tables end with {0}. */
struct schema {
	const char *name, *notation;
};
/* Writes the JSON Schema (as in OpenAPI 3.0) of notation. -EINVAL: malformed. */
MUST_CHECK int schema_write(struct text *t, const char *notation);
