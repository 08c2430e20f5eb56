/* GET /api/v1/devices/{id}: one device with its identity and interfaces. */
#include "api/api.h"
#include "api/device_json.h"
#include "api/devices.h"
#include "base/rcu.h"
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/ifcount.h"
#include <errno.h>
#include <stdio.h>

static void put_hex(
	struct text *t, const char *key, const uint8_t *p, unsigned n, const char *between)
{
	text_key(t, key);
	text_put(t, "\"");
	for (unsigned i = 0; i < n; i++)
		text_printf(t, "%s%02x", i ? between : "", p[i]);
	text_put(t, "\"");
}

static void put_snmp(struct text *t, const struct device *d)
{
	static const char *const names[DEV_SNMP_N] = {
		[DEV_SNMP_IN_PKTS] = "in_pkts",
		[DEV_SNMP_OUT_PKTS] = "out_pkts",
		[DEV_SNMP_IN_BAD_VERSIONS] = "in_bad_versions",
		[DEV_SNMP_IN_BAD_COMMUNITY_NAMES] = "in_bad_community_names",
		[DEV_SNMP_IN_BAD_COMMUNITY_USES] = "in_bad_community_uses",
		[DEV_SNMP_IN_ASN_PARSE_ERRS] = "in_asn_parse_errs",
		[DEV_SNMP_OUT_TOO_BIGS] = "out_too_bigs",
		[DEV_SNMP_OUT_NO_SUCH_NAMES] = "out_no_such_names",
		[DEV_SNMP_IN_TOTAL_REQ_VARS] = "in_total_req_vars",
		[DEV_SNMP_IN_TOTAL_SET_VARS] = "in_total_set_vars",
		[DEV_SNMP_IN_GET_REQUESTS] = "in_get_requests",
		[DEV_SNMP_IN_GET_NEXTS] = "in_get_nexts",
		[DEV_SNMP_IN_SET_REQUESTS] = "in_set_requests",
		[DEV_SNMP_OUT_GET_RESPONSES] = "out_get_responses",
		[DEV_SNMP_SILENT_DROPS] = "silent_drops",
	};
	text_key(t, "snmp");
	text_put(t, "{");
	for (unsigned i = 0; i < DEV_SNMP_N; i++)
		text_kv_u64(t, names[i], __atomic_load_n(&d->snmp[i], __ATOMIC_RELAXED));
	text_put(t, "}");
}

static void put_interface(struct text *t, const struct ifcount *c, const struct device *d,
	uint32_t slot, uint64_t now_ns)
{
	const struct type_if *i = &d->conf->type->ifs[slot];
	const struct dev_state *state = RCU_GET(d->state);
	struct ifcount_lane in, out;
	struct ifstate s;
	ifstate_get(d, state ? state->ifs : NULL, slot, now_ns, &s);
	ifcount_lane(c, i, s.up_ns, IF_IN, &in);
	ifcount_lane(c, i, s.up_ns, IF_OUT, &out);
	text_put(t, "{");
	text_kv_u64(t, "index", i->index);
	text_kv_str(t, "name", i->name);
	text_kv_str(t, "descr", i->descr);
	text_kv_str(t, "alias", i->alias);
	text_kv_u64(t, "type", i->iana_type);
	text_kv_u64(t, "mtu", i->mtu);
	text_kv_u64(t, "speed_bps", i->speed_bps);
	text_kv_u64(t, "admin_status", s.admin);
	text_kv_u64(t, "oper_status", s.oper);
	text_kv_u64(t, "in_octets", in.octets);
	text_kv_u64(t, "out_octets", out.octets);
	text_put(t, "}");
}

static void put_identity(struct text *t, const struct device *d, uint64_t now_ns)
{
	char buf[OID_TEXT_BYTES];
	uint8_t bytes[32];
	const struct type *type = d->conf->type;
	text_kv_str(t, "sys_name", ident_name(d, buf));
	text_kv_str(t, "type", type->slug);
	text_kv_u64(t, "netmask", d->conf->netmask_len);
	text_kv_str(t, "type_name", type->name);
	text_kv_str(t, "category", type->category);
	text_kv_str(t, "sys_descr", type->sys_descr);
	text_kv_str(t, "sys_object_id",
		type->sys_object_id.n ? oid_text(&type->sys_object_id, buf, sizeof(buf)) : "");
	text_kv_f64(t, "uptime_seconds", (double)(now_ns - d->boot_ns) / NS_PER_SEC);
	text_kv_str(t, "serial", ident_serial(d, buf));
	ident_mac(d, 0, bytes);
	put_hex(t, "mac", bytes, 6, ":");
	put_hex(t, "engine_id", bytes, ident_engine_id(d, bytes), "");
}

static int write_device(struct request *rq, uint64_t after, uint64_t limit)
{
	const struct api_env *env = api_env(rq->api);
	const struct device *d;
	RCU_SCOPE;
	int r = device_find(rq, &d);
	if (r < 0)
		return r;
	const struct type *type = d->conf->type;
	uint64_t now_ns = fleet_now_ns(env->fleet), n = 0, last = 0;
	bool more = false;
	struct ifcount count;
	ifcount_init(&count, d);
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{");
	device_json(t, d);
	text_key(t, "detail");
	text_put(t, "{");
	put_identity(t, d, now_ns);
	put_snmp(t, d);
	text_key(t, "interfaces");
	text_put(t, "[");
	for (uint32_t i = 0; i < type->n_ifs; i++) {
		if (type->ifs[i].index <= after)
			continue;
		if (n == limit) {
			more = true;
			break;
		}
		text_put(t, n++ ? "," : "");
		put_interface(t, &count, d, i, now_ns);
		last = type->ifs[i].index;
	}
	text_put(t, "]}}");
	char next[24];
	(void)snprintf(next, sizeof(next), "%llu", (unsigned long long)last);
	reply_page(t, more ? next : NULL, type->n_ifs);
	reply_data_end(rq);
	return 0;
}

int device_get(struct request *rq)
{
	uint64_t after = 0, limit = UINT64_MAX;
	int r = request_query_u64(rq, "limit", 1, UINT32_MAX, &limit);
	if (r == 0)
		r = request_query_u64(rq, "after", 1, INT32_MAX, &after);
	return r < 0 ? r : write_device(rq, after, limit);
}
