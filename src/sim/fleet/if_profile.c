#include "sim/fleet/if_profile.h"
#include "base/attr.h"
#include <string.h>

/* Utilisation in 1/65536: 6554 is a tenth. The highest peak, util_max * (1 + day) * (1 + bursts),
 * stays below ifSpeed; test_ifcount checks it. */
static const struct if_profile profiles[] = {
	{"core", 7800, 19600, 128, 8, 420, 860},
	{"edge", 3900, 16300, 154, 24, 360, 780},
	{"dc_switch", 2600, 18300, 102, 48, 480, 1100},
	{"campus", 650, 9800, 205, 90, 280, 700},
	{"firewall", 5200, 18300, 154, 32, 420, 820},
	{"server", 1300, 13100, 115, 32, 380, 1050},
	{"gpu_a100", 9800, 19600, 26, 0, 1100, 1420},
	{"gpu_h100", 11100, 20900, 26, 0, 1150, 1440},
	{"gpu_h200", 11100, 20900, 26, 0, 1150, 1440},
	{"storage", 5200, 18300, -102, 0, 900, 1420},
	{"optical", 19600, 21000, 51, 0, 480, 720},
};

const struct if_profile *if_profile_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}
