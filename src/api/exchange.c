#include "api/exchange.h"
#include "api/absent.h"
#include "api/later.h"
#include "api/request.h"
#include "api/request_span.h"
#include "api/send.h"
#include "base/addr.h"
#include "base/log.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct exchange {
	struct exchanges *all;
	struct MHD_Connection *connection;
	struct watched *watched; /* borrowed of the connection */
	struct request rq;
	struct text body;
	size_t upload_bytes;
	struct span *span;
	bool begun, refused, parked;
	char target[]; /* rq.url points into it */
};

#define COUNT(field, text) \
	{ \
		"http", #field, text, offsetof(struct exchanges, field), STAT_COUNTER \
	}
const struct counter exchange_counters[] = {
	COUNT(requests, "Requests taken"),
	COUNT(guarded_requests, "Requests refused for their token, host or origin"),
	COUNT(refused_requests, "Requests answered with a status of 4xx"),
	COUNT(failed_requests, "Requests answered with a status of 5xx"),
	COUNT(later_requests, "Requests whose answer had to wait for work"),
	{0},
};

static const char *header_of(void *arg, const char *name)
{
	return MHD_lookup_connection_value(arg, MHD_HEADER_KIND, name);
}

static void name_peer(struct MHD_Connection *connection, char peer[static ADDR_PORT_TEXT_BYTES])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct addr a;
	uint16_t port;
	if (info && info->client_addr && addr_from_sockaddr(info->client_addr, &a, &port) == 0)
		(void)addr_port_text(&a, port, peer);
}

void *exchange_begin(void *exchanges, const char *target, struct MHD_Connection *connection)
{
	struct exchanges *all = exchanges;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	size_t n = strlen(target) + 1;
	struct exchange *x =
		info && info->socket_context ? mem_zalloc(all->mem, sizeof(*x) + n) : NULL;
	if (!x)
		return NULL;
	x->all = all;
	x->connection = connection;
	x->watched = info->socket_context;
	x->body = (struct text)TEXT(all->mem);
	x->rq = (struct request){.mem = all->mem,
		.api = all->api,
		.body = "",
		.header = header_of,
		.header_arg = connection};
	reply_init(&x->rq.reply, all->mem);
	name_peer(connection, x->rq.peer);
	memcpy(x->target, target, n);
	stat_add(&all->requests, 1);
	LOCK_SCOPE(&all->lock);
	all->live++;
	return x;
}

void exchange_end(void *exchanges, struct MHD_Connection *connection UNUSED, void **exchange,
	enum MHD_RequestTerminationCode why UNUSED)
{
	struct exchanges *all = exchanges;
	struct exchange *x = *exchange;
	if (!x)
		return;
	*exchange = NULL;
	if (x->rq.later)
		later_forget(x->rq.later);
	watch_enter(all->watch, x->watched, WATCH_IDLE, NULL);
	request_done(&x->rq);
	text_done(&x->body);
	span_end(x->span);
	mem_free(all->mem, x);
	LOCK_SCOPE(&all->lock);
	if (--all->live == 0)
		cond_wake_all(&all->ended);
}

static bool is_stopping(struct exchanges *all)
{
	LOCK_SCOPE(&all->lock);
	return all->stopping;
}

static void put_allow(struct request *rq, unsigned allowed)
{
	char list[64] = "";
	for (unsigned m = 0; m < METHODS; m++)
		if (allowed & 1u << m)
			(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				*list ? ", " : "", method_name((enum method)m));
	reply_header(&rq->reply, "Allow", "%s", list);
}

/* Is the body that was announced too big? */
static int check_length(struct request *rq)
{
	const char *announced = request_header(rq, "Content-Length");
	uint64_t n = 0;
	if (announced && num_u64(announced, 0, UINT64_MAX, &n) < 0)
		return fault_set(&rq->fault, -EINVAL, "Content-Length", NULL, "not a length");
	if (n <= rq->route->body_max_bytes)
		return 0;
	return fault_set(&rq->fault, -EFBIG, "", NULL,
		rq->route->body_max_bytes ? "the body is over %u bytes" : "takes no body",
		rq->route->body_max_bytes);
}

/* The span has the name of the route, also where the request is refused. */
static int find_route(struct exchange *x, const char *method, bool parsed, unsigned *reterr_allowed)
{
	struct exchanges *all = x->all;
	struct request *rq = &x->rq;
	int r = parsed ? router_find(all->router, rq->method, &rq->url, &rq->route, reterr_allowed)
		       : -ENOENT;
	const char *name = r == 0 ? router_name(all->router, rq->route, rq->method)
			   : rq->method == METHOD_OTHER ? "HTTP"
							: method_name(rq->method);
	x->span = request_span_begin(rq, name, method, x->connection);
	return r;
}

