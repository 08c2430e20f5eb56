/* What the objects that can be set take. Constant data. */
#pragma once
#include <stdint.h>

struct set_rule {
	const char *name; /* of the object in the list of mib.h */
	int64_t lo, hi;	  /* a number's value or a string's octets */
	/* Beyond the value that is kept. */
	enum { SET_KEEPS, SET_IF_ADMIN } effect;
};
/* The rule of an object by its number (mib.h); NULL: it cannot be set here. */
const struct set_rule *set_rule_of(uint16_t object);
