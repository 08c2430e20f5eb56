#include "wire/pprof_read.h"
#include "wire/pprof_index.h"
#include "wire/pprof_other.h"
#include <string.h>

struct pprof_read {
	struct pprof_index x;
	struct pprof_read_head head;
	/* What the sample or location that was read last points to. */
	uint32_t *locations;
	struct pprof_read_label *labels;
	struct pprof_read_line *lines;
	int64_t values[PPROF_READ_TYPES];
	uint32_t room_locations, room_labels, room_lines;
	int err; /* of the room */
};

/* One more element of an array that grows; NULL: no memory. */
static void *room(struct pprof_read *r, void **array, uint32_t *have, uint32_t n, size_t bytes)
{
	if (n == *have) {
		uint32_t want = *have ? *have * 2 : 64;
		void *more = mem_resize(r->x.mem, *array, want, bytes);
		if (!more) {
			r->err = -ENOMEM;
			return NULL;
		}
		*array = more;
		*have = want;
	}
	return (char *)*array + n * bytes;
}
#define ROOM(r, what, n) \
	((__typeof__((r)->what))room( \
		(r), (void **)&(r)->what, &(r)->room_##what, (n), sizeof(*(r)->what)))

/* Reading is done by functions that judge: told a fault, they fill it; when all was judged once,
 * they cannot fail any more. */

static int wrong_type(
	struct pprof_read *r, struct fault *f, const struct proto_field *field, const char *of)
{
	return pprof_index_bad(
		&r->x, f, field->start, "field %u of a %s has a wrong type", field->number, of);
}

static int end_of(struct pprof_read *r, struct fault *f, const struct rd *rest, const uint8_t *at,
	const char *of)
{
	return rest->err ? pprof_index_bad(&r->x, f, at, "a %s is cut off", of) : 0;
}

static int string_of(
	struct pprof_read *r, struct fault *f, const struct proto_field *field, uint32_t *ret_n)
{
	if (field->num >= r->x.tables[PPROF_STRING].n)
		return pprof_index_bad(&r->x, f, field->start, "no such string");
	*ret_n = (uint32_t)field->num;
	return 0;
}

static int read_type(
	struct pprof_read *r, struct rd rest, struct pprof_read_type *ret_type, struct fault *f)
{
	struct pprof_read_type t = {0};
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number > 2)
			continue;
		e = field.type != PROTO_VARINT
			    ? wrong_type(r, f, &field, "type")
			    : string_of(r, f, &field, field.number == 1 ? &t.type : &t.unit);
	}
	*ret_type = t;
	return e < 0 ? e : end_of(r, f, &rest, at, "type");
}

static int read_mapping(
	struct pprof_read *r, struct rd rest, struct pprof_read_mapping *ret_m, struct fault *f)
{
	struct pprof_read_mapping m = {0};
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number > 10)
			continue;
		if (field.type != PROTO_VARINT)
			return wrong_type(r, f, &field, "mapping");
		switch (field.number) {
		case 2:
			m.start = field.num;
			break;
		case 3:
			m.limit = field.num;
			break;
		case 4:
			m.file_offset = field.num;
			break;
		case 5:
			e = string_of(r, f, &field, &m.filename);
			break;
		case 6:
			e = string_of(r, f, &field, &m.build_id);
			break;
		case 7:
			m.has_functions = field.num;
			break;
		case 8:
			m.has_filenames = field.num;
			break;
		case 9:
			m.has_lines = field.num;
			break;
		case 10:
			m.has_inline = field.num;
			break;
		}
	}
	*ret_m = m;
	return e < 0 ? e : end_of(r, f, &rest, at, "mapping");
}

static int read_function(
	struct pprof_read *r, struct rd rest, struct pprof_read_function *ret_fn, struct fault *f)
{
	struct pprof_read_function fn = {0};
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number > 5)
			continue;
		if (field.type != PROTO_VARINT)
			return wrong_type(r, f, &field, "function");
		if (field.number == 2)
			e = string_of(r, f, &field, &fn.name);
		else if (field.number == 3)
			e = string_of(r, f, &field, &fn.system_name);
		else if (field.number == 4)
			e = string_of(r, f, &field, &fn.filename);
		else if (field.number == 5)
			fn.start_line = (int64_t)field.num;
	}
	*ret_fn = fn;
	return e < 0 ? e : end_of(r, f, &rest, at, "function");
}

