/* A server of a test on 127.0.0.1 that speaks HTTP/2 from the first byte on (RFC 9113 3.3), in a
 * thread of its own: answers all requests alike, one connection after the other. */
#pragma once
#include "base/thread.h"
#include <stdbool.h>
#include <stdint.h>

struct h2 {
	uint16_t status;
	const char *const *headers; /* name, value, name, value, NULL; below 127 bytes each */
	const void *body;
	size_t body_bytes;	     /* 0: none */
	const char *const *trailers; /* likewise; NULL: none */
	bool cuts;		     /* in place of an answer the connection ends */
	uint16_t port;
	uint32_t requests, connections; /* read with h2_count, or when it has ended */
	uint8_t last[8192];		/* the body of the last request, or its beginning */
	size_t last_bytes;
	int fd;
	struct thread *thread;
	bool over;
};
/* The caller has set what it answers; all else is zero. */
void h2_begin(struct h2 *s);
void h2_end(struct h2 *s);
uint32_t h2_count(struct h2 *s);
