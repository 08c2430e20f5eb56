#include "api/router.h"
#include "base/num.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct router {
	const struct mem *mem;
	struct text names; /* of the routes in order, each ends with a NUL; GET has HEAD after it */
	unsigned n;
	const struct route *routes[];
};

static size_t segment_len(const char *p)
{
	return strcspn(p, "/");
}

/* A path pattern: literals and {names} between slashes, "{name*}" only at the end; a slash at the
 * end counts. */
static bool path_is_good(const char *p)
{
	if (*p != '/')
		return false;
	unsigned segments = 0;
	for (p++; *p;) {
		size_t n = segment_len(p);
		if (n == 0 || ++segments > URL_SEGMENTS)
			return false;
		bool rest = n > 2 && p[0] == '{' && p[n - 2] == '*';
		if ((p[0] == '{') != (p[n - 1] == '}') || (p[0] == '{' && n < 3))
			return false;
		p += n;
		if (*p == '/' && rest)
			return false;
		p += *p == '/';
	}
	return true;
}

/* Literals sort before parameters, so that the first match is the most literal one. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (*a == '{' ? 0x7f : (unsigned char)*a) - (*b == '{' ? 0x7f : (unsigned char)*b);
}

static int compare(const void *x, const void *y)
{
	const struct route *a = *(const struct route *const *)x;
	const struct route *b = *(const struct route *const *)y;
	int r = compare_paths(a->path, b->path);
	return r ? r : (int)a->method - (int)b->method;
}

static void write_name(struct router *router, enum method method, const char *path)
{
	text_printf(&router->names, "%s %s", method_name(method), path);
	text_write(&router->names, "", 1);
}

static void write_names(struct router *router)
{
	for (unsigned i = 0; i < router->n; i++) {
		const struct route *route = router->routes[i];
		write_name(router, route->method, route->path);
		if (route->method == GET)
			write_name(router, HEAD, route->path);
	}
}

int router_new(const struct mem *mem, const struct route *const *tables, struct router **ret_router)
{
	unsigned n = 0;
	for (const struct route *const *t = tables; *t; t++)
		for (const struct route *r = *t; r->path; r++)
			n++;
	AUTO(router)
	struct router *router = mem_zalloc(mem, sizeof(*router) + n * sizeof(router->routes[0]));
	if (!router)
		return -ENOMEM;
	router->mem = mem;
	router->names = (struct text)TEXT(mem);
	for (const struct route *const *t = tables; *t; t++)
		for (const struct route *r = *t; r->path; r++)
			router->routes[router->n++] = r;
	qsort(router->routes, n, sizeof(router->routes[0]), compare);
	for (unsigned i = 0; i < n; i++)
		if (!path_is_good(router->routes[i]->path) ||
			(i > 0 && compare(&router->routes[i - 1], &router->routes[i]) == 0))
			return -EINVAL;
	write_names(router);
	if (router->names.err < 0)
		return -ENOMEM;
	*ret_router = TAKE(router);
	return 0;
}

struct router *router_free(struct router *r)
{
	if (!r)
		return NULL;
	text_done(&r->names);
	return mem_free(r->mem, r);
}

const char *router_name(const struct router *r, const struct route *route, enum method method)
{
	const char *p = r->names.s;
	for (unsigned i = 0; i < r->n && r->routes[i] != route; i++) {
		p += strlen(p) + 1;
		if (r->routes[i]->method == GET)
			p += strlen(p) + 1;
	}
	return route->method == GET && method == HEAD ? p + strlen(p) + 1 : p;
}

static bool matches(const char *pattern, const struct url *url)
{
	const char *p = pattern + 1;
	for (unsigned i = 0; i < url->n_segments; i++) {
		size_t n = segment_len(p);
		const char *s = url->segments[i];
		if (n == 0) /* the pattern ends; with a slash, it wants one here as well */
			return p[-1] == '/' && i > 0 && !*s && i + 1 == url->n_segments;
		if (p[0] != '{') {
			if (strlen(s) != n || memcmp(p, s, n) != 0)
				return false;
		} else if (p[n - 2] == '*') {
			return true;
		} else if (!*s) {
			return false;
		}
		p += n;
		if (*p == '/')
			p++;
	}
	return !*p && (p[-1] != '/' || p == pattern + 1);
}

int router_find(const struct router *r, enum method method, const struct url *url,
	const struct route **ret_route, unsigned *reterr_allowed)
{
	enum method wanted = method == HEAD ? GET : method;
	const char *path = NULL;
	unsigned allowed = 0;
	for (unsigned i = 0; i < r->n; i++) {
		const struct route *route = r->routes[i];
		if (path ? strcmp(path, route->path) != 0 : !matches(route->path, url))
			continue;
		path = route->path;
		if (route->method == wanted) {
			*ret_route = route;
			return 0;
		}
		allowed |= 1u << route->method | (route->method == GET ? 1u << HEAD : 0);
	}
	if (!path)
		return -ENOENT;
	*reterr_allowed = allowed | 1u << OPTIONS;
	return -EOPNOTSUPP;
}

const struct route *router_nth(const struct router *r, unsigned i)
{
	return i < r->n ? r->routes[i] : NULL;
}

const char *route_param(const struct route *route, const struct url *url, const char *name)
{
	const char *p = route->path + 1;
	size_t len = strlen(name);
	for (unsigned i = 0; *p && i < url->n_segments; i++) {
		size_t n = segment_len(p);
		if (p[0] == '{' && strncmp(p + 1, name, len) == 0 && strchr("}*", p[1 + len]))
			return url->segments[i];
		p += n + (p[n] == '/');
	}
	return NULL;
}

int route_check_query(const struct route *route, const struct url *url, struct fault *reterr_fault)
{
	const char *known[URL_QUERY];
	unsigned n_known = 0;
	for (const struct route_query *q = route->query; q && q->name && n_known < URL_QUERY; q++)
		known[n_known++] = q->name;
	for (unsigned i = 0; i < url->n_query && !route->any_query; i++) {
		const char *name = url->query[i].name;
		unsigned k = 0;
		while (k < n_known && strcmp(known[k], name) != 0)
			k++;
		if (k < n_known)
			continue;
		const char *near = num_nearest(name, known, n_known);
		return fault_set(reterr_fault, -EINVAL, name, near, "unknown query parameter%s%s",
			near ? ", nearest is " : "", near ? near : "");
	}
	return 0;
}
