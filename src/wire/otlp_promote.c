#include "wire/otlp_promote.h"
#include "base/num.h"
#include "base/protobuf.h"
#include "wire/intern.h"
#include "wire/otlp_plain.h"
#include "wire/proto_rd.h"
#include <stdio.h>

#define ATTRIBUTES_MAX 1024 /* of a sample */
#define LINK_BYTES 24

/* Field numbers of opentelemetry-proto, profiles/v1development, 1.10 and later. */
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1, SCOPE_ATTRIBUTES = 3 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { PROFILE_SAMPLES = 2 };
enum { SAMPLE_ATTRIBUTES = 2, SAMPLE_LINK = 3 };
enum { DICTIONARY_LINK = 4, DICTIONARY_STRING = 5, DICTIONARY_ATTRIBUTE = 6, DICTIONARY_FIELDS };
enum { ANY_STRING = 1, ANY_ARRAY = 5, ANY_STRINDEX = 8 };

struct promoting {
	struct otlp_promote_env env;
	const struct otlp_promote_conf *conf;
	const uint8_t *bytes;
	size_t len;
	struct rd dictionary;
	struct {
		struct rd *entries;
		uint32_t n;
	} tables[DICTIONARY_FIELDS]; /* of DICTIONARY_LINK and after it */
	/* Samples before first are left out, as are those from last on. */
	uint64_t first, last, n; /* n: seen so far */
	uint32_t profiles;	 /* that are written */
	struct intern links;	 /* by their bytes, from the old table's end on */
	struct text new_links;
	uint32_t attrs[ATTRIBUTES_MAX];
	struct otlp_promote_totals sums;
	struct fault *fault;
};

static int bad(struct promoting *p, const uint8_t *at, const char *what)
{
	char field[32];
	(void)snprintf(field, sizeof(field), "byte %zu", (size_t)(at - p->bytes));
	return fault_set(p->fault, -EBADMSG, field, NULL, "%s", what);
}

static int end_of(struct promoting *p, const struct rd *rest, const uint8_t *at)
{
	return rest->err ? bad(p, at, "a message is cut off, or none") : 0;
}

/* A field as it came. */
static void copy(struct text *to, const struct proto_field *field, const struct rd *rest)
{
	text_write(to, field->start, (size_t)(rest->p - field->start));
}

static int read_tables(struct promoting *p)
{
	uint32_t counts[DICTIONARY_FIELDS] = {0};
	struct proto_field f;
	struct rd rest = p->dictionary;
	while (proto_next(&rest, &f)) {
		if (f.number < DICTIONARY_LINK || f.number >= DICTIONARY_FIELDS)
			continue;
		if (f.type != PROTO_LEN)
			return bad(p, f.start, "a table of the dictionary has a wrong type");
		counts[f.number]++;
	}
	if (rest.err)
		return end_of(p, &rest, p->dictionary.p);
	for (unsigned i = DICTIONARY_LINK; i < DICTIONARY_FIELDS; i++) {
		p->tables[i].entries =
			mem_array(p->env.mem, counts[i] + 1ul, sizeof(*p->tables[i].entries));
		if (!p->tables[i].entries)
			return -ENOMEM;
	}
	rest = p->dictionary;
	while (proto_next(&rest, &f))
		if (f.number >= DICTIONARY_LINK && f.number < DICTIONARY_FIELDS)
			p->tables[f.number].entries[p->tables[f.number].n++] = f.sub;
	return 0;
}

static int find_dictionary(struct promoting *p)
{
	struct rd rest = rd_make(p->bytes, p->len);
	bool any = false;
	const uint8_t *at = rest.p;
	for (struct proto_field f; proto_next(&rest, &f); at = rest.p) {
		if (f.number > REQUEST_DICTIONARY)
			continue;
		if (f.type != PROTO_LEN)
			return bad(p, f.start, "a field of the request has a wrong type");
		if (f.number == REQUEST_DICTIONARY && any)
			return bad(p, f.start, "a second dictionary");
		if (f.number == REQUEST_DICTIONARY) {
			p->dictionary = f.sub;
			any = true;
		}
	}
	if (rest.err)
		return end_of(p, &rest, at);
	return any ? read_tables(p) : 0;
}

static bool string_at(const struct promoting *p, uint64_t n, struct rd *ret_s)
{
	if (n >= p->tables[DICTIONARY_STRING].n)
		return false;
	*ret_s = p->tables[DICTIONARY_STRING].entries[n];
	return true;
}

