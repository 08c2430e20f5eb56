#include "sim/fleet/type_draft.h"
#include <string.h>

struct scan { /* over text that a JSON parser accepted */
	const char *p, *end;
};

static void skip_space(struct scan *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p))
		s->p++;
}

static void skip_string(struct scan *s)
{
	for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
		if (*s->p == '\\')
			s->p++;
	s->p++;
}

/* Past one value: brackets are counted, so nesting costs no stack. */
static void skip_value(struct scan *s)
{
	unsigned depth = 0;
	do {
		skip_space(s);
		if (s->p >= s->end)
			return;
		if (*s->p == '"') {
			skip_string(s);
		} else if (strchr("{[", *s->p)) {
			depth++;
			s->p++;
		} else if (strchr("}]", *s->p)) {
			depth--;
			s->p++;
		} else if (strchr(",:", *s->p)) {
			s->p++;
		} else {
			while (s->p < s->end && !strchr(" \t\r\n,:{}[]\"", *s->p))
				s->p++;
		}
	} while (depth > 0);
}

/* Does the JSON string at s spell the token of n bytes (a pointer's: ~0 and ~1 are ~ and /)? */
static bool key_is(const struct scan *s, const char *token, size_t n)
{
	const char *p = s->p + 1;
	for (size_t i = 0; i < n; i++, p++) {
		char c = token[i];
		if (c == '~' && i + 1 < n)
			c = token[++i] == '1' ? '/' : '~';
		if (p >= s->end || *p != c)
			return false;
	}
	return p < s->end && *p == '"';
}

/* Moves into the container at s to the member that the token names; false: not found. */
static bool enter(struct scan *s, const char *token, size_t n)
{
	skip_space(s);
	if (s->p >= s->end || (*s->p != '{' && *s->p != '['))
		return false;
	bool object = *s->p++ == '{';
	size_t left = 0;
	for (size_t i = 0; !object && i < n; i++)
		left = left * 10 + (size_t)(token[i] - '0');
	for (;; left--) {
		skip_space(s);
		if (s->p >= s->end || strchr("]}", *s->p))
			return false;
		if (object) {
			bool found = key_is(s, token, n);
			skip_string(s);
			skip_space(s);
			s->p++; /* the colon */
			skip_space(s);
			if (found)
				return true;
		} else if (left == 0) {
			return true;
		}
		skip_value(s);
		skip_space(s);
		if (s->p < s->end && *s->p == ',')
			s->p++;
	}
}

unsigned type_pos_line(const char *text, size_t len, const char *pointer)
{
	struct scan s = {text, text + len};
	while (*pointer == '/') {
		size_t n = strcspn(++pointer, "/");
		if (!enter(&s, pointer, n))
			break;
		pointer += n;
	}
	skip_space(&s);
	unsigned line = 1;
	for (const char *p = text; p < s.p && p < s.end; p++)
		line += *p == '\n';
	return line;
}
