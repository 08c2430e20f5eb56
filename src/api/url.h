/* A request target taken apart: path segments and query parameters, decoded in place and strictly.
 * The text belongs to the caller and must outlive the url. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include <stdbool.h>
#include <stddef.h>

#define URL_SEGMENTS 16
#define URL_QUERY 32
struct url_pair {
	const char *name, *value;
};
struct url {
	const char *authority; /* of the absolute form, else NULL */
	unsigned n_segments;   /* 0: "/"; "/a/" has two, the last one empty */
	const char *segments[URL_SEGMENTS];
	bool query_is_bad; /* all else is there */
	unsigned n_query;
	struct url_pair query[URL_QUERY];
};

/* *ret_url is also written when only the query is at fault, with query_is_bad and no parameters.
 * Parses "/a/b?x=1", "http://host/a" or "*" (no segments) and overwrites target. A plus sign in the
 * query is a space. -EINVAL: bad percent escape, control character, invalid UTF-8, a parameter
 * given twice, not a path; -E2BIG: more segments or parameters than fit (RFC 3986 2.1, 3.3, 3.4;
 * RFC 9112 3.2). */
MUST_CHECK int url_parse(char *target, struct url *ret_url, struct fault *reterr_fault);
/* The value of a query parameter, or NULL. */
const char *url_query(const struct url *u, const char *name);