/* A string, as itself, in the dictionary, or as the only one of an array. */
static bool string_value(
	const struct promoting *p, struct rd any, bool is_in_array, struct rd *ret_s)
{
	bool found = false;
	for (struct proto_field f; proto_next(&any, &f);) {
		if (f.number == ANY_STRING && f.type == PROTO_LEN) {
			*ret_s = f.sub;
			found = true;
		} else if (f.number == ANY_STRINDEX && f.type == PROTO_VARINT) {
			found = string_at(p, f.num, ret_s);
		} else if (f.number == ANY_ARRAY && f.type == PROTO_LEN && !is_in_array) {
			struct proto_field one, more;
			found = proto_next(&f.sub, &one) && one.number == 1 &&
				one.type == PROTO_LEN && string_value(p, one.sub, true, ret_s) &&
				!proto_next(&f.sub, &more);
		} else {
			found = false;
		}
	}
	return found && !any.err;
}

/* Looks at an attribute; true: it is an id. */
static bool look_at(const struct promoting *p, uint32_t n, struct span_ids *ids)
{
	struct rd entry = p->tables[DICTIONARY_ATTRIBUTE].entries[n], key = {0}, value = {0};
	bool has_key = false, has_value = false;
	for (struct proto_field f; proto_next(&entry, &f);) {
		if (f.number == 1 && f.type == PROTO_VARINT)
			has_key = string_at(p, f.num, &key);
		else if (f.number == 2 && f.type == PROTO_LEN)
			has_value = string_value(p, f.sub, false, &value);
	}
	return has_key && has_value &&
	       span_ids_add(ids, &p->conf->names, (const char *)key.p, rd_left(&key),
		       (const char *)value.p, rd_left(&value));
}

static void put_link(struct text *to, const uint8_t link[LINK_BYTES])
{
	uint8_t b[4 + LINK_BYTES] = {1 << 3 | PROTO_LEN, 16, [18] = 2 << 3 | PROTO_LEN, 8};
	memcpy(b + 2, link, 16);
	memcpy(b + 20, link + 16, 8);
	protobuf_bytes(to, DICTIONARY_LINK, b, sizeof(b));
}

/* The old table's links by their bytes; entry 0 is none, and made where there is no table. */
static int load_links(struct promoting *p)
{
	static const uint8_t none[LINK_BYTES];
	const uint32_t n = p->tables[DICTIONARY_LINK].n;
	intern_done(&p->links);
	p->links = (struct intern)INTERN(p->env.mem);
	text_clear(&p->new_links);
	if (n == 0)
		put_link(&p->new_links, none);
	uint32_t id;
	bool fresh;
	int r = n == 0 ? intern_add(&p->links, none, sizeof(none), &id, &fresh) : 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		/* An index of the table for each, also for one that is there twice. */
		uint8_t key[LINK_BYTES + sizeof(i)] = {0};
		struct rd entry = p->tables[DICTIONARY_LINK].entries[i];
		size_t bytes = LINK_BYTES;
		bool has_trace = false, has_span = false;
		for (struct proto_field f; proto_next(&entry, &f);) {
			if (f.type == PROTO_LEN && f.number == 1 && rd_left(&f.sub) == 16) {
				memcpy(key, f.sub.p, 16);
				has_trace = true;
			} else if (f.type == PROTO_LEN && f.number == 2 && rd_left(&f.sub) == 8) {
				memcpy(key + 16, f.sub.p, 8);
				has_span = true;
			}
		}
		if (i == 0 || !has_trace || !has_span ||
			intern_find(&p->links, key, LINK_BYTES, &id)) {
			memcpy(key + LINK_BYTES, &i, sizeof(i));
			bytes = sizeof(key);
		}
		r = intern_add(&p->links, key, bytes, &id, &fresh);
	}
	return r < 0 ? r : p->new_links.err;
}

static int link_of(struct promoting *p, const uint8_t link[LINK_BYTES], uint32_t *ret_index)
{
	uint32_t id;
	bool fresh;
	int r = intern_add(&p->links, link, LINK_BYTES, &id, &fresh);
	if (r < 0)
		return r;
	if (fresh)
		put_link(&p->new_links, link);
	*ret_index = id - 1;
	return p->new_links.err;
}

struct sample {
	uint32_t n_attrs, link;
};

static int add_attr(struct promoting *p, struct sample *s, uint64_t v, const uint8_t *at)
{
	if (v >= MAX(p->tables[DICTIONARY_ATTRIBUTE].n, 1u))
		return bad(p, at, "no such attribute");
	if (s->n_attrs == ATTRIBUTES_MAX)
		return bad(p, at, "a sample of too many attributes");
	if (v > 0) /* 0 is none */
		p->attrs[s->n_attrs++] = (uint32_t)v;
	return 0;
}

