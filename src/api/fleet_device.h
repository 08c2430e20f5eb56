/* What was set on a device, as a line of an export: its objects and its interfaces. */
#pragma once
#include "api/api.h"
#include <jansson.h>

struct dev_state;
/* The value of "device"; within RCU_SCOPE. */
void fleet_device_text(struct text *t, const struct device *d, const struct dev_state *state);
/* Such a value, judged as far as no device is needed. fleet_device_done frees what was read. */
struct fleet_device {
	struct addr addr;
	struct text bindings; /* in BER, as a SET has them */
	struct fleet_device_if {
		uint32_t index;
		uint8_t admin, link;
	} * ifs;
	uint32_t n_ifs;
};
/* -EINVAL with a fault, -ENOMEM. */
MUST_CHECK int fleet_device_read(const struct mem *mem, const json_t *o,
	struct fleet_device *ret_device, struct fault *reterr_fault);
void fleet_device_done(const struct mem *mem, struct fleet_device *f); /* takes a zeroed one */
/* Sets it on the device, all or nothing, by the rules of SET. Waits; not from the API's thread.
 * -EINVAL: there is no such device, object or interface, or the value is not for it; errors of the
 * store; with a fault. */
MUST_CHECK int fleet_device_set(
	const struct api_env *env, const struct fleet_device *f, struct fault *reterr_fault);
