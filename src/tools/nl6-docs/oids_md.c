#include "base/share.h"
#include "docs.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/type.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OBJECTS_MAX 4096
struct served {
	uint32_t types;		       /* compiled */
	uint16_t by[OBJECTS_MAX];      /* types that serve an object, by its number */
	uint32_t seen_in[OBJECTS_MAX]; /* the last of them, counted from 1 */
};

static void count_type(struct served *s, const struct type *type)
{
	s->types++;
	for (uint32_t i = 0; i < type->table.n; i++) {
		uint16_t object = type->table.rows[i].object;
		if (object >= OBJECTS_MAX || s->seen_in[object] == s->types)
			continue;
		s->seen_in[object] = s->types;
		s->by[object]++;
	}
}

static int count_types(struct types *types, struct served *s)
{
	struct type_info *list;
	uint32_t n;
	int r = types_list(types, &list, &n);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct type *type;
		struct fault fault = {0};
		r = types_get(types, list[i].slug, &type, &fault);
		if (r < 0) {
			(void)fprintf(stderr, "nl6-docs: %s: %s\n", fault.field, fault.text);
			break;
		}
		count_type(s, type);
		(void)type_unref(type);
	}
	if (r == 0 || n)
		(void)mem_free(&mem_libc, list);
	return r;
}

static void put_object(const struct mib_ref *ref, const struct served *s, struct text *t)
{
	char buf[OID_TEXT_BYTES];
	const struct mib_object *o = ref->object;
	struct oid oid = mib_oid(ref);
	text_printf(t, "| %s | `%s` | %s | %s | %s | ", o->name, oid_text(&oid, buf, sizeof(buf)),
		o->syntax, mib_access_text(o->access), o->unit ? o->unit : "");
	if (s->by[ref->number] == s->types)
		text_put(t, "all |\n");
	else
		text_printf(t, "%u |\n", s->by[ref->number]);
}

static void put_objects(const struct served *s, struct text *t)
{
	uint16_t number = 0;
	for (unsigned g = 0; mib_group_nth(g); g++) {
		const struct mib_group *group = mib_group_nth(g);
		bool titled = false;
		for (uint16_t i = 0; i < group->n; i++, number++) {
			struct mib_ref ref = mib_nth(number);
			if (number >= OBJECTS_MAX || !s->by[number])
				continue;
			if (!titled)
				text_printf(t,
					"\n## %s, %s\n\n"
					"| object | number | syntax | access | unit | types |\n"
					"|---|---|---|---|---|---|\n",
					group->module, group->oid);
			titled = true;
			put_object(&ref, s, t);
		}
	}
}

static int make(struct text *t)
{
	char *share = NULL, *devices = NULL;
	struct fault fault = {0};
	struct served *s = mem_zalloc(&mem_libc, sizeof(*s));
	AUTO(types) struct types *types = NULL;
	int r = s ? share_find(&mem_libc, "/proc/self/exe", &share, &fault) : -ENOMEM;
	if (r == 0)
		devices = share_path(&mem_libc, share, "devices");
	if (r == 0)
		r = devices ? types_new(&(struct types_env){&mem_libc},
				      &(struct types_conf){.builtin_dir = devices}, &types)
			    : -ENOMEM;
	if (r == 0)
		r = count_types(types, s);
	if (r == 0)
		put_objects(s, t);
	(void)mem_free(&mem_libc, devices);
	(void)mem_free(&mem_libc, share);
	(void)mem_free(&mem_libc, s);
	return r;
}

void docs_oids_md(struct text *t)
{
	text_put(t, "# SNMP objects\n"
		    "\n"
		    "Made from the device types by `ninja -C build docs`: every object that a "
		    "built-in\n"
		    "type serves, and how many of them do.\n");
	int r = make(t);
	if (r < 0)
		t->err = r;
}
