#include "api/api.h"
#include "api/batch_json.h"
#include "api/devices.h"
#include "base/log.h"
#include "sim/fleet/access_json.h"
#include "sim/fleet/pick.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COMMUNITY_BYTES 255
#define SNMP_PORT 161 /* snmp_port 0 or not given */

struct create {
	struct body_value start_ip, device_count, netmask, resource_file, round_robin, category,
		snmp_port, write_community, snmpv3, if_error_scenario, pre_allocate, max_workers;
};
#define ABSENT(key, text) \
	{ \
		.name = (key), .help = (text), .kind = BODY_ABSENT \
	}
#define CLEAN(key, text) \
	{ \
		.name = (key), .help = (text), .kind = BODY_CLEAN \
	}
const struct body_key devices_create_keys[] = {
	BODY_KEY_STR(struct create, start_ip, true, NULL, "Address of the first device"),
	BODY_KEY_INT(struct create, device_count, true, 1, FLEET_MAX_DEVICES, "How many devices"),
	BODY_KEY_STR(struct create, netmask, false, "^[0-9]{0,3}$",
		"Prefix length: its first and last address are skipped, and when given the range "
		"must fit in it; empty: 16, IPv6 64"),
	BODY_KEY_STR(struct create, resource_file, false, "^([a-zA-Z0-9_-]+\\.json)?$",
		"Device type of all; empty: asr9k"),
	BODY_KEY_BOOL(struct create, round_robin, "Give the devices all types in turn"),
	BODY_KEY_STR(struct create, category, false, NULL, "Types of round_robin, empty: all"),
	BODY_KEY_JSON(
		struct create, snmpv3, ACCESS_JSON_SCHEMA, "Who may ask by SNMPv3; null: nobody"),
	BODY_KEY_BOOL(struct create, pre_allocate, "Without effect: nothing is pre-allocated"),
	BODY_KEY_INT(struct create, max_workers, false, 0, 1000,
		"Without effect: no workers are needed"),
	BODY_KEY_INT(struct create, snmp_port, false, 0, 65535, "UDP port of the agents, 0: 161"),
	BODY_KEY_STR(struct create, write_community, false, "^[^\\u0000]{0,255}$",
		"Community that may SET by SNMPv1 and v2c, empty: nobody; never told again"),
	ABSENT("flow", "Not in this build"),
	ABSENT("traps", "Not in this build"),
	ABSENT("syslog", "Not in this build"),
	ABSENT("gnmi_dialout", "Not in this build"),
	BODY_KEY_STR(struct create, if_error_scenario, false, "^(clean|typical|degraded|failing)?$",
		"How many errors and discards their interfaces count: clean, typical, degraded or "
		"failing, in any case; empty: clean"),
	CLEAN("if_flap_scenario", "Only clean is in this build"),
	CLEAN("optical_scenario", "Only clean is in this build"),
	{0},
};

/* What the answer needs of the body once it is gone. */
enum { SAID_PRE_ALLOCATE = 1, SAID_MAX_WORKERS = 2, SAID_CATEGORY = 4 };

static int read_range(const struct create *c, struct fleet_add *add, struct fault *f)
{
	if (addr_parse(c->start_ip.str, &add->start) < 0)
		return fault_set(f, -EINVAL, "/start_ip", "an IPv4 or IPv6 address",
			"%.80s is no address", c->start_ip.str);
	unsigned bits = fleet_addr_bits(&add->start);
	add->conf.netmask_len = fleet_default_netmask(&add->start);
	add->netmask_given = c->netmask.given && *c->netmask.str;
	if (add->netmask_given) {
		char allowed[16];
		uint64_t len;
		(void)snprintf(allowed, sizeof(allowed), "0..%u", bits);
		if (num_u64(c->netmask.str, 0, bits, &len) < 0)
			return fault_set(f, -EINVAL, "/netmask", allowed,
				"%.40s is no prefix length", c->netmask.str);
		add->conf.netmask_len = (uint8_t)len;
	}
	add->count = (uint32_t)c->device_count.num;
	if (c->write_community.given && *c->write_community.str) {
		if (strlen(c->write_community.str) > COMMUNITY_BYTES)
			return fault_set(
				f, -EINVAL, "/write_community", "at most 255 bytes", "is too long");
		add->conf.write_community = c->write_community.str;
	}
	add->conf.snmp_port = c->snmp_port.num ? (uint16_t)c->snmp_port.num : SNMP_PORT;
	return 0;
}

