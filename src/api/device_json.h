/* A device in JSON, and finding one by what the path names. */
#pragma once
#include "api/request.h"
#include "base/text.h"
#include "sim/fleet/fleet.h"

/* Members of the documented device object, without its braces. */
void device_json(struct text *t, const struct device *d);
/* The device that {id} of the path names by its id or its address; valid until the RCU_SCOPE ends.
 * -ENOENT with a fault. */
MUST_CHECK int device_find(struct request *rq, const struct device **ret_device);
