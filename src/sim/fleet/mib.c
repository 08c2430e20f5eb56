#include "sim/fleet/mib.h"
#include "sim/fleet/mib_parts.h"
#include <assert.h>
#include <errno.h>

static const struct mib_part *const parts[] = {
	&mib_core, &mib_ip, &mib_host, &mib_vendor, &mib_snmp};

const struct mib_group *mib_group_nth(unsigned i)
{
	for (unsigned p = 0; p < ARRAY_SIZE(parts); p++) {
		if (i < parts[p]->n)
			return &parts[p]->groups[i];
		i -= parts[p]->n;
	}
	return NULL;
}

/* Arcs of the dotted text if the OID begins with them, else 0. */
static uint16_t arcs_matched(const char *s, const struct oid *o)
{
	uint16_t n = 0;
	for (;; s++) {
		uint32_t arc = 0;
		for (; *s >= '0' && *s <= '9'; s++)
			arc = arc * 10 + (uint32_t)(*s - '0');
		if (n == o->n || o->arcs[n] != arc)
			return 0;
		n++;
		if (!*s)
			return n;
	}
}

static const struct mib_object *by_arc(const struct mib_group *g, uint32_t arc)
{
	for (uint16_t i = 0; i < g->n; i++)
		if (g->objects[i].arc == arc)
			return &g->objects[i];
	return NULL;
}

int mib_find(const struct oid *o, struct mib_ref *ret_ref)
{
	uint16_t before = 0;
	const struct mib_group *g;
	for (unsigned i = 0; (g = mib_group_nth(i)); before += g->n, i++) {
		uint16_t arcs = arcs_matched(g->oid, o);
		if (arcs == 0 || arcs == o->n)
			continue;
		const struct mib_object *object = by_arc(g, o->arcs[arcs]);
		if (!object)
			continue;
		*ret_ref = (struct mib_ref){g, object, (uint16_t)(before + (object - g->objects)),
			(uint16_t)(arcs + 1)};
		return 0;
	}
	return -ENOENT;
}

struct mib_ref mib_nth(uint16_t number)
{
	uint16_t before = 0;
	const struct mib_group *g;
	for (unsigned i = 0; (g = mib_group_nth(i)); before += g->n, i++) {
		if (number - before >= g->n)
			continue;
		struct mib_ref ref = {g, &g->objects[number - before], number, 0};
		ref.arcs = mib_oid(&ref).n;
		return ref;
	}
	assert(!"a number that mib_find gave");
	return (struct mib_ref){0};
}

struct oid mib_oid(const struct mib_ref *ref)
{
	struct oid o;
	int r = oid_parse(ref->group->oid, &o);
	assert(r == 0);
	o.arcs[o.n++] = ref->object->arc;
	return o;
}

const char *mib_access_text(enum mib_access a)
{
	switch (a) {
	case MIB_RO:
		return "read-only";
	case MIB_RW:
		return "read-write";
	case MIB_RC:
		return "read-create";
	default:
		return "not-accessible";
	}
}