static int read_sample(struct promoting *p, struct rd rest, struct sample *s)
{
	const uint8_t *at = rest.p;
	int r = 0;
	for (struct proto_field f; r == 0 && proto_next(&rest, &f);) {
		if (f.number == SAMPLE_LINK) {
			if (f.type != PROTO_VARINT ||
				f.num >= MAX(p->tables[DICTIONARY_LINK].n, 1u))
				return bad(p, f.start, "no such link");
			s->link = (uint32_t)f.num;
		} else if (f.number == SAMPLE_ATTRIBUTES && f.type == PROTO_VARINT) {
			r = add_attr(p, s, f.num, f.start);
		} else if (f.number == SAMPLE_ATTRIBUTES) {
			if (f.type != PROTO_LEN)
				return bad(p, f.start, "attributes of a wrong type");
			while (r == 0 && rd_left(&f.sub)) {
				uint64_t v = proto_varint(&f.sub);
				r = f.sub.err ? end_of(p, &f.sub, f.start)
					      : add_attr(p, s, v, f.start);
			}
		}
	}
	return r < 0 ? r : end_of(p, &rest, at);
}

/* Links the sample, and drops what it was linked by. */
static int promote(struct promoting *p, struct sample *s)
{
	struct span_ids ids = {0};
	uint8_t link[LINK_BYTES];
	bool is_id[ATTRIBUTES_MAX];
	if (s->link) {
		p->sums.linked_before++;
		return 0;
	}
	for (uint32_t i = 0; i < s->n_attrs; i++)
		is_id[i] = look_at(p, p->attrs[i], &ids);
	enum span_ids_state state = span_ids_state(&ids, link, link + 16);
	p->sums.samples[state]++;
	if (state != SPAN_IDS_GOOD)
		return 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->n_attrs; i++)
		if (!is_id[i] || p->conf->keep_ids)
			p->attrs[kept++] = p->attrs[i];
	s->n_attrs = kept;
	return link_of(p, link, &s->link);
}

static void put_sample(struct promoting *p, struct rd rest, const struct sample *s, struct text *to)
{
	AUTO_TEXT struct text packed = TEXT(p->env.mem);
	AUTO_TEXT struct text sample = TEXT(p->env.mem);
	for (struct proto_field f; proto_next(&rest, &f);)
		if (f.number != SAMPLE_ATTRIBUTES && f.number != SAMPLE_LINK)
			copy(&sample, &f, &rest);
	for (uint32_t i = 0; i < s->n_attrs; i++)
		protobuf_varint(&packed, p->attrs[i]);
	if (s->n_attrs)
		protobuf_bytes(&sample, SAMPLE_ATTRIBUTES, packed.s, packed.len);
	protobuf_uint(&sample, SAMPLE_LINK, s->link);
	protobuf_bytes(to, PROFILE_SAMPLES, sample.s ? sample.s : "", sample.len);
	if (sample.err < 0 || packed.err < 0)
		to->err = -ENOMEM;
}

static int walk_profile(struct promoting *p, struct rd rest, struct text *to)
{
	AUTO_TEXT struct text profile = TEXT(p->env.mem);
	const uint8_t *at = rest.p;
	uint64_t written = 0;
	for (struct proto_field f; proto_next(&rest, &f);) {
		if (f.number != PROFILE_SAMPLES) {
			copy(&profile, &f, &rest);
			continue;
		}
		if (f.type != PROTO_LEN)
			return bad(p, f.start, "a sample of a wrong type");
		struct sample s = {0};
		uint64_t n = p->n++;
		bool is_in = n >= p->first && n < p->last;
		int r = is_in || p->last == 0 ? read_sample(p, f.sub, &s) : 0;
		if (r == 0 && is_in)
			r = promote(p, &s);
		if (r < 0)
			return r;
		if (is_in) {
			put_sample(p, f.sub, &s, &profile);
			written++;
		}
	}
	if (written) {
		protobuf_bytes(to, SCOPE_PROFILES_PROFILES, profile.s, profile.len);
		p->profiles++;
	}
	return profile.err < 0 ? profile.err : end_of(p, &rest, at);
}

static struct otlp_strings strings_of(const struct promoting *p)
{
	return (struct otlp_strings){
		p->tables[DICTIONARY_STRING].entries, p->tables[DICTIONARY_STRING].n};
}

