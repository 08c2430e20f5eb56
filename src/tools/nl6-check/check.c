#include "check.h"
#include "base/text.h"
#include "rec_line.h"
#include "sim/fleet/mib.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void PRINTF(3, 4) tell(struct check *c, uint32_t line, const char *fmt, ...)
{
	va_list args;
	c->faults++;
	if (c->conf->most && c->faults > c->conf->most)
		return;
	(void)fprintf(c->out, "%s:%u: ", c->path, line);
	va_start(args, fmt);
	(void)vfprintf(c->out, fmt, args);
	va_end(args);
	(void)fputc('\n', c->out);
}

static int keep(struct check *c, const void *p, size_t n, uint32_t *ret_at)
{
	if (c->bytes_n + n > UINT32_MAX)
		return -EFBIG;
	if (c->bytes_n + n > c->bytes_room) {
		size_t room = MAX(c->bytes_n + n, c->bytes_room * 2);
		char *bytes = mem_resize(&mem_libc, c->bytes, MAX(room, (size_t)65536), 1);
		if (!bytes)
			return -ENOMEM;
		c->bytes = bytes;
		c->bytes_room = MAX(room, (size_t)65536);
	}
	memcpy(c->bytes + c->bytes_n, p, n);
	*ret_at = (uint32_t)c->bytes_n;
	c->bytes_n += n;
	return 0;
}

static int keep_record(struct check *c, const struct record *rec, uint32_t line, struct text *text)
{
	struct oid_key key;
	if (c->n == c->room) {
		uint32_t room = c->room ? c->room * 2 : 1024;
		struct check_record *list = mem_resize(&mem_libc, c->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		c->list = list;
		c->room = room;
	}
	struct check_record *r = &c->list[c->n];
	*r = (struct check_record){.line = line};
	oid_to_key(&rec->oid, &key);
	r->key_n = key.n;
	int e = keep(c, key.b, key.n, &r->key_at);
	if (e == 0 && c->conf->convert) {
		text_clear(text);
		rec_line(rec, text);
		r->text_n = (uint32_t)text->len;
		e = text->err ? text->err : keep(c, text->s, text->len, &r->text_at);
	}
	if (e == 0)
		c->n++;
	return e;
}

static const char *tag_name(uint8_t tag)
{
	static const struct {
		uint8_t tag;
		const char *name;
	} names[] = {{BER_INTEGER, "INTEGER"}, {BER_OCTET_STRING, "OCTET STRING"},
		{BER_NULL, "NULL"}, {BER_OID, "OBJECT IDENTIFIER"}, {BER_IPADDRESS, "IpAddress"},
		{BER_COUNTER32, "Counter32"}, {BER_GAUGE32, "Gauge32"},
		{BER_TIMETICKS, "TimeTicks"}, {BER_OPAQUE, "Opaque"}, {BER_COUNTER64, "Counter64"}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].tag == tag)
			return names[i].name;
	return "unknown";
}

static int compare(
	const struct check *c, const struct check_record *a, const struct check_record *b)
{
	return oid_key_cmp((const uint8_t *)c->bytes + a->key_at, a->key_n,
		(const uint8_t *)c->bytes + b->key_at, b->key_n);
}

static void judge(struct check *c, const struct record *rec)
{
	const struct check_record *r = &c->list[c->n - 1];
	char oid[OID_TEXT_BYTES];
	struct mib_ref ref;
	if (mib_find(&rec->oid, &ref) == 0 && ref.object->tag != rec->value.tag)
		tell(c, r->line, "%s is %s in %s, not %s", ref.object->name,
			tag_name(ref.object->tag), ref.group->module, tag_name(rec->value.tag));
	if (mib_find(&rec->oid, &ref) == 0 && ref.arcs == rec->oid.n)
		tell(c, r->line, "%s without an instance", ref.object->name);
	/* Equal ones are told when all is read. */
	if (c->n > 1 && compare(c, r - 1, r) > 0)
		tell(c, r->line, "%s comes after a greater OID, of line %u",
			oid_text(&rec->oid, oid, sizeof(oid)), r[-1].line);
}

static int by_key(const void *a, const void *b, void *arg)
{
	const struct check_record *x = a, *y = b;
	int r = compare(arg, x, y);
	return r ? r : (x->line > y->line) - (x->line < y->line);
}

static void find_doubles(struct check *c)
{
	if (c->n)
		qsort_r(c->list, c->n, sizeof(*c->list), by_key, c);
	for (uint32_t i = 1; i < c->n; i++)
		if (compare(c, &c->list[i - 1], &c->list[i]) == 0)
			tell(c, c->list[i].line, "the same OID as in line %u, which it replaces",
				c->list[i - 1].line);
}

static int read_all(struct check *c, struct recording *file)
{
	AUTO_TEXT struct text text = TEXT(&mem_libc);
	for (;;) {
		struct record rec;
		const char *what;
		int r = recording_next(file, &rec, &what);
		if (r == -EINVAL) {
			tell(c, recording_line(file), "%s", what);
			continue;
		}
		if (r == -EBADMSG)
			tell(c, recording_line(file), "the compressed file is damaged or cut");
		if (r < 0)
			return r == -ENODATA || r == -EBADMSG ? 0 : r;
		c->records++;
		r = keep_record(c, &rec, recording_line(file), &text);
		if (r < 0)
			return r;
		judge(c, &rec);
	}
}

int check_file(struct check *c, const char *path)
{
	AUTO(recording) struct recording *file = NULL;
	enum recording_form form;
	size_t unused;
	c->path = path;
	int r = recording_form_of(path, &form, &unused);
	if (r < 0) {
		(void)fprintf(stderr,
			"nl6-check: %s: not the name of a recording (allowed: .snmprec, .snmpwalk, "
			"each also .bz2)\n",
			path);
		return r;
	}
	r = recording_open(&mem_libc, path, form, c->names, &file);
	if (r == 0)
		r = read_all(c, file);
	if (r < 0) {
		(void)fprintf(stderr, "nl6-check: %s: %s\n", path, strerrordesc_np(-r));
		return r;
	}
	find_doubles(c);
	if (c->conf->most && c->faults > c->conf->most)
		(void)fprintf(c->out, "%s: and %llu faults more\n", path,
			(unsigned long long)(c->faults - c->conf->most));
	return 0;
}

int check_write(struct check *c, FILE *to)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct check_record *r = &c->list[i];
		if (i + 1 < c->n && compare(c, r, r + 1) == 0)
			continue;
		if (fwrite(c->bytes + r->text_at, 1, r->text_n, to) != r->text_n)
			return -errno;
	}
	return fflush(to) == 0 ? 0 : -errno;
}

void check_done(struct check *c)
{
	(void)mem_free(&mem_libc, c->list);
	(void)mem_free(&mem_libc, c->bytes);
}
