#include "sim/fleet/if_profile.h"
#include "base/attr.h"
#include <string.h>

/* Utilisation in 1/65536: 6554 is a tenth. The highest peak, util_max * (1 + day) * (1 + bursts),
 * stays below ifSpeed; test_ifcount checks it. */
static const struct if_profile profiles[] = {
	{"core", 7800, 19600, 128, 8, PACKETS_Q32(860), PACKETS_Q32(420)},
	{"edge", 3900, 16300, 154, 24, PACKETS_Q32(780), PACKETS_Q32(360)},
	{"dc_switch", 2600, 18300, 102, 48, PACKETS_Q32(1100), PACKETS_Q32(480)},
	{"campus", 650, 9800, 205, 90, PACKETS_Q32(700), PACKETS_Q32(280)},
	{"firewall", 5200, 18300, 154, 32, PACKETS_Q32(820), PACKETS_Q32(420)},
	{"server", 1300, 13100, 115, 32, PACKETS_Q32(1050), PACKETS_Q32(380)},
	{"gpu_a100", 9800, 19600, 26, 0, PACKETS_Q32(1420), PACKETS_Q32(1100)},
	{"gpu_h100", 11100, 20900, 26, 0, PACKETS_Q32(1440), PACKETS_Q32(1150)},
	{"gpu_h200", 11100, 20900, 26, 0, PACKETS_Q32(1440), PACKETS_Q32(1150)},
	{"storage", 5200, 18300, -102, 0, PACKETS_Q32(1420), PACKETS_Q32(900)},
	{"optical", 19600, 21000, 51, 0, PACKETS_Q32(720), PACKETS_Q32(480)},
};

const struct if_profile *if_profile_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}
