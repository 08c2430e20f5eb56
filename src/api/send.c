#include "api/send.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

/* How much a stream is asked for at a time. */
#define BLOCK_BYTES (32u << 10)

/* What libmicrohttpd holds of a reply while it sends. */
struct sending {
	const struct mem *mem;
	char *text;
	struct reply_stream stream;
	struct span *span; /* of the request, which lasts as long; may be NULL */
};

static void sending_free(void *arg)
{
	struct sending *s = arg;
	if (s->stream.done)
		s->stream.done(s->stream.arg);
	mem_free(s->mem, s->text);
	mem_free(s->mem, s);
}

static ssize_t sending_read(void *arg, uint64_t pos UNUSED, char *buf, size_t room)
{
	struct sending *s = arg;
	SPAN_SCOPE(s->span);
	ssize_t n = s->stream.read(s->stream.arg, buf, room);
	if (n == REPLY_STREAM_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return n;
}

static struct MHD_Response *make_response(
	struct reply *rp, const struct mem *mem, struct span *span)
{
	if (rp->fixed && !rp->stream.read)
		return MHD_create_response_from_buffer(
			rp->fixed_bytes, (void *)(uintptr_t)rp->fixed, MHD_RESPMEM_PERSISTENT);
	if (rp->body.err < 0)
		return NULL;
	struct sending *s = mem_zalloc(mem, sizeof(*s));
	if (!s)
		return NULL;
	size_t bytes = rp->body.len;
	*s = (struct sending){mem, rp->body.s, rp->stream, span};
	rp->body = (struct text)TEXT(mem);
	rp->stream = (struct reply_stream){0};
	struct MHD_Response *response =
		s->stream.read ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
					 sending_read, s, sending_free)
			       : MHD_create_response_from_buffer_with_free_callback_cls(
					 bytes, bytes ? s->text : "", sending_free, s);
	if (!response)
		sending_free(s);
	return response;
}

/* Fallback headers: a reply that set one itself keeps it. */
static void add_missing(struct MHD_Response *response, const char *name, const char *value)
{
	if (!MHD_get_response_header(response, name))
		(void)MHD_add_response_header(response, name, value);
}

static void add_headers(struct MHD_Response *response, const struct reply *rp)
{
	for (unsigned i = 0; i < rp->n_headers; i++)
		(void)MHD_add_response_header(response, rp->headers[i].name, rp->headers[i].value);
	if (rp->status != 204 && rp->status != 304)
		add_missing(response, "Content-Type", rp->type ? rp->type : "application/json");
	/* Only what nl6 itself serves may load, nothing may frame it, nothing may guess types. */
	add_missing(response, "Content-Security-Policy",
		rp->static_file ? "default-src 'self'; object-src 'none'; base-uri 'none'; "
				  "form-action 'self'; frame-ancestors 'none'"
				: "default-src 'none'; frame-ancestors 'none'");
	add_missing(response, "X-Content-Type-Options", "nosniff");
	add_missing(response, "Referrer-Policy", "no-referrer");
	add_missing(response, "Cross-Origin-Resource-Policy", "same-origin");
	add_missing(response, "Cross-Origin-Opener-Policy", "same-origin");
	add_missing(response, "Cache-Control", "no-store");
}

int send_reply(struct request *rq, struct MHD_Connection *connection, struct watch *watch,
	struct watched *watched, struct span *span)
{
	struct reply *rp = &rq->reply;
	bool streams = rp->stream.read != NULL;
	if (!streams && rp->body.err < 0)
		reply_error_as(rq, 500, -ENOMEM);
	struct MHD_Response *response = make_response(rp, rq->mem, span);
	if (!response)
		return -ENOMEM;
	add_headers(response, rp);
	/* libmicrohttpd 0.9.75 ends the chunked answer to HEAD with a last chunk, which is no part
	 * of it; without chunks and keep-alive it sends none. */
	if (streams && rq->method == HEAD)
		(void)MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	watch_enter(watch, watched, WATCH_SEND, NULL);
	enum MHD_Result queued = MHD_queue_response(connection, rp->status, response);
	MHD_destroy_response(response);
	return queued == MHD_YES ? 0 : -ENOMEM;
}
