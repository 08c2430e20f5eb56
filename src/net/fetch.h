/* HTTP requests that we make, several at once from one thread, by libcurl. Nothing is taken from
 * the environment: no proxy, no .netrc, no cookies. No redirect is followed. Servers are verified.
 * Each request is sent once, on a connection of its own, unless connections are kept. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct fetch_conf { /* borrowed during fetch_new, but for the strings: as long as the fetch */
	const char *user_agent;
	const char *ca_file, *cert_file, *key_file; /* PEM; NULL: the system's authorities, none */
	const char *proxy;			    /* URL; NULL: none */
	uint32_t timeout_ms;			    /* of a whole request */
	uint32_t connections;			    /* at most, to one host */
	/* Requests follow one another on a connection (where libcurl can: not with http2 over http
	 * before its 8.0). One without an answer on a connection that was kept is sent anew by
	 * itself, though it may have been obeyed. */
	bool keep_alive;
	/* HTTP/2: over http from the first byte on, over https where the server agrees to it. */
	bool http2;
	/* Of the body of an answer; one with more is none. 0: the first FETCH_BODY_BYTES are told,
	 * whatever comes after them. */
	size_t answer_max_bytes;
};
/* -ENOMEM. The owner is the thread that calls all but fetch_wake. */
MUST_CHECK int fetch_new(
	const struct mem *mem, const struct fetch_conf *conf, struct fetch **ret_fetch);
/* Cancels what is on its way, whose done is not called. Takes NULL. */
struct fetch *fetch_free(struct fetch *f);

struct fetch_part { /* a file of multipart/form-data (RFC 7578) */
	const char *name, *filename;
	const void *data;
	size_t bytes;
};
struct fetch_answer {
	int status;		/* of HTTP; 0: there was no answer */
	const char *error;	/* then: why, printable ASCII */
	int code;		/* then: -EFBIG: the answer is too long; -ENOMEM; -EIO */
	const char *body;	/* its first bytes, or all of it; a NUL follows */
	size_t body_bytes;	/* at most FETCH_BODY_BYTES or answer_max_bytes */
	uint32_t retry_after_s; /* 0: not told */
	void *request;		/* fetch_header's */
};
#define FETCH_BODY_BYTES 1024
/* The value of a header of the answer or, after the body, of a trailer (RFC 9110 6.5); NULL: there
 * is none. name in any case. Within done. */
const char *fetch_header(const struct fetch_answer *answer, const char *name);
struct fetch_ask { /* borrowed during fetch_post, but for the body */
	const char *url;
	const char *user, *password; /* NULL: none. Basic (RFC 7617) */
	const char *const *headers;  /* "Name: value", ends with NULL; may be NULL */
	const struct fetch_part *parts;
	uint32_t n_parts;
	/* In place of the parts, with its type. The bytes are borrowed until done, or the end. */
	const char *content_type;
	const void *body;
	size_t body_bytes;
	bool get; /* in place of all of these: a GET */
	/* Once, within fetch_run; may not call fetch_free. */
	void (*done)(void *arg, const struct fetch_answer *answer);
	void *arg;
};
/* Begins a POST, or a GET. -ENOMEM. */
MUST_CHECK int fetch_post(struct fetch *f, const struct fetch_ask *ask);
/* Goes on with all, and waits for something to happen: up to timeout_ms, or until woken. */
void fetch_run(struct fetch *f, uint32_t timeout_ms);
void fetch_wake(struct fetch *f);	     /* any thread */
uint32_t fetch_count(const struct fetch *f); /* requests on their way */
