#include "api/request_span.h"
#include "api/router.h"
#include "base/num.h"
#include "wire/traceparent.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct headers {
	unsigned n_traceparent;
	struct text state;
	int state_err;
};

static enum MHD_Result see_header(
	void *arg, enum MHD_ValueKind kind UNUSED, const char *name, const char *value)
{
	struct headers *h = arg;
	if (strcasecmp(name, "traceparent") == 0) {
		h->n_traceparent++;
	} else if (strcasecmp(name, "tracestate") == 0 && value && h->state_err == 0) {
		h->state_err = tracestate_add(&h->state, value);
	}
	return MHD_YES;
}

/* The path without its query: that may hold what is nobody's business. */
static void set_path(struct span *s, const struct url *url)
{
	char path[256];
	size_t n = 0;
	for (unsigned i = 0; i < url->n_segments && n < sizeof(path); i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/%s", url->segments[i]);
	span_set_str(s, "url.path", n ? path : "/");
}

/* "127.0.0.1:80" or "[::1]:80". */
static void set_client(struct span *s, const char *peer)
{
	char address[ADDR_PORT_TEXT_BYTES];
	const char *colon = strrchr(peer, ':');
	uint64_t port;
	if (!colon || num_u64(colon + 1, 0, UINT16_MAX, &port) < 0)
		return;
	bool v6 = peer[0] == '[';
	(void)snprintf(address, sizeof(address), "%.*s", (int)(colon - peer) - 2 * v6, peer + v6);
	span_set_str(s, "client.address", address);
	span_set_int(s, "client.port", (int64_t)port);
}

static void describe(struct span *s, struct request *rq, const char *method)
{
	bool known = rq->method != METHOD_OTHER;
	span_set_str(s, "http.request.method", known ? method_name(rq->method) : "_OTHER");
	if (!known)
		span_set_str(s, "http.request.method_original", method);
	if (rq->route)
		span_set_str(s, "http.route", rq->route->path);
	span_set_str(s, "url.scheme", "http");
	set_path(s, &rq->url);
	set_client(s, rq->peer);
	span_set_str(s, "user_agent.original", request_header(rq, "User-Agent"));
}

struct span *request_span_begin(
	struct request *rq, const char *name, const char *method, struct MHD_Connection *connection)
{
	if (!span_sink_now())
		return NULL;
	struct headers h = {.state = TEXT(rq->mem)};
	struct span_context remote;
	const char *parent = request_header(rq, "traceparent");
	bool has_remote = parent && traceparent_read(parent, &remote) == 0;
	/* Most of those that are not sampled. */
	if (has_remote && !(remote.flags & SPAN_SAMPLED))
		return NULL;
	if (has_remote)
		(void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &h);
	has_remote = has_remote && h.n_traceparent == 1;
	bool has_state = has_remote && h.state_err == 0 && h.state.err == 0 && h.state.len;
	if (has_state)
		tracestate_cut(&h.state);
	struct span_ask ask = {.name = name,
		.kind = SPAN_SERVER,
		.remote = has_remote ? &remote : NULL,
		.state = has_state ? h.state.s : NULL};
	struct span *s = span_begin(&ask);
	text_done(&h.state);
	if (s)
		describe(s, rq, method);
	return s;
}

void request_span_answer(struct span *s, struct request *rq)
{
	char value[TRACEPARENT_BYTES];
	if (!s)
		return;
	traceparent_write(&s->context, value);
	reply_header(&rq->reply, "traceresponse", "%s", value);
	span_set_int(s, "http.response.status_code", rq->reply.status);
	if (rq->reply.status < 500)
		return;
	(void)snprintf(value, sizeof(value), "%u", rq->reply.status);
	span_set_str(s, "error.type", value);
	span_fail(s, rq->fault.text);
}
