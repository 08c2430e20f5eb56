/* The minimal set of prefixes that covers exactly a range of addresses, one after the other, with
 * no memory: at most two of each length (62 for IPv4, 254 for IPv6). A range of IPv4 addresses
 * gives IPv4 prefixes. The caller owns the cursor. */
#pragma once
#include "base/addr.h"

struct cover {
	struct addr next, last;
	bool done;
};
/* first <= last. */
static inline struct cover cover_of(const struct addr *first, const struct addr *last)
{
	return (struct cover){*first, *last, addr_cmp(first, last) > 0};
}
/* The next prefix, in order of address; false: that was all. */
bool cover_next(struct cover *c, struct prefix *ret_prefix);
/* How many there are. */
uint32_t cover_count(const struct addr *first, const struct addr *last);
