/* The parts of the reader of nl6's own type form. Only the type*.c files include this. */
#pragma once
#include "sim/fleet/mib.h"
#include "sim/fleet/type_read.h"

struct nl6_entry { /* of a section snmp */
	struct oid oid;
	const char *response;
	uint32_t file, number; /* where it stands */
};
/* A kind of trouble that is counted and told once, with its first case. */
struct nl6_tally {
	uint32_t n;
	char first[128];
};
struct nl6_reader {
	struct reader r; /* r.file follows the part being read */
	const struct type_file *files;
	struct nl6_entry *entries; /* of the allocator */
	uint32_t n, room;
	struct nl6_tally ssh, api, optical, doubles, taken, hidden, bare, mistyped, wide, negative,
		cut, unserved;
	uint32_t at_if; /* slot of the interface found last */
};
void nl6_count(struct nl6_tally *t, const char *fmt, ...) PRINTF(2, 3);
/* The same, told as "object, OID". */
void nl6_count_oid(struct nl6_tally *t, const struct nl6_entry *e, const struct mib_ref *ref);
/* Fills the fault with the place of an entry; returns -EINVAL. */
int nl6_bad(struct nl6_reader *n, const struct nl6_entry *e, const char *allowed, const char *fmt,
	...) PRINTF(4, 5);

/* The value that a text is for a type of value; strings go to the arena. -EINVAL: it is none;
 * -ENOMEM. *ret_wrapped: a negative number for an unsigned type, taken modulo 2^32. */
MUST_CHECK int nl6_value(struct arena *a, const char *text, uint8_t tag, const char *syntax,
	struct ber_value *ret_value, bool *ret_wrapped);
/* The value of an object nobody knows: a number where it reads as one, else text. *ret_wide: beyond
 * INTEGER, so it became Gauge32 or Counter64. -ENOMEM. */
MUST_CHECK int nl6_guess(
	struct arena *a, const char *text, struct ber_value *ret_value, bool *ret_wide);

/* Is it a column of ifTable or ifXTable from which interfaces are made? */
bool nl6_if_is(const struct mib_ref *ref);
/* Takes such an entry into the draft's interfaces. -EINVAL (fault), -ENOMEM. */
MUST_CHECK int nl6_if_take(
	struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref);
/* Completes the interfaces when all entries are read. */
MUST_CHECK int nl6_if_finish(struct nl6_reader *n);
