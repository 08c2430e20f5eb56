/* Writes an export request of OTLP profiles as OTLP's JSON: keys in lowerCamelCase, ids of traces
 * and spans in hex, other bytes in base64, numbers of 64 bits as strings, enums as integers; what
 * is at its default is left out, as are fields that are not known. */
#pragma once
#include "base/attr.h"
#include "base/text.h"

#define OTLP_JSON_DEPTH 64 /* of messages in messages */
/* Appends to *out. -EBADMSG: bytes are no such message; -ENOMEM. What was appended then is of no
 * use. */
MUST_CHECK int otlp_json_write(const void *bytes, size_t len, struct text *out);
