/* What was set on a device by SNMP: listed, and put back. */
#include "api/api.h"
#include "api/change_wait.h"
#include "api/device_json.h"
#include "base/rcu.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/store.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put_octets(struct text *t, const struct ber_value *v)
{
	bool plain = true;
	for (uint16_t i = 0; i < v->len; i++)
		plain &= v->bytes[i] >= ' ' && v->bytes[i] <= '~';
	text_key(t, plain ? "value" : "hex");
	text_put(t, "\"");
	for (uint16_t i = 0; i < v->len; i++) {
		if (!plain)
			text_printf(t, "%02x", v->bytes[i]);
		else if (v->bytes[i] == '"' || v->bytes[i] == '\\')
			text_printf(t, "\\%c", v->bytes[i]);
		else
			text_write(t, &v->bytes[i], 1);
	}
	text_put(t, "\"");
}

static void put_value(struct text *t, const struct ber_value *v)
{
	struct oid oid;
	char buf[OID_TEXT_BYTES];
	switch (v->tag) {
	case BER_OCTET_STRING:
	case BER_OPAQUE:
		put_octets(t, v);
		return;
	case BER_IPADDRESS:
		(void)snprintf(buf, sizeof(buf), "%u.%u.%u.%u", v->bytes[0], v->bytes[1],
			v->bytes[2], v->bytes[3]);
		text_kv_str(t, "value", buf);
		return;
	case BER_OID:
		text_kv_str(t, "value",
			oid_from_ber(v->bytes, v->len, &oid) == 0 ? oid_text(&oid, buf, sizeof(buf))
								  : "");
		return;
	case BER_INTEGER:
		text_kv_i64(t, "value", v->i);
		return;
	default:
		text_kv_u64(t, "value", v->u);
	}
}

static const char *type_name(uint8_t tag)
{
	switch (tag) {
	case BER_INTEGER:
		return "integer";
	case BER_OCTET_STRING:
		return "string";
	case BER_OID:
		return "oid";
	case BER_IPADDRESS:
		return "ipaddress";
	case BER_TIMETICKS:
		return "timeticks";
	default:
		return "gauge32";
	}
}

static void put_set(
	struct text *t, const struct dev_sets *s, const struct dev_set *set, uint64_t now_ns)
{
	struct oid oid;
	struct mib_ref ref;
	char buf[OID_TEXT_BYTES];
	struct ber_value v = dev_set_value(s, set);
	if (oid_from_ber(dev_sets_bytes(s) + set->ber_at, set->ber_n, &oid) < 0)
		return;
	text_put(t, "{");
	text_kv_str(t, "oid", oid_text(&oid, buf, sizeof(buf)));
	text_kv_str(t, "name", mib_find(&oid, &ref) == 0 ? ref.object->name : NULL);
	text_kv_str(t, "type", type_name(v.tag));
	put_value(t, &v);
	text_kv_f64(t, "age_seconds", (double)(now_ns - set->set_ns) / NS_PER_SEC);
	text_put(t, "}");
}

static int sets_get(struct request *rq)
{
	const struct device *d;
	RCU_SCOPE;
	int r = device_find(rq, &d);
	if (r < 0)
		return r;
	const struct dev_state *state = RCU_GET(d->state);
	const struct dev_sets *sets = state ? state->sets : NULL;
	uint64_t now_ns = fleet_now_ns(api_env(rq->api)->fleet);
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "[");
	for (uint32_t i = 0; sets && i < sets->n; i++) {
		text_put(t, i ? "," : "");
		put_set(t, sets, &sets->set[i], now_ns);
	}
	text_put(t, "]");
	reply_page(t, NULL, sets ? sets->n : 0);
	reply_data_end(rq);
	return 0;
}

struct reset {
	struct change_wait wait;
	struct store *store;
	uint64_t boot_ns;
	bool one; /* only this */
	struct oid oid;
	uint32_t n; /* put back */
};

