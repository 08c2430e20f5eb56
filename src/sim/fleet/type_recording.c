#include "sim/fleet/type_recording.h"
#include "sim/fleet/if_profile.h"
#include "sim/fleet/mib.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096
static const char *const endings[] = {".snmprec", ".snmprec.bz2", ".snmpwalk", ".snmpwalk.bz2"};

int type_recording_find(const struct mem *mem, const char *dir, const char *slug,
	struct type_recording *ret_recording)
{
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		char path[PATH_BYTES];
		struct stat st;
		size_t unused;
		int n = snprintf(path, sizeof(path), "%s/%s%s", dir, slug, endings[i]);
		if (n < 0 || n >= PATH_BYTES)
			return -ENAMETOOLONG;
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		struct type_recording r = {.path = mem_strdup(mem, path)};
		if (!r.path)
			return -ENOMEM;
		r.name = r.path + strlen(dir) + 1;
		int e = recording_form_of(r.name, &r.form, &unused);
		if (e < 0) {
			type_recording_done(&r, mem);
			return e;
		}
		*ret_recording = r;
		return 0;
	}
	return -ENOENT;
}

void type_recording_done(struct type_recording *r, const struct mem *mem)
{
	mem_free(mem, r->path);
	*r = (struct type_recording){0};
}

bool type_recording_cut(char *name)
{
	enum recording_form form;
	size_t ending;
	if (name[0] == '.' || recording_form_of(name, &form, &ending) < 0)
		return false;
	name[ending] = 0;
	return true;
}

struct reading {
	struct type_draft *d;
	const struct type_recording *r;
	struct oidtab_new *b;
	uint32_t line;
	struct fault *fault;
};

static int bad(const struct reading *g, const char *what)
{
	char place[128];
	(void)snprintf(place, sizeof(place), "%s:%u", g->r->name, g->line);
	return fault_set(g->fault, -EINVAL, place, "", "%s", what);
}

/* What the type is known by. */
static int note_system(struct reading *g, const struct record *rec)
{
	static const struct oid descr = {9, {1, 3, 6, 1, 2, 1, 1, 1, 0}},
				id = {9, {1, 3, 6, 1, 2, 1, 1, 2, 0}};
	const struct ber_value *v = &rec->value;
	if (v->tag == BER_OCTET_STRING && oid_cmp(&rec->oid, &descr) == 0 &&
		!memchr(v->bytes, 0, v->len)) {
		char *text = arena_zalloc(&g->d->arena, v->len + 1u);
		if (!text)
			return -ENOMEM;
		memcpy(text, v->bytes, v->len);
		g->d->sys_descr = text;
	}
	if (v->tag == BER_OID && oid_cmp(&rec->oid, &id) == 0)
		return oid_from_ber(v->bytes, v->len, &g->d->sys_object_id);
	return 0;
}

static int take(struct reading *g, struct record *rec)
{
	struct mib_ref ref;
	if (rec->module)
		return bad(g, "variations are not in this build");
	/* An unknown object is taken for the OID without its last arc. */
	struct oidtab_add add = {.oid = &rec->oid,
		.object_arcs = (uint16_t)MAX(rec->oid.n - 1, 2),
		.object = OIDTAB_NO_OBJECT,
		.kind = OID_CONST,
		.value = &rec->value,
		.origin = g->line};
	if (mib_find(&rec->oid, &ref) == 0) {
		add.object = ref.number;
		add.object_arcs = ref.arcs;
	}
	int r = note_system(g, rec);
	return r < 0 ? r : oidtab_new_add(g->b, &add);
}

static int read_all(struct reading *g)
{
	AUTO(recording) struct recording *file = NULL;
	int r = recording_open(g->d->arena.mem, g->r->path, g->r->form, NULL, &file);
	while (r == 0) {
		struct record rec;
		const char *what;
		r = recording_next(file, &rec, &what);
		g->line = recording_line(file);
		if (r == 0)
			r = take(g, &rec);
		else if (r == -EINVAL)
			return bad(g, what);
		else if (r == -EBADMSG)
			return bad(g, "the compressed file is damaged or cut");
	}
	return r == -ENODATA ? 0 : r;
}

/* The file tells nothing of them. */
static int identify(struct type_draft *d)
{
	struct type_identity id;
	type_nl6_identity(d->slug, &id);
	d->name = arena_strdup(&d->arena, id.name);
	d->label = arena_strdup(&d->arena, id.label);
	d->category = id.category;
	d->doc_category = id.doc_category;
	d->profile = if_profile_find(id.profile);
	return d->name && d->label ? 0 : -ENOMEM;
}

int type_recording_compile(struct type_draft *d, const struct type_recording *rec,
	struct type **ret_type, struct fault *reterr_fault)
{
	AUTO(oidtab_new) struct oidtab_new *b = NULL;
	struct oidtab table = {0};
	uint32_t origins[2];
	int r = oidtab_new(d->arena.mem, &b);
	if (r < 0)
		return r;
	oidtab_new_keep_last(b);
	struct reading g = {.d = d, .r = rec, .b = b, .fault = reterr_fault};
	r = read_all(&g);
	if (r == 0)
		r = identify(d);
	if (r == 0)
		r = oidtab_new_finish(b, &table, origins);
	if (r == 0 && table.n == 0)
		r = fault_set(reterr_fault, -EINVAL, rec->name, "", "no record in it");
	if (r == 0)
		r = type_make(d, &table, ret_type);
	oidtab_done(&table);
	return r;
}
