/* Endpoints of the original whose subsystem is not in this build: refused by name. */
#pragma once
#include "api/url.h"
#include "base/fault.h"

/* Fills the fault of an unknown path (code -ENOENT). */
void absent_explain(const struct url *url, struct fault *ret_fault);
