/* POST /api/v1/fleet/import: the lines of an export, each judged before the first is carried out.
 */
#include "api/api.h"
#include "api/fleet.h"
#include "api/fleet_device.h"
#include "base/thread.h"
#include "sim/fleet/store_create.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct import {
	const struct mem *mem;
	struct thread *thread; /* of the API's thread */
	struct lock lock;      /* of what follows */
	struct cond cond;
	bool running, stopping, batch_ended;
};
/* An import in work, the thread's; freed with the request that asked, or when that is gone. */
struct work {
	struct import *import;
	const struct api_env *env;
	struct later *later; /* a reference */
	unsigned refs;	     /* under the import's lock */
	char *body;	     /* owned */
	size_t bytes;
	uint64_t line, done_lines, creates, created, existing, differing, devices;
	int result;
	struct fault fault;
};

int import_new(const struct mem *mem, struct import **ret_import)
{
	struct import *i = mem_zalloc(mem, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->mem = mem;
	lock_init(&i->lock);
	cond_init(&i->cond);
	*ret_import = i;
	return 0;
}

void import_stop(struct import *i)
{
	if (!i)
		return;
	lock_take(&i->lock);
	i->stopping = true;
	lock_drop(&i->lock);
	i->thread = thread_join(i->thread);
}

struct import *import_free(struct import *i)
{
	if (!i)
		return NULL;
	import_stop(i);
	cond_done(&i->cond);
	lock_done(&i->lock);
	return mem_free(i->mem, i);
}

static void work_unref(void *arg)
{
	struct work *w = arg;
	struct import *i = w->import;
	lock_take(&i->lock);
	unsigned left = --w->refs;
	lock_drop(&i->lock);
	if (left > 0)
		return;
	(void)later_unref(w->later);
	(void)mem_free(i->mem, w->body);
	(void)mem_free(i->mem, w);
}

/* A fault of the line in work. */
static int at_line(struct work *w, int r)
{
	struct fault why = w->fault;
	char field[64];
	if (r == -ENOMEM && why.code != r)
		return r;
	(void)snprintf(field, sizeof(field), "line %llu", (unsigned long long)w->line);
	return fault_set(&w->fault, r, field, why.allowed, "%s%s%.240s",
		why.field[0] == '/' ? why.field + 1 : "", why.field[0] == '/' ? ": " : "",
		why.code == r ? why.text : strerrordesc_np(-r));
}

static int refuse(struct work *w, const char *field, const char *text)
{
	return fault_set(&w->fault, -EINVAL, field, NULL, "%s", text);
}

static void types_done(const struct mem *mem, const struct type **types, uint32_t n)
{
	for (uint32_t i = 0; types && i < n; i++)
		(void)type_unref(types[i]);
	(void)mem_free(mem, types);
}

static int get_types(struct work *w, const struct store_create *c, const struct type ***ret_types)
{
	const struct mem *mem = w->import->mem;
	const struct type **types = mem_array(mem, c->n_slugs, sizeof(*types));
	int r = types ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < c->n_slugs; i++) {
		r = c->slugs[i] ? types_get(w->env->types, c->slugs[i], &types[i], &w->fault)
				: -ENOENT;
		if (r == -ENOENT)
			r = fault_set(&w->fault, -EINVAL, "/types", NULL, "no such type: %.64s",
				c->slugs[i] ? c->slugs[i] : "null");
	}
	if (r < 0)
		types_done(mem, types, c->n_slugs);
	else
		*ret_types = types;
	return r;
}

static void batch_ended(void *arg, uint64_t id UNUSED)
{
	struct import *i = arg;
	LOCK_SCOPE(&i->lock);
	i->batch_ended = true;
	cond_wake(&i->cond);
}

static int run_batch(struct work *w, const struct batch_ask *ask)
{
	struct import *i = w->import;
	struct batch_info info;
	uint64_t id;
	i->batch_ended = false;
	int r = batch_submit(w->env->batches, ask, batch_ended, i, &id, &w->fault);
	if (r < 0)
		return r;
	lock_take(&i->lock);
	while (!i->batch_ended)
		cond_wait(&i->cond, &i->lock);
	lock_drop(&i->lock);
	r = batch_get(w->env->batches, id, &info);
	if (r < 0)
		return r;
	if (info.state == BATCH_FAILED) {
		w->fault = info.fault;
		return info.fault.code;
	}
	w->creates++;
	w->created += info.added.created;
	w->existing += info.added.existing;
	w->differing += info.added.differing;
	return 0;
}

/* A member that reading does not take up is not written again. */
static int judge_members(struct work *w, json_t *o, const struct fleet_add *add)
{
	AUTO_TEXT struct text t = TEXT(w->import->mem);
	const char *key;
	json_t *value;
	int r = 0;
	store_create_text(&t, add, false);
	json_t *known = t.err < 0 ? NULL : json_loadb(t.s, t.len, 0, NULL);
	if (!known)
		return -ENOMEM;
	json_object_foreach(o, key, value) if (r == 0 && !json_object_get(known, key)) r =
		fault_set(&w->fault, -EINVAL, "", NULL, "unknown member \"%.64s\"", key);
	json_decref(known);
	return r;
}

