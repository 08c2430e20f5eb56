/* The API's description in OpenAPI 3.0, made from the routes. */
#pragma once
#include "api/router.h"
#include "api/schema.h"
#include "base/attr.h"
#include "base/text.h"

/* Writes the whole document. -ENOMEM; -EINVAL: a route has a malformed schema. */
MUST_CHECK int openapi_write(const struct router *r, const char *version, struct text *t);