static bool is_replaced(const struct promoting *p, struct rd kv)
{
	struct otlp_strings strings = strings_of(p), none = {0};
	struct rd key = otlp_plain_key(kv, &strings),
		  ours = rd_make(p->conf->resource, p->conf->resource_bytes);
	for (struct proto_field f; proto_next(&ours, &f);) {
		struct rd other = otlp_plain_key(f.sub, &none);
		if (rd_left(&key) && rd_left(&key) == rd_left(&other) &&
			memcmp(key.p, other.p, rd_left(&key)) == 0)
			return true;
	}
	return false;
}

/* A message with attributes in that field, written as themselves. is_resource: but for those that
 * are replaced. */
static int put_attributes(
	struct promoting *p, struct rd rest, unsigned field, bool is_resource, struct text *to)
{
	const struct otlp_strings strings = strings_of(p);
	const uint8_t *at = rest.p;
	for (struct proto_field f; proto_next(&rest, &f);) {
		if (f.number != field || f.type != PROTO_LEN) {
			copy(to, &f, &rest);
			continue;
		}
		if (is_resource && is_replaced(p, f.sub))
			continue;
		AUTO_TEXT struct text one = TEXT(p->env.mem);
		int r = otlp_plain_write(p->env.mem, f.sub, &strings, &one);
		if (r < 0)
			return r == -EBADMSG ? bad(p, f.start, "an attribute is none") : r;
		protobuf_bytes(to, field, one.s ? one.s : "", one.len);
	}
	return to->err < 0 ? to->err : end_of(p, &rest, at);
}

static int walk_scope(struct promoting *p, struct rd rest, struct text *to)
{
	AUTO_TEXT struct text all = TEXT(p->env.mem);
	const uint8_t *at = rest.p;
	uint32_t profiles = p->profiles;
	int r = 0;
	for (struct proto_field f; r == 0 && proto_next(&rest, &f);) {
		if (f.number > SCOPE_PROFILES_PROFILES) {
			copy(&all, &f, &rest);
			continue;
		}
		if (f.type != PROTO_LEN)
			return bad(p, f.start, "a message of a wrong type");
		if (f.number == SCOPE_PROFILES_PROFILES) {
			r = walk_profile(p, f.sub, &all);
			continue;
		}
		AUTO_TEXT struct text scope = TEXT(p->env.mem);
		r = put_attributes(p, f.sub, SCOPE_ATTRIBUTES, false, &scope);
		protobuf_bytes(&all, SCOPE_PROFILES_SCOPE, scope.s ? scope.s : "", scope.len);
	}
	if (r < 0)
		return r;
	if (p->profiles > profiles)
		protobuf_bytes(to, RESOURCE_PROFILES_SCOPE_PROFILES, all.s, all.len);
	return all.err < 0 ? all.err : end_of(p, &rest, at);
}

/* The resource's own attributes but those that are replaced, then ours. */
static int put_resource(struct promoting *p, struct rd rest, struct text *to)
{
	AUTO_TEXT struct text all = TEXT(p->env.mem);
	int r = put_attributes(p, rest, RESOURCE_ATTRIBUTES, true, &all);
	if (r < 0)
		return r;
	text_write(&all, p->conf->resource, p->conf->resource_bytes);
	protobuf_bytes(to, RESOURCE_PROFILES_RESOURCE, all.s ? all.s : "", all.len);
	return all.err;
}

static int walk_resource(struct promoting *p, struct rd rest, struct text *to)
{
	AUTO_TEXT struct text all = TEXT(p->env.mem);
	const uint8_t *at = rest.p;
	struct rd resource = rd_make(p->bytes, 0);
	uint32_t profiles = p->profiles;
	int r = 0;
	for (struct proto_field f; r == 0 && proto_next(&rest, &f);) {
		if (f.number == RESOURCE_PROFILES_RESOURCE && f.type == PROTO_LEN)
			resource = f.sub;
		else if (f.number == RESOURCE_PROFILES_SCOPE_PROFILES && f.type == PROTO_LEN)
			r = walk_scope(p, f.sub, &all);
		else if (f.number <= RESOURCE_PROFILES_SCOPE_PROFILES)
			r = bad(p, f.start, "a message of a wrong type");
		else
			copy(&all, &f, &rest);
	}
	AUTO_TEXT struct text whole = TEXT(p->env.mem);
	if (r == 0)
		r = put_resource(p, resource, &whole);
	text_write(&whole, all.s ? all.s : "", all.len);
	if (p->profiles > profiles)
		protobuf_bytes(to, REQUEST_RESOURCE_PROFILES, whole.s, whole.len);
	if (all.err < 0 || whole.err < 0)
		return -ENOMEM;
	return r < 0 ? r : end_of(p, &rest, at);
}