/* In any case and with blanks around it, as the original takes it. */
static int read_errors(const struct create *c, struct fleet_add *add, struct fault *f)
{
	static const char *const names[] = {[IF_ERRORS_CLEAN] = "clean",
		[IF_ERRORS_TYPICAL] = "typical",
		[IF_ERRORS_DEGRADED] = "degraded",
		[IF_ERRORS_FAILING] = "failing"};
	const char *s = c->if_error_scenario.given ? c->if_error_scenario.str : "";
	s += strspn(s, " \t");
	size_t n = strcspn(s, " \t");
	if (n == 0 && !s[strspn(s, " \t")])
		return 0;
	for (uint8_t i = 0; i < ARRAY_SIZE(names) && !s[n + strspn(s + n, " \t")]; i++)
		if (n == strlen(names[i]) && strncasecmp(s, names[i], n) == 0) {
			add->conf.if_errors = i;
			return 0;
		}
	return fault_set(f, -EINVAL, "/if_error_scenario", "clean, typical, degraded, failing",
		"%.40s is no scenario", c->if_error_scenario.str);
}

/* Exception: what is wrong with a type is a fault of the body that names it: 400. Its place is
 * file, line and pointer; no folder is ever in it. */
static int refuse_type(struct fault *f, int r, const char *name)
{
	if (f->code != r || f->field[0] == '/' || (r != -ENOENT && r != -EINVAL))
		return r;
	struct fault of_file = *f;
	const char *place = of_file.field;
	return fault_set(f, -EINVAL, "/resource_file", of_file.allowed,
		"resource %.64s: %.120s%s%.120s", name, r == -ENOENT ? "" : place,
		r == -ENOENT ? "" : ": ", of_file.text);
}

static int pick(struct request *rq, const struct create *c, struct pick *ret_pick)
{
	const struct api_env *env = api_env(rq->api);
	struct pick_ask ask = {.round_robin = c->round_robin.on};
	if (c->resource_file.given && *c->resource_file.str)
		ask.slug = c->resource_file.str;
	size_t n = ask.slug ? strlen(ask.slug) : 0;
	if (ask.slug && (n < 5 || strcmp(ask.slug + n - 5, ".json") != 0))
		return fault_set(&rq->fault, -EINVAL, "/resource_file", "NAME.json",
			"resource %.64s: does not end in .json", ask.slug);
	if (ask.round_robin && c->category.given && *c->category.str)
		ask.category = c->category.str;
	int r = pick_types(env->types, rq->mem, &ask, ret_pick, &rq->fault);
	return r < 0 ? refuse_type(&rq->fault, r, ask.slug ? ask.slug : "of the round robin") : 0;
}

static void on_done(void *arg, uint64_t id UNUSED)
{
	struct later *l = arg;
	later_wake(l, false);
	(void)later_unref(l);
}

static void put_warnings(struct text *t, uint64_t said, const struct batch_info *b)
{
	if (!said && !b->added.differing)
		return;
	text_key(t, "warnings");
	text_put(t, "[");
	if (said & SAID_PRE_ALLOCATE)
		batch_json_warning(t, "pre_allocate", "true", "none",
			"has no meaning here: nothing is made per device beforehand");
	if (said & SAID_MAX_WORKERS)
		batch_json_warning(t, "max_workers", "given", "none",
			"has no meaning here: no workers make devices");
	if (said & SAID_CATEGORY)
		batch_json_warning(t, "category", "given", "none",
			"only chooses among the types of round_robin");
	batch_json_warnings(t, b);
	text_put(t, "]");
}

