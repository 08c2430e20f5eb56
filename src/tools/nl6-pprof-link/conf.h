/* The settings of nl6-pprof-link. */
#pragma once
#include "base/flag.h"
#include "base/log.h"

struct link_peer_conf { /* whom to pull from, or to send to */
	const char *url;
	struct flag_list headers; /* "Name: value" */
	const char *basic_auth;	  /* USER:PASSWORD */
	const char *token;	  /* Bearer */
	const char *tenant;
	const char *ca, *cert, *key, *proxy;
	uint64_t timeout_ns;
};
struct link_conf {
	bool help, version;
	struct link_peer_conf pull, send;
	uint64_t interval_ns; /* 0: once */
	const char *file;     /* "-": standard input */
	const char *listen;
	uint64_t max_bytes;
	const char *out; /* "-": standard output */
	bool json, gzip;
	struct flag_list trace_names, span_names;
	bool keep_ids;
	const char *service;
	struct flag_list resource; /* KEY=VALUE */
	struct log_conf log;	   /* all but fd */
};
extern const struct flag_set link_flags[];
extern const char *const link_alone_flags[];
extern const char link_usage[];
