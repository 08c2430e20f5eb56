/* Creates in the store: each is a record of what was asked for, and holes where it has no device,
 * because there was one of another create or because it was deleted. As store.h. */
#pragma once
#include "sim/fleet/fleet.h"
#include "sim/fleet/store.h"

/* A create as it is kept. */
struct store_create {
	uint32_t id;
	struct fleet_add add; /* types and batch are not set */
	bool of_flags;	      /* port and other settings are what flags say at each start */
	char **slugs;	      /* of the types, n_slugs of them; NULL: of one that is gone */
	uint32_t n_slugs;
};
/* The text of a record; slugs are those of add's types. */
void store_create_text(struct text *t, const struct fleet_add *add, bool of_flags);
/* Its members behind "start" and "count", with commas before each: creates of the same settings
 * have the same. */
void store_create_rest(struct text *t, const struct fleet_add *add, bool of_flags);
/* The text of what store_create_rest has written before. */
void store_create_join(struct text *t, const struct addr *start, uint32_t count, const char *rest);
/* -EINVAL with a fault: it is of no create. store_create_done frees what was read. */
MUST_CHECK int store_create_read(const struct mem *mem, struct kus *kus, const void *json,
	size_t bytes, struct store_create *ret_create, struct fault *reterr_fault);
void store_create_done(const struct mem *mem, struct store_create *c); /* takes a zeroed one */

MUST_CHECK int store_put_create(struct store *s, uint32_t id, const struct text *json);
MUST_CHECK int store_del_create(struct store *s, uint32_t id); /* with its holes */
/* The devices first..last, which follow one another in a range with this netmask, are not there. */
MUST_CHECK int store_add_hole(struct store *s, uint32_t id, uint8_t netmask_len,
	const struct addr *first, const struct addr *last);
/* All creates, and all that is kept of devices. */
MUST_CHECK int store_del_devices(struct store *s);
/* In order of id; json is not read yet. */
MUST_CHECK int store_each_create(struct store *s,
	int (*fn)(void *arg, uint32_t id, const void *json, size_t bytes), void *arg);
/* In order of id and first address. */
struct store_hole {
	uint32_t id;
	struct addr first, last;
};
MUST_CHECK int store_each_hole(
	struct store *s, int (*fn)(void *arg, const struct store_hole *hole), void *arg);
