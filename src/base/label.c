#include "base/label.h"
#include <string.h>

LABEL_SUBSYSTEM(label_main, "main");
LABEL_SUBSYSTEM(label_api, "api");
LABEL_SUBSYSTEM(label_snmp, "snmp");

const char *label_get(const struct label *l, const char *key)
{
	for (unsigned i = 0; i < l->count; i++)
		if (strcmp(l->pairs[i].key, key) == 0)
			return l->pairs[i].value;
	return NULL;
}
