#include "api/schema.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 16
struct parser {
	struct text *t;
	const char *p;
	unsigned depth;
	bool bad;
};

static void parse_schema(struct parser *s);

static char peek(struct parser *s)
{
	while (*s->p == ' ' || *s->p == '\n' || *s->p == '\t')
		s->p++;
	return *s->p;
}

static bool accept(struct parser *s, char c)
{
	if (peek(s) != c)
		return false;
	s->p++;
	return true;
}

static void expect(struct parser *s, char c)
{
	if (!accept(s, c))
		s->bad = true;
}

/* A word of letters, digits and _; returns its length. */
static size_t parse_word(struct parser *s, char *buf, size_t room)
{
	size_t n = 0;
	(void)peek(s);
	while (isalnum((unsigned char)*s->p) || *s->p == '_') {
		if (n + 1 < room)
			buf[n++] = *s->p;
		s->p++;
	}
	buf[n] = 0;
	s->bad |= n == 0;
	return n;
}

static void parse_members(struct parser *s)
{
	char name[64];
	AUTO_TEXT struct text required = TEXT(s->t->mem);
	text_put(s->t, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
	for (bool more = peek(s) != '}'; more && !s->bad; more = accept(s, ',')) {
		(void)parse_word(s, name, sizeof(name));
		bool optional = accept(s, '?');
		expect(s, ':');
		text_key(s->t, name);
		parse_schema(s);
		if (optional)
			continue;
		text_put(&required, required.len ? "," : "");
		text_json(&required, name);
	}
	expect(s, '}');
	text_put(s->t, "}");
	if (required.len)
		text_printf(s->t, ",\"required\":[%s]", required.s);
	if (required.err < 0)
		s->t->err = required.err;
}

static void write_page(struct parser *s)
{
	text_put(s->t, ",\"page\":{\"type\":\"object\",\"additionalProperties\":false,"
		       "\"properties\":{\"next\":{\"type\":\"string\",\"nullable\":true,"
		       "\"description\":\"What to pass as after for what follows; null: nothing "
		       "follows\"},\"total\":{\"type\":\"integer\"}},\"required\":[\"next\"]}");
}

static void parse_envelope(struct parser *s, bool page)
{
	text_put(s->t, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
		       "\"success\":{\"type\":\"boolean\",\"enum\":[true]},"
		       "\"message\":{\"type\":\"string\"},\"data\":");
	expect(s, '<');
	parse_schema(s);
	expect(s, '>');
	if (page)
		write_page(s);
	text_printf(s->t, "},\"required\":[\"success\",\"message\",\"data\"%s]",
		page ? ",\"page\"" : "");
}

static void parse_name(struct parser *s)
{
	static const struct {
		const char *word, *json;
	} values[] = {
		{"str", "\"type\":\"string\""},
		{"int", "\"type\":\"integer\""},
		{"num", "\"type\":\"number\""},
		{"bool", "\"type\":\"boolean\""},
		{"time", "\"type\":\"string\",\"format\":\"date-time\""},
	};
	char word[64];
	(void)parse_word(s, word, sizeof(word));
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(word, values[i].word) == 0) {
			text_put(s->t, values[i].json);
			return;
		}
	if (strcmp(word, "Data") == 0 || strcmp(word, "Page") == 0) {
		parse_envelope(s, word[0] == 'P');
	} else if (strcmp(word, "map") == 0) {
		text_put(s->t, "\"type\":\"object\",\"additionalProperties\":");
		expect(s, '<');
		parse_schema(s);
		expect(s, '>');
	} else if (isupper((unsigned char)word[0])) {
		/* In OpenAPI 3.0 nothing may stand beside $ref. */
		text_printf(s->t, "\"allOf\":[{\"$ref\":\"#/components/schemas/%s\"}]", word);
	} else if (strcmp(word, "any") != 0) {
		s->bad = true;
	}
}

static void parse_description(struct parser *s)
{
	if (!accept(s, '\''))
		return;
	const char *end = strchr(s->p, '\'');
	if (!end) {
		s->bad = true;
		return;
	}
	AUTO_TEXT struct text d = TEXT(s->t->mem);
	text_write(&d, s->p, (size_t)(end - s->p));
	s->p = end + 1;
	text_kv_str(s->t, "description", d.err < 0 || !d.s ? "" : d.s);
}

static void parse_schema(struct parser *s)
{
	if (++s->depth > DEPTH_MAX) {
		s->bad = true;
		return;
	}
	text_put(s->t, "{");
	bool nullable = accept(s, '~');
	if (accept(s, '{')) {
		parse_members(s);
	} else if (accept(s, '[')) {
		text_put(s->t, "\"type\":\"array\",\"items\":");
		parse_schema(s);
		expect(s, ']');
	} else {
		parse_name(s);
	}
	if (nullable)
		text_put(s->t, ",\"nullable\":true");
	parse_description(s);
	text_put(s->t, "}");
	s->depth--;
}

int schema_write(struct text *t, const char *notation)
{
	struct parser s = {.t = t, .p = notation};
	parse_schema(&s);
	if (t->err < 0)
		return t->err;
	return s.bad || peek(&s) ? -EINVAL : 0;
}