static int read_line(
	struct pprof_read *r, struct rd rest, struct pprof_read_line *ret_line, struct fault *f)
{
	struct pprof_read_line line = {0};
	const uint8_t *at = rest.p;
	for (struct proto_field field; proto_next(&rest, &field);) {
		if (field.number > 3)
			continue;
		if (field.type != PROTO_VARINT)
			return wrong_type(r, f, &field, "line");
		if (field.number == 2)
			line.line = (int64_t)field.num;
		else if (field.number == 3)
			line.column = (int64_t)field.num;
		else if (field.num &&
			 !pprof_index_find(&r->x.tables[PPROF_FUNCTION], field.num, &line.function))
			return pprof_index_bad(&r->x, f, field.start, "no such function");
	}
	*ret_line = line;
	return end_of(r, f, &rest, at, "line");
}

static int add_line(struct pprof_read *r, struct pprof_read_location *l,
	const struct proto_field *field, struct fault *f)
{
	if (field->type != PROTO_LEN)
		return wrong_type(r, f, field, "location");
	if (l->n_lines == PPROF_READ_LINES)
		return pprof_index_bad(&r->x, f, field->start, "a location of more than %d lines",
			PPROF_READ_LINES);
	struct pprof_read_line *line = ROOM(r, lines, l->n_lines);
	if (!line)
		return -ENOMEM;
	l->n_lines++;
	return read_line(r, field->sub, line, f);
}

static int read_location(
	struct pprof_read *r, struct rd rest, struct pprof_read_location *ret_l, struct fault *f)
{
	struct pprof_read_location l = {0};
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number > 5)
			continue;
		if (field.number == 4) {
			e = add_line(r, &l, &field, f);
			continue;
		}
		if (field.type != PROTO_VARINT)
			return wrong_type(r, f, &field, "location");
		if (field.number == 3)
			l.address = field.num;
		else if (field.number == 5)
			l.is_folded = field.num;
		else if (field.number == 2 && field.num &&
			 !pprof_index_find(&r->x.tables[PPROF_MAPPING], field.num, &l.mapping))
			return pprof_index_bad(&r->x, f, field.start, "no such mapping");
	}
	l.lines = r->lines;
	*ret_l = l;
	return e < 0 ? e : end_of(r, f, &rest, at, "location");
}

static int read_label(
	struct pprof_read *r, struct rd rest, struct pprof_read_label *ret_label, struct fault *f)
{
	struct pprof_read_label l = {0};
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number > 4)
			continue;
		if (field.type != PROTO_VARINT)
			return wrong_type(r, f, &field, "label");
		if (field.number == 1)
			e = string_of(r, f, &field, &l.key);
		else if (field.number == 2)
			e = string_of(r, f, &field, &l.str);
		else if (field.number == 3)
			l.num = (int64_t)field.num;
		else
			e = string_of(r, f, &field, &l.num_unit);
	}
	*ret_label = l;
	return e < 0 ? e : end_of(r, f, &rest, at, "label");
}

static int add_location(struct pprof_read *r, struct pprof_read_sample *s, uint64_t id,
	const uint8_t *at, struct fault *f)
{
	if (s->n_locations == PPROF_READ_DEPTH)
		return pprof_index_bad(
			&r->x, f, at, "a stack of more than %d locations", PPROF_READ_DEPTH);
	uint32_t *to = ROOM(r, locations, s->n_locations);
	if (!to)
		return -ENOMEM;
	if (!pprof_index_find(&r->x.tables[PPROF_LOCATION], id, to))
		return pprof_index_bad(&r->x, f, at, "no such location");
	s->n_locations++;
	return 0;
}

static int add_value(
	struct pprof_read *r, uint32_t *n, uint64_t v, const uint8_t *at, struct fault *f)
{
	if (*n == r->head.n_types)
		return pprof_index_bad(&r->x, f, at, "a sample of more values than types");
	r->values[(*n)++] = (int64_t)v;
	return 0;
}

/* Locations and values may be packed or not. */
static int add_numbers(struct pprof_read *r, struct pprof_read_sample *s, uint32_t *n_values,
	const struct proto_field *field, struct fault *f)
{
	bool is_location = field->number == 1;
	if (field->type == PROTO_VARINT)
		return is_location ? add_location(r, s, field->num, field->start, f)
				   : add_value(r, n_values, field->num, field->start, f);
	if (field->type != PROTO_LEN)
		return wrong_type(r, f, field, "sample");
	struct rd rest = field->sub;
	int e = 0;
	while (e == 0 && rd_left(&rest)) {
		const uint8_t *at = rest.p;
		uint64_t v = proto_varint(&rest);
		if (rest.err)
			return pprof_index_bad(&r->x, f, at, "a number is cut off or too long");
		e = is_location ? add_location(r, s, v, at, f) : add_value(r, n_values, v, at, f);
	}
	return e;
}

