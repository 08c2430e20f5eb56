/* nl6's own form of a device type: {"snmp": [{"oid", "response"}], "ssh", "api", "optical"}, in one
 * file or merged from the files of a directory. What cannot be served is an error or a warning. */
#include "sim/fleet/type_nl6.h"
#include "base/text.h"
#include "sim/fleet/ifcount.h"
#include "sim/fleet/type_names.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nl6_count(struct nl6_tally *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (t->n++ == 0)
		(void)vsnprintf(t->first, sizeof(t->first), fmt, ap);
	va_end(ap);
}

void nl6_count_oid(struct nl6_tally *t, const struct nl6_entry *e, const struct mib_ref *ref)
{
	char text[OID_TEXT_BYTES];
	nl6_count(t, "%s, %.60s", ref->object->name, oid_text(&e->oid, text, sizeof(text)));
}

int nl6_bad(
	struct nl6_reader *n, const struct nl6_entry *e, const char *allowed, const char *fmt, ...)
{
	char text[256], oid[OID_TEXT_BYTES], at[POINTER_BYTES], at_n[POINTER_BYTES];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n->r.file = &n->files[e->file];
	(void)read_below_n(at_n, "/snmp", e->number);
	return read_bad(&n->r, read_below(at, at_n, "response"), allowed, "%s \"%.80s\": %s",
		oid_text(&e->oid, oid, sizeof(oid)), e->response, text);
}

bool type_nl6_is(const struct type_file *file)
{
	AUTO_JSON json_t *root = json_loadb(file->text, file->len, 0, NULL);
	return json_object_get(root, "snmp") || json_object_get(root, "ssh") ||
	       json_object_get(root, "api") || json_object_get(root, "optical");
}

