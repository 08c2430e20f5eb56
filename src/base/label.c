#include "base/label.h"
#include <string.h>

_Static_assert(offsetof(struct label_context, attr_key) == 28, "the header of OTEP 4947");

LABEL_SUBSYSTEM(label_main, "main");
LABEL_SUBSYSTEM(label_api, "api");
LABEL_SUBSYSTEM(label_snmp, "snmp");
LABEL_SUBSYSTEM(label_trace, "trace");
LABEL_SUBSYSTEM(label_fleet, "fleet");

const char *const label_keys[] = {"subsystem", NULL};

const char *label_get(const struct label *l, const char *key)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->pairs[i].key.s, key) == 0)
			return l->pairs[i].value.s;
	return NULL;
}
