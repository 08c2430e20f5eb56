#include "base/log.h"
#include "base/span.h"
#include "base/thread.h"
#include "sim/fleet/type_load.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct entry { /* of a slug that was compiled once */
	struct entry *next;
	char slug[64];
	const struct type *type; /* NULL: evicted */
	uint32_t generation;
};
struct types {
	struct types_env env;
	char *builtin_dir, *user_dir; /* user_dir may be NULL */
	struct lock lock;	      /* of entries */
	struct entry *entries;
};

static struct type_box *box_of(const struct type *t)
{
	return CONTAINER_OF(t, struct type_box, type);
}

const struct type *type_ref(const struct type *t)
{
	(void)__atomic_fetch_add(&box_of(t)->refs, 1, __ATOMIC_RELAXED);
	return t;
}

const struct type *type_unref(const struct type *t)
{
	if (!t || __atomic_sub_fetch(&box_of(t)->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	struct type_box *box = box_of(t);
	struct arena arena = box->arena; /* the box lies in it */
	oidtab_done(&box->type.table);
	arena_done(&arena);
	return NULL;
}

const struct flag types_flags[] = {
	FLAG_PATH(struct types_conf, user_dir, "devices", NULL,
		"Read more device types from `DIR`; one of a built-in name replaces that"),
	{0}};

int types_new(const struct types_env *env, const struct types_conf *conf, struct types **ret_types)
{
	AUTO(types) struct types *t = mem_zalloc(env->mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->env = *env;
	lock_init(&t->lock);
	t->builtin_dir = mem_strdup(env->mem, conf->builtin_dir);
	if (!t->builtin_dir)
		return -ENOMEM;
	if (conf->user_dir) {
		t->user_dir = mem_strdup(env->mem, conf->user_dir);
		if (!t->user_dir)
			return -ENOMEM;
	}
	*ret_types = TAKE(t);
	return 0;
}

struct types *types_free(struct types *t)
{
	if (!t)
		return NULL;
	for (struct entry *e = t->entries, *next; e; e = next) {
		next = e->next;
		(void)type_unref(e->type);
		mem_free(t->env.mem, e);
	}
	lock_done(&t->lock);
	mem_free(t->env.mem, t->builtin_dir);
	mem_free(t->env.mem, t->user_dir);
	return mem_free(t->env.mem, t);
}

static struct types_conf conf_of(const struct types *t)
{
	return (struct types_conf){t->builtin_dir, t->user_dir};
}

static struct entry *find(struct types *t, const char *slug)
{
	struct entry *e = t->entries;
	while (e && strcmp(e->slug, slug) != 0)
		e = e->next;
	return e;
}

static int find_or_add(struct types *t, const char *slug, struct entry **ret_entry)
{
	struct entry *e = find(t, slug);
	if (!e) {
		e = mem_zalloc(t->env.mem, sizeof(*e));
		if (!e)
			return -ENOMEM;
		(void)snprintf(e->slug, sizeof(e->slug), "%s", slug);
		e->next = t->entries;
		t->entries = e;
	}
	*ret_entry = e;
	return 0;
}

static int compile(
	struct types *t, const char *slug, struct type **ret_type, struct fault *reterr_fault)
{
	struct types_conf conf = conf_of(t);
	struct type_source s = {0};
	SPAN_WORK("compile type");
	span_set_str(nl6_self.span, "nl6.type", slug);
	int r = type_source_read(t->env.mem, &conf, slug, &s, reterr_fault);
	if (r < 0)
		return r;
	r = type_source_compile(t->env.mem, slug, &s, ret_type, reterr_fault);
	type_source_done(&s);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < (*ret_type)->n_warnings; i++)
		log_warn(slug, 0, "%s", (*ret_type)->warnings[i]);
	return 0;
}

int types_get(
	struct types *t, const char *slug, const struct type **ret_type, struct fault *reterr_fault)
{
	if (!type_slug_is(slug))
		return fault_set(reterr_fault, -EINVAL, "", "letters, digits, _ and -, at most 63",
			"%s is not the name of a device type", slug);
	LOCK_SCOPE(&t->lock);
	struct entry *e = find(t, slug);
	if (!e || !e->type) {
		struct type *fresh;
		int r = compile(t, slug, &fresh, reterr_fault);
		if (r < 0)
			return r;
		r = find_or_add(t, slug, &e);
		if (r < 0) {
			(void)type_unref(fresh);
			return r;
		}
		fresh->generation = ++e->generation;
		e->type = fresh;
	}
	*ret_type = type_ref(e->type);
	return 0;
}

/* What the list shows of a type: from the file if it has our form, else from the slug. A file that
 * cannot be read or compiled is listed all the same, so that it can be found. */
static int read_info(struct types *t, const char *slug, struct type_info *to)
{
	struct types_conf conf = conf_of(t);
	struct type_source s = {0};
	struct type_identity id;
	type_nl6_identity(slug, &id);
	(void)snprintf(to->slug, sizeof(to->slug), "%s", slug);
	(void)snprintf(to->name, sizeof(to->name), "%s", id.name);
	(void)snprintf(to->label, sizeof(to->label), "%s", id.label);
	(void)snprintf(to->category, sizeof(to->category), "%s", id.category);
	int r = type_source_read(t->env.mem, &conf, slug, &s, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	json_t *root = s.is_dir || s.recording.path
			       ? NULL
			       : json_loadb(s.files[0].text, s.files[0].len, 0, NULL);
	const char *name = json_string_value(json_object_get(root, "name"));
	const char *label = json_string_value(json_object_get(root, "label"));
	const char *category = json_string_value(json_object_get(root, "category"));
	if (name && label && category) {
		(void)snprintf(to->name, sizeof(to->name), "%s", name);
		(void)snprintf(to->label, sizeof(to->label), "%s", label);
		(void)snprintf(to->category, sizeof(to->category), "%s", category);
	}
	json_decref(root);
	type_source_done(&s);
	return 0;
}

int types_list(struct types *t, struct type_info **ret_list, uint32_t *ret_n)
{
	struct types_conf conf = conf_of(t);
	struct type_slug *slugs = NULL;
	uint32_t n = 0;
	int r = type_slugs_read(t->env.mem, &conf, &slugs, &n);
	if (r < 0)
		return r;
	struct type_info *list = mem_array(t->env.mem, MAX(n, 1u), sizeof(*list));
	r = list ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = read_info(t, slugs[i].s, &list[i]);
	mem_free(t->env.mem, slugs);
	if (r < 0) {
		mem_free(t->env.mem, list);
		return r;
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

static void evict(struct entry *e, void (*fn)(void *arg, const char *slug), void *arg)
{
	e->type = type_unref(e->type);
	if (fn)
		fn(arg, e->slug);
}

int types_evict(
	struct types *t, const char *slug, void (*fn)(void *arg, const char *slug), void *arg)
{
	LOCK_SCOPE(&t->lock);
	if (!slug) {
		for (struct entry *e = t->entries; e; e = e->next)
			if (e->type)
				evict(e, fn, arg);
		return 0;
	}
	struct entry *e = find(t, slug);
	if (e && e->type) {
		evict(e, fn, arg);
		return 0;
	}
	struct types_conf conf = conf_of(t);
	return type_source_exists(t->env.mem, &conf, slug) ? -ESRCH : -ENOENT;
}
