/* Routes: one table per resource file says what is served, with what OpenAPI needs to tell it. The
 * router finds the route of a request; it is immutable once made. */
#pragma once
#include "api/request.h"
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

struct body_key;
/* A query parameter. A table ends with {0}. */
struct route_query {
	const char *name, *help;
	const char *kind;    /* schema, see openapi.h: "int", "str" */
	uint64_t min, max;   /* of an int; max 0: unbounded */
	const char *pattern; /* of a str, for the schema; NULL: any text */
};
/* An answer. Errors that every route may give are not listed. A table ends with {0}. */
struct route_answer {
	unsigned status;
	const char *help;
	const char *schema; /* see schema.h; NULL: no body */
	const char *type;   /* NULL: application/json */
};
/* Entries end with {0}. */
struct route {
	enum method method; /* HEAD follows from GET, OPTIONS from all */
	const char *path; /* "/api/v1/devices/{id}"; "{name*}" as the last segment takes the rest */
	int (*handle)(struct request *rq);  /* 0, -errno, or -EINPROGRESS */
	uint32_t body_max_bytes;	    /* 0: takes no body */
	const char *summary;		    /* one sentence without a full stop */
	const struct route_answer *answers; /* NULL: not part of OpenAPI */
	const struct route_query *query;    /* NULL: none */
	const struct body_key *body;	    /* of the JSON object it takes; NULL: no body */
	bool any_query;			    /* ignores the query (cache busters of files) */
	bool body_optional;
	/* Judges before query and body are looked at; true: it has answered. NULL: none. */
	bool (*before)(struct request *rq);
	bool may_be_async; /* heeds Prefer: respond-async */
};

struct router;
/* tables: NULL-terminated list, borrowed like the tables. -EINVAL: a path is malformed or listed
 * twice. */
MUST_CHECK int router_new(
	const struct mem *mem, const struct route *const *tables, struct router **ret_router);
struct router *router_free(struct router *r);
CLEANUP(router);

/* Finds the route; HEAD finds GET's. Literal segments win over parameters. -ENOENT: no such path;
 * -EOPNOTSUPP: not with this method, *reterr_allowed is a bit set of 1 << enum method (with HEAD
 * and OPTIONS). */
MUST_CHECK int router_find(const struct router *r, enum method method, const struct url *url,
	const struct route **ret_route, unsigned *reterr_allowed);
/* The i-th route in order of path, NULL past the end. */
const struct route *router_nth(const struct router *r, unsigned i);
/* "GET /api/v1/devices/{id}": what a request with the method (GET or HEAD for a route of GET) is
 * called; lives as long as the router. */
const char *router_name(const struct router *r, const struct route *route, enum method method);
/* The segment that {name} stands for, or NULL. */
const char *route_param(const struct route *route, const struct url *url, const char *name);
/* -EINVAL: a query parameter the route does not know; the fault names the nearest. */
MUST_CHECK int route_check_query(
	const struct route *route, const struct url *url, struct fault *reterr_fault);
