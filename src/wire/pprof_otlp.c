#include "wire/pprof_otlp.h"
#include "base/num.h"
#include "base/protobuf.h"
#include "wire/otlp_profile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A sample as it waits for its types to be written one after the other. */
struct item {
	uint32_t stack, link;
	uint32_t attrs, n_attrs; /* in attrs */
};
struct making {
	struct pprof_otlp_env env;
	const struct pprof_otlp_conf *conf;
	struct pprof_read *r;
	const struct pprof_read_head *head;
	struct otlp_profile *o; /* the export under way */
	/* What is in its dictionary, by the numbers of the input; 0: not yet. */
	uint32_t *locations, *mappings;
	struct item *items;
	int64_t *values; /* of an item as many as types */
	uint32_t n, max;
	uint32_t profiles;	  /* of the export that is finished */
	struct text attrs, stack; /* of uint32_t */
	struct text lines;	  /* of struct otlp_line */
	struct text str[3], multi;
	struct text scope_attrs;
	uint32_t head_attrs[4];
	uint32_t n_head_attrs;
	uint64_t states[SPAN_IDS_STATES];
	size_t last_offset; /* of the sample added last */
	int err;
};

static void push_u32(struct text *t, uint32_t v)
{
	text_write(t, &v, sizeof(v));
}

/* A string with a NUL; each slot holds one. What is not UTF-8, or a NUL inside, becomes "?". */
static const char *string_of(struct making *m, unsigned slot, uint32_t string)
{
	size_t len;
	const char *s = pprof_read_string(m->r, string, &len);
	struct text *t = &m->str[slot];
	text_clear(t);
	text_write(t, s, len);
	if (t->err < 0) {
		m->err = -ENOMEM;
		return "";
	}
	for (size_t i = 0; i < t->len;) {
		unsigned n = t->s[i] ? text_utf8_bytes(t->s + i) : 0;
		if (n == 0)
			t->s[i] = '?';
		i += n ? n : 1;
	}
	return t->s;
}

static uint32_t mapping_of(struct making *m, uint32_t n)
{
	if (n == 0 || m->mappings[n])
		return n ? m->mappings[n] : 0;
	struct pprof_read_mapping from;
	uint32_t attrs[5], n_attrs = 0;
	pprof_read_mapping(m->r, n, &from);
	const char *id = string_of(m, 0, from.build_id);
	/* Go's ids are four texts with slashes between, others hex. */
	if (id[0])
		attrs[n_attrs++] = otlp_profile_attr_str(m->o,
			strchr(id, '/') ? "process.executable.build_id.go"
					: "process.executable.build_id.gnu",
			id, "");
	if (from.has_functions)
		attrs[n_attrs++] =
			otlp_profile_attr_bool(m->o, "pprof.mapping.has_functions", true);
	if (from.has_filenames)
		attrs[n_attrs++] =
			otlp_profile_attr_bool(m->o, "pprof.mapping.has_filenames", true);
	if (from.has_lines)
		attrs[n_attrs++] =
			otlp_profile_attr_bool(m->o, "pprof.mapping.has_line_numbers", true);
	if (from.has_inline)
		attrs[n_attrs++] =
			otlp_profile_attr_bool(m->o, "pprof.mapping.has_inline_frames", true);
	struct otlp_mapping to = {from.start, from.limit, from.file_offset,
		string_of(m, 0, from.filename), attrs, n_attrs};
	return m->mappings[n] = otlp_profile_mapping(m->o, &to);
}

static uint32_t function_of(struct making *m, uint32_t n)
{
	struct pprof_read_function f;
	if (n == 0)
		return 0;
	pprof_read_function(m->r, n, &f);
	return otlp_profile_function(m->o, string_of(m, 0, f.name), string_of(m, 1, f.system_name),
		string_of(m, 2, f.filename), f.start_line);
}

