/* HTTP requests that we make, several at once from one thread, by libcurl. Nothing is taken from
 * the environment: no proxy, no .netrc, no cookies. No redirect is followed. Servers are verified.
 * Each request is sent once, on a connection of its own. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include <stdint.h>

struct fetch;
struct fetch_conf { /* borrowed during fetch_new, but for the strings: as long as the fetch */
	const char *user_agent;
	const char *ca_file, *cert_file, *key_file; /* PEM; NULL: the system's authorities, none */
	const char *proxy;			    /* URL; NULL: none */
	uint32_t timeout_ms;			    /* of a whole request */
	uint32_t connections;			    /* at most, to one host */
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
	const char *body;	/* its first bytes */
	size_t body_bytes;	/* at most FETCH_BODY_BYTES */
	uint32_t retry_after_s; /* 0: not told */
};
#define FETCH_BODY_BYTES 1024
struct fetch_ask { /* borrowed during fetch_post */
	const char *url;
	const char *user, *password; /* NULL: none. Basic (RFC 7617) */
	const char *const *headers;  /* "Name: value", ends with NULL; may be NULL */
	const struct fetch_part *parts;
	uint32_t n_parts;
	/* Once, within fetch_run; may not call fetch_free. */
	void (*done)(void *arg, const struct fetch_answer *answer);
	void *arg;
};
/* Begins a POST. -ENOMEM. */
MUST_CHECK int fetch_post(struct fetch *f, const struct fetch_ask *ask);
/* Goes on with all, and waits for something to happen: up to timeout_ms, or until woken. */
void fetch_run(struct fetch *f, uint32_t timeout_ms);
void fetch_wake(struct fetch *f);	     /* any thread */
uint32_t fetch_count(const struct fetch *f); /* requests on their way */