static int add_label(struct pprof_read *r, struct pprof_read_sample *s,
	const struct proto_field *field, struct fault *f)
{
	if (field->type != PROTO_LEN)
		return wrong_type(r, f, field, "sample");
	if (s->n_labels == PPROF_READ_LABELS)
		return pprof_index_bad(&r->x, f, field->start, "a sample of more than %d labels",
			PPROF_READ_LABELS);
	struct pprof_read_label *l = ROOM(r, labels, s->n_labels);
	if (!l)
		return -ENOMEM;
	s->n_labels++;
	return read_label(r, field->sub, l, f);
}

static int read_sample(
	struct pprof_read *r, struct rd rest, struct pprof_read_sample *ret_s, struct fault *f)
{
	struct pprof_read_sample s = {.offset = (size_t)(rest.p - r->x.bytes)};
	uint32_t n_values = 0;
	int e = 0;
	const uint8_t *at = rest.p;
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);) {
		if (field.number == 1 || field.number == 2)
			e = add_numbers(r, &s, &n_values, &field, f);
		else if (field.number == 3)
			e = add_label(r, &s, &field, f);
	}
	if (e == 0)
		e = end_of(r, f, &rest, at, "sample");
	if (e == 0 && n_values != r->head.n_types)
		e = pprof_index_bad(&r->x, f, at, "a sample of %u values, of %u types", n_values,
			r->head.n_types);
	s.locations = r->locations;
	s.labels = r->labels;
	s.values = r->values;
	*ret_s = s;
	return e;
}

static int read_comments(struct pprof_read *r, const struct proto_field *field, struct fault *f)
{
	struct proto_field one = *field;
	uint32_t n;
	if (field->type == PROTO_VARINT) {
		r->head.comments++;
		return string_of(r, f, field, &n);
	}
	struct rd rest = field->sub;
	int e = 0;
	while (e == 0 && rd_left(&rest)) {
		one.num = proto_varint(&rest);
		r->head.comments++;
		e = rest.err ? pprof_index_bad(&r->x, f, field->start, "a comment is cut off")
			     : string_of(r, f, &one, &n);
	}
	return e;
}

static int read_head_field(struct pprof_read *r, const struct proto_field *field, struct fault *f)
{
	struct pprof_read_head *h = &r->head;
	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
		if (h->n_types == PPROF_READ_TYPES)
			return pprof_index_bad(&r->x, f, field->start,
				"more than %d types of samples", PPROF_READ_TYPES);
		return read_type(r, field->sub, &h->types[h->n_types++], f);
	case PPROF_DROP_FRAMES:
		return string_of(r, f, field, &h->drop_frames);
	case PPROF_KEEP_FRAMES:
		return string_of(r, f, field, &h->keep_frames);
	case PPROF_TIME:
		h->time_ns = (int64_t)field->num;
		return 0;
	case PPROF_DURATION:
		h->duration_ns = (int64_t)field->num;
		return 0;
	case PPROF_PERIOD_TYPE:
		h->has_period_type = true;
		return read_type(r, field->sub, &h->period_type, f);
	case PPROF_PERIOD:
		h->period = (int64_t)field->num;
		return 0;
	case PPROF_COMMENT:
		return read_comments(r, field, f);
	case PPROF_DEFAULT_TYPE:
		return string_of(r, f, field, &h->default_type);
	case PPROF_DOC_URL:
		return string_of(r, f, field, &h->doc_url);
	}
	return 0;
}

static int read_part(struct pprof_read *r, const struct proto_field *field, struct fault *f)
{
	struct pprof_read_mapping m;
	struct pprof_read_function fn;
	struct pprof_read_location l;
	struct pprof_read_sample s;
	switch (field->number) {
	case PPROF_SAMPLE:
		r->head.samples++;
		return read_sample(r, field->sub, &s, f);
	case PPROF_MAPPING:
		return read_mapping(r, field->sub, &m, f);
	case PPROF_LOCATION:
		return read_location(r, field->sub, &l, f);
	case PPROF_FUNCTION:
		return read_function(r, field->sub, &fn, f);
	}
	return 0;
}

