/* The compiled object table of a device type: immutable, sorted, shared by all its devices.
 * Made by a builder that one thread owns; the finished table is owned by its type. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "wire/ber.h"
#include "wire/oid.h"
#include <stdbool.h>
#include <stdint.h>

/* How a row's value is made; see value.h. */
enum oid_kind {
	OID_CONST,	   /* arg: offset of a complete BER value TLV in bytes */
	OID_SYS_NAME,	   /* sysName.0 */
	OID_SYS_LOCATION,  /* sysLocation.0 */
	OID_SYS_UPTIME,	   /* sysUpTime.0, hrSystemUptime.0 */
	OID_SNMP_COUNTER,  /* arg: index into device.snmp */
	OID_V3_COUNTER,	   /* arg: index into device.v3 */
	OID_ENGINE,	   /* arg: the object's arc in the group snmpEngine */
	OID_IF_COLUMN,	   /* arg: enum if_column; slot: interface */
	OID_TEXT_TEMPLATE, /* arg: offset of a template in bytes: a TLV of an OCTET STRING in which
			      {serial}, {mac}, {ip}, {name} stand for the device's */
	OID_DEVICE_ADDR,   /* a column of ipAddrTable whose only row is indexed by the device's
			      address: the row's key and OID are the column's, and the four arcs of
			      the address follow. arg: the column. Devices on IPv6 have no such row.
			      Look up and step with value_find, value_after, value_next. */
	OID_KINDS
};
#define OIDTAB_NO_OBJECT 0xffff
struct oid_row {
	uint32_t key_at, ber_at; /* offsets in bytes: order key, BER content of the OID */
	uint16_t key_len, ber_len;
	uint32_t arg;
	uint16_t slot;	     /* interface number from 0, or 0 */
	uint16_t object;     /* number in the list of known objects (mib.h) or OIDTAB_NO_OBJECT */
	uint16_t object_len; /* leading bytes of the key that name the object, without instance */
	uint8_t tag;	     /* of the value; BER_COUNTER64 is hidden from v1 */
	uint8_t kind;	     /* enum oid_kind */
};
struct oidtab {
	const struct mem *mem;
	uint32_t n;
	uint32_t skip;	      /* leading key bytes that all rows share */
	struct oid_row *rows; /* strictly increasing by key */
	uint64_t *heads;      /* per row: the 8 key bytes after skip, big-endian, padded with 0 */
	uint8_t *bytes;
	size_t bytes_len;
};

/* Position of the first row whose key is >= the given (n when none); *ret_exact says equality. */
uint32_t oidtab_seek(const struct oidtab *t, const uint8_t *key, size_t key_len, bool *ret_exact);
/* Does the table serve an instance of an object that the key names or lies under? It tells
 * noSuchInstance from noSuchObject (RFC 3416 4.2.1). pos is what oidtab_seek gave for the key. */
bool oidtab_has_object(const struct oidtab *t, uint32_t pos, const uint8_t *key, size_t key_len);
static inline const uint8_t *oidtab_key(const struct oidtab *t, uint32_t row)
{
	return t->bytes + t->rows[row].key_at;
}
void oidtab_done(struct oidtab *t); /* takes a zeroed one */

/* The builder. Rows come in any order. */
struct oidtab_new;
MUST_CHECK int oidtab_new(const struct mem *mem, struct oidtab_new **ret_b);
struct oidtab_new *oidtab_new_free(struct oidtab_new *b); /* takes NULL, returns NULL */
CLEANUP(oidtab_new);
/* Of rows with one OID the one that was added last stays, instead of -EEXIST at the end. */
void oidtab_new_keep_last(struct oidtab_new *b);
struct oidtab_add {
	const struct oid *oid;	 /* of the row, or of the column for OID_DEVICE_ADDR */
	uint16_t object_arcs;	 /* leading arcs of oid that name the object */
	uint16_t object;	 /* mib.h, or OIDTAB_NO_OBJECT */
	uint8_t tag;		 /* taken from value when there is one */
	uint8_t kind;		 /* enum oid_kind */
	uint16_t slot;		 /* OID_IF_COLUMN */
	uint32_t arg;		 /* ignored when there is a value */
	struct ber_value *value; /* of OID_CONST and OID_TEXT_TEMPLATE; copied */
	uint32_t origin;	 /* the caller's number, told when rows collide */
};
/* -EINVAL: BER cannot say the OID; -ENOMEM. */
MUST_CHECK int oidtab_new_add(struct oidtab_new *b, const struct oidtab_add *add);
/* Sorts, checks and hands the table over; the builder is spent but still to be freed.
 * -EEXIST: two rows have one OID, reterr_origins tells both, in the order of adding; -ENOMEM. */
MUST_CHECK int oidtab_new_finish(
	struct oidtab_new *b, struct oidtab *ret_tab, uint32_t reterr_origins[2]);
