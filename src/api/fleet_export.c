/* GET /api/v1/fleet/export: what is needed to make the fleet again, streamed. */
#include "api/api.h"
#include "api/devices.h"
#include "api/fleet.h"
#include "api/fleet_device.h"
#include "base/rcu.h"
#include "sim/fleet/access_json.h"
#include "sim/fleet/store_create.h"
#include <errno.h>
#include <jansson.h>
#include <string.h>

/* Devices looked at within one reader section. */
#define SLICE_DEVICES 4096u
#define SLICE_BYTES (64u << 10) /* and about what is written in it */

enum export_at { EXPORT_HEAD, EXPORT_CREATES, EXPORT_DEVICES, EXPORT_END };
struct export
{
	const struct mem *mem;
	const struct api_env *env;
	bool secrets;
	enum export_at at;
	uint32_t *ids; /* of the batches */
	uint32_t n_ids, next_id;
	/* The batch in work; asked NULL: none. */
	json_t *asked;
	struct store_create create;
	struct addr addr;     /* of device `next` */
	uint32_t next;	      /* device to look at */
	struct addr run_addr; /* of the devices before it that are there, one after the other */
	uint32_t run;
	struct addr after; /* the last device whose state was looked at */
	bool has_after;
	struct text out;
	size_t taken;
};

