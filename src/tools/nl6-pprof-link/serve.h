/* Receives OTLP profiles over HTTP, links and sends them on. */
#pragma once
#include "halt.h"
#include "work.h"

/* Until the end is asked for. A fault: cannot listen. */
MUST_CHECK int serve_run(struct work *w, struct halt *halt, struct fault *reterr_fault);