/* An export of the samples from first up to last; none at all: all is judged. */
static int walk(struct promoting *p, uint64_t first, uint64_t last, struct text *to)
{
	p->first = first;
	p->last = last;
	p->n = 0;
	p->profiles = 0;
	p->sums = (struct otlp_promote_totals){0};
	int r = load_links(p);
	struct rd rest = rd_make(p->bytes, p->len);
	for (struct proto_field f; r == 0 && proto_next(&rest, &f);) {
		if (f.number == REQUEST_RESOURCE_PROFILES)
			r = walk_resource(p, f.sub, to);
		else if (f.number != REQUEST_DICTIONARY)
			copy(to, &f, &rest);
	}
	if (r < 0 || last == 0)
		return r;
	AUTO_TEXT struct text dictionary = TEXT(p->env.mem);
	text_write(&dictionary, p->dictionary.p, rd_left(&p->dictionary));
	if (p->new_links.len)
		text_write(&dictionary, p->new_links.s, p->new_links.len);
	protobuf_bytes(to, REQUEST_DICTIONARY, dictionary.s ? dictionary.s : "", dictionary.len);
	return dictionary.err < 0 || p->new_links.err < 0 ? -ENOMEM : to->err;
}

/* How many samples would fit, by how large one with this many is. */
static uint64_t fewer(const struct promoting *p, uint64_t samples, size_t len)
{
	size_t shared = rd_left(&p->dictionary), max = p->conf->max_bytes;
	if (len <= max || samples <= 1 || shared >= max / 4 * 3 || len <= shared)
		return samples;
	uint64_t n = samples * (max - shared) / (len - shared);
	return MIN(MAX(n - n / 16, (uint64_t)1), samples - 1);
}

static int make_all(struct promoting *p, struct otlp_promote_totals *totals)
{
	uint64_t at = 0, n = p->n, step = p->conf->max_samples;
	while (at < n) {
		AUTO_TEXT struct text body = TEXT(p->env.mem);
		uint64_t last = MIN(at + step, n);
		int r = walk(p, at, last, &body);
		if (r < 0)
			return r;
		uint64_t fit = fewer(p, last - at, body.len);
		if (fit < last - at) {
			step = fit;
			continue;
		}
		for (unsigned i = 0; i < SPAN_IDS_STATES; i++)
			totals->samples[i] += p->sums.samples[i];
		totals->linked_before += p->sums.linked_before;
		r = p->env.export(p->env.arg, &body, (uint32_t)(last - at), p->profiles);
		if (r < 0)
			return r;
		at = last;
	}
	return 0;
}

static void done(struct promoting *p)
{
	for (unsigned i = 0; i < DICTIONARY_FIELDS; i++)
		mem_free(p->env.mem, p->tables[i].entries);
	intern_done(&p->links);
	text_done(&p->new_links);
}

static struct promoting promoting_of(const struct otlp_promote_env *env, const void *bytes,
	size_t len, const struct otlp_promote_conf *conf, struct fault *f)
{
	return (struct promoting){.env = *env,
		.conf = conf,
		.bytes = bytes,
		.len = len,
		.dictionary = rd_make(bytes, 0),
		.links = INTERN(env->mem),
		.new_links = TEXT(env->mem),
		.fault = f};
}

static int judge(struct promoting *p)
{
	AUTO_TEXT struct text judged = TEXT(p->env.mem);
	int r = find_dictionary(p);
	return r < 0 ? r : walk(p, 0, 0, &judged);
}

int otlp_promote_make(const struct otlp_promote_env *env, const void *bytes, size_t len,
	const struct otlp_promote_conf *conf, struct otlp_promote_totals *totals,
	struct fault *reterr_fault)
{
	struct promoting p = promoting_of(env, bytes, len, conf, reterr_fault);
	int r = judge(&p);
	if (r == 0)
		r = make_all(&p, totals);
	done(&p);
	return r;
}

int otlp_promote_judge(const struct mem *mem, const void *bytes, size_t len,
	const struct otlp_promote_conf *conf, struct fault *reterr_fault)
{
	struct otlp_promote_env env = {.mem = mem};
	struct promoting p = promoting_of(&env, bytes, len, conf, reterr_fault);
	int r = judge(&p);
	done(&p);
	return r;
}
