#include "api/url.h"
#include "base/num.h"
#include "base/text.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int refuse(struct fault *f, const char *what)
{
	return fault_set(f, -EINVAL, "url", NULL, "%s", what);
}

/* Decodes s in place; the result is never longer. */
static int decode(char *s, bool plus_is_space, struct fault *f)
{
	char *to = s;
	for (const char *p = s; *p; p++) {
		char c = *p;
		if (c == '%') {
			int byte = num_hex_pair(p + 1);
			if (byte < 0)
				return refuse(f, "a percent sign without two hex digits");
			c = (char)byte;
			p += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return refuse(f, "a control character");
		*to++ = c;
	}
	*to = 0;
	return text_is_utf8(s) ? 0 : refuse(f, "invalid UTF-8");
}

static int add_query(struct url *u, char *pair, struct fault *f)
{
	char *eq = strchr(pair, '=');
	if (eq)
		*eq = 0;
	char *value = eq ? eq + 1 : pair + strlen(pair);
	int r = decode(pair, true, f);
	if (r == 0 && eq)
		r = decode(value, true, f);
	if (r < 0)
		return r;
	if (url_query(u, pair))
		return fault_set(f, -EINVAL, pair, NULL, "given twice");
	if (u->n_query == URL_QUERY)
		return fault_set(f, -E2BIG, "url", NULL, "more than %d parameters", URL_QUERY);
	u->query[u->n_query++] = (struct url_pair){pair, value};
	return 0;
}

static int parse_query(struct url *u, char *query, struct fault *f)
{
	for (char *pair; (pair = strsep(&query, "&"));) {
		if (!*pair)
			continue;
		int r = add_query(u, pair, f);
		if (r < 0)
			return r;
	}
	return 0;
}

/* path: what follows the first slash. */
static int parse_path(struct url *u, char *path, struct fault *f)
{
	if (!*path)
		return 0;
	for (char *segment; (segment = strsep(&path, "/"));) {
		if (u->n_segments == URL_SEGMENTS)
			return fault_set(
				f, -E2BIG, "url", NULL, "more than %d path segments", URL_SEGMENTS);
		int r = decode(segment, false, f);
		if (r < 0)
			return r;
		u->segments[u->n_segments++] = segment;
	}
	return 0;
}

/* Moves the authority of an absolute form to the front of target, where there is room for its NUL,
 * and returns what follows it. */
static char *cut_authority(char *target, struct url *u)
{
	char *from = strstr(target, "//") + 2;
	size_t n = strcspn(from, "/?");
	memmove(target, from, n);
	target[n] = 0;
	u->authority = target;
	return from + n;
}

int url_parse(char *target, struct url *ret_url, struct fault *reterr_fault)
{
	struct url u = {0};
	char *path = target;
	if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0)
		path = cut_authority(target, &u);
	char *query = strchr(path, '?');
	if (query)
		*query++ = 0;
	int r = 0;
	if (*path == '/')
		r = parse_path(&u, path + 1, reterr_fault);
	else if (!(u.authority && !*path) && strcmp(path, "*") != 0)
		r = refuse(reterr_fault, "the target is not a path");
	if (r == 0 && query) {
		r = parse_query(&u, query, reterr_fault);
		u.query_is_bad = r < 0;
		u.n_query = r < 0 ? 0 : u.n_query;
	}
	if (r == 0 || u.query_is_bad)
		*ret_url = u;
	return r;
}

const char *url_query(const struct url *u, const char *name)
{
	for (unsigned i = 0; i < u->n_query; i++)
		if (strcmp(u->query[i].name, name) == 0)
			return u->query[i].value;
	return NULL;
}