/* Judges what is known before the body: 0 or the status of the refusal, with its reply. */
static unsigned admit(struct exchange *x, const char *method)
{
	struct exchanges *all = x->all;
	struct request *rq = &x->rq;
	rq->method = method_of(method);
	int r = url_parse(x->target, &rq->url, &rq->fault);
	int bad_query = rq->url.query_is_bad ? r : 0;
	struct fault query_fault = rq->fault;
	unsigned allowed = 0;
	r = bad_query ? 0 : r;
	int found = find_route(x, method, r == 0, &allowed);
	unsigned status = r < 0 ? 400 : guard_check(all->guard, rq);
	if (status) {
		stat_add(&all->guarded_requests, r == 0);
		reply_error_as(rq, status, r < 0 ? r : rq->fault.code);
		return status;
	}
	r = is_stopping(all) ? -ESHUTDOWN : found;
	if (r == -EOPNOTSUPP) {
		put_allow(rq, allowed);
		status = rq->method == OPTIONS ? 204 : 405;
		if (status == 204)
			(void)reply_raw(rq, status, NULL);
		else
			reply_error_as(rq, status,
				fault_set(&rq->fault, r, "", NULL,
					"%.20s is not a method of this path", method));
		return status;
	}
	if (r == 0 && rq->route->before && rq->route->before(rq))
		return rq->reply.status;
	if (bad_query) {
		rq->fault = query_fault;
		reply_error(rq, bad_query);
		return rq->reply.status;
	}
	if (r == -ENOENT)
		absent_explain(&rq->url, &rq->fault);
	if (r == 0)
		r = route_check_query(rq->route, &rq->url, &rq->fault);
	if (r == 0)
		r = check_length(rq);
	if (r == 0)
		return 0;
	reply_error(rq, r);
	return rq->reply.status;
}

/* Would reading the body of a refused request be too much, or is the client waiting for a word
 * before it sends it? */
static bool answers_at_once(const struct request *rq)
{
	const char *announced = request_header(rq, "Content-Length");
	uint64_t n = 0;
	return request_header(rq, "Expect") ||
	       (announced && num_u64(announced, 0, EXCHANGE_DRAIN_BYTES, &n) < 0);
}

static enum MHD_Result answer(struct exchange *x)
{
	struct exchanges *all = x->all;
	struct request *rq = &x->rq;
	stat_add(&all->refused_requests, rq->reply.status >= 400 && rq->reply.status < 500);
	stat_add(&all->failed_requests, rq->reply.status >= 500);
	request_span_answer(x->span, rq);
	log_debug(NULL, 0, "%s %s: %u", method_name(rq->method), rq->route ? rq->route->path : "-",
		rq->reply.status);
	return send_reply(rq, x->connection, all->watch, x->watched, x->span) == 0 ? MHD_YES
										   : MHD_NO;
}

static void suspend(void *connection)
{
	MHD_suspend_connection(connection);
}

static void resume(void *connection)
{
	MHD_resume_connection(connection);
}

/* Parks the connection until rq->later is woken; false: it already was. */
static bool park(struct exchange *x)
{
	struct exchanges *all = x->all;
	watch_enter(all->watch, x->watched, WATCH_WORK, x->rq.later);
	/* Under the lock: a stopping server wakes all that are parked, none parks after that. */
	LOCK_SCOPE(&all->lock);
	if (all->stopping)
		later_wake(x->rq.later, true);
	return later_park(x->rq.later, suspend, resume, x->connection) == 0;
}

/* The whole request is here, or the work it waited for is done. */
static enum MHD_Result work(struct exchange *x)
{
	struct request *rq = &x->rq;
	SPAN_SCOPE(x->span);
	int r = -EINPROGRESS;
	if (!x->parked) {
		watch_enter(x->all->watch, x->watched, WATCH_WORK, NULL);
		rq->body = x->body.len ? x->body.s : "";
		rq->body_bytes = x->body.len;
		r = x->body.err < 0 ? x->body.err : rq->route->handle(rq);
	}
	if (r == -EINPROGRESS && !x->parked) {
		x->parked = true;
		stat_add(&x->all->later_requests, 1);
		if (park(x))
			return MHD_YES;
	}
	if (r == -EINPROGRESS) {
		bool gone = later_is_gone(rq->later);
		if (gone && !is_stopping(x->all))
			return MHD_NO;
		r = gone ? fault_set(&rq->fault, -ESHUTDOWN, "", NULL, "nl6 is stopping")
			 : rq->resume(rq);
	}
	if (r < 0)
		reply_error(rq, r);
	return answer(x);
}

static enum MHD_Result take(struct exchange *x, const char *p, size_t bytes)
{
	struct request *rq = &x->rq;
	x->upload_bytes += bytes;
	if (x->upload_bytes > EXCHANGE_DRAIN_BYTES)
		return MHD_NO;
	if (x->refused)
		return MHD_YES;
	if (x->upload_bytes > rq->route->body_max_bytes) {
		x->refused = true;
		reply_error(rq, fault_set(&rq->fault, -EFBIG, "", NULL, "the body is over %u bytes",
					rq->route->body_max_bytes));
		return MHD_YES;
	}
	text_write(&x->body, p, bytes);
	return MHD_YES;
}

enum MHD_Result exchange_step(void *exchanges UNUSED, struct MHD_Connection *connection UNUSED,
	const char *url UNUSED, const char *method, const char *version UNUSED, const char *upload,
	size_t *upload_bytes, void **exchange)
{
	struct exchange *x = *exchange;
	if (!x)
		return MHD_NO;
	if (!x->begun) {
		x->begun = true;
		watch_enter(x->all->watch, x->watched, WATCH_RECEIVE, NULL);
		x->refused = admit(x, method) != 0;
		return x->refused && answers_at_once(&x->rq) ? answer(x) : MHD_YES;
	}
	if (*upload_bytes > 0) {
		enum MHD_Result result = take(x, upload, *upload_bytes);
		*upload_bytes = 0;
		return result;
	}
	return x->refused ? answer(x) : work(x);
}
