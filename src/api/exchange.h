/* One request and its answer on a connection: the part of the HTTP server between libmicrohttpd's
 * callbacks and the handlers. All on the server's thread unless said otherwise. */
#pragma once
#include "api/guard.h"
#include "api/router.h"
#include "api/watch.h"
#include "base/clk.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/thread.h"
#include <microhttpd.h>

/* A refused request's body is read up to here, so that the client gets to see the answer. */
#define EXCHANGE_DRAIN_BYTES (1u << 20)

/* What all exchanges of a server share; embedded by http.c. */
struct exchanges {
	const struct mem *mem;
	const struct clk *clk;
	const struct router *router;
	const struct guard *guard;
	struct api *api;
	struct watch *watch;
	struct lock lock; /* of the next three */
	struct cond ended;
	uint32_t live;
	bool stopping;
	uint64_t requests, guarded_requests, refused_requests, failed_requests, later_requests;
};
extern const struct counter exchange_counters[];

/* MHD_OPTION_URI_LOG_CALLBACK: makes the exchange; NULL when there is no memory. */
void *exchange_begin(void *exchanges, const char *target, struct MHD_Connection *connection);
/* The access handler. */
enum MHD_Result exchange_step(void *exchanges, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **exchange);
/* MHD_OPTION_NOTIFY_COMPLETED: frees it. */
void exchange_end(void *exchanges, struct MHD_Connection *connection, void **exchange,
	enum MHD_RequestTerminationCode why);
