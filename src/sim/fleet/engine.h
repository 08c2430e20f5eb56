/* The SNMP engine of a device (RFC 3411 3.1): its id, and its boots and time, which the USM and
 * the snmpEngine group tell alike.
 *
 * Devices that share an engine id are one engine: it booted when the program did. A device with an
 * id of its own counts its time from its own boot, and its boots are those of the program. One that
 * is deleted and made again at the same address must not go back in (boots, time), for managers
 * would take its answers for replays (RFC 3414 3.2 (7b)); yet nothing may be kept of a device that
 * is gone. So what was created after any delete has the minutes that the program had been up added
 * to its boots, and in the very minute of a delete its time counts from the beginning of that
 * minute. Minutes, because the boots of a program that keeps no state are minutes, too: those of
 * its next start are beyond all that it gave. */
#pragma once
#include "sim/fleet/fleet.h"

/* The longest message that is taken (snmpEngineMaxMessageSize, msgMaxSize): all that UDP has. */
#define ENGINE_MAX_MESSAGE_BYTES 65507
/* snmpEngineID; returns its bytes. */
unsigned engine_id(const struct device *d, uint8_t id[static ACCESS_ENGINE_ID_BYTES]);
struct engine_time {
	uint32_t boots, time_s;
};
struct engine_time engine_time(const struct device *d, uint64_t now_ns);
/* For the fleet: what a device created now gets, if the last delete was at deleted_ns (0: none). */
void engine_set(struct device *d, uint64_t start_ns, uint64_t deleted_ns, uint64_t now_ns);