static uint32_t location_of(struct making *m, uint32_t n)
{
	if (m->locations[n])
		return m->locations[n];
	struct pprof_read_location l;
	pprof_read_location(m->r, n, &l);
	text_clear(&m->lines);
	for (uint32_t i = 0; i < l.n_lines; i++) {
		struct otlp_line line = {
			function_of(m, l.lines[i].function), l.lines[i].line, l.lines[i].column};
		text_write(&m->lines, &line, sizeof(line));
	}
	if (m->lines.err < 0) {
		m->err = -ENOMEM;
		return 0;
	}
	uint32_t attr = 0;
	if (l.is_folded)
		attr = otlp_profile_attr_bool(m->o, "pprof.location.is_folded", true);
	return m->locations[n] = otlp_profile_location(m->o, mapping_of(m, l.mapping), l.address,
		       (const struct otlp_line *)(const void *)m->lines.s, l.n_lines, &attr,
		       attr != 0);
}

/* More than twice what an export may hold is not added on: it cannot go out. */
static bool is_hopeless(const struct making *m)
{
	return m->err < 0 || otlp_profile_bytes(m->o) > 2 * m->conf->max_bytes;
}

static uint32_t stack_of(struct making *m, const struct pprof_read_sample *s)
{
	text_clear(&m->stack);
	for (uint32_t i = 0; i < s->n_locations && (i % 64 || !is_hopeless(m)); i++)
		push_u32(&m->stack, location_of(m, s->locations[i]));
	if (m->stack.err < 0)
		m->err = -ENOMEM;
	return m->err < 0 ? 0
			  : otlp_profile_stack(m->o, (const uint32_t *)(const void *)m->stack.s,
				    (uint32_t)(m->stack.len / sizeof(uint32_t)));
}

