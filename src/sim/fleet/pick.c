#include "sim/fleet/pick.h"
#include "sim/fleet/type_load.h"
#include <errno.h>
#include <string.h>

#define SLUG_BYTES sizeof(((struct type_info *)0)->slug)

void pick_done(struct pick *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		(void)type_unref(p->types[i]);
	(void)mem_free(p->mem, p->types);
	*p = (struct pick){0};
}

/* Takes the form of the file's name as well. */
static int slug_of(const char *name, char slug[static SLUG_BYTES], struct fault *fault)
{
	size_t n = strlen(name);
	if (n > 5 && strcmp(name + n - 5, ".json") == 0)
		n -= 5;
	if (n < SLUG_BYTES) {
		memcpy(slug, name, n);
		slug[n] = 0;
		if (type_slug_is(slug))
			return 0;
	}
	return fault_set(fault, -EINVAL, "/resource_file", "a name such as asr9k or asr9k.json",
		"\"%.80s\" is not the name of a device type", name);
}

static int pick_one(struct types *t, const char *name, struct pick *p, struct fault *fault)
{
	char slug[SLUG_BYTES];
	int r = slug_of(name, slug, fault);
	if (r < 0)
		return r;
	p->types = mem_array(p->mem, 1, sizeof(*p->types));
	if (!p->types)
		return -ENOMEM;
	r = types_get(t, slug, &p->types[0], fault);
	if (r == 0)
		p->n = 1;
	if (r == -ENOENT)
		r = fault_set(fault, -EINVAL, "/resource_file", NULL,
			"resource %.60s: no such device type", slug);
	return r;
}

/* The categories on disk, for a fault. */
static void list_categories(const struct type_info *list, uint32_t n, char *buf, size_t bytes)
{
	buf[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool seen = false;
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = strcmp(list[j].category, list[i].category) == 0;
		size_t len = strlen(buf), more = strlen(list[i].category);
		if (seen || len + more + 3 > bytes)
			continue;
		if (len) {
			memcpy(buf + len, ", ", 3);
			len += 2;
		}
		memcpy(buf + len, list[i].category, more + 1);
	}
}

static int pick_all(struct types *t, const char *category, const struct type_info *list, uint32_t n,
	struct pick *p, struct fault *fault)
{
	p->types = mem_array(p->mem, n ? n : 1, sizeof(*p->types));
	if (!p->types)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (category && strcmp(category, list[i].category) != 0)
			continue;
		int r = types_get(t, list[i].slug, &p->types[p->n], fault);
		if (r == 0)
			p->n++;
		else if (r != -ENOENT)
			return r;
	}
	if (p->n)
		return 0;
	char allowed[160];
	list_categories(list, n, allowed, sizeof(allowed));
	if (!category)
		return fault_set(
			fault, -EINVAL, "/resource_file", NULL, "there are no device types");
	return fault_set(fault, -EINVAL, "/category", allowed,
		"no device type is of the category \"%.80s\"", category);
}

int pick_types(struct types *t, const struct mem *mem, const struct pick_ask *ask,
	struct pick *ret_pick, struct fault *reterr_fault)
{
	if (ask->category && !ask->round_robin)
		return fault_set(reterr_fault, -EINVAL, "/category", NULL,
			"a category chooses among types in turn, it needs round robin");
	if (ask->slug && ask->round_robin)
		return fault_set(reterr_fault, -EINVAL, "/resource_file", NULL,
			"one type and all types in turn exclude each other");
	struct pick p = {.mem = mem, .named = ask->slug || ask->round_robin};
	struct type_info *list = NULL;
	uint32_t n = 0;
	int r;
	if (ask->round_robin) {
		r = types_list(t, &list, &n);
		if (r == 0)
			r = pick_all(t, ask->category, list, n, &p, reterr_fault);
	} else {
		r = pick_one(t, ask->slug ? ask->slug : PICK_DEFAULT_SLUG, &p, reterr_fault);
	}
	(void)mem_free(mem, list);
	if (r < 0)
		pick_done(&p);
	else
		*ret_pick = p;
	return r;
}