static int take_entry(struct nl6_reader *n, size_t i, json_t *v, uint32_t file)
{
	char at[POINTER_BYTES], at_key[POINTER_BYTES];
	(void)read_below_n(at, "/snmp", i);
	const char *oid = json_string_value(json_object_get(v, "oid"));
	json_t *response = json_object_get(v, "response");
	if (!oid)
		return read_bad(&n->r, read_below(at_key, at, "oid"), "", "must be a string");
	if (!json_is_string(response))
		return read_bad(&n->r, read_below(at_key, at, "response"), "", "must be a string");
	const char *key;
	json_t *value;
	json_object_foreach(v, key, value)
	{
		if (strcmp(key, "oid") != 0 && strcmp(key, "response") != 0)
			nl6_count(&n->unserved, "%s%s/%s", n->r.file->name, at, key);
	}
	if (n->n == n->room) {
		uint32_t room = n->room ? n->room * 2 : 256;
		struct nl6_entry *entries =
			mem_resize(n->r.d->arena.mem, n->entries, room, sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		n->entries = entries;
		n->room = room;
	}
	struct nl6_entry *e = &n->entries[n->n];
	*e = (struct nl6_entry){.file = file, .number = (uint32_t)i};
	e->response = arena_strdup(&n->r.d->arena, json_string_value(response));
	if (!e->response)
		return -ENOMEM;
	int r = read_oid(&n->r, read_below(at_key, at, "oid"), oid, &e->oid);
	if (r == 0)
		n->n++;
	return r;
}

static int take_section(struct nl6_reader *n, const char *key, json_t *v, uint32_t file)
{
	char at[POINTER_BYTES];
	struct nl6_tally *later = strcmp(key, "ssh") == 0	? &n->ssh
				  : strcmp(key, "api") == 0	? &n->api
				  : strcmp(key, "optical") == 0 ? &n->optical
								: NULL;
	if (!later && strcmp(key, "snmp") != 0) {
		nl6_count(&n->unserved, "%s/%s", n->r.file->name, key);
		return 0;
	}
	if (json_is_null(v)) /* as the original writes a section without entries */
		return 0;
	if (!json_is_array(v))
		return read_bad(&n->r, read_below(at, "", key), "", "must be an array");
	if (later)
		later->n += (uint32_t)json_array_size(v);
	int r = 0;
	for (size_t i = 0; !later && i < json_array_size(v) && r == 0; i++)
		r = take_entry(n, i, json_array_get(v, i), file);
	return r;
}

/* Overlays of the notification subsystems, which lie in the same directory. */
static bool is_overlay(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash && (strcmp(slash, "/traps.json") == 0 || strcmp(slash, "/syslog.json") == 0);
}

static int read_part(struct nl6_reader *n, uint32_t file)
{
	n->r.file = &n->files[file];
	if (is_overlay(n->r.file->name)) {
		nl6_count(&n->unserved, "%s", n->r.file->name);
		return 0;
	}
	AUTO_JSON json_t *root = NULL;
	int r = read_json(&n->r, &root);
	const char *key;
	json_t *value;
	json_object_foreach(root, key, value)
	{
		if (r == 0)
			r = take_section(n, key, value, file);
	}
	return r;
}

static int cmp_entries(const void *a, const void *b)
{
	const struct nl6_entry *x = a, *y = b;
	int r = oid_cmp(&x->oid, &y->oid);
	if (r)
		return r;
	return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
				  : (x->number > y->number) - (x->number < y->number);
}

/* Sorts, and of entries with one OID keeps the last. */
static void sort_out(struct nl6_reader *n)
{
	uint32_t kept = 0;
	if (n->n)
		qsort(n->entries, n->n, sizeof(n->entries[0]), cmp_entries);
	for (uint32_t i = 0; i < n->n; i++) {
		char text[OID_TEXT_BYTES];
		if (i + 1 < n->n && oid_cmp(&n->entries[i].oid, &n->entries[i + 1].oid) == 0)
			nl6_count(&n->doubles, "%.100s",
				oid_text(&n->entries[i].oid, text, sizeof(text)));
		else
			n->entries[kept++] = n->entries[i];
	}
	n->n = kept;
}

static int take_typed(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref,
	struct ber_value *to)
{
	bool wrapped = false;
	char text[OID_TEXT_BYTES];
	int r = nl6_value(
		&n->r.d->arena, e->response, ref->object->tag, ref->object->syntax, to, &wrapped);
	if (r == 0 && wrapped)
		nl6_count(&n->negative, "%.100s", oid_text(&e->oid, text, sizeof(text)));
	if (r != -EINVAL)
		return r;
	if (ref->object->strict)
		return nl6_bad(n, e, ref->object->syntax, "not a value of %s", ref->object->name);
	nl6_count_oid(&n->mistyped, e, ref);
	return -EAGAIN;
}

static int take_object(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref)
{
	char text[OID_TEXT_BYTES];
	struct draft_object *o = draft_object(n->r.d);
	if (!o)
		return -ENOMEM;
	o->oid = e->oid;
	o->number = e->number;
	int r = ref ? take_typed(n, e, ref, &o->value) : -EAGAIN;
	if (r != -EAGAIN)
		return r;
	bool wide;
	r = nl6_guess(&n->r.d->arena, e->response, &o->value, &wide);
	if (r == 0 && wide)
		nl6_count(&n->wide, "%.100s", oid_text(&e->oid, text, sizeof(text)));
	return r == -EINVAL ? nl6_bad(n, e, "at most 8192 octets", "too long") : r;
}

/* The system group: what the file says of the model; name, place and time are the device's. */
static int take_system(struct nl6_reader *n, const struct nl6_entry *e, const struct mib_ref *ref)
{
	struct type_draft *d = n->r.d;
	struct ber_value v;
	uint64_t wide;
	bool wrapped;
	int r = nl6_value(
		&d->arena, e->response, ref->object->tag, ref->object->syntax, &v, &wrapped);
	/* The time is the device's, whatever number stands there. */
	if (r == -EINVAL && ref->object->tag == BER_TIMETICKS &&
		num_u64(e->response, 0, UINT64_MAX, &wide) == 0)
		return 0;
	if (r == -EINVAL)
		return nl6_bad(n, e, ref->object->syntax, "not a value of %s", ref->object->name);
	if (r < 0)
		return r;
	switch (ref->object->arc) {
	case 1:
		d->sys_descr = e->response;
		break;
	case 2:
		return oid_from_ber(v.bytes, v.len, &d->sys_object_id) < 0 ? -EINVAL : 0;
	case 4:
		d->sys_contact = e->response;
		break;
	case 7:
		if (v.i < 0 || v.i > 127)
			return nl6_bad(n, e, "0..127", "not a value of sysServices");
		d->sys_services = (int32_t)v.i;
		break;
	default:
		break;
	}
	return 0;
}

static int take(struct nl6_reader *n, const struct nl6_entry *e)
{
	struct mib_ref ref;
	if (strcmp(e->response, "noSuchObject") == 0 || strcmp(e->response, "endOfMibView") == 0)
		return nl6_bad(n, e, "", "an exception is not a value");
	if (mib_find(&e->oid, &ref) < 0)
		return take_object(n, e, NULL);
	bool scalar = !ref.group->table && e->oid.n == ref.arcs + 1 && e->oid.arcs[ref.arcs] == 0;
	if (nl6_if_is(&ref))
		return nl6_if_take(n, e, &ref);
	if (scalar && strcmp(ref.group->oid, "1.3.6.1.2.1.1") == 0 && ref.object->arc <= 7)
		return take_system(n, e, &ref);
	if (e->oid.n == ref.arcs) { /* the object, not an instance of it */
		nl6_count_oid(&n->bare, e, &ref);
		return 0;
	}
	if (ref.object->access == MIB_NO) {
		nl6_count_oid(&n->hidden, e, &ref);
		return 0;
	}
	if (!type_makes(ref.number))
		return take_object(n, e, &ref);
	nl6_count_oid(&n->taken, e, &ref);
	return 0;
}

static int warn_tally(struct nl6_reader *n, const struct nl6_tally *t, const char *what)
{
	if (t->n == 0)
		return 0;
	return draft_warn(
		n->r.d, "%s: %u%s%s", what, t->n, t->first[0] ? "; the first: " : "", t->first);
}

static int warn_all(struct nl6_reader *n)
{
	const struct {
		const struct nl6_tally *tally;
		const char *what;
	} all[] = {
		{&n->ssh, "not served in this build: answers of the section ssh"},
		{&n->api, "not served in this build: answers of the section api"},
		{&n->optical, "not served in this build: channels of the section optical"},
		{&n->unserved, "not served in this build: files or keys"},
		{&n->doubles, "the last value is served of OIDs that appear again"},
		{&n->hidden, "not served: values of index columns, which are not accessible"},
		{&n->bare, "not served: values that name no instance that their object can have"},
		{&n->taken, "not taken from the file: values that nl6 makes itself"},
		{&n->mistyped, "served as number or text, or made anew: values that do not fit the "
			       "type of their object"},
		{&n->wide, "served as Gauge32 or Counter64: numbers of unknown objects beyond "
			   "INTEGER"},
		{&n->negative, "served modulo 2^32: negative values of unsigned objects"},
		{&n->cut, "cut: names longer than an interface can have"},
	};
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = warn_tally(n, all[i].tally, all[i].what);
	return r;
}

static int set_identity(struct type_draft *d)
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

static int read_all(struct nl6_reader *n, uint32_t files)
{
	int r = set_identity(n->r.d);
	for (uint32_t i = 0; i < files && r == 0; i++)
		r = read_part(n, i);
	uint32_t sections = n->n + n->ssh.n + n->api.n + n->optical.n;
	if (r == 0 && sections == 0)
		return read_bad(&n->r, "", "snmp: [{oid, response}]", "has no entries");
	if (r < 0)
		return r;
	sort_out(n);
	for (uint32_t i = 0; i < n->n && r == 0; i++)
		r = take(n, &n->entries[i]);
	if (r == 0)
		r = nl6_if_finish(n);
	return r == 0 ? warn_all(n) : r;
}

int type_nl6_read(
	struct type_draft *d, const struct type_file *files, uint32_t n, struct fault *reterr_fault)
{
	struct nl6_reader *reader = arena_zalloc(&d->arena, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->r = (struct reader){d, &files[0], reterr_fault};
	reader->files = files;
	int r = read_all(reader, n);
	mem_free(d->arena.mem, reader->entries);
	return r;
}