bool fleet_is_secret(const char *name)
{
	static const char *const names[] = {"write_community"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void export_free(void *arg)
{
	struct export *e = arg;
	json_decref(e->asked);
	store_create_done(e->mem, &e->create);
	text_done(&e->out);
	(void)mem_free(e->mem, e->ids);
	(void)mem_free(e->mem, e);
}

static int put_object(struct export *e, const char *what, json_t *object)
{
	json_t *line = json_pack("{s:o}", what, object);
	char *s = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (!s)
		return -ENOMEM;
	text_put(&e->out, s);
	text_put(&e->out, "\n");
	free(s);
	return e->out.err;
}

/* The types of the run's devices, in turn. */
static json_t *run_types(const struct export *e)
{
	const struct store_create *c = &e->create;
	json_t *types = json_array();
	uint32_t first = e->next - e->run;
	for (uint32_t i = 0; types && i < MIN(c->n_slugs, e->run); i++) {
		json_t *slug = json_string(c->slugs[(first + i) % c->n_slugs]);
		if (json_array_append_new(types, slug) < 0) {
			json_decref(types);
			return NULL;
		}
	}
	return types;
}

static int put_run(struct export *e)
{
	char start[ADDR_TEXT_BYTES];
	if (e->run == 0)
		return 0;
	json_t *o = json_copy(e->asked);
	int r = o ? 0 : -1;
	r |= json_object_set_new(o, "start", json_string(addr_text(&e->run_addr, start)));
	r |= json_object_set_new(o, "count", json_integer(e->run));
	r |= json_object_set_new(o, "types", run_types(e));
	const char *key;
	json_t *value;
	void *next;
	if (r == 0 && !e->secrets && json_object_get(o, "snmpv3")) {
		/* The copy shares its members with what was asked. */
		json_t *v3 = json_deep_copy(json_object_get(o, "snmpv3"));
		access_hide_json(v3);
		r = json_object_set_new(o, "snmpv3", v3);
	}
	if (r == 0 && !e->secrets)
		json_object_foreach_safe(o, next, key, value) if (fleet_is_secret(key))(void)
			json_object_del(o, key);
	if (r != 0) {
		json_decref(o);
		return -ENOMEM;
	}
	e->run = 0;
	return put_object(e, "create", o);
}

/* Takes up the next batch. -ENOENT: it is gone. */
static int begin_batch(struct export *e)
{
	AUTO_TEXT struct text t = TEXT(e->mem);
	int r = batches_asked(e->env->batches, e->ids[e->next_id], &t);
	if (r == 0)
		r = store_create_read(
			e->mem, fleet_kus(e->env->fleet), t.s, t.len, &e->create, NULL);
	if (r < 0)
		return r;
	e->asked = json_loadb(t.s, t.len, 0, NULL);
	e->addr = e->create.add.start;
	e->next = 0;
	return e->asked ? 0 : -ENOMEM;
}

static void end_batch(struct export *e)
{
	json_decref(e->asked);
	e->asked = NULL;
	store_create_done(e->mem, &e->create);
	e->next_id++;
}

static bool is_there(const struct export *e)
{
	const struct device *d = fleet_find(e->env->fleet, &e->addr);
	return d && d->batch == e->ids[e->next_id];
}

static int walk_batch(struct export *e)
{
	const struct fleet_add *add = &e->create.add;
	RCU_SCOPE;
	for (unsigned i = 0; i < SLICE_DEVICES && e->next < add->count; i++) {
		if (!is_there(e)) {
			int r = put_run(e);
			if (r < 0)
				return r;
		} else if (e->run++ == 0) {
			e->run_addr = e->addr;
		}
		e->next++;
		e->addr = fleet_next_addr(&e->addr, add->conf.netmask_len);
	}
	return e->next == add->count ? put_run(e) : 0;
}

static int produce_creates(struct export *e)
{
	int r = 0;
	if (e->next_id == e->n_ids) {
		e->at = EXPORT_DEVICES;
		return 0;
	}
	if (!e->asked) {
		r = begin_batch(e);
		if (r == -ENOENT) {
			end_batch(e);
			return 0;
		}
	}
	if (r == 0)
		r = walk_batch(e);
	if (r == 0 && e->next == e->create.add.count)
		end_batch(e);
	return r;
}

static int produce_devices(struct export *e)
{
	RCU_SCOPE;
	for (unsigned i = 0; i < SLICE_DEVICES && e->out.len < SLICE_BYTES; i++) {
		const struct device *d = fleet_next(e->env->fleet, e->has_after ? &e->after : NULL);
		if (!d) {
			e->at = EXPORT_END;
			break;
		}
		e->after = d->addr;
		e->has_after = true;
		const struct dev_state *state = RCU_GET(d->state);
		if (!state)
			continue;
		text_put(&e->out, "{\"device\":");
		fleet_device_text(&e->out, d, state);
		text_put(&e->out, "}\n");
	}
	return e->out.err;
}

static int produce(struct export *e)
{
	text_clear(&e->out);
	e->taken = 0;
	if (e->at == EXPORT_CREATES)
		return produce_creates(e);
	if (e->at == EXPORT_DEVICES)
		return produce_devices(e);
	if (e->at == EXPORT_HEAD) {
		text_put(&e->out, "{\"nl6\":{");
		text_kv_u64(&e->out, "format", FLEET_FORMAT);
		text_kv_str(&e->out, "version", e->env->version);
		text_kv_bool(&e->out, "secrets", e->secrets);
		text_put(&e->out, "}}\n");
		e->at = EXPORT_CREATES;
	}
	return e->out.err;
}

static ssize_t export_read(void *arg, char *buf, size_t room)
{
	struct export *e = arg;
	while (e->taken == e->out.len) {
		if (e->at == EXPORT_END)
			return REPLY_STREAM_END;
		int r = produce(e);
		if (r < 0)
			return r;
		/* Whoever waits while nothing is found sees that there is life. */
		if (e->out.len == 0 && (e->asked || e->at == EXPORT_DEVICES))
			text_put(&e->out, "\n");
	}
	size_t n = MIN(room, e->out.len - e->taken);
	memcpy(buf, e->out.s + e->taken, n);
	e->taken += n;
	return (ssize_t)n;
}

static int wants_secrets(struct request *rq, bool *ret_secrets)
{
	const char *s = request_query(rq, "secrets");
	*ret_secrets = s && strcmp(s, "true") == 0;
	if (!s || *ret_secrets || strcmp(s, "false") == 0)
		return 0;
	return fault_set(&rq->fault, -EINVAL, "secrets", "true, false", "%.40s is neither", s);
}

int fleet_export(struct request *rq)
{
	struct export *e = mem_zalloc(rq->mem, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->mem = rq->mem;
	e->env = api_env(rq->api);
	e->out = (struct text)TEXT(rq->mem);
	int r = wants_secrets(rq, &e->secrets);
	if (r == 0)
		r = batches_living(e->env->batches, e->mem, &e->ids, &e->n_ids);
	if (r < 0) {
		export_free(e);
		return r;
	}
	devices_attachment(rq, "fleet_", ".ndjson");
	struct reply_stream stream = {export_read, export_free, e};
	reply_streamed(rq, "application/x-ndjson", &stream);
	return 0;
}
