/* Names that type files use for numbers. Constant data. Only the type_*.c files include this. */
#pragma once
#include "base/attr.h"
#include "wire/ber.h"
#include <stdbool.h>
#include <stdint.h>

struct name_number {
	const char *name; /* NULL ends a list */
	uint16_t number;
};
/* -ENOENT. */
MUST_CHECK int name_find(const struct name_number *list, const char *name, uint16_t *ret_number);

extern const struct name_number if_type_names[]; /* IANAifType-MIB */
bool if_type_is_physical(uint16_t type);	 /* ends in a connector */
bool if_type_has_mac(uint16_t type);		 /* an IEEE 802 address */
extern const struct name_number if_admin_names[], if_oper_names[], if_load_names[];
#define IF_ADMIN_NAMES "up, down, testing"
#define IF_OPER_NAMES "up, down, testing, unknown, dormant, notPresent, lowerLayerDown"
#define IF_LOAD_NAMES "profile, light, none"

/* Types of values: the low byte is the BER tag, the high one tells forms of strings apart. */
#define VALUE_HEX (0x100 | BER_OCTET_STRING)
#define VALUE_TEMPLATE (0x200 | BER_OCTET_STRING)
extern const struct name_number value_type_names[];
#define VALUE_TYPE_NAMES \
	"integer, string, hex, template, oid, ipaddress, counter32, gauge32, timeticks, counter64"
const char *value_tag_name(uint8_t tag); /* "counter32" */

/* Pairs of hex digits, in place or to another buffer; blanks, colons, dashes between pairs are
 * skipped. -EINVAL. */
MUST_CHECK int hex_bytes(const char *s, uint8_t *buf, size_t *ret_n);

#define TYPE_CATEGORIES "Network Devices, Servers, GPU Servers, Storage, Optical Transport, Other"
bool type_category_is(const char *category);
