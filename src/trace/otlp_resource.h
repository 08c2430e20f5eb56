/* Who the exports are from: one encoded Resource, the same for traces and profiles, so that a
 * reader can join them. Attributes by the semantic conventions of OpenTelemetry. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/text.h"

/* Receivers of profiles make labels of all, of which they take no more than 30. */
#define OTLP_RESOURCE_USER 14 /* of -otlp-resource and the environment together */
#define OTLP_RESOURCE_OWN 10
/* Writes the message. user: -otlp-resource, which wins over OTEL_SERVICE_NAME, that over
 * OTEL_RESOURCE_ATTRIBUTES, that over what is known of the process. -EINVAL with a fault that names
 * the flag or variable; -ENOMEM. */
MUST_CHECK int otlp_resource_write(const struct flag_list *user, const char *version,
	struct text *out, struct fault *reterr_fault);
