/* GET /api/v1/prometheus/sd: the agents as targets for Prometheus' HTTP service discovery, streamed
 * in order of address. */
#include "api/api.h"
#include "api/walk.h"
#include "sim/fleet/ident.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#define SNMP_PORT 161 /* the exporter's default: not shown */

static void sd_head(struct walk *w UNUSED, struct text *t)
{
	text_put(t, "[");
}

static bool sd_row(struct walk *w, struct text *t, const struct device *d)
{
	char target[ADDR_PORT_TEXT_BYTES], slug[72], name[IDENT_TEXT_BYTES], port[8];
	const struct device_conf *c = d->conf;
	if (c->snmp_port == SNMP_PORT)
		(void)addr_text(&d->addr, target);
	else
		(void)addr_port_text(&d->addr, c->snmp_port, target);
	(void)snprintf(slug, sizeof(slug), "%s", c->type->slug);
	for (char *s = slug; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	(void)snprintf(port, sizeof(port), "%u", c->snmp_port);
	text_put(t, w->rows ? ",\n{\"targets\":[" : "\n{\"targets\":[");
	text_json(t, target);
	text_put(t, "],\"labels\":{");
	text_kv_str(t, "__meta_nl6_resource", slug);
	text_kv_str(t, "__meta_nl6_device_type", c->named_type ? c->type->label : "Default");
	text_kv_str(t, "__meta_nl6_sys_name", ident_name(d, name));
	text_kv_str(t, "__meta_nl6_snmp_port", port);
	text_put(t, "}}");
	return true;
}

static void sd_tail(struct walk *w UNUSED, struct text *t, const struct addr *last UNUSED)
{
	text_put(t, "]\n");
}

static const struct walk_ops sd_ops = {sd_head, sd_row, sd_tail, NULL};

static int sd_get(struct request *rq)
{
	struct walk *w = walk_new(rq, sizeof(*w), &sd_ops);
	if (!w)
		return -ENOMEM;
	walk_reply(rq, NULL, w);
	return 0;
}

static const struct route_answer sd_answers[] = {
	{200, "The targets",
		"[{targets:[str 'Address, with the port unless it is 161'], labels:map<str>}]",
		NULL},
	{0}};
const struct route sd_routes[] = {
	{GET, "/api/v1/prometheus/sd", sd_get, 0, "List the agents for Prometheus HTTP discovery",
		sd_answers},
	{0},
};
