/* A multiset of address ranges and its union: ranges nest, overlap and repeat, and one that leaves
 * takes away only what no other needs. One thread owns each. */
#pragma once
#include "base/addr.h"
#include "base/mem.h"

struct ranges;
MUST_CHECK int ranges_new(const struct mem *mem, struct ranges **ret_ranges);
struct ranges *ranges_free(struct ranges *s);
CLEANUP(ranges);
/* Makes room for the next ranges_add. -ENOMEM. */
MUST_CHECK int ranges_reserve(struct ranges *s);
/* Neither first nor last may be the lowest or highest of all 2^128; both are of one family. Takes
 * no memory, nor does ranges_del. */
void ranges_add(struct ranges *s, const struct addr *first, const struct addr *last);
void ranges_del(struct ranges *s, const struct addr *first, const struct addr *last);
/* Is the range covered by those added? */
bool ranges_have(const struct ranges *s, const struct addr *first, const struct addr *last);
/* The longest range without gaps that holds first..last if it were added now. */
void ranges_joined(const struct ranges *s, const struct addr *first, const struct addr *last,
	struct addr *ret_first, struct addr *ret_last);
/* The first stretch without gaps that ends at or after from. false: there is none. */
bool ranges_next(const struct ranges *s, const struct addr *from, struct addr *ret_first,
	struct addr *ret_last);
/* How many were added and not deleted. */
uint64_t ranges_count(const struct ranges *s);
