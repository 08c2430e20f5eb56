/* An HTTP server of a test on 127.0.0.1, in a thread of its own: keeps the last request and answers
 * all alike, each on a connection of its own unless told, one after the other. */
#pragma once
#include "base/thread.h"
#include <stdbool.h>
#include <stdint.h>

struct server {
	const char *answer; /* NULL: none, ever; the connection is held */
	/* Follows the answer for as long as the client is there, with a pause between; NULL:
	 * nothing. */
	const char *again;
	uint32_t again_us;
	bool keeps; /* answers all requests of a connection, until the client ends it */
	bool cuts; /* takes another request on the same connection, and ends it without an answer */
	uint16_t port;
	uint32_t requests;    /* read with server_count */
	uint32_t connections; /* read when it has ended */
	char last[8192];      /* the last request, or its beginning; when it is counted */
	int fd;
	struct thread *thread;
	bool over;
	int held[64];
	uint32_t n_held;
};
/* The caller has set what it answers; all else is zero. */
void server_begin(struct server *s);
void server_end(struct server *s);
uint32_t server_count(struct server *s);
/* A listening socket on a port of its own. */
int server_listen(uint16_t *ret_port);
