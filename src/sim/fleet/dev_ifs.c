#include "sim/fleet/dev_ifs.h"
#include <errno.h>
#include <string.h>

/* RFC 2863: what an administrator took down is down; up, it is as its link. */
static uint8_t oper_of(uint8_t admin, uint8_t link)
{
	return admin == IF_UP ? link : admin;
}

/* Position of the first entry whose slot is not below. */
static uint32_t seek(const struct dev_ifs *ifs, uint32_t slot)
{
	uint32_t lo = 0, hi = ifs ? ifs->n : 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (ifs->ifs[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_at(const struct dev_ifs *ifs, uint32_t at, uint32_t slot)
{
	return ifs && at < ifs->n && ifs->ifs[at].slot == slot;
}

static struct dev_if as_booted(const struct device *d, uint32_t slot)
{
	const struct device_conf *c = d->conf;
	const struct type_if *i = &c->type->ifs[slot];
	struct dev_if booted = {
		.slot = slot, .admin = i->admin, .link = i->oper, .since_ns = d->boot_ns};
	switch ((enum if_scenario)c->if_scenario) {
	case IF_SCENARIO_TYPE:
		break;
	case IF_SCENARIO_SHUTDOWN:
		booted.admin = IF_DOWN;
		break;
	case IF_SCENARIO_FAILURE:
		booted.admin = IF_UP;
		booted.link = IF_DOWN;
		break;
	case IF_SCENARIO_PART:
		booted.admin = IF_UP;
		if (i->index % 100 < c->if_failure_pct)
			booted.link = IF_DOWN;
		break;
	}
	return booted;
}

void ifstate_get(const struct device *d, const struct dev_ifs *ifs, uint32_t slot, uint64_t now_ns,
	struct ifstate *ret_state)
{
	uint32_t at = seek(ifs, slot);
	struct dev_if i = is_at(ifs, at, slot) ? ifs->ifs[at] : as_booted(d, slot);
	*ret_state = (struct ifstate){.admin = i.admin,
		.link = i.link,
		.oper = oper_of(i.admin, i.link),
		.up_ns = i.up_ns,
		.changed_ns = i.changed ? i.since_ns - d->boot_ns : 0};
	if (ret_state->oper == IF_UP && now_ns > i.since_ns)
		ret_state->up_ns += now_ns - i.since_ns;
}

int ifstate_change(const struct mem *mem, const struct device *d, const struct dev_ifs *ifs,
	uint32_t slot, enum ifstate_what what, uint8_t status, uint64_t now_ns,
	const struct dev_ifs **ret_ifs)
{
	uint32_t at = seek(ifs, slot), n = ifs ? ifs->n : 0;
	bool there = is_at(ifs, at, slot);
	struct dev_if i = there ? ifs->ifs[at] : as_booted(d, slot);
	uint8_t *value = what == IFSTATE_ADMIN ? &i.admin : &i.link;
	if (*value == status) {
		*ret_ifs = ifs;
		return 0;
	}
	uint8_t before = oper_of(i.admin, i.link);
	*value = status;
	if (oper_of(i.admin, i.link) != before) {
		if (before == IF_UP && now_ns > i.since_ns)
			i.up_ns += now_ns - i.since_ns;
		i.since_ns = MAX(now_ns, i.since_ns);
		i.changed = true;
	}
	struct dev_ifs *to = mem_alloc(mem, sizeof(*to) + (n + !there) * sizeof(to->ifs[0]));
	if (!to)
		return -ENOMEM;
	to->n = n + !there;
	if (at > 0)
		memcpy(to->ifs, ifs->ifs, at * sizeof(i));
	to->ifs[at] = i;
	if (n > at + there)
		memcpy(&to->ifs[at + 1], &ifs->ifs[at + there], (n - at - there) * sizeof(i));
	*ret_ifs = to;
	return 0;
}

int ifstate_slot(const struct type *t, uint32_t index, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < t->n_ifs; i++)
		if (t->ifs[i].index == index) {
			*ret_slot = i;
			return 0;
		}
	return -ENOENT;
}
