#include "sim/fleet/recording.h"
#include "sim/fleet/recording_hint.h"
#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES 65536u

struct recording {
	const struct mem *mem;
	enum recording_form form;
	const struct recording_names *names;
	int fd;
	bool compressed, in_stream; /* in_stream: bz is set up */
	bz_stream bz;
	char raw[CHUNK_BYTES]; /* of the file, when compressed */
	size_t raw_at, raw_n;
	char chunk[CHUNK_BYTES]; /* of the text */
	size_t at, n;
	bool ended;
	uint32_t line;	 /* of the last line taken */
	uint32_t begins; /* of the record told last */
	char *text;	 /* a record, and room for a byte after it */
	size_t len, room;
	char *ahead; /* the line after it; NULL: none is taken */
	size_t ahead_n, ahead_room;
	bool has_ahead;
};

int recording_form_of(const char *name, enum recording_form *ret_form, size_t *ret_ending)
{
	static const struct {
		const char *ending;
		enum recording_form form;
	} known[] = {{".snmprec", RECORDING_REC}, {".snmprec.bz2", RECORDING_REC},
		{".snmpwalk", RECORDING_WALK}, {".snmpwalk.bz2", RECORDING_WALK}};
	size_t n = strlen(name);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t ending = strlen(known[i].ending);
		if (n <= ending || strcmp(name + n - ending, known[i].ending) != 0)
			continue;
		*ret_form = known[i].form;
		*ret_ending = n - ending;
		return 0;
	}
	return -EINVAL;
}

