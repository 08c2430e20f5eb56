#include "sim/fleet/restore_state.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct reading {
	struct restore_states *s;
	struct store *store;
	const struct fleet_add *add;
	uint64_t now_ns;
};

void restore_states_done(struct restore_states *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		(void)mem_free(s->mem, s->list[i].sets);
		(void)mem_free(s->mem, s->list[i].ifs);
		(void)mem_free(s->mem, s->list[i].state);
	}
	s->list = mem_free(s->mem, s->list);
	s->n = s->room = 0;
}

static uint32_t seek(const struct restore_states *s, const struct addr *a)
{
	uint32_t lo = 0, hi = s->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (addr_cmp(&s->list[mid].addr, a) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The entry of the device, a new one if there is none. NULL: no memory. */
static struct restore_state *entry(struct restore_states *s, const struct addr *a)
{
	uint32_t at = seek(s, a);
	if (at < s->n && addr_eq(&s->list[at].addr, a))
		return &s->list[at];
	if (s->n == s->room) {
		uint32_t room = MAX(s->room * 2, 16u);
		struct restore_state *more = mem_resize(s->mem, s->list, room, sizeof(*more));
		if (!more)
			return NULL;
		s->list = more;
		s->room = room;
	}
	memmove(&s->list[at + 1], &s->list[at], (s->n - at) * sizeof(s->list[0]));
	s->n++;
	s->list[at] = (struct restore_state){.addr = *a};
	return &s->list[at];
}

/* The type of the create's device with the address; NULL: it has none, or its type is gone. */
static const struct type *type_of(const struct fleet_add *add, const struct addr *a)
{
	struct addr there;
	uint32_t i = fleet_count_below(&add->start, add->conf.netmask_len, add->count, a);
	if (i == add->count || fleet_nth_addr(&add->start, add->conf.netmask_len, i, &there) < 0 ||
		!addr_eq(&there, a))
		return NULL;
	return add->types[i % add->n_types];
}

static void note(const struct reading *r, const struct addr *a, const char *what)
{
	char text[ADDR_TEXT_BYTES];
	store_note(r->store, "%s: %.160s", addr_text(a, text), what);
}

/* Has the type the object still, and of this syntax? */
static bool has_object(const struct type *t, const struct oid *oid, uint8_t tag)
{
	struct oid_key key;
	bool exact;
	oid_to_key(oid, &key);
	uint32_t at = oidtab_seek(&t->table, key.b, key.n, &exact);
	return exact && t->table.rows[at].tag == tag;
}

static int note_set(const struct reading *r, const struct store_set *set, const struct oid *oid)
{
	char text[512], line[640];
	(void)snprintf(line, sizeof(line), "the value that was set of %s",
		oid ? oid_text(oid, text, sizeof(text)) : "an object");
	note(r, &set->device, line);
	return 0;
}

static int on_set(void *arg, const struct store_set *set)
{
	const struct reading *r = arg;
	const struct type *t = type_of(r->add, &set->device);
	struct rd tlv = rd_make(set->tlv, set->tlv_bytes);
	struct ber_value value = ber_get_value(&tlv);
	struct oid oid = {.n = (uint16_t)set->oid_len};
	uint8_t ber[OID_BER_BYTES];
	if (!t)
		return 0;
	memcpy(oid.arcs, set->oid, set->oid_len * sizeof(set->oid[0]));
	int n = oid_to_ber(&oid, ber, sizeof(ber));
	if (n < 0 || !oid_ber_is_valid(ber, (size_t)n))
		return note_set(r, set, NULL);
	if (tlv.err || tlv.p != tlv.end || !has_object(t, &oid, value.tag))
		return note_set(r, set, &oid);
	struct restore_state *e = entry(r->s, &set->device);
	struct dev_sets_change change = {ber, (size_t)n, &value};
	struct dev_sets *sets;
	if (!e)
		return -ENOMEM;
	int err = dev_sets_changed(r->s->mem, e->sets, &change, 1, r->now_ns, &sets);
	if (err < 0)
		return err;
	(void)mem_free(r->s->mem, e->sets);
	e->sets = sets;
	return 0;
}

/* Interfaces come in order of index, and lie in that of slots. */
static int put_if(struct restore_states *s, struct restore_state *e, const struct dev_if *i)
{
	uint32_t n = e->ifs ? e->ifs->n : 0, at = n;
	struct dev_ifs *to = mem_alloc(s->mem, sizeof(*to) + (n + 1) * sizeof(to->ifs[0]));
	if (!to)
		return -ENOMEM;
	while (at > 0 && e->ifs->ifs[at - 1].slot > i->slot)
		at--;
	for (uint32_t j = 0; j < n; j++)
		to->ifs[j + (j >= at)] = e->ifs->ifs[j];
	to->ifs[at] = *i;
	to->n = n + 1;
	(void)mem_free(s->mem, e->ifs);
	e->ifs = to;
	return 0;
}

static int on_if(void *arg, const struct store_if *i)
{
	const struct reading *r = arg;
	const struct type *t = type_of(r->add, &i->device);
	const uint8_t *state = i->state; /* admin, link */
	struct dev_if made = {.since_ns = 0};
	char line[64];
	if (!t)
		return 0;
	if (i->bytes != 2 || state[0] < IF_UP || state[0] > IF_TESTING || state[1] < IF_UP ||
		state[1] > IF_LOWER_LAYER_DOWN || ifstate_slot(t, i->if_index, &made.slot) < 0) {
		(void)snprintf(line, sizeof(line), "the state of interface %u", i->if_index);
		note(r, &i->device, line);
		return 0;
	}
	made.admin = state[0];
	made.link = state[1];
	struct restore_state *e = entry(r->s, &i->device);
	return e ? put_if(r->s, e, &made) : -ENOMEM;
}

/* All memory is taken before the devices are made. */
static int make_states(struct restore_states *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct restore_state *e = &s->list[i];
		if (!e->sets && !e->ifs)
			continue;
		e->state = dev_state_new(s->mem, e->sets, e->ifs);
		if (!e->state)
			return -ENOMEM;
	}
	return 0;
}

int restore_states_read(
	struct restore_states *s, struct store *store, const struct fleet_add *add, uint64_t now_ns)
{
	struct reading r = {s, store, add, now_ns};
	struct addr last;
	int e = fleet_nth_addr(&add->start, add->conf.netmask_len, add->count - 1, &last);
	if (e == 0)
		e = store_each_set_of(store, &add->start, &last, on_set, &r);
	if (e == 0)
		e = store_each_if_of(store, &add->start, &last, on_if, &r);
	return e == 0 ? make_states(s) : e;
}

struct dev_state *restore_states_take(void *arg, const struct device *d)
{
	struct restore_states *s = arg;
	uint32_t at = seek(s, &d->addr);
	struct restore_state *e = at < s->n ? &s->list[at] : NULL;
	if (!e || !addr_eq(&e->addr, &d->addr) || !e->state)
		return NULL;
	/* As after a reboot: in this state from then on (RFC 2863, ifLastChange). */
	for (uint32_t i = 0; e->ifs && i < e->ifs->n; i++)
		e->ifs->ifs[i].since_ns = d->boot_ns;
	e->sets = NULL;
	e->ifs = NULL;
	return TAKE(e->state);
}