/* Several values of one key: an attribute must not be there twice. */
static uint32_t attr_of_many(struct making *m, const struct pprof_read_sample *s, uint32_t first)
{
	struct otlp_any any[PPROF_READ_LABELS];
	size_t starts[PPROF_READ_LABELS];
	const struct pprof_read_label *l = s->labels;
	uint32_t n = 0;
	text_clear(&m->multi);
	for (uint32_t i = first; i < s->n_labels; i++) {
		if (l[i].key != l[first].key)
			continue;
		const char *str = l[i].str ? string_of(m, 1, l[i].str) : NULL;
		starts[n] = m->multi.len;
		if (str)
			text_write(&m->multi, str, strlen(str) + 1);
		any[n++] = (struct otlp_any){str, l[i].num};
	}
	if (m->multi.err < 0) {
		m->err = -ENOMEM;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (any[i].str)
			any[i].str = m->multi.s + starts[i];
	return otlp_profile_attr_array(
		m->o, string_of(m, 0, l[first].key), any, n, string_of(m, 2, l[first].num_unit));
}

/* 0: the label is told already, by an earlier one of its key. */
static uint32_t attr_of(struct making *m, const struct pprof_read_sample *s, uint32_t i)
{
	const struct pprof_read_label *l = s->labels;
	for (uint32_t k = 0; k < i; k++)
		if (l[k].key == l[i].key)
			return 0;
	for (uint32_t k = i + 1; k < s->n_labels; k++)
		if (l[k].key == l[i].key)
			return attr_of_many(m, s, i);
	const char *key = string_of(m, 0, l[i].key), *unit = string_of(m, 2, l[i].num_unit);
	return l[i].str ? otlp_profile_attr_str(m->o, key, string_of(m, 1, l[i].str), unit)
			: otlp_profile_attr_int(m->o, key, l[i].num, unit);
}

static bool look_at_label(struct making *m, const struct pprof_read_label *l, struct span_ids *ids)
{
	size_t key_len, len;
	const char *key = pprof_read_string(m->r, l->key, &key_len);
	const char *value = pprof_read_string(m->r, l->str, &len);
	return l->str && span_ids_add(ids, &m->conf->names, key, key_len, value, len);
}

/* What its labels tell, which of them are ids, and the ids (24 bytes); either may be NULL. */
static enum span_ids_state state_of(
	struct making *m, const struct pprof_read_sample *s, bool *ret_is_id, uint8_t *ret_link)
{
	struct span_ids ids = {0};
	uint8_t link[24];
	for (uint32_t i = 0; i < s->n_labels; i++) {
		bool is_id = look_at_label(m, &s->labels[i], &ids);
		if (ret_is_id)
			ret_is_id[i] = is_id;
	}
	enum span_ids_state state = span_ids_state(&ids, link, link + 16);
	if (ret_link && state == SPAN_IDS_GOOD)
		memcpy(ret_link, link, sizeof(link));
	return state;
}

static void add_labels(struct making *m, const struct pprof_read_sample *s, struct item *item)
{
	bool is_id[PPROF_READ_LABELS];
	uint8_t link[24];
	enum span_ids_state state = state_of(m, s, is_id, link);
	m->states[state]++;
	if (state == SPAN_IDS_GOOD)
		item->link = otlp_profile_link(m->o, link, link + 16);
	item->attrs = (uint32_t)(m->attrs.len / sizeof(uint32_t));
	for (uint32_t i = 0; i < s->n_labels && !is_hopeless(m); i++) {
		if (is_id[i] && state == SPAN_IDS_GOOD && !m->conf->keep_ids)
			continue;
		uint32_t attr = attr_of(m, s, i);
		if (attr == 0)
			continue;
		push_u32(&m->attrs, attr);
		item->n_attrs++;
	}
	if (m->attrs.err < 0)
		m->err = -ENOMEM;
}

static void add_sample(struct making *m, const struct pprof_read_sample *s)
{
	struct item item = {0};
	memcpy(m->values + (size_t)m->n * m->head->n_types, s->values,
		m->head->n_types * sizeof(*s->values));
	m->last_offset = s->offset;
	item.stack = stack_of(m, s);
	add_labels(m, s, &item);
	m->items[m->n++] = item;
}

/* At most; tag, length, stack, attributes, link and a value. */
static size_t sample_bytes(uint64_t attrs)
{
	return 3 + 6 + 6 + 5 * attrs + 6 + 12;
}

static size_t bytes_to_come(const struct making *m)
{
	return m->head->n_types * (m->n * sample_bytes(0) + 5 * (m->attrs.len / sizeof(uint32_t)));
}

static void kv_str(struct text *to, unsigned field, const char *key, const char *value)
{
	AUTO_TEXT struct text any = TEXT(to->mem);
	AUTO_TEXT struct text kv = TEXT(to->mem);
	protobuf_bytes(&any, 1, value, strlen(value));
	protobuf_bytes(&kv, 1, key, strlen(key));
	protobuf_bytes(&kv, 2, any.s, any.len);
	protobuf_bytes(to, field, kv.s, kv.len);
	if (any.err < 0 || kv.err < 0)
		to->err = -ENOMEM;
}

/* Of the profile as a whole; those that OTLP has no field for (its semantic conventions). */
static void add_head_attrs(struct making *m)
{
	const struct pprof_read_head *h = m->head;
	const struct {
		uint32_t string;
		const char *key;
	} texts[] = {{h->drop_frames, "pprof.profile.drop_frames"},
		{h->keep_frames, "pprof.profile.keep_frames"},
		{h->doc_url, "pprof.profile.doc_url"}};
	m->n_head_attrs = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].string)
			m->head_attrs[m->n_head_attrs++] = otlp_profile_attr_str(
				m->o, texts[i].key, string_of(m, 0, texts[i].string), "");
	uint32_t n = MIN(h->comments, (uint32_t)PPROF_READ_LABELS);
	struct otlp_any any[PPROF_READ_LABELS];
	size_t starts[PPROF_READ_LABELS];
	text_clear(&m->multi);
	for (uint32_t i = 0; i < n; i++) {
		const char *s = string_of(m, 0, pprof_read_comment(m->r, i + 1));
		starts[i] = m->multi.len;
		text_write(&m->multi, s, strlen(s) + 1);
	}
	if (m->multi.err < 0)
		m->err = -ENOMEM;
	for (uint32_t i = 0; m->err == 0 && i < n; i++)
		any[i] = (struct otlp_any){.str = m->multi.s + starts[i]};
	if (n && m->err == 0)
		m->head_attrs[m->n_head_attrs++] =
			otlp_profile_attr_array(m->o, "pprof.profile.comment", any, n, "");
}

