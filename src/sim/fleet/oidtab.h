/* The compiled object table of a device type: immutable, sorted, shared by all its devices. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "wire/oid.h"
#include <stdbool.h>
#include <stdint.h>

/* How a row's value is made; see value.h. */
enum oid_kind {
	OID_CONST,	   /* arg: offset of a complete BER value TLV in bytes */
	OID_SYS_NAME,	   /* sysName.0 */
	OID_SYS_LOCATION,  /* sysLocation.0 */
	OID_SYS_UPTIME,	   /* sysUpTime.0, sysORUpTime, hrSystemUptime.0 */
	OID_SNMP_COUNTER,  /* arg: index into device.snmp */
	OID_IF_COLUMN,	   /* arg: enum if_column; slot: interface */
	OID_TEXT_TEMPLATE, /* arg: offset of a template in bytes ({serial}, {mac}, {ip}) */
	OID_DEVICE_ADDR,   /* ipAdEntAddr.<addr> and its row: arg: column */
	OID_KINDS
};
struct oid_row {
	uint32_t key_at, ber_at; /* offsets in bytes */
	uint8_t key_len, ber_len;
	uint8_t tag;  /* of the value; BER_COUNTER64 is hidden from v1 */
	uint8_t kind; /* enum oid_kind */
	uint32_t arg;
	uint16_t slot;	 /* interface number from 0, or 0 */
	uint16_t object; /* index into the type's list of object names, for docs */
};
struct oidtab {
	const struct mem *mem;
	uint32_t n;
	struct oid_row *rows;
	uint8_t *bytes;
	size_t bytes_len;
};

/* Position of the first row whose key is >= the given (n when none); *ret_exact says equality. */
uint32_t oidtab_seek(const struct oidtab *t, const uint8_t *key, size_t key_len, bool *ret_exact);
