/* Interfaces out of the rows of ifTable and ifXTable in nl6's own type form. */
#include "base/text.h"
#include "sim/fleet/ifcount.h"
#include "sim/fleet/type_names.h"
#include "sim/fleet/type_nl6.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFS_MAX 4096
#define IF_ENTRY "1.3.6.1.2.1.2.2.1"
#define IFX_ENTRY "1.3.6.1.2.1.31.1.1.1"
#define UNSET_TYPE 0
#define MAC_UNSET 0xff

bool nl6_if_is(const struct mib_ref *ref)
{
	if (strcmp(ref->group->oid, IFX_ENTRY) == 0)
		return true;
	return strcmp(ref->group->oid, IF_ENTRY) == 0 && ref->object->arc <= 20;
}

static int find_or_add(struct nl6_reader *n, uint32_t index, struct type_if **ret_if)
{
	struct type_draft *d = n->r.d;
	/* Columns list the same interfaces in the same order, so the next one is it, mostly. */
	for (uint32_t i = 0; i < d->n_ifs; i++) {
		uint32_t at = (n->at_if + 1 + i) % d->n_ifs;
		if (d->ifs[at].index == index) {
			n->at_if = at;
			*ret_if = &d->ifs[at];
			return 0;
		}
	}
	if (d->n_ifs == IFS_MAX)
		return -EFBIG;
	struct type_if *f = draft_if(d);
	if (!f)
		return -ENOMEM;
	f->index = index;
	f->admin = f->oper = IF_UP;
	f->connector = true;
	f->mac_kind = MAC_UNSET;
	n->at_if = d->n_ifs - 1;
	*ret_if = f;
	return 0;
}

static void take_name(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref,
	char *to, size_t room)
{
	int len = snprintf(to, room, "%s", e->response);
	if ((size_t)len >= room)
		nl6_count(&n->cut, "%s of ifIndex %u", ref->object->name, e->oid.arcs[ref->arcs]);
}

/* A number within min..max, or what it was. */
static uint64_t number_or(struct nl6_reader *n, const struct nl6_entry *e,
	const struct mib_ref *ref, uint64_t min, uint64_t max, uint64_t old)
{
	uint64_t v;
	if (num_u64(e->response, min, max, &v) == 0)
		return v;
	nl6_count(&n->mistyped, "%s of ifIndex %u", ref->object->name, e->oid.arcs[ref->arcs]);
	return old;
}

static void take_mac(struct nl6_reader *n, const struct nl6_entry *e, struct type_if *f)
{
	uint8_t octets[64];
	size_t len = 0;
	if (strlen(e->response) < sizeof(octets) && hex_bytes(e->response, octets, &len) == 0 &&
		(len == 6 || len == 0)) {
		f->mac_kind = len ? IF_MAC_FIXED : IF_MAC_NONE;
		memcpy(f->mac, octets, len);
		return;
	}
	nl6_count(&n->mistyped, "ifPhysAddress of ifIndex %u", f->index);
}

static void take_if_column(struct nl6_reader *n, const struct nl6_entry *e,
	const struct mib_ref *ref, struct type_if *f)
{
	switch (ref->object->arc) {
	case 2: /* ifDescr */
		take_name(n, e, ref, f->descr, sizeof(f->descr));
		break;
	case 3: /* ifType */
		f->iana_type = (uint16_t)number_or(n, e, ref, 1, UINT16_MAX, f->iana_type);
		break;
	case 4: /* ifMtu */
		f->mtu = (uint32_t)number_or(n, e, ref, 0, INT32_MAX, f->mtu);
		break;
	case 5: /* ifSpeed; ifHighSpeed comes later and wins */
		f->speed_bps = number_or(n, e, ref, 0, IF_SPEED_MAX, f->speed_bps);
		break;
	case 6: /* ifPhysAddress */
		take_mac(n, e, f);
		break;
	case 7: /* ifAdminStatus */
		f->admin = (uint8_t)number_or(n, e, ref, IF_UP, IF_TESTING, f->admin);
		break;
	case 8: /* ifOperStatus */
		f->oper = (uint8_t)number_or(n, e, ref, IF_UP, IF_LOWER_LAYER_DOWN, f->oper);
		break;
	default: /* ifIndex says what the instance says; the rest moves */
		break;
	}
}