/* A new export. */
static int begin(struct making *m)
{
	struct otlp_scope scope = {
		m->conf->scope, m->conf->version, m->scope_attrs.s, m->scope_attrs.len};
	m->o = otlp_profile_free(m->o);
	int r = otlp_profile_new(
		m->env.mem, m->conf->resource, m->conf->resource_bytes, &scope, &m->o);
	if (r < 0)
		return r;
	memset(m->locations, 0, (m->head->locations + 1ul) * sizeof(*m->locations));
	memset(m->mappings, 0, (m->head->mappings + 1ul) * sizeof(*m->mappings));
	memset(m->states, 0, sizeof(m->states));
	text_clear(&m->attrs);
	m->n = 0;
	add_head_attrs(m);
	return m->err;
}

/* All its values are 0: no type has it. */
static bool is_nothing(const struct making *m, const struct pprof_read_sample *s)
{
	uint32_t i = 0;
	while (i < m->head->n_types && s->values[i] == 0)
		i++;
	return i == m->head->n_types;
}

/* Samples from *at on, until the export is nearly full. */
static void fill(struct making *m, size_t *at, uint32_t max)
{
	struct pprof_read_sample s;
	while (m->n < max && m->err == 0 &&
		otlp_profile_bytes(m->o) + bytes_to_come(m) < m->conf->max_bytes / 8 * 7 &&
		pprof_read_next(m->r, at, &s)) {
		if (is_nothing(m, &s))
			m->states[state_of(m, &s, NULL, NULL)]++;
		else
			add_sample(m, &s);
	}
}

static void write_type(struct making *m, uint32_t type)
{
	const struct pprof_read_head *h = m->head;
	AUTO_TEXT struct text words = TEXT(m->env.mem);
	size_t starts[4];
	const uint32_t strings[4] = {
		h->types[type].type, h->types[type].unit, h->period_type.type, h->period_type.unit};
	for (unsigned i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *s = string_of(m, 0, strings[i]);
		starts[i] = words.len;
		text_write(&words, s, strlen(s) + 1);
	}
	if (words.err < 0) {
		m->err = -ENOMEM;
		return;
	}
	struct otlp_head head = {.type = words.s + starts[0],
		.unit = words.s + starts[1],
		.period_type = h->has_period_type ? words.s + starts[2] : NULL,
		.period_unit = words.s + starts[3],
		.period = h->period,
		.time_ns = (uint64_t)MAX(h->time_ns, (int64_t)0),
		.duration_ns = (uint64_t)MAX(h->duration_ns, (int64_t)0),
		.attrs = m->head_attrs,
		.n_attrs = m->n_head_attrs};
	otlp_profile_begin(m->o, &head);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct item *item = &m->items[i];
		int64_t value = m->values[(size_t)i * h->n_types + type];
		if (value == 0)
			continue;
		otlp_profile_sample(m->o, item->stack,
			item->n_attrs ? (const uint32_t *)(const void *)m->attrs.s + item->attrs
				      : NULL,
			item->n_attrs, item->link, value);
	}
	otlp_profile_end(m->o);
}

/* The export as bytes. -EMSGSIZE: too many. */
static int finish(struct making *m, struct text *body)
{
	if (m->err == 0 && is_hopeless(m))
		return -EMSGSIZE;
	m->profiles = 0;
	for (uint32_t type = 0; m->err == 0 && type < m->head->n_types; type++) {
		uint32_t before = otlp_profile_samples(m->o);
		write_type(m, type);
		m->profiles += otlp_profile_samples(m->o) > before;
	}
	int r = m->err < 0 ? m->err : otlp_profile_finish(m->o, body);
	return r == 0 && body->len > m->conf->max_bytes ? -EMSGSIZE : r;
}