static int do_create(struct work *w, json_t *o, bool judge)
{
	const struct mem *mem = w->import->mem;
	struct store_create c = {0};
	struct addr last;
	const struct type **types = NULL;
	char *json = json_dumps(o, JSON_COMPACT);
	int r = json ? store_create_read(
			       mem, fleet_kus(w->env->fleet), json, strlen(json), &c, &w->fault)
		     : -ENOMEM;
	free(json);
	if (r == 0 && c.of_flags)
		r = refuse(w, "/snmp_port", "is missing");
	if (r == 0)
		r = get_types(w, &c, &types);
	if (r == 0) {
		c.add.types = types;
		c.add.n_types = c.n_slugs;
	}
	if (r == 0 && judge)
		r = judge_members(w, o, &c.add);
	if (r == 0 && judge)
		r = fleet_range_check(&c.add.start, c.add.conf.netmask_len, c.add.netmask_given,
			c.add.count, &last, &w->fault);
	if (r == 0 && !judge) {
		struct batch_ask ask = {.add = c.add, .detached = true};
		r = run_batch(w, &ask);
	}
	if (types)
		types_done(mem, types, c.n_slugs);
	store_create_done(mem, &c);
	return r;
}

static int do_device(struct work *w, const json_t *o, bool judge)
{
	const struct mem *mem = w->import->mem;
	struct fleet_device f = {.n_ifs = 0};
	int r = fleet_device_read(mem, o, &f, &w->fault);
	if (r == 0 && !judge) {
		r = fleet_device_set(w->env, &f, &w->fault);
		w->devices += r == 0;
	}
	fleet_device_done(mem, &f);
	return r;
}

static int do_head(struct work *w, const json_t *o)
{
	if (json_integer_value(json_object_get(o, "format")) != FLEET_FORMAT)
		return refuse(w, "", "an export of another format");
	return 0;
}

static int do_line(struct work *w, const char *p, size_t bytes, bool judge)
{
	json_error_t error;
	json_t *line = json_loadb(p, bytes, JSON_REJECT_DUPLICATES, &error), *o;
	int r;
	if (!line)
		r = refuse(w, "", error.text);
	else if (json_object_size(line) != 1)
		r = refuse(w, "", "not an object with one member");
	else if ((o = json_object_get(line, "create")))
		r = do_create(w, o, judge);
	else if ((o = json_object_get(line, "device")))
		r = do_device(w, o, judge);
	else if ((o = json_object_get(line, "nl6")))
		r = do_head(w, o);
	else
		r = refuse(w, "", "none of nl6, create, device");
	json_decref(line);
	return r;
}

static bool is_stopping(struct import *i)
{
	LOCK_SCOPE(&i->lock);
	return i->stopping;
}

static int each_line(struct work *w, bool judge)
{
	const char *p = w->body, *end = p + w->bytes;
	w->line = 0;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t bytes = (size_t)((nl ? nl : end) - p);
		w->line++;
		int r = 0;
		if (is_stopping(w->import))
			r = fault_set(&w->fault, -ESHUTDOWN, "", NULL, "nl6 was stopped");
		else if (bytes > 0 && !(bytes == 1 && *p == '\r'))
			r = do_line(w, p, bytes, judge);
		if (r < 0)
			return at_line(w, r);
		w->done_lines += !judge;
		p += bytes + (nl != NULL);
	}
	return 0;
}

static void run(void *arg)
{
	struct work *w = arg;
	struct import *i = w->import;
	w->result = each_line(w, true);
	if (w->result == 0)
		w->result = each_line(w, false);
	struct later *later = later_ref(w->later);
	lock_take(&i->lock);
	i->running = false;
	lock_drop(&i->lock);
	later_wake(later, false);
	(void)later_unref(later);
	work_unref(w);
}

static int answer(struct request *rq)
{
	const struct work *w = rq->work;
	if (w->result < 0) {
		rq->fault = w->fault;
		if (w->done_lines > 0) {
			size_t n = strlen(rq->fault.text);
			(void)snprintf(rq->fault.text + n, sizeof(rq->fault.text) - n,
				"; the lines before it are done");
		}
		return w->result;
	}
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{");
	text_kv_u64(t, "lines", w->done_lines);
	text_kv_u64(t, "creates", w->creates);
	text_kv_u64(t, "created", w->created);
	text_kv_u64(t, "existing", w->existing);
	text_kv_u64(t, "differing", w->differing);
	text_kv_u64(t, "devices", w->devices);
	text_put(t, "}");
	reply_data_end(rq);
	return 0;
}

static bool is_running(struct import *i)
{
	LOCK_SCOPE(&i->lock);
	return i->running;
}

static int start(struct request *rq, struct import *i, struct work *w)
{
	struct thread_conf conf = {"import-0", &label_api, run, w};
	if (is_running(i))
		return fault_set(&rq->fault, -EBUSY, "", NULL, "another import is under way");
	i->thread = thread_join(i->thread);
	i->running = true; /* no other thread is there to see it */
	i->stopping = false;
	w->refs = 2;
	int r = thread_start(i->mem, &conf, &i->thread);
	if (r < 0) {
		w->refs = 1;
		i->running = false;
	}
	return r;
}

int fleet_import(struct request *rq)
{
	struct import *i = api_import(rq->api);
	int r = later_new(rq->mem, &rq->later);
	if (r < 0)
		return r;
	struct work *w = mem_zalloc(i->mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct work){
		.import = i, .env = api_env(rq->api), .bytes = rq->body_bytes, .refs = 1};
	w->later = later_ref(rq->later);
	w->body = mem_copy(i->mem, rq->body, rq->body_bytes + 1);
	r = w->body ? start(rq, i, w) : -ENOMEM;
	if (r < 0) {
		work_unref(w);
		return r;
	}
	rq->work = w;
	rq->work_done = work_unref;
	rq->resume = answer;
	return -EINPROGRESS;
}
