/* GET /api/v1/devices/export: the fleet as CSV (RFC 4180), streamed. */
#include "api/api.h"
#include "api/devices.h"
#include "api/walk.h"
#include "sim/fleet/ident.h"
#include <errno.h>
#include <time.h>

static void export_head(struct walk *w UNUSED, struct text *t)
{
	text_put(t, "Device ID,IP Address,Interface,SNMP Port,SSH Port,Status,Resource File\n");
}

static bool export_row(struct walk *w UNUSED, struct text *t, const struct device *d)
{
	char id[IDENT_TEXT_BYTES], addr[ADDR_TEXT_BYTES];
	/* No value holds a comma or a quote. Devices share interfaces and have no SSH. */
	text_printf(t, "%s,%s,N/A,%u,0,Running,%s%s\n", ident_id(d, id), addr_text(&d->addr, addr),
		d->conf->snmp_port, d->conf->named_type ? d->conf->type->slug : "N/A",
		d->conf->named_type ? ".json" : "");
	return true;
}

static void export_tail(
	struct walk *w UNUSED, struct text *t UNUSED, const struct addr *last UNUSED)
{
}

static const struct walk_ops export_ops = {export_head, export_row, export_tail, NULL};

void devices_attachment(struct request *rq, const char *before, const char *after)
{
	char stamp[32];
	time_t now = (time_t)(clk_wall_ns(api_env(rq->api)->clk) / NS_PER_SEC);
	struct tm tm;
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H-%M-%S", gmtime_r(&now, &tm));
	reply_header(&rq->reply, "Content-Disposition", "attachment; filename=\"%s%s%s\"", before,
		stamp, after);
}

int devices_export(struct request *rq)
{
	struct walk *w = walk_new(rq, sizeof(*w), &export_ops);
	if (!w)
		return -ENOMEM;
	devices_attachment(rq, "devices_", ".csv");
	walk_reply(rq, "text/csv; charset=utf-8", w);
	return 0;
}
