/* Load profiles: how busy the interfaces of a kind of device are. Constant data. */
#pragma once
#include <stdint.h>

struct if_profile {
	const char *name;
	uint16_t util_min, util_max; /* mean load of a busy interface, 1/65536 of ifSpeed */
	int16_t day;		     /* swing of the day curve, 1/256; below 0: busy at night */
	uint16_t idle;		     /* share of interfaces with keepalives only, 1/256 */
	uint32_t packets_min_q32, packets_max_q32; /* packets an octet, 1/2^32 */
};
/* Packets an octet for packets of so many octets. */
#define PACKETS_Q32(octets) (UINT32_MAX / (octets))
/* NULL: no such profile. */
const struct if_profile *if_profile_find(const char *name);
/* Names for messages: "core, edge, ..." */
#define IF_PROFILE_NAMES \
	"core, edge, dc_switch, campus, firewall, server, gpu_a100, gpu_h100, gpu_h200, storage, " \
	"optical"
