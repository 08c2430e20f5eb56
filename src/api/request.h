/* A request as its handler sees it, and the answer the handler builds. http.c makes one from a
 * connection, a test makes one by hand. Lives until the answer is sent; the API's thread owns it.
 */
#pragma once
#include "api/later.h"
#include "api/reply.h"
#include "api/url.h"
#include "base/addr.h"
#include "base/fault.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

enum method { METHOD_OTHER, GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS };
#define METHODS 8
const char *method_name(enum method m); /* "GET"; METHOD_OTHER: "?" */
enum method method_of(const char *name);

struct api;
struct route;
struct request {
	const struct mem *mem; /* borrowed */
	struct api *api;       /* borrowed; NULL before the router */
	enum method method;
	struct url url;
	const struct route *route;
	const char *body; /* body_bytes and a NUL; borrowed */
	size_t body_bytes;
	/* A header's value, NULL when absent; name in any case. */
	const char *(*header)(void *arg, const char *name);
	void *header_arg;
	char peer[ADDR_PORT_TEXT_BYTES]; /* the client's address and port; may be empty */
	struct fault fault;		 /* what the handler says about the error it returns */
	struct later *later;		 /* a reference, when the answer comes later */
	uint64_t ticket;		 /* the handler's, for resume */
	void *work;			 /* likewise; work_done gets it when the request ends */
	void (*work_done)(void *work);
	struct reply reply;
	/* Builds the answer once later was woken; set by a handler that returns -EINPROGRESS. */
	int (*resume)(struct request *rq);
};

const char *request_header(const struct request *rq, const char *name);
/* The segment that {name} of the route's path stands for. */
const char *request_param(const struct request *rq, const char *name);
/* The query parameter as text, or NULL. */
const char *request_query(const struct request *rq, const char *name);
/* As a number; ret_n is left alone when the parameter is absent. -EINVAL with a fault. */
MUST_CHECK int request_query_u64(
	struct request *rq, const char *name, uint64_t min, uint64_t max, uint64_t *ret_n);
/* Does the Prefer header (RFC 7240) hold the token? */
bool request_prefers(const struct request *rq, const char *token);
/* Frees what the request owns: reply and reference to later. */
void request_done(struct request *rq);
