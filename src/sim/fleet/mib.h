/* The MIB objects that we know: one list that gives values their types, tells objects from
 * instances, and makes docs/oids.md. Constant data, no owner. */
#pragma once
#include "base/attr.h"
#include "wire/ber.h"
#include "wire/oid.h"
#include <stdbool.h>
#include <stdint.h>

enum mib_access { MIB_NO, MIB_RO, MIB_RW, MIB_RC }; /* not-accessible, read-only, -write, -create */
struct mib_object {
	uint16_t arc; /* after the group's OID */
	uint8_t tag;  /* enum ber_tag of its values */
	uint8_t access;
	const char *name;
	const char *syntax; /* as its MIB module says */
	const char *unit;   /* or NULL */
	bool strict;	    /* a wrong value in a foreign file is an error, not a warning */
};
/* Objects side by side: the scalars of a group or the columns of a table. */
struct mib_group {
	const char *oid;
	const char *module;
	bool table;
	uint16_t n;
	const struct mib_object *objects; /* by arc */
};
struct mib_ref {
	const struct mib_group *group;
	const struct mib_object *object;
	uint16_t number; /* in the whole list */
	uint16_t arcs;	 /* of the object's OID */
};
/* The object that an OID names or lies under. -ENOENT. */
MUST_CHECK int mib_find(const struct oid *o, struct mib_ref *ret_ref);
/* The object of a number that mib_find gave. */
struct mib_ref mib_nth(uint16_t number);
/* The OID of an object. */
struct oid mib_oid(const struct mib_ref *ref);
/* Group i of the list, NULL past its end. */
const struct mib_group *mib_group_nth(unsigned i);
const char *mib_access_text(enum mib_access a);
