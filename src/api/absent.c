#include "api/absent.h"
#include <errno.h>
#include <string.h>

/* By the first segment below /api/v1 that tells, or a device's sub-resource. */
static const struct {
	const char *segment, *subsystem;
} absent_top[] =
	{
		{"flows", "flow export"},
		{"traps", "traps"},
		{"syslog", "syslog"},
		{"gnmi", "gnmi"},
		{"dns", "dns"},
		{"fidelity", "fidelity"},
		{"topology", "topology"},
		{"scenarios", "scenarios"},
},
  absent_of_device[] = {
	  {"trap", "traps"},
	  {"syslog", "syslog"},
	  {"optical", "optical channels"},
};

static const char *absent(const struct url *u)
{
	const char *const *s = u->segments;
	if (u->n_segments < 3 || strcmp(s[0], "api") != 0 || strcmp(s[1], "v1") != 0)
		return NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(absent_top); i++)
		if (strcmp(s[2], absent_top[i].segment) == 0)
			return absent_top[i].subsystem;
	if (u->n_segments < 5 || strcmp(s[2], "devices") != 0)
		return NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(absent_of_device); i++)
		if (strcmp(s[4], absent_of_device[i].segment) == 0)
			return absent_of_device[i].subsystem;
	return NULL;
}

void absent_explain(const struct url *url, struct fault *ret_fault)
{
	const char *subsystem = absent(url);
	(void)fault_set(ret_fault, -ENOENT, "", NULL,
		subsystem ? "not in this build: %s" : "no such path", subsystem);
}
