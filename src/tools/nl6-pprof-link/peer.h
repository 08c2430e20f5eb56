/* The headers of requests to a peer: those that were asked for, the tenant, the token. */
#pragma once
#include "base/mem.h"
#include "conf.h"

#define PEER_HEADERS 12
struct peer {
	const char *headers[PEER_HEADERS]; /* ends with NULL */
	char *owned[3];			   /* tenant, token, user */
	const char *user, *password;	   /* NULL: none */
};
/* -ENOMEM. */
MUST_CHECK int peer_init(struct peer *p, const struct link_peer_conf *conf);
void peer_done(struct peer *p);
