#include "wire/pprof.h"
#include "base/protobuf.h"
#include "wire/intern.h"
#include <errno.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
	P_SAMPLE_TYPE = 1,
	P_SAMPLE = 2,
	P_MAPPING = 3,
	P_LOCATION = 4,
	P_FUNCTION = 5,
	P_STRING_TABLE = 6,
	P_TIME_NANOS = 9,
	P_DURATION_NANOS = 10,
	P_PERIOD_TYPE = 11,
	P_PERIOD = 12,
	P_COMMENT = 13,
	P_DEFAULT_SAMPLE_TYPE = 14,
};

/* What is not true of all locations of a mapping, and what is of some. */
enum { LACKS_FUNCTION = 1, LACKS_FILE = 2, LACKS_LINE = 4, HAS_INLINED = 8 };

struct pprof {
	const struct mem *mem;
	int err;
	struct text out;
	struct intern strings, mappings, functions, locations;
	struct text marks; /* a byte for each mapping */
	uint32_t n_sample_types;
	struct text scratch;
};

/* The id of the key, and whether it is new. */
static uint32_t add(struct pprof *p, struct intern *t, const void *key, size_t len, bool *ret_new)
{
	uint32_t id = 1;
	*ret_new = false;
	if (p->err == 0)
		p->err = intern_add(t, key, len, &id, ret_new);
	return p->err < 0 ? 1 : id;
}

/* Puts what scratch holds as a message of the field. */
static void put_message(struct pprof *p, unsigned field)
{
	if (p->scratch.err < 0)
		p->err = -ENOMEM;
	else
		protobuf_bytes(&p->out, field, p->scratch.s, p->scratch.len);
	if (p->out.err < 0)
		p->err = -ENOMEM;
}

/* The string's index in the table, which is its id less one: index 0 is "". */
static uint64_t string_index(struct pprof *p, const char *s)
{
	uint32_t id = 1;
	if (p->err == 0)
		p->err = intern_text(&p->strings, s, &id);
	return p->err < 0 ? 0 : id - 1;
}

int pprof_new(const struct mem *mem, struct pprof **ret_p)
{
	struct pprof *p = mem_zalloc(mem, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->mem = mem;
	p->out = p->scratch = p->marks = (struct text)TEXT(mem);
	p->strings = p->mappings = p->functions = p->locations = (struct intern)INTERN(mem);
	(void)string_index(p, "");
	if (p->err < 0) {
		pprof_free(p);
		return -ENOMEM;
	}
	*ret_p = p;
	return 0;
}

struct pprof *pprof_free(struct pprof *p)
{
	if (!p)
		return NULL;
	intern_done(&p->strings);
	intern_done(&p->mappings);
	intern_done(&p->functions);
	intern_done(&p->locations);
	text_done(&p->out);
	text_done(&p->scratch);
	text_done(&p->marks);
	return mem_free(p->mem, p);
}

static void value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	uint64_t t = string_index(p, type), u = string_index(p, unit);
	text_clear(&p->scratch);
	protobuf_uint(&p->scratch, 1, t);
	protobuf_uint(&p->scratch, 2, u);
	put_message(p, field);
}

void pprof_sample_type(struct pprof *p, const char *type, const char *unit)
{
	value_type(p, P_SAMPLE_TYPE, type, unit);
	p->n_sample_types++;
}

#define MAPPING_FIELDS 5
#define FUNCTION_FIELDS 4
#define FUNCTION_FILE 2

/* A field of what is interned by its varint fields. */
static uint64_t keyed_field(const struct intern *t, uint32_t id, unsigned field)
{
	uint64_t v;
	memcpy(&v, t->bytes.s + t->keys[id - 1].at + field * sizeof(v), sizeof(v));
	return v;
}

/* To scratch, as fields 2.. after the id. */
static void put_keyed(struct pprof *p, const struct intern *t, uint32_t id, unsigned n)
{
	text_clear(&p->scratch);
	protobuf_uint(&p->scratch, 1, id);
	for (unsigned i = 0; i < n; i++)
		protobuf_uint(&p->scratch, i + 2, keyed_field(t, id, i));
}

uint32_t pprof_add_mapping(struct pprof *p, const struct pprof_mapping *m)
{
	uint64_t fields[MAPPING_FIELDS] = {m->start, m->limit, m->file_offset,
		string_index(p, m->filename), string_index(p, m->build_id)};
	bool fresh;
	uint32_t id = add(p, &p->mappings, fields, sizeof(fields), &fresh);
	if (fresh)
		text_write(&p->marks, "", 1);
	return id;
}

uint32_t pprof_add_function(struct pprof *p, const char *name, const char *system_name,
	const char *file, uint32_t start_line)
{
	uint64_t fields[FUNCTION_FIELDS] = {string_index(p, name), string_index(p, system_name),
		string_index(p, file), start_line};
	bool fresh;
	uint32_t id = add(p, &p->functions, fields, sizeof(fields), &fresh);
	if (fresh) {
		put_keyed(p, &p->functions, id, FUNCTION_FIELDS);
		put_message(p, P_FUNCTION);
	}
	return id;
}

