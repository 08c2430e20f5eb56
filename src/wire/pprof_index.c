#include "wire/pprof_index.h"
#include "wire/pprof_read.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int pprof_index_bad(
	const struct pprof_index *x, struct fault *f, const uint8_t *at, const char *fmt, ...)
{
	char field[32], text[200];
	va_list ap;
	(void)snprintf(field, sizeof(field), "byte %zu", (size_t)(at - x->bytes));
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fault_set(f, -EBADMSG, field, NULL, "%s", text);
}

void pprof_index_done(struct pprof_index *x)
{
	for (unsigned i = 0; i < PPROF_FIELDS; i++) {
		mem_free(x->mem, x->tables[i].at);
		mem_free(x->mem, x->tables[i].ids);
	}
}

static bool is_table(unsigned field)
{
	return field >= PPROF_MAPPING && field <= PPROF_STRING;
}

/* How many of each field; what is no message at all shows here. */
static int count(struct pprof_index *x, struct fault *f)
{
	struct rd r = rd_make(x->bytes, x->len);
	const uint8_t *good = r.p;
	for (struct proto_field field; proto_next(&r, &field); good = r.p) {
		if (field.number >= PPROF_FIELDS)
			continue;
		bool is_packed = field.number == PPROF_COMMENT && field.type == PROTO_LEN;
		bool is_message = field.number <= PPROF_STRING || field.number == PPROF_PERIOD_TYPE;
		if (!is_packed && field.type != (is_message ? PROTO_LEN : PROTO_VARINT))
			return pprof_index_bad(x, f, good,
				"field %u of the profile has a wrong type", field.number);
		x->counts[field.number]++;
	}
	return r.err ? pprof_index_bad(x, f, good, "cut off, or no field of a profile") : 0;
}

static uint64_t id_of(struct rd message)
{
	uint64_t id = 0;
	for (struct proto_field f; proto_next(&message, &f);)
		if (f.number == 1 && f.type == PROTO_VARINT)
			id = f.num;
	return id;
}

/* A first id out of its row: from here on the ids are kept. */
static int keep_ids(struct pprof_index *x, struct pprof_table *t, uint32_t n, struct fault *f)
{
	if (n * sizeof(*t->ids) > MAX(x->len, (size_t)PPROF_READ_INDEX_BYTES))
		return pprof_index_bad(x, f, x->bytes + (t->n ? t->at[t->n - 1] : 0),
			"too many ids that are out of order for its size");
	t->ids = mem_array(x->mem, n, sizeof(*t->ids));
	for (uint32_t i = 0; t->ids && i < t->n; i++)
		t->ids[i] = (struct pprof_id){i + 1ull, i};
	return t->ids ? 0 : -ENOMEM;
}

static int cmp_ids(const void *va, const void *vb)
{
	const struct pprof_id *a = va, *b = vb;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int add(struct pprof_index *x, const struct proto_field *field, struct fault *f)
{
	struct pprof_table *t = &x->tables[field->number];
	if (field->number == PPROF_STRING) {
		if (rd_left(&field->sub) > PPROF_READ_STRING)
			return pprof_index_bad(x, f, field->start, "a string of more than %u bytes",
				PPROF_READ_STRING);
	} else {
		uint64_t id = id_of(field->sub);
		if (id == 0)
			return pprof_index_bad(x, f, field->start, "an id is 0");
		int r = id != t->n + 1ull && !t->ids
				? keep_ids(x, t, (uint32_t)x->counts[field->number], f)
				: 0;
		if (r < 0)
			return r;
		if (t->ids)
			t->ids[t->n] = (struct pprof_id){id, t->n};
	}
	t->at[t->n++] = (uint32_t)(field->start - x->bytes);
	return 0;
}

static int sort_ids(struct pprof_index *x, struct fault *f)
{
	for (unsigned i = PPROF_MAPPING; i <= PPROF_FUNCTION; i++) {
		struct pprof_table *t = &x->tables[i];
		if (!t->ids)
			continue;
		qsort(t->ids, t->n, sizeof(*t->ids), cmp_ids);
		for (uint32_t k = 1; k < t->n; k++)
			if (t->ids[k].id == t->ids[k - 1].id)
				return pprof_index_bad(x, f, x->bytes + t->at[t->ids[k].n],
					"an id is there twice");
	}
	return 0;
}

int pprof_index_make(struct pprof_index *x, struct fault *reterr_fault)
{
	int r = count(x, reterr_fault);
	if (r < 0)
		return r;
	uint64_t entries = 0;
	for (unsigned i = PPROF_MAPPING; i <= PPROF_STRING; i++)
		entries += x->counts[i];
	if (entries * sizeof(uint32_t) > MAX(x->len, (size_t)PPROF_READ_INDEX_BYTES))
		return pprof_index_bad(
			x, reterr_fault, x->bytes, "its tables have too many entries for its size");
	for (unsigned i = PPROF_MAPPING; i <= PPROF_STRING; i++) {
		if (x->counts[i] == 0)
			continue;
		x->tables[i].at = mem_alloc(x->mem, x->counts[i] * sizeof(uint32_t));
		if (!x->tables[i].at)
			return -ENOMEM;
	}
	struct rd rest = rd_make(x->bytes, x->len);
	for (struct proto_field field; r == 0 && proto_next(&rest, &field);)
		if (is_table(field.number))
			r = add(x, &field, reterr_fault);
	return r < 0 ? r : sort_ids(x, reterr_fault);
}

bool pprof_index_find(const struct pprof_table *t, uint64_t id, uint32_t *ret_n)
{
	if (!t->ids) {
		*ret_n = (uint32_t)id;
		return id > 0 && id <= t->n;
	}
	struct pprof_id key = {.id = id};
	const struct pprof_id *at = bsearch(&key, t->ids, t->n, sizeof(*t->ids), cmp_ids);
	if (at)
		*ret_n = at->n + 1;
	return at != NULL;
}

struct rd pprof_index_get(const struct pprof_index *x, unsigned field, uint32_t n)
{
	uint32_t at = x->tables[field].at[n - 1];
	struct rd r = rd_make(x->bytes + at, x->len - at);
	struct proto_field f;
	return proto_next(&r, &f) ? f.sub : rd_make(x->bytes, 0);
}
