/* GET /api/v1/devices/routes: a script for another host that routes the fleet's addresses to this
 * one; routes.sh with the smallest set of prefixes, streamed. */
#include "api/api.h"
#include "api/devices.h"
#include "api/routes_sh.h"
#include "api/walk.h"
#include "net/cover.h"
#include <errno.h>

/* The run of addresses that is being gathered. */
struct script {
	struct walk walk;
	struct addr first, last, next; /* next: what would lengthen it */
	bool open;
};

static void script_head(struct walk *w UNUSED, struct text *t)
{
	text_put(t, routes_sh_head);
}

static void end_run(struct script *s, struct text *t)
{
	char buf[PREFIX_TEXT_BYTES];
	struct prefix p;
	if (!s->open)
		return;
	s->open = false;
	for (struct cover c = cover_of(&s->first, &s->last); cover_next(&c, &p);)
		text_printf(t, "%s\n", prefix_text(&p, buf));
}

static bool script_row(struct walk *w, struct text *t, const struct device *d)
{
	struct script *s = (struct script *)w;
	/* 127/8 cannot be routed anywhere. */
	if (addr_is_loopback(&d->addr))
		return false;
	struct addr after = addr_add(&s->last, 1);
	if (!s->open || (!addr_eq(&d->addr, &s->next) && !addr_eq(&d->addr, &after))) {
		end_run(s, t);
		s->first = d->addr;
		s->open = true;
	}
	s->last = d->addr;
	/* Hosts that a netmask skips are nobody else's: the run goes on behind them. */
	s->next = fleet_next_addr(&d->addr, d->conf->netmask_len);
	return true;
}

static void script_tail(struct walk *w, struct text *t, const struct addr *last UNUSED)
{
	end_run((struct script *)w, t);
	text_put(t, routes_sh_tail);
}

static const struct walk_ops script_ops = {script_head, script_row, script_tail, NULL};

int devices_routes_script(struct request *rq)
{
	struct script *s = walk_new(rq, sizeof(*s), &script_ops);
	if (!s)
		return -ENOMEM;
	devices_attachment(rq, "add_simulator_routes_", ".sh");
	walk_reply(rq, "application/x-sh", &s->walk);
	return 0;
}
