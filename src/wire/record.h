/* Records of recorded agents, as text: a line of snmpsim's .snmprec files, or what net-snmp's
 * snmpwalk prints of an object. Pure codecs that work in place. */
#pragma once
#include "base/attr.h"
#include "wire/ber.h"
#include "wire/oid.h"
#include <stdbool.h>

struct record {
	struct oid oid;
	struct ber_value value; /* strings lie in the text; of a variation only the tag is set */
	const char *module;	/* of a variation: its name and its options, in the text; else NULL
				 */
	const char *options;
	char form; /* of a .snmprec: 0, 'x' or 'e' after the tag */
};

/* Reads a line of n bytes, without its end: OID|TAG[x|e][:MODULE]|VALUE. The text is written over;
 * text[n] must be writable. 0; -ENODATA: a comment or an empty line; -EINVAL: *reterr_what (a
 * constant) tells what is wrong. */
MUST_CHECK int record_read_rec(
	char *text, size_t n, struct record *ret_record, const char **reterr_what);

/* Does a line begin what is printed of an object? Others go on with the value before, or tell of
 * the walk itself. */
bool record_walk_begins(const char *line, size_t n);
/* The first name of an object where an OID in numbers should be, in what is printed of one object:
 * "SNMPv2-MIB::sysDescr.0", in front or as its value. false: there is none. */
bool record_walk_name(const char *text, size_t n, size_t *ret_at, size_t *ret_bytes);
/* Reads what is printed of one object, which may be of several lines: "OID = TYPE: VALUE" with OIDs
 * in numbers (-On), types as net-snmp spells them, or -ObentU, where TimeTicks have no type. As
 * record_read_rec; -ENODATA: it has no value (No Such Object, end of the view), or is a note of
 * snmpwalk's own. */
MUST_CHECK int record_read_walk(
	char *text, size_t n, struct record *ret_record, const char **reterr_what);
