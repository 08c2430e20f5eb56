/* The HTTP server: libmicrohttpd on one thread of its own, labelled label_api. It turns what comes
 * in into struct request, and struct reply into what goes out; limits what a client can hold. */
#pragma once
#include "api/guard.h"
#include "api/request.h"
#include "api/router.h"
#include "base/addr.h"
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stats.h"

#define HTTP_HEADER_BYTES (32u << 10) /* request line and headers together */
#define HTTP_TARGET_BYTES (8u << 10)
struct http;
struct http_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	const struct router *router;
	const struct guard *guard;
	struct api *api; /* for the handlers */
};
struct http_conf {
	struct addr listen;
	uint16_t port; /* 0: the kernel picks */
	uint32_t connections, connections_per_address;
	uint64_t idle_ns, receive_ns, send_ns;
};
extern const struct counter http_counters[];

MUST_CHECK int http_new(
	const struct http_env *env, const struct http_conf *conf, struct http **ret_http);
struct http *http_free(struct http *h); /* stops first */
CLEANUP(http);
/* Takes the address and port, while privileges for that are there; http_start does it else. Nobody
 * is served yet. -EADDRINUSE and the like with a fault that names the address and port. */
MUST_CHECK int http_bind(struct http *h, struct fault *reterr_fault);
/* Serves. */
MUST_CHECK int http_start(struct http *h, struct fault *reterr_fault);
/* Takes no more connections, answers 503 to who waits for work, gives the others a moment to take
 * their answer, closes. */
void http_stop(struct http *h);
/* What it listens on, once started. */
uint16_t http_port(const struct http *h);
