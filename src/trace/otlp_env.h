/* The variables of OpenTelemetry's specification ("OTLP Exporter Configuration"), which complete
 * what flags have left open and turn nothing on. Read before there are threads. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "trace/otlp_answer.h"

#define OTLP_ENV_NAME_BYTES 64
/* The variable of the signal, or else of all: name is filled with which. what: "HEADERS". NULL:
 * neither is set to anything. */
const char *otlp_env_get(
	enum export_signal signal, const char *what, char name[static OTLP_ENV_NAME_BYTES]);

#define OTLP_ENV_PAIR_BYTES 2048
struct otlp_env_pair {
	const char *key, *value;
	char bytes[OTLP_ENV_PAIR_BYTES]; /* what the two point into */
};
/* The next of "key=value,key=value" at *list, percent-decoded, and moves on; ret_pair->key NULL:
 * there is none. -EINVAL with a fault of that field, which does not show the value. */
MUST_CHECK int otlp_env_pair(const char **list, const char *field, struct otlp_env_pair *ret_pair,
	struct fault *reterr_fault);

/* Overwrites the variables that hold secrets: other users can read them in /proc as long as the
 * program runs. */
void otlp_env_wipe(void);
