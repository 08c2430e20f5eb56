/* Where exports of a signal go, and how. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "trace/otlp_answer.h"
#include <stdbool.h>

#define EXPORT_HEADERS_MAX 16
struct export_conf { /* strings are not NULL unless told */
	enum export_signal signal;
	const char *url; /* complete, for http with the path, for gRPC scheme://host:port */
	bool grpc, gzip;
	uint32_t timeout_ms;	     /* of a whole request */
	const char *const *headers;  /* "Name: value", ends with NULL; may be NULL */
	const char *user, *password; /* basic auth; NULL: none */
	const char *ca, *cert, *key; /* PEM files; NULL: the system's authorities, none */
	const char *proxy;	     /* URL; NULL: none, whatever the environment says */
	const char *user_agent;
};

/* A copy of all strings, whole: its url has the method of gRPC, its headers those that each request
 * has of its own. -ENOMEM. The caller clears it with export_conf_done, also after a failure. */
MUST_CHECK int export_conf_copy(
	const struct mem *mem, const struct export_conf *from, struct export_conf *to);
/* Overwrites and frees the copies; there are secrets among them. One of zeros will do. */
void export_conf_done(const struct mem *mem, struct export_conf *copy);
