/* What is exported by OTLP, as JSON. */
#pragma once
#include "base/text.h"
#include "trace/trace.h"

/* "otlp":{…} as schema Otlp; nothing, when neither signal is exported. */
void otlp_json(struct text *t, const struct trace_status *st);
/* "otlp":{…} as schema OtlpProfiles; nothing, when no profiles are exported. active: the gate hands
 * out windows. */
void otlp_json_profiles(struct text *t, const struct trace_status *st, bool active);