/* Mappings go out when all their locations are known. */
static void put_mappings(struct pprof *p)
{
	for (uint32_t id = 1; p->err == 0 && id <= p->mappings.n; id++) {
		unsigned marks = (uint8_t)p->marks.s[id - 1];
		put_keyed(p, &p->mappings, id, MAPPING_FIELDS);
		protobuf_uint(&p->scratch, 7, !(marks & LACKS_FUNCTION));
		protobuf_uint(&p->scratch, 8, !(marks & LACKS_FILE));
		protobuf_uint(&p->scratch, 9, !(marks & LACKS_LINE));
		protobuf_uint(&p->scratch, 10, !!(marks & HAS_INLINED));
		put_message(p, P_MAPPING);
	}
}

static void mark_mapping(
	struct pprof *p, uint32_t mapping, const struct pprof_line *lines, uint32_t n_lines)
{
	if (p->err < 0 || p->marks.err < 0)
		return;
	unsigned marks = n_lines == 0 ? LACKS_FUNCTION : n_lines > 1 ? HAS_INLINED : 0;
	for (uint32_t i = 0; i < n_lines; i++) {
		if (!keyed_field(&p->functions, lines[i].function, FUNCTION_FILE))
			marks |= LACKS_FILE;
		if (!lines[i].line)
			marks |= LACKS_LINE;
	}
	p->marks.s[mapping - 1] = (char)((uint8_t)p->marks.s[mapping - 1] | marks);
}

bool pprof_find_location(const struct pprof *p, uint64_t address, uint32_t *ret_id)
{
	return p->err == 0 && intern_find(&p->locations, &address, sizeof(address), ret_id);
}

uint32_t pprof_add_location(struct pprof *p, uint32_t mapping, uint64_t address,
	const struct pprof_line *lines, uint32_t n_lines)
{
	bool fresh;
	uint32_t id = add(p, &p->locations, &address, sizeof(address), &fresh);
	if (!fresh)
		return id;
	text_clear(&p->scratch);
	protobuf_uint(&p->scratch, 1, id);
	protobuf_uint(&p->scratch, 2, mapping);
	protobuf_uint(&p->scratch, 3, address);
	for (uint32_t i = 0; i < n_lines; i++) {
		uint8_t b[24];
		struct text line = {.s = (char *)b, .room = sizeof(b)};
		protobuf_uint(&line, 1, lines[i].function);
		protobuf_uint(&line, 2, lines[i].line);
		protobuf_bytes(&p->scratch, 4, b, line.len);
	}
	put_message(p, P_LOCATION);
	mark_mapping(p, mapping, lines, n_lines);
	return id;
}

static void put_label(struct pprof *p, struct text *to, const struct pprof_label *l)
{
	uint8_t b[48];
	struct text label = {.s = (char *)b, .room = sizeof(b)};
	protobuf_uint(&label, 1, string_index(p, l->key));
	if (l->str) {
		protobuf_uint(&label, 2, string_index(p, l->str));
	} else {
		protobuf_uint(&label, 3, (uint64_t)l->num);
		if (l->num_unit)
			protobuf_uint(&label, 4, string_index(p, l->num_unit));
	}
	protobuf_bytes(to, 3, b, label.len);
}

static size_t varint_bytes(uint64_t v)
{
	size_t n = 1;
	while (v >>= 7)
		n++;
	return n;
}

void pprof_sample(struct pprof *p, const uint32_t *locations, uint32_t n_locations,
	const int64_t *values, const struct pprof_label *labels, uint32_t n_labels)
{
	if (p->err < 0)
		return;
	struct text *t = &p->scratch;
	text_clear(t);
	size_t bytes = 0;
	for (uint32_t i = 0; i < n_locations; i++)
		bytes += varint_bytes(locations[i]);
	if (n_locations) {
		protobuf_varint(t, 1 << 3 | 2);
		protobuf_varint(t, bytes);
		for (uint32_t i = 0; i < n_locations; i++)
			protobuf_varint(t, locations[i]);
	}
	bytes = 0;
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		bytes += varint_bytes((uint64_t)values[i]);
	protobuf_varint(t, 2 << 3 | 2);
	protobuf_varint(t, bytes);
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		protobuf_varint(t, (uint64_t)values[i]);
	for (uint32_t i = 0; i < n_labels; i++)
		put_label(p, t, &labels[i]);
	put_message(p, P_SAMPLE);
}

void pprof_comment(struct pprof *p, const char *text)
{
	protobuf_uint(&p->out, P_COMMENT, string_index(p, text));
}

size_t pprof_bytes(const struct pprof *p)
{
	return p->out.len;
}

int pprof_finish(
	struct pprof *p, const struct pprof_head *head, const void **ret_bytes, size_t *ret_len)
{
	protobuf_uint(&p->out, P_TIME_NANOS, (uint64_t)head->time_ns);
	protobuf_uint(&p->out, P_DURATION_NANOS, (uint64_t)head->duration_ns);
	value_type(p, P_PERIOD_TYPE, head->period_type, head->period_unit);
	protobuf_uint(&p->out, P_PERIOD, (uint64_t)head->period);
	if (head->default_type)
		protobuf_uint(&p->out, P_DEFAULT_SAMPLE_TYPE, string_index(p, head->default_type));
	if (p->marks.err < 0)
		p->err = -ENOMEM;
	put_mappings(p);
	for (uint32_t i = 0; p->err == 0 && i < p->strings.n; i++)
		protobuf_bytes(&p->out, P_STRING_TABLE,
			p->strings.bytes.s ? p->strings.bytes.s + p->strings.keys[i].at : "",
			p->strings.keys[i].len);
	if (p->err < 0 || p->out.err < 0)
		return -ENOMEM;
	*ret_bytes = p->out.s;
	*ret_len = p->out.len;
	return 0;
}
