#include "sim/fleet/engine.h"
#include "sim/fleet/ident.h"
#include <string.h>

#define MINUTE_NS (60 * NS_PER_SEC)
#define BOOTS_MAX 0x7fffffffull /* RFC 3414 2.2.2 */

static uint64_t since(uint64_t begun_ns, uint64_t now_ns)
{
	return now_ns > begun_ns ? now_ns - begun_ns : 0;
}

unsigned engine_id(const struct device *d, uint8_t id[static ACCESS_ENGINE_ID_BYTES])
{
	const struct access *a = d->conf->access;
	if (!a || !a->conf.engine_id_bytes)
		return ident_engine_id(d, id);
	memcpy(id, a->conf.engine_id, a->conf.engine_id_bytes);
	return a->conf.engine_id_bytes;
}

struct engine_time engine_time(const struct device *d, uint64_t now_ns)
{
	static const struct fleet_engine none = {1, 0};
	const struct fleet_engine *e = d->conf->engine ? d->conf->engine : &none;
	const struct access *a = d->conf->access;
	uint64_t boots = e->boots, time_s;
	if (a && a->conf.engine_id_bytes) {
		time_s = since(e->start_ns, now_ns) / NS_PER_SEC;
	} else {
		boots += d->boots_more;
		time_s = since(d->boot_ns, now_ns) / NS_PER_SEC + d->time_more_s;
	}
	return (struct engine_time){(uint32_t)MIN(boots, BOOTS_MAX), (uint32_t)time_s & BOOTS_MAX};
}

void engine_set(struct device *d, uint64_t start_ns, uint64_t deleted_ns, uint64_t now_ns)
{
	if (deleted_ns == 0)
		return;
	uint64_t minutes = since(start_ns, now_ns) / MINUTE_NS;
	uint64_t minute_ns = start_ns + minutes * MINUTE_NS;
	d->boots_more = (uint32_t)minutes;
	if (deleted_ns >= minute_ns)
		d->time_more_s = (uint32_t)(since(minute_ns, now_ns) / NS_PER_SEC);
}