static int forget(struct reset *w, struct keeping *k, const struct device *d)
{
	if (!w->store)
		return 0;
	int r = w->one ? store_del_set(w->store, &d->addr, w->oid.arcs, w->oid.n)
		       : store_del_sets_of(w->store, &d->addr, &d->addr);
	return r < 0 ? keeping_fail(k, r) : 0;
}

static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct reset *w = CONTAINER_OF(c, struct reset, wait.change);
	if (!d || d->boot_ns != w->boot_ns)
		return -ENOENT;
	const struct dev_state *state = keeping_state(k, d);
	const struct dev_sets *sets = state ? state->sets : NULL;
	struct dev_sets *next = NULL;
	w->n = sets ? sets->n : 0;
	if (w->one && sets) {
		uint8_t ber[OID_BER_BYTES];
		int n = oid_to_ber(&w->oid, ber, sizeof(ber));
		struct dev_sets_change gone = {ber, n > 0 ? (size_t)n : 0, NULL};
		int r = n < 0 ? -EINVAL
			      : dev_sets_changed(keeping_mem(k), sets, &gone, 1, 0, &next);
		if (r < 0)
			return r;
		w->n -= next ? next->n : 0;
	}
	if (w->n == 0) {
		mem_free(keeping_mem(k), next);
		return w->one ? -ESRCH : 0;
	}
	int r = forget(w, k, d);
	if (r < 0) {
		mem_free(keeping_mem(k), next);
		return r;
	}
	r = keeping_put(k, d, next, state->ifs);
	return r < 0 ? keeping_fail(k, r) : 0;
}

static int answer(struct request *rq)
{
	const struct reset *w = rq->work;
	int r = w->wait.result;
	if (r == -ESRCH)
		return fault_set(&rq->fault, -ENOENT, "oid", NULL, "%.80s was not set",
			request_query(rq, "oid"));
	if (r < 0)
		return change_refused(rq, r);
	reply_message(rq, 200, "%u objects as the type has them", w->n);
	return 0;
}

static int sets_delete(struct request *rq)
{
	const struct device *d;
	const char *oid = request_query(rq, "oid");
	struct reset *w = mem_zalloc(rq->mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->wait.change.apply = apply;
	w->store = api_env(rq->api)->store;
	w->one = oid;
	int r = oid ? oid_parse(oid, &w->oid) : 0;
	if (r < 0)
		r = fault_set(
			&rq->fault, -EINVAL, "oid", "an OID in numbers", "%.80s is none", oid);
	rcu_in();
	if (r == 0)
		r = device_find(rq, &d);
	if (r == 0) {
		w->wait.change.addr = d->addr;
		w->boot_ns = d->boot_ns;
	}
	rcu_out();
	if (r == 0)
		return change_wait(rq, &w->wait, answer);
	mem_free(rq->mem, w);
	return r;
}

const struct schema set_schemas[] = {
	{"Set", "{oid:str, name:~str 'Of the object', type:str, value?:any"
		", hex?:str 'Octets that are no text', age_seconds:num}"},
	{0},
};
static const struct route_query delete_query[] = {
	{"oid", "Only this object, by its OID with the instance; absent: all", "str",
		.pattern = "^[.]?1[.]3([.][0-9]{1,9}){1,120}$"},
	{0}};
static const struct route_answer get_answers[] = {
	{200, "What was set, in order of OID", "Page<[Set]>", NULL},
	{404, "No such device", "Error", NULL}, {0}};
static const struct route_answer delete_answers[] = {
	{200, "The objects are as the type has them", "Message", NULL},
	{404, "No such device, or the object was not set", "Error", NULL},
	{503, "The change could not be kept", "Error", NULL}, {0}};
const struct route sets_routes[] = {
	{GET, "/api/v1/devices/{id}/sets", sets_get, 0, "List what was set on a device by SNMP",
		get_answers},
	{DELETE, "/api/v1/devices/{id}/sets", sets_delete, 0,
		"Put what was set on a device back to what its type has", delete_answers,
		delete_query},
	{0},
};
