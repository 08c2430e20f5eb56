/* The answer to a request: status, headers and a body that is text, a stream or borrowed bytes. The
 * only place that maps errno to a status. JSON answers are an envelope
 * {"success","message","data"}; errors add "detail". */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REPLY_HEADERS 8
#define REPLY_STREAM_END (-1)
/* A body made while it is sent. read fills at most room bytes, at least one; REPLY_STREAM_END or
 * another negative number (the connection is then cut). All on the API's thread. */
struct reply_stream {
	ssize_t (*read)(void *arg, char *buf, size_t room);
	void (*done)(void *arg); /* frees arg */
	void *arg;
};
struct reply {
	unsigned status;  /* 0: none yet */
	const char *type; /* content type; NULL: application/json */
	unsigned n_headers;
	struct {
		const char *name;
		char value[192];
	} headers[REPLY_HEADERS];
	struct text body;
	const void *fixed; /* instead of body; outlives the server */
	size_t fixed_bytes;
	struct reply_stream stream; /* instead of both, when read is set */
	bool static_file;	    /* gets the console's security headers */
};

struct request;
void reply_init(struct reply *rp, const struct mem *mem);
void reply_done(struct reply *rp);
void reply_header(struct reply *rp, const char *name, const char *fmt, ...) PRINTF(3, 4);

/* Starts the envelope and returns the text to write the value of "data" to; end with
 * reply_data_end. message NULL: "Success". */
struct text *reply_data(struct request *rq, unsigned status, const char *message);
/* Writes the "page" of a list after its data; next NULL: this was the last one; total
 * UINT64_MAX: unknown. Writes only members, for streams as well. */
void reply_page(struct text *t, const char *next, uint64_t total);
void reply_data_end(struct request *rq);
/* An envelope without data. */
void reply_message(struct request *rq, unsigned status, const char *fmt, ...) PRINTF(3, 4);
/* A body without envelope; returns the text to write it to. type NULL: application/json. */
struct text *reply_raw(struct request *rq, unsigned status, const char *type);
/* Bytes that outlive the server. */
void reply_fixed(
	struct request *rq, unsigned status, const char *type, const void *p, size_t bytes);
/* Takes the stream over. */
void reply_streamed(struct request *rq, const char *type, const struct reply_stream *stream);

/* The status that says r. */
unsigned reply_status_of(int r);
/* The error answer for r, with rq->fault when that is about r. Drops what was written before. */
void reply_error(struct request *rq, int r);
/* The same with a status that the contract pins. */
void reply_error_as(struct request *rq, unsigned status, int r);