/* All of it, once; the head first, for samples are judged by it. */
static int judge(struct pprof_read *r, struct fault *f)
{
	int e = pprof_index_make(&r->x, f);
	const struct pprof_table *strings = &r->x.tables[PPROF_STRING];
	size_t len;
	if (e == 0 && (strings->n == 0 || (pprof_read_string(r, 0, &len), len > 0)))
		e = pprof_index_bad(&r->x, f, r->x.bytes + (strings->n ? strings->at[0] : 0),
			"no profile: its table of strings does not begin with an empty one");
	struct rd rest = rd_make(r->x.bytes, r->x.len);
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);)
		e = read_head_field(r, &field, f);
	rest = rd_make(r->x.bytes, r->x.len);
	for (struct proto_field field; e == 0 && proto_next(&rest, &field);)
		e = read_part(r, &field, f);
	r->head.strings = strings->n;
	r->head.mappings = r->x.tables[PPROF_MAPPING].n;
	r->head.functions = r->x.tables[PPROF_FUNCTION].n;
	r->head.locations = r->x.tables[PPROF_LOCATION].n;
	return e;
}

int pprof_read_new(const struct mem *mem, const void *bytes, size_t len, struct pprof_read **ret_r,
	struct fault *reterr_fault)
{
	const char *other = pprof_other(bytes, len);
	if (other)
		return fault_set(reterr_fault, -EPROTONOSUPPORT, "byte 0",
			"profile.proto, packed by gzip or not", "this is %s, which is not read",
			other);
	if (len == 0 || len > UINT32_MAX)
		return fault_set(reterr_fault, -EBADMSG, "byte 0", NULL,
			len ? "a profile of more than 4 GiB" : "no profile: it is empty");
	AUTO(pprof_read) struct pprof_read *r = mem_zalloc(mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->x = (struct pprof_index){.mem = mem, .bytes = bytes, .len = len};
	int e = judge(r, reterr_fault);
	if (e < 0)
		return e;
	*ret_r = TAKE(r);
	return 0;
}

struct pprof_read *pprof_read_free(struct pprof_read *r)
{
	if (!r)
		return NULL;
	const struct mem *mem = r->x.mem;
	pprof_index_done(&r->x);
	mem_free(mem, r->locations);
	mem_free(mem, r->labels);
	mem_free(mem, r->lines);
	return mem_free(mem, r);
}

const struct pprof_read_head *pprof_read_head(const struct pprof_read *r)
{
	return &r->head;
}

const char *pprof_read_string(const struct pprof_read *r, uint32_t string, size_t *ret_len)
{
	struct rd s = pprof_index_get(&r->x, PPROF_STRING, string + 1);
	*ret_len = rd_left(&s);
	return (const char *)s.p;
}

uint32_t pprof_read_comment(const struct pprof_read *r, uint32_t n)
{
	struct rd rest = rd_make(r->x.bytes, r->x.len);
	for (struct proto_field field; proto_next(&rest, &field);) {
		if (field.number != PPROF_COMMENT)
			continue;
		if (field.type == PROTO_VARINT && --n == 0)
			return (uint32_t)field.num;
		while (field.type == PROTO_LEN && rd_left(&field.sub)) {
			uint64_t v = proto_varint(&field.sub);
			if (--n == 0)
				return (uint32_t)v;
		}
	}
	return 0;
}

void pprof_read_mapping(const struct pprof_read *r, uint32_t n, struct pprof_read_mapping *ret_m)
{
	(void)read_mapping((struct pprof_read *)(uintptr_t)r,
		pprof_index_get(&r->x, PPROF_MAPPING, n), ret_m, NULL);
}

void pprof_read_function(const struct pprof_read *r, uint32_t n, struct pprof_read_function *ret_f)
{
	(void)read_function((struct pprof_read *)(uintptr_t)r,
		pprof_index_get(&r->x, PPROF_FUNCTION, n), ret_f, NULL);
}

void pprof_read_location(struct pprof_read *r, uint32_t n, struct pprof_read_location *ret_l)
{
	(void)read_location(r, pprof_index_get(&r->x, PPROF_LOCATION, n), ret_l, NULL);
}

bool pprof_read_next(struct pprof_read *r, size_t *at, struct pprof_read_sample *ret_s)
{
	struct rd rest = rd_make(r->x.bytes + *at, r->x.len - *at);
	for (struct proto_field field; proto_next(&rest, &field);) {
		*at = (size_t)(rest.p - r->x.bytes);
		if (field.number == PPROF_SAMPLE) {
			(void)read_sample(r, field.sub, ret_s, NULL);
			return true;
		}
	}
	return false;
}