static int read_fd(struct recording *r, char *buf, size_t *ret_n)
{
	ssize_t n;
	do
		n = read(r->fd, buf, CHUNK_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*ret_n = (size_t)n;
	return 0;
}

static int bz_error(int r)
{
	return r == BZ_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Fills the chunk from the compressed file, which may be several streams one after the other. */
static int inflate_chunk(struct recording *r)
{
	r->bz.next_out = r->chunk;
	r->bz.avail_out = CHUNK_BYTES;
	while (r->bz.avail_out == CHUNK_BYTES) {
		if (r->raw_at == r->raw_n) {
			r->raw_at = 0;
			int e = read_fd(r, r->raw, &r->raw_n);
			if (e < 0)
				return e;
			if (r->raw_n == 0)
				return r->in_stream ? -EBADMSG : 0;
		}
		if (!r->in_stream) {
			int e = BZ2_bzDecompressInit(&r->bz, 0, 0);
			if (e != BZ_OK)
				return bz_error(e);
			r->in_stream = true;
		}
		r->bz.next_in = r->raw + r->raw_at;
		r->bz.avail_in = (unsigned)(r->raw_n - r->raw_at);
		int e = BZ2_bzDecompress(&r->bz);
		r->raw_at = r->raw_n - r->bz.avail_in;
		if (e != BZ_OK && e != BZ_STREAM_END)
			return bz_error(e);
		if (e == BZ_STREAM_END) {
			(void)BZ2_bzDecompressEnd(&r->bz);
			r->in_stream = false;
		}
	}
	r->n = CHUNK_BYTES - r->bz.avail_out;
	return 0;
}

static int fill(struct recording *r)
{
	r->at = r->n = 0;
	int e = r->compressed ? inflate_chunk(r) : read_fd(r, r->chunk, &r->n);
	r->ended = e == 0 && r->n == 0;
	return e;
}

int recording_open(const struct mem *mem, const char *path, enum recording_form form,
	const struct recording_names *names, struct recording **ret_recording)
{
	AUTO(recording) struct recording *r = mem_zalloc(mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->mem = mem;
	r->names = names;
	r->form = form;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	int e = read_fd(r, r->chunk, &r->n);
	if (e < 0)
		return e;
	r->ended = r->n == 0;
	if (r->n >= 3 && memcmp(r->chunk, "BZh", 3) == 0) {
		r->compressed = true;
		memcpy(r->raw, r->chunk, r->n);
		r->raw_n = r->n;
		r->n = 0;
	}
	*ret_recording = TAKE(r);
	return 0;
}

struct recording *recording_free(struct recording *r)
{
	if (!r)
		return NULL;
	if (r->in_stream)
		(void)BZ2_bzDecompressEnd(&r->bz);
	if (r->fd >= 0)
		(void)close(r->fd);
	mem_free(r->mem, r->text);
	mem_free(r->mem, r->ahead);
	return mem_free(r->mem, r);
}

uint32_t recording_line(const struct recording *r)
{
	return r->begins;
}

/* Appends to a growing text, with room for a byte more. -E2BIG: it would be too long. */
static int append(
	const struct mem *mem, char **to, size_t *len, size_t *room, const char *s, size_t n)
{
	if (*len + n > RECORDING_RECORD_MAX)
		return -E2BIG;
	if (*len + n + 1 > *room) {
		size_t more = MAX(*len + n + 1, *room * 2);
		char *p = mem_resize(mem, *to, MAX(more, (size_t)256), 1);
		if (!p)
			return -ENOMEM;
		*to = p;
		*room = MAX(more, (size_t)256);
	}
	memcpy(*to + *len, s, n);
	*len += n;
	return 0;
}

/* The next line, without its end, after what is in the text. -ENODATA: the end. A line that is too
 * long is read to its end, and -E2BIG told. */
static int take_line(struct recording *r, char **to, size_t *len, size_t *room)
{
	int long_line = 0;
	bool any = false;
	for (;;) {
		if (r->at == r->n && !r->ended) {
			int e = fill(r);
			if (e < 0)
				return e;
		}
		if (r->ended) {
			if (!any)
				return -ENODATA;
			break;
		}
		any = true;
		char *s = r->chunk + r->at, *end = memchr(s, '\n', r->n - r->at);
		size_t n = end ? (size_t)(end - s) : r->n - r->at;
		r->at += n + (end != NULL);
		int e = long_line ? 0 : append(r->mem, to, len, room, s, n);
		if (e == -ENOMEM)
			return e;
		long_line |= e;
		if (end)
			break;
	}
	r->line++;
	return long_line ? -E2BIG : 0;
}

static int next_line(struct recording *r)
{
	r->len = 0;
	int e = take_line(r, &r->text, &r->len, &r->room);
	r->begins = r->line;
	return e;
}

static int take_ahead(struct recording *r)
{
	r->ahead_n = 0;
	int e = take_line(r, &r->ahead, &r->ahead_n, &r->ahead_room);
	r->has_ahead = e == 0;
	return e;
}

/* All that is printed of the next object: lines up to the next that begins one. */
static int next_walk(struct recording *r)
{
	int e = r->has_ahead ? 0 : take_ahead(r), too_long = 0;
	if (e < 0) {
		r->begins = r->line;
		return e;
	}
	r->begins = r->line;
	r->len = 0;
	do {
		if (r->len > 0 && !too_long)
			too_long = append(r->mem, &r->text, &r->len, &r->room, "\n", 1);
		if (!too_long)
			too_long =
				append(r->mem, &r->text, &r->len, &r->room, r->ahead, r->ahead_n);
		e = take_ahead(r);
	} while (e == 0 && !record_walk_begins(r->ahead, r->ahead_n));
	if (e == -E2BIG)
		too_long = e; /* goes on with this record, whatever it holds */
	else if (e < 0 && e != -ENODATA)
		return e;
	return too_long;
}

/* Writes the OID in place of a name of the text. */
static int put_oid(struct recording *r, size_t at, size_t bytes, const struct oid *oid)
{
	char numbers[OID_TEXT_BYTES], *rest = NULL;
	size_t tail = r->len - at - bytes, room = 0, len = 0;
	(void)oid_text(oid, numbers, sizeof(numbers));
	int e = append(r->mem, &rest, &len, &room, r->text + at + bytes, tail);
	r->len = at;
	if (e == 0)
		e = append(r->mem, &r->text, &r->len, &r->room, numbers, strlen(numbers));
	if (e == 0)
		e = append(r->mem, &r->text, &r->len, &r->room, rest, tail);
	mem_free(r->mem, rest);
	return e;
}

/* Names that are not known stay, and are told as what they are. */
static int resolve_names(struct recording *r)
{
	size_t at, bytes;
	char name[512];
	int e = 0;
	while (e == 0 && record_walk_name(r->text, r->len, &at, &bytes) && bytes < sizeof(name)) {
		struct oid oid;
		memcpy(name, r->text + at, bytes);
		name[bytes] = 0;
		e = r->names->find(r->names->arg, name, &oid);
		if (e == 0)
			e = put_oid(r, at, bytes, &oid);
	}
	return e == -ENOENT ? 0 : e;
}

int recording_next(struct recording *r, struct record *ret_record, const char **reterr_what)
{
	for (;;) {
		int e = r->form == RECORDING_REC ? next_line(r) : next_walk(r);
		if (e == 0 && r->names && r->form == RECORDING_WALK)
			e = resolve_names(r);
		if (e == -E2BIG) {
			*reterr_what = "longer than 1 MiB";
			return -EINVAL;
		}
		if (e < 0)
			return e;
		e = r->form == RECORDING_REC
			    ? record_read_rec(r->text, r->len, ret_record, reterr_what)
			    : record_read_walk(r->text, r->len, ret_record, reterr_what);
		if (e == 0 && r->form == RECORDING_WALK)
			recording_hint(ret_record);
		if (e != -ENODATA)
			return e;
	}
}
