/* What a slug of nl6's own form tells about the device: the form has no place for it. */
#include "sim/fleet/type_draft.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct guess {
	const char *part; /* of the slug */
	const char *label, *category, *doc_category, *profile;
};
/* The first part found decides. */
static const struct guess guesses[] = {
	{"waveserver", "Ciena Waveserver 5", "Optical Transport", "Optical", "optical"},
	{"ciena", "Ciena", "Optical Transport", "Optical", "optical"},
	{"asr9k", "Cisco ASR9K", "Network Devices", "Core", "core"},
	{"crs", "Cisco Router/Switch", "Network Devices", "Core", "core"},
	{"nexus", "Cisco Router/Switch", "Network Devices", "DC switch", "dc_switch"},
	{"catalyst", "Cisco Router/Switch", "Network Devices", "Campus", "campus"},
	{"cisco_ios", "Cisco IOS", "Network Devices", "Edge", "edge"},
	{"cisco", "Cisco Router/Switch", "Network Devices", "Edge", "edge"},
	{"mx960", "Juniper", "Network Devices", "Core", "core"},
	{"juniper", "Juniper", "Network Devices", "Edge", "edge"},
	{"arista", "Arista", "Network Devices", "DC switch", "dc_switch"},
	{"huawei", "Huawei", "Network Devices", "Core", "core"},
	{"nokia", "Nokia", "Network Devices", "Core", "core"},
	{"extreme", "Extreme Networks", "Network Devices", "Campus", "campus"},
	{"dlink", "D-Link", "Network Devices", "Campus", "campus"},
	{"fortinet", "Fortinet", "Network Devices", "Firewall", "firewall"},
	{"palo_alto", "Palo Alto", "Network Devices", "Firewall", "firewall"},
	{"sonicwall", "SonicWall", "Network Devices", "Firewall", "firewall"},
	{"check_point", "Check Point", "Network Devices", "Firewall", "firewall"},
	{"nec", "NEC", "Network Devices", "Edge", "edge"},
	{"a100", "NVIDIA GPU Server", "GPU Servers", "GPU", "gpu_a100"},
	{"h100", "NVIDIA GPU Server", "GPU Servers", "GPU", "gpu_h100"},
	{"h200", "NVIDIA GPU Server", "GPU Servers", "GPU", "gpu_h200"},
	{"nvidia", "NVIDIA GPU Server", "GPU Servers", "GPU", "gpu_h100"},
	{"netapp", "NetApp", "Storage", "Storage", "storage"},
	{"pure", "Pure Storage", "Storage", "Storage", "storage"},
	{"unity", "Dell", "Storage", "Storage", "storage"},
	{"aws", "AWS", "Storage", "Storage", "storage"},
	{"dell", "Dell", "Servers", "Server", "server"},
	{"hpe", "HPE", "Servers", "Server", "server"},
	{"ibm", "IBM", "Servers", "Server", "server"},
	{"linux", "Linux Server", "Servers", "Server", "server"},
};

void type_nl6_identity(const char *slug, struct type_identity *ret_id)
{
	static const struct guess none = {"", NULL, "Other", "Other", "edge"};
	const struct guess *g = &none;
	for (size_t i = 0; i < ARRAY_SIZE(guesses) && g == &none; i++)
		if (strstr(slug, guesses[i].part))
			g = &guesses[i];
	bool first = true;
	size_t n = 0;
	for (; slug[n] && n + 1 < sizeof(ret_id->name); n++) {
		char c = slug[n] == '_' || slug[n] == '-' ? ' ' : slug[n];
		ret_id->name[n] = (char)(first ? toupper((unsigned char)c) : c);
		first = c == ' ';
	}
	ret_id->name[n] = 0;
	(void)snprintf(
		ret_id->label, sizeof(ret_id->label), "%s", g->label ? g->label : ret_id->name);
	ret_id->category = g->category;
	ret_id->doc_category = g->doc_category;
	ret_id->profile = g->profile;
}