/* The answer once batch rq->ticket is done. */
static int answer_done(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	uint64_t id = rq->ticket >> 8, said = rq->ticket & 0xff;
	struct batch_info b;
	int r = batch_get(env->batches, id, &b);
	if (r < 0)
		return fault_set(&rq->fault, -EIO, "", NULL,
			"batch %llu has ended, but too long ago to tell how",
			(unsigned long long)id);
	if (b.state == BATCH_FAILED) {
		rq->fault = b.fault;
		return b.fault.code;
	}
	char first[ADDR_TEXT_BYTES], message[160];
	uint32_t created = b.added.created + b.added.existing, failed = b.requested - created;
	(void)addr_text(&b.first, first);
	if (failed)
		(void)snprintf(message, sizeof(message),
			"Created %u of %u devices (%u failed to start) starting from %s", created,
			b.requested, failed, first);
	else
		(void)snprintf(message, sizeof(message), "Created %u devices starting from %s",
			created, first);
	struct text *t = reply_data(rq, 201, message);
	text_put(t, "{");
	text_kv_u64(t, "created", created);
	text_kv_u64(t, "requested", b.requested);
	text_kv_u64(t, "failed", failed);
	put_warnings(t, said, &b);
	text_key(t, "batch");
	text_put(t, "{");
	batch_json(t, &b, clk_ns(env->clk));
	text_put(t, "}}");
	reply_data_end(rq);
	return 0;
}

static int answer_accepted(struct request *rq, uint64_t id, uint64_t said)
{
	const struct api_env *env = api_env(rq->api);
	struct batch_info b;
	int r = batch_get(env->batches, id, &b);
	if (r < 0)
		return r;
	char message[64];
	(void)snprintf(message, sizeof(message), "Batch %llu is under way", (unsigned long long)id);
	reply_header(&rq->reply, "Location", "/api/v1/batches/%llu", (unsigned long long)id);
	reply_header(&rq->reply, "Preference-Applied", "respond-async");
	struct text *t = reply_data(rq, 202, message);
	text_put(t, "{");
	batch_json(t, &b, clk_ns(env->clk));
	put_warnings(t, said, &b);
	text_put(t, "}");
	reply_data_end(rq);
	return 0;
}

/* Logged once: a client that always sends them would fill the log. */
static void log_said(struct api *a, uint64_t said)
{
	if ((said & SAID_PRE_ALLOCATE) && api_first(a, SAID_PRE_ALLOCATE))
		log_info(NULL, 0, "pre_allocate of a create has no meaning here");
	if ((said & SAID_MAX_WORKERS) && api_first(a, SAID_MAX_WORKERS))
		log_info(NULL, 0, "max_workers of a create has no meaning here");
}

static uint64_t said_by(const struct create *c)
{
	bool category = c->category.given && *c->category.str;
	return (c->pre_allocate.given ? SAID_PRE_ALLOCATE : 0) |
	       (c->max_workers.num ? SAID_MAX_WORKERS : 0) |
	       (category && !c->round_robin.on ? SAID_CATEGORY : 0);
}

static int submit(struct request *rq, const struct create *c, struct fleet_add *add)
{
	const struct api_env *env = api_env(rq->api);
	bool async = request_prefers(rq, "respond-async");
	struct batch_ask ask = {.add = *add, .detached = async};
	uint64_t id = 0, said = said_by(c);
	log_said(rq->api, said);
	if (async) {
		int r = batch_submit(env->batches, &ask, NULL, NULL, &id, &rq->fault);
		return r < 0 ? r : answer_accepted(rq, id, said);
	}
	int r = later_new(rq->mem, &rq->later);
	if (r < 0)
		return r;
	r = batch_submit(env->batches, &ask, on_done, later_ref(rq->later), &id, &rq->fault);
	if (r < 0) {
		(void)later_unref(rq->later);
		return r;
	}
	rq->ticket = id << 8 | said;
	rq->resume = answer_done;
	return -EINPROGRESS;
}

int devices_create(struct request *rq)
{
	struct create c;
	AUTO_BODY json_t *json = NULL;
	struct fleet_add add = {.count = 0};
	struct pick picked;
	AUTO_ACCESS const struct access *access = NULL;
	int r = body_decode(
		rq->body, rq->body_bytes, devices_create_keys, &c, sizeof(c), &json, &rq->fault);
	if (r == 0)
		r = read_range(&c, &add, &rq->fault);
	if (r == 0 && c.snmpv3.given)
		r = access_read_json(rq->mem, fleet_kus(api_env(rq->api)->fleet), c.snmpv3.json,
			&access, &rq->fault);
	if (r == 0)
		r = read_errors(&c, &add, &rq->fault);
	if (r == 0)
		r = pick(rq, &c, &picked);
	if (r < 0)
		return r;
	add.types = picked.types;
	add.n_types = picked.n;
	add.conf.named_type = picked.named;
	add.conf.access = access;
	r = submit(rq, &c, &add);
	pick_done(&picked);
	return r;
}
