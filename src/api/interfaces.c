/* States of interfaces over REST: administrative or of the link, for good or for a while. */
#include "api/api.h"
#include "api/body.h"
#include "api/change_wait.h"
#include "api/device_json.h"
#include "base/rcu.h"
#include "sim/fleet/ifset.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct state_body {
	struct body_value status, duration;
};
static const struct body_key state_keys[] = {
	BODY_KEY_STR(struct state_body, status, true, "^(UP|DOWN|TESTING)$", "UP, DOWN or TESTING"),
	BODY_KEY_STR(struct state_body, duration, false, NULL,
		"After it what was there before comes back, at most 24h: \"30s\""),
	{0},
};
static const char *const status_names[] = {
	NULL, "UP", "DOWN", "TESTING", "UNKNOWN", "DORMANT", "NOT_PRESENT", "LOWER_LAYER_DOWN"};

struct state_wait {
	struct change_wait wait;
	struct ifset *ifset;
	uint64_t boot_ns;
	struct ifset_ask ask;
	struct ifset_revert *revert;
	struct ifstate now;
};

static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct state_wait *w = CONTAINER_OF(c, struct state_wait, wait.change);
	if (!d || d->boot_ns != w->boot_ns)
		return -ENOENT;
	int r = ifset_apply(w->ifset, k, d, &w->ask, &w->revert);
	const struct dev_state *state = keeping_state(k, d);
	if (r == 0)
		ifstate_get(d, state ? state->ifs : NULL, w->ask.slot, keeping_now_ns(k), &w->now);
	return r;
}

static void told(struct change_wait *wait, int r)
{
	struct state_wait *w = CONTAINER_OF(wait, struct state_wait, wait);
	if (r == 0)
		ifset_arm(w->ifset, &w->wait.change.addr, &w->ask, w->revert);
	else
		mem_free(wait->mem, w->revert);
	w->revert = NULL;
}

/* Exception: 202 and no envelope, as the original. */
static int answer(struct request *rq)
{
	const struct state_wait *w = rq->work;
	int r = w->wait.result;
	if (r == -EDQUOT)
		return fault_set(&rq->fault, r, "", NULL,
			"%u states of this device's interfaces wait to come back",
			IFSET_REVERTS_MAX);
	if (r < 0)
		return change_refused(rq, r);
	struct text *t = reply_raw(rq, 202, NULL);
	text_put(t, "{");
	text_kv_str(t, "link", status_names[w->now.link]);
	text_kv_str(t, "oper_status", status_names[w->now.oper]);
	text_kv_str(t, "admin_status", status_names[w->now.admin]);
	text_kv_bool(t, "masked", w->now.admin != IF_UP);
	text_put(t, "}");
	return 0;
}

/* Exception: a list of what is there, as the original. */
static void refuse_index(struct request *rq, const struct type *type)
{
	struct text *t = reply_raw(rq, 400, NULL);
	text_put(t, "{");
	text_kv_str(t, "error", "unknown ifIndex");
	text_key(t, "validIfIndexes");
	text_put(t, "[");
	for (uint32_t i = 0; i < type->n_ifs; i++)
		text_printf(t, "%s%u", i ? "," : "", type->ifs[i].index);
	text_put(t, "]}");
}

static int read_body(struct request *rq, struct ifset_ask *ask)
{
	struct state_body b;
	AUTO_BODY json_t *json = NULL;
	int r = body_decode(rq->body, rq->body_bytes, state_keys, &b, sizeof(b), &json, &rq->fault);
	if (r < 0)
		return r;
	for (uint8_t s = IF_UP; s <= IF_TESTING; s++)
		if (strcmp(status_names[s], b.status.str) == 0)
			ask->status = s;
	if (!ask->status)
		return fault_set(&rq->fault, -EINVAL, "/status", "UP, DOWN, TESTING",
			"%.40s is no state", b.status.str);
	if (!b.duration.given)
		return 0;
	size_t n = strlen(b.duration.str);
	if (n == 0 || isdigit((unsigned char)b.duration.str[n - 1]) ||
		num_duration(b.duration.str, &ask->duration_ns) < 0 || !ask->duration_ns ||
		ask->duration_ns > IFSET_DURATION_MAX_NS)
		return fault_set(&rq->fault, -EINVAL, "/duration", "a duration up to 24h, as 30s",
			"\"%.40s\" is none", b.duration.str);
	return 0;
}

/* Finds device and interface. 1: it has answered. */
static int find(struct request *rq, struct state_wait *w)
{
	const struct device *d;
	uint64_t index;
	RCU_SCOPE;
	int r = device_find(rq, &d);
	if (r < 0)
		return r;
	if (num_u64(request_param(rq, "index"), 1, INT32_MAX, &index) < 0 ||
		ifstate_slot(d->conf->type, (uint32_t)index, &w->ask.slot) < 0) {
		refuse_index(rq, d->conf->type);
		return 1;
	}
	w->wait.change.addr = d->addr;
	w->boot_ns = d->boot_ns;
	return 0;
}

static int set_state(struct request *rq, enum ifstate_what what)
{
	struct state_wait *w = mem_zalloc(rq->mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->wait.change.apply = apply;
	w->wait.told = told;
	w->ifset = api_env(rq->api)->ifset;
	w->ask.what = what;
	int r = read_body(rq, &w->ask);
	if (r == 0)
		r = find(rq, w);
	if (r == 0)
		return change_wait(rq, &w->wait, answer);
	mem_free(rq->mem, w);
	return r < 0 ? r : 0;
}

static int set_oper(struct request *rq)
{
	return set_state(rq, IFSTATE_LINK);
}

static int set_admin(struct request *rq)
{
	return set_state(rq, IFSTATE_ADMIN);
}

const struct schema interface_schemas[] = {
	{"InterfaceState", "{link:str 'State that ifOperStatus has while the administrative is UP'"
			   ", oper_status:str, admin_status:str"
			   ", masked:bool 'The administrative state hides the link'}"},
	{0},
};
static const struct route_answer state_answers[] = {
	{202, "It is so now, and kept", "InterfaceState", NULL},
	{400, "The body is at fault, or there is no such interface", "any", NULL},
	{404, "No such device", "Error", NULL},
	{429, "A hundred states of the device's interfaces wait to come back", "Error", NULL},
	{503, "The change could not be kept", "Error", NULL}, {0}};
const struct route interfaces_routes[] = {
	{POST, "/api/v1/devices/{id}/interfaces/{index}/oper-status", set_oper, 4096,
		"Set the link of an interface", state_answers, .body = state_keys},
	{POST, "/api/v1/devices/{id}/interfaces/{index}/admin-status", set_admin, 4096,
		"Set the administrative state of an interface", state_answers, .body = state_keys},
	{0},
};