static void add_states(const struct making *m, struct pprof_otlp_totals *totals)
{
	for (unsigned i = 0; i < SPAN_IDS_STATES; i++)
		totals->samples[i] += m->states[i];
}

static int send(struct making *m, struct text *body, struct pprof_otlp_totals *totals)
{
	uint32_t samples = otlp_profile_samples(m->o);
	totals->exports++;
	totals->sent_samples += samples;
	totals->bytes += body->len;
	return m->env.export(m->env.arg, body, samples, m->profiles);
}

static int make_all(struct making *m, struct pprof_otlp_totals *totals, struct fault *f)
{
	uint32_t max = m->max;
	size_t from = 0;
	for (;;) {
		AUTO_TEXT struct text body = TEXT(m->env.mem);
		size_t at = from;
		int r = begin(m);
		if (r < 0)
			return r;
		fill(m, &at, max);
		r = m->n ? finish(m, &body) : m->err;
		if (r == -EMSGSIZE && m->n == 1) {
			char field[32];
			(void)snprintf(field, sizeof(field), "byte %zu", m->last_offset);
			return fault_set(f, -EFBIG, field, NULL,
				"a sample that does not fit into an export of %zu bytes",
				m->conf->max_bytes);
		}
		if (r == -EMSGSIZE) {
			max = m->n - MAX(m->n / 16, 1u);
			continue;
		}
		if (r == 0)
			add_states(m, totals);
		if (r == 0 && m->n)
			r = send(m, &body, totals);
		if (r < 0 || m->n == 0)
			return r;
		from = at;
		max = m->max;
	}
}

static void make_scope_attrs(struct making *m)
{
	enum { SCOPE_ATTRIBUTES = 3 };
	if (m->head->default_type)
		kv_str(&m->scope_attrs, SCOPE_ATTRIBUTES, "pprof.scope.default_sample_type",
			string_of(m, 0, m->head->default_type));
	if (m->scope_attrs.err < 0)
		m->err = -ENOMEM;
}

static void done(struct making *m)
{
	struct text *texts[] = {&m->attrs, &m->stack, &m->lines, &m->str[0], &m->str[1], &m->str[2],
		&m->multi, &m->scope_attrs};
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		text_done(texts[i]);
	m->o = otlp_profile_free(m->o);
	mem_free(m->env.mem, m->locations);
	mem_free(m->env.mem, m->mappings);
	mem_free(m->env.mem, m->items);
	mem_free(m->env.mem, m->values);
}

int pprof_otlp_make(const struct pprof_otlp_env *env, struct pprof_read *r,
	const struct pprof_otlp_conf *conf, struct pprof_otlp_totals *totals,
	struct fault *reterr_fault)
{
	const struct pprof_read_head *h = pprof_read_head(r);
	if (h->n_types == 0 || h->samples == 0)
		return 0;
	struct making m = {.env = *env, .conf = conf, .r = r, .head = h};
	const struct text empty = TEXT(env->mem);
	m.attrs = m.stack = m.lines = m.str[0] = m.str[1] = m.str[2] = m.multi = m.scope_attrs =
		empty;
	m.max = (uint32_t)MIN(MAX(conf->max_samples / h->n_types, 1u), h->samples);
	m.locations = mem_array(env->mem, h->locations + 1ul, sizeof(*m.locations));
	m.mappings = mem_array(env->mem, h->mappings + 1ul, sizeof(*m.mappings));
	m.items = mem_array(env->mem, m.max, sizeof(*m.items));
	m.values = mem_array(env->mem, (size_t)m.max * h->n_types, sizeof(*m.values));
	int e = m.locations && m.mappings && m.items && m.values ? 0 : -ENOMEM;
	if (e == 0)
		make_scope_attrs(&m);
	if (e == 0)
		e = m.err;
	if (e == 0)
		e = make_all(&m, totals, reterr_fault);
	done(&m);
	return e;
}