static void take_ifx_column(struct nl6_reader *n, const struct nl6_entry *e,
	const struct mib_ref *ref, struct type_if *f)
{
	switch (ref->object->arc) {
	case 1: /* ifName */
		take_name(n, e, ref, f->name, sizeof(f->name));
		break;
	case 15: { /* ifHighSpeed; below a megabit only ifSpeed tells */
		uint64_t mbps = number_or(n, e, ref, 0, IF_SPEED_MAX / 1000000, 0);
		if (mbps)
			f->speed_bps = mbps * 1000000;
		break;
	}
	case 17: /* ifConnectorPresent */
		f->connector = number_or(n, e, ref, 1, 2, 1) == 1;
		break;
	case 18: /* ifAlias */
		take_name(n, e, ref, f->alias, sizeof(f->alias));
		break;
	default:
		break;
	}
}

/* Columns that the file must get right although their values are made anew. */
static int check_strict(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref)
{
	struct ber_value v;
	bool wrapped;
	uint64_t wide;
	if (!ref->object->strict)
		return 0;
	int r = nl6_value(
		&n->r.d->arena, e->response, ref->object->tag, ref->object->syntax, &v, &wrapped);
	/* Numbers beyond 32 bits are found in practice. The speed is meant so, counters are made
	 * anew. */
	if (r == -EINVAL && num_u64(e->response, 0, UINT64_MAX, &wide) == 0) {
		if (strcmp(ref->object->name, "ifSpeed") != 0)
			nl6_count(&n->mistyped, "%s of ifIndex %u", ref->object->name,
				e->oid.arcs[ref->arcs]);
		return 0;
	}
	if (r == -EINVAL)
		return nl6_bad(n, e, ref->object->syntax, "not a value of %s", ref->object->name);
	return r;
}

int nl6_if_take(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref)
{
	struct type_if *f = NULL;
	if (e->oid.n != ref->arcs + 1 || e->oid.arcs[ref->arcs] == 0 ||
		e->oid.arcs[ref->arcs] > INT32_MAX) {
		nl6_count_oid(&n->bare, e, ref);
		return 0;
	}
	int r = check_strict(n, e, ref);
	if (r == 0)
		r = find_or_add(n, e->oid.arcs[ref->arcs], &f);
	if (r == -EFBIG)
		return nl6_bad(n, e, "", "more than %d interfaces", IFS_MAX);
	if (r < 0)
		return r;
	if (strcmp(ref->group->oid, IF_ENTRY) == 0)
		take_if_column(n, e, ref, f);
	else
		take_ifx_column(n, e, ref, f);
	return 0;
}

static int cmp_ifs(const void *a, const void *b)
{
	const struct type_if *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

int nl6_if_finish(struct nl6_reader *n)
{
	struct type_draft *d = n->r.d;
	if (d->n_ifs)
		qsort(d->ifs, d->n_ifs, sizeof(d->ifs[0]), cmp_ifs);
	for (uint32_t i = 0; i < d->n_ifs; i++) {
		struct type_if *f = &d->ifs[i];
		if (!f->descr[0] && f->name[0])
			(void)snprintf(f->descr, sizeof(f->descr), "%s", f->name);
		if (!f->descr[0])
			(void)snprintf(f->descr, sizeof(f->descr), "if%u", f->index);
		if (!f->name[0])
			(void)snprintf(f->name, sizeof(f->name), "%.*s", (int)sizeof(f->name) - 1,
				f->descr);
		if (f->iana_type == UNSET_TYPE)
			f->iana_type = 6; /* ethernetCsmacd */
		if (f->mtu == 0)
			f->mtu = 1500;
		if (f->mac_kind == MAC_UNSET)
			f->mac_kind = if_type_has_mac(f->iana_type) ? IF_MAC_DEVICE : IF_MAC_NONE;
		if (f->admin != IF_UP && f->oper == IF_UP)
			f->oper = IF_DOWN;
	}
	return 0;
}
