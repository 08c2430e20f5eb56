#include "api/reply.h"
#include "api/request.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void reply_init(struct reply *rp, const struct mem *mem)
{
	*rp = (struct reply){.body = TEXT(mem)};
}

static void drop_body(struct reply *rp)
{
	text_clear(&rp->body);
	if (rp->stream.done)
		rp->stream.done(rp->stream.arg);
	rp->stream = (struct reply_stream){0};
	rp->fixed = NULL;
}

void reply_done(struct reply *rp)
{
	drop_body(rp);
	text_done(&rp->body);
}

void reply_header(struct reply *rp, const char *name, const char *fmt, ...)
{
	if (rp->n_headers == REPLY_HEADERS)
		return;
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(rp->headers[rp->n_headers].value, sizeof(rp->headers[0].value), fmt, ap);
	va_end(ap);
	rp->headers[rp->n_headers++].name = name;
}

struct text *reply_raw(struct request *rq, unsigned status, const char *type)
{
	drop_body(&rq->reply);
	rq->reply.status = status;
	rq->reply.type = type;
	return &rq->reply.body;
}

static struct text *envelope(struct request *rq, unsigned status, bool success, const char *message)
{
	struct text *t = reply_raw(rq, status, NULL);
	text_put(t, "{");
	text_kv_bool(t, "success", success);
	text_kv_str(t, "message", message);
	return t;
}

struct text *reply_data(struct request *rq, unsigned status, const char *message)
{
	struct text *t = envelope(rq, status, true, message ? message : "Success");
	text_key(t, "data");
	return t;
}

void reply_page(struct text *t, const char *next, uint64_t total)
{
	text_key(t, "page");
	text_put(t, "{");
	text_key(t, "next");
	if (next)
		text_json(t, next);
	else
		text_put(t, "null");
	if (total != UINT64_MAX)
		text_kv_u64(t, "total", total);
	text_put(t, "}");
}

void reply_data_end(struct request *rq)
{
	text_put(&rq->reply.body, "}\n");
}

void reply_message(struct request *rq, unsigned status, const char *fmt, ...)
{
	char message[512];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	text_put(envelope(rq, status, true, message), "}\n");
}

void reply_fixed(struct request *rq, unsigned status, const char *type, const void *p, size_t bytes)
{
	(void)reply_raw(rq, status, type);
	rq->reply.fixed = p;
	rq->reply.fixed_bytes = bytes;
}

void reply_streamed(struct request *rq, const char *type, const struct reply_stream *stream)
{
	(void)reply_raw(rq, 200, type);
	rq->reply.stream = *stream;
}

unsigned reply_status_of(int r)
{
	switch (-r) {
	case EINVAL:
	case ERANGE:
	case E2BIG:
	case EEXIST:
	case EAFNOSUPPORT:
		return 400;
	case ENOENT:
		return 404;
	case EBUSY:
		return 409;
	case EFBIG:
		return 413;
	case EDQUOT:
		return 429;
	case EAGAIN:
	case ESHUTDOWN:
	case EROFS:
		return 503;
	case ENOSPC:
		return 507;
	default:
		return 500;
	}
}

/* Seconds after which asking again makes sense: what the original answers. */
#define RETRY_AFTER_S 5

void reply_error(struct request *rq, int r)
{
	reply_error_as(rq, reply_status_of(r), r);
}

void reply_error_as(struct request *rq, unsigned status, int r)
{
	static const char no_memory[] =
		"{\"success\":false,\"message\":\"out of memory\",\"detail\":{\"code\":"
		"\"ENOMEM\"}}\n";
	static const struct fault none;
	const struct fault *f = rq->fault.code == r ? &rq->fault : &none;
	const char *code = strerrorname_np(-r);
	char message[900];
	const char *field = f->field[0] == '/' ? f->field + 1 : f->field;
	(void)snprintf(message, sizeof(message), "%s%s%s", field, *field ? ": " : "",
		f->text[0] ? f->text : strerrordesc_np(-r));
	struct text *t = envelope(rq, status, false, message);
	text_key(t, "detail");
	text_put(t, "{");
	text_kv_str(t, "code", code ? code : "?");
	if (f->field[0])
		text_kv_str(t, "field", f->field);
	if (f->allowed[0])
		text_kv_str(t, "allowed", f->allowed);
	text_put(t, "}}\n");
	if (t->err < 0) {
		reply_fixed(rq, 500, NULL, no_memory, sizeof(no_memory) - 1);
		return;
	}
	if (status == 409 || status == 503)
		reply_header(&rq->reply, "Retry-After", "%d", RETRY_AFTER_S);
}
