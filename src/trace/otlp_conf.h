/* Where traces and profiles are exported to, and how: the settings of the flags. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/flag.h"
#include <stdbool.h>

enum otlp_protocol { OTLP_PROTOCOL_OPEN, OTLP_HTTP_PROTOBUF, OTLP_GRPC };
enum otlp_compression { OTLP_COMPRESSION_OPEN, OTLP_GZIP, OTLP_UNCOMPRESSED };
struct otlp_conf {			 /* NULL, 0: not given */
	const char *endpoint, *profiles; /* URLs: they alone turn a signal on */
	enum otlp_protocol protocol;
	struct flag_list headers; /* "Name: value" */
	const char *basic_auth, *tenant, *ca, *cert, *key, *proxy;
	uint64_t timeout_ns;
	enum otlp_compression compression;
	struct flag_list resource; /* key=value */
};
extern const struct flag otlp_flags[];
int otlp_conf_check(const void *conf, struct fault *reterr_fault);
/* Is any signal on? */
bool otlp_conf_is_on(const struct otlp_conf *conf);
