/* Device types: what there is, and reading their files again. */
#include "api/api.h"
#include "api/body.h"
#include "base/span.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELOAD_BODY_BYTES (4u << 10)

static int resources_list(struct request *rq)
{
	struct type_info *list = NULL;
	uint32_t n = 0;
	int r = types_list(api_env(rq->api)->types, &list, &n);
	if (r < 0)
		return r;
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "[");
	for (uint32_t i = 0; i < n; i++) {
		char file[sizeof(list[i].slug) + 8];
		(void)snprintf(file, sizeof(file), "%s.json", list[i].slug);
		text_put(t, i ? ",{" : "{");
		text_kv_str(t, "filename", file);
		text_kv_str(t, "name", list[i].name);
		text_kv_str(t, "type", list[i].label);
		text_kv_str(t, "category", list[i].category);
		text_put(t, "}");
	}
	text_put(t, "]");
	reply_data_end(rq);
	mem_free(rq->mem, list);
	return 0;
}

/* What a reload evicted, by slug in order, with the devices that still use it. */
struct evicted {
	const struct mem *mem;
	uint32_t n;
	struct {
		char slug[64];
		uint64_t devices;
	} * item;
	int err;
};

static void on_evicted(void *arg, const char *slug)
{
	struct evicted *e = arg;
	void *grown = mem_resize(e->mem, e->item, e->n + 1, sizeof(*e->item));
	if (!grown) {
		e->err = -ENOMEM;
		return;
	}
	e->item = grown;
	(void)snprintf(e->item[e->n].slug, sizeof(e->item[0].slug), "%s", slug);
	e->item[e->n++].devices = 0;
}

static void on_conf(void *arg, const struct device_conf *conf, uint64_t devices)
{
	struct evicted *e = arg;
	for (uint32_t i = 0; i < e->n; i++)
		if (strcmp(e->item[i].slug, conf->type->slug) == 0)
			e->item[i].devices += devices;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b); /* the slug comes first */
}

static bool is_listed(const struct type_info *list, uint32_t n, const char *slug)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(list[i].slug, slug) == 0)
			return true;
	return false;
}

static void write_reload(
	struct request *rq, const struct evicted *e, const struct type_info *list, uint32_t n)
{
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{\"evicted\":[");
	for (uint32_t i = 0; i < e->n; i++)
		text_printf(t, "%s\"%s.json\"", i ? "," : "", e->item[i].slug);
	text_put(t, "],\"devices_on_old_snapshot\":{");
	for (uint32_t i = 0; i < e->n; i++)
		text_printf(t, "%s\"%s.json\":%llu", i ? "," : "", e->item[i].slug,
			(unsigned long long)e->item[i].devices);
	text_put(t, "},\"present_on_disk\":{");
	for (uint32_t i = 0; i < e->n; i++)
		text_printf(t, "%s\"%s.json\":%s", i ? "," : "", e->item[i].slug,
			is_listed(list, n, e->item[i].slug) ? "true" : "false");
	text_put(t, "}");
	text_kv_str(t, "note",
		"Devices that exist keep the type they were made with; new ones get what is on "
		"disk now");
	text_put(t, "}");
	reply_data_end(rq);
}

struct reload {
	struct body_value resource_file;
};
static const struct body_key reload_keys[] = {
	BODY_KEY_STR(struct reload, resource_file, false, "^[a-zA-Z0-9_-]+\\.json$",
		"The type to read again; absent: all"),
	{0}};

/* The slug that the body names, NULL: all. */
static int read_body(struct request *rq, char *slug, size_t room, const char **ret_slug)
{
	AUTO_BODY json_t *json = NULL;
	struct reload body;
	*ret_slug = NULL;
	if (rq->body_bytes == 0)
		return 0;
	int r = body_decode(
		rq->body, rq->body_bytes, reload_keys, &body, sizeof(body), &json, &rq->fault);
	if (r < 0 || !body.resource_file.given)
		return r;
	const char *file = body.resource_file.str;
	size_t n = strlen(file);
	if (n <= 5 || n - 5 >= room || strcmp(file + n - 5, ".json") != 0)
		return fault_set(&rq->fault, -EINVAL, "/resource_file", "NAME.json",
			"%.80s is not the name of a type's file", file);
	memcpy(slug, file, n - 5);
	slug[n - 5] = 0;
	*ret_slug = slug;
	return 0;
}

static int evict(struct request *rq, const char *slug, struct evicted *e)
{
	const struct api_env *env = api_env(rq->api);
	struct type_info *list = NULL;
	uint32_t n = 0;
	SPAN_WORK("reload types");
	int r = types_evict(env->types, slug, on_evicted, e);
	/* Exception: an unknown name is a fault of the body, 400; one that is known but was never
	 * used has nothing to reload, 404. */
	if (r == -ENOENT)
		return fault_set(&rq->fault, -EINVAL, "/resource_file", NULL,
			"resource %.60s: there is no such type", slug);
	if (r == -ESRCH)
		return fault_set(&rq->fault, -ENOENT, "/resource_file", NULL,
			"resource %.60s: nothing is loaded that could be read again", slug);
	if (r == 0)
		r = e->err;
	if (r == 0)
		r = types_list(env->types, &list, &n);
	if (r < 0)
		return r;
	if (e->n)
		qsort(e->item, e->n, sizeof(*e->item), compare);
	fleet_each_conf(env->fleet, on_conf, e);
	write_reload(rq, e, list, n);
	mem_free(rq->mem, list);
	return 0;
}

static int resources_reload(struct request *rq)
{
	char slug_text[64];
	const char *slug;
	struct evicted e = {.mem = rq->mem};
	int r = read_body(rq, slug_text, sizeof(slug_text), &slug);
	if (r == 0)
		r = evict(rq, slug, &e);
	mem_free(rq->mem, e.item);
	return r;
}

const struct schema resource_schemas[] = {
	{"Resource", "{filename:str, name:str, type:str, category:str}"},
	{"Reload", "{evicted:[str], devices_on_old_snapshot:map<int>, present_on_disk:map<bool>, "
		   "note:str}"},
	{0},
};
static const struct route_answer list_answers[] = {
	{200, "The types in the order of round robin", "Data<[Resource]>", NULL}, {0}};
static const struct route_answer reload_answers[] = {
	{200, "What will be read again when it is next used", "Data<Reload>", NULL},
	{400, "The body is at fault, or there is no such type", "Error", NULL},
	{404, "Nothing is loaded of this type", "Error", NULL}, {0}};
const struct route resources_routes[] = {
	{GET, "/api/v1/resources", resources_list, 0, "List the device types", list_answers},
	{POST, "/api/v1/resources/reload", resources_reload, RELOAD_BODY_BYTES,
		"Forget compiled device types, so that new devices get what is on disk",
		reload_answers, .body = reload_keys, .body_optional = true},
	{0},
};
