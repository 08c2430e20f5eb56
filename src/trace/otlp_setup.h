/* What the flags say of exports, completed by the environment and made into what an exporter takes.
 */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "trace/export.h"
#include "trace/otlp_conf.h"

#define OTLP_SETUP_HEADERS 12 /* of the user and the environment, and a tenant */

struct otlp_setup;
/* Can it be made? -EINVAL with a fault that names the flag or variable; -ENOMEM. */
MUST_CHECK int otlp_setup_check(const struct otlp_conf *conf, struct fault *reterr_fault);
/* Errors likewise. conf is borrowed only here; version: of the program. Once, and before there are
 * threads: it reads the environment, whose secrets it then overwrites if any signal is on. */
MUST_CHECK int otlp_setup_new(const struct mem *mem, const struct otlp_conf *conf,
	const char *version, struct otlp_setup **ret_setup, struct fault *reterr_fault);
/* Overwrites its secrets. Takes NULL. */
struct otlp_setup *otlp_setup_free(struct otlp_setup *s);
CLEANUP(otlp_setup);
/* What export_start takes; NULL: the signal is off. Lives as long as the setup. */
const struct export_conf *otlp_setup_export(const struct otlp_setup *s, enum export_signal signal);
/* One encoded Resource, of both signals. Likewise. */
const struct text *otlp_setup_resource(const struct otlp_setup *s);
