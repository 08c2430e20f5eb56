#include "api/device_json.h"
#include "api/api.h"
#include "sim/fleet/ident.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void device_json(struct text *t, const struct device *d)
{
	char buf[IDENT_TEXT_BYTES], addr[ADDR_TEXT_BYTES];
	const struct type *type = d->conf->type;
	const struct city *city = ident_city(d);
	text_kv_str(t, "id", ident_id(d, buf));
	text_kv_str(t, "ip", addr_text(&d->addr, addr));
	text_kv_u64(t, "snmp_port", d->conf->snmp_port);
	text_kv_u64(t, "ssh_port", 0);
	text_kv_bool(t, "running", true);
	if (d->conf->named_type) {
		(void)snprintf(buf, sizeof(buf), "%s.json", type->slug);
		text_kv_str(t, "resource_file", buf);
	}
	text_kv_str(t, "device_type", d->conf->named_type ? type->label : "Default");
	text_kv_str(t, "location", ident_location(d, buf));
	text_kv_f64(t, "latitude", city->lat);
	text_kv_f64(t, "longitude", city->lon);
}

int device_find(struct request *rq, const struct device **ret_device)
{
	const char *id = request_param(rq, "id");
	char full[IDENT_TEXT_BYTES];
	struct addr a, bare;
	const struct device *d = NULL;
	if (ident_parse(id, &a) == 0)
		d = fleet_find(api_env(rq->api)->fleet, &a);
	if (!d || (addr_parse(id, &bare) < 0 && strcmp(id, ident_id(d, full)) != 0))
		return fault_set(&rq->fault, -ENOENT, "", NULL, "no device %.80s", id);
	*ret_device = d;
	return 0;
}
