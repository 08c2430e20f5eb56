/* What is judged of a request before its body: target, Host and Origin, one a line. Decoded text is
 * clean, a route is found by all of its path or not at all, the guard lets no stranger pass. */
#include "api/guard.h"
#include "api/router.h"
#include "fuzz.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int handle(struct request *rq)
{
	(void)rq;
	return 0;
}

static const struct route_query query[] = {{"limit", "x", "int"}, {"after", "x", "str"}, {0}};
static const struct route routes[] = {
	{GET, "/", handle, 0, "Root"},
	{GET, "/api/v1/devices", handle, 0, "List", .query = query},
	{POST, "/api/v1/devices", handle, 64, "Create"},
	{GET, "/api/v1/devices/export", handle, 0, "Export"},
	{GET, "/api/v1/devices/{id}", handle, 0, "One"},
	{GET, "/web/{path*}", handle, 0, "File", .any_query = true},
	{0},
};

struct headers {
	const char *host, *origin;
};
static const char *header_of(void *arg, const char *name)
{
	const struct headers *h = arg;
	return strcasecmp(name, "Host") == 0	 ? h->host
	       : strcasecmp(name, "Origin") == 0 ? h->origin
						 : NULL;
}

static void check_clean(const char *s)
{
	for (; *s; s++)
		assert((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static void check_url(const struct url *u)
{
	assert(u->n_segments <= URL_SEGMENTS && u->n_query <= URL_QUERY);
	for (unsigned i = 0; i < u->n_segments; i++)
		check_clean(u->segments[i]);
	for (unsigned i = 0; i < u->n_query; i++) {
		check_clean(u->query[i].name);
		check_clean(u->query[i].value);
		/* No name twice: the first is the one that is found. */
		assert(url_query(u, u->query[i].name) == u->query[i].value);
	}
}

static void check_route(const struct router *r, const struct url *u)
{
	const struct route *route = NULL;
	struct fault fault;
	unsigned allowed = 0;
	int found = router_find(r, GET, u, &route, &allowed);
	if (found == -ENOENT) {
		assert(u->n_segments > 0);
		return;
	}
	assert(found == 0 && route->method == GET);
	if (strcmp(route->path, "/api/v1/devices/{id}") == 0) {
		const char *id = route_param(route, u, "id");
		assert(id == u->segments[3] && *id && u->n_segments == 4);
		assert(strcmp(id, "export") != 0);
	}
	int r2 = route_check_query(route, u, &fault);
	assert(r2 == 0 || !route->any_query);
}

static void check_guard(const struct guard *g, const struct url *u, struct headers *h)
{
	struct request rq = {.url = *u, .header = header_of, .header_arg = h};
	unsigned status = guard_check(g, &rq);
	assert(status == 0 || status == 401 || status == 403);
	if (status != 403) {
		const char *host = u->authority ? u->authority : h->host;
		assert(strncasecmp(host, "evil", 4) != 0);
		assert(!*h->origin || strncasecmp(h->origin, "http", 4) == 0);
	}
	bool guarded = u->n_segments > 0 && strcmp(u->segments[0], "api") == 0;
	assert(!guarded || status != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	static const struct route *const tables[] = {routes, NULL};
	struct router *router = NULL;
	struct guard *guard = NULL;
	struct guard_conf conf = {.token = "0123456789abcdef"};
	struct url url;
	struct fault fault;
	char *text = malloc(bytes + 1);
	if (!text || router_new(&mem_libc, tables, &router) < 0 ||
		guard_new(&mem_libc, &conf, &guard, NULL) < 0)
		abort();
	if (bytes)
		memcpy(text, p, bytes);
	text[bytes] = 0;
	char *rest = text, *target = strsep(&rest, "\n"), *host = strsep(&rest, "\n");
	struct headers h = {host ? host : "", rest ? rest : ""};
	if (url_parse(target, &url, &fault) == 0) {
		check_url(&url);
		check_route(router, &url);
		if (rest)
			check_guard(guard, &url, &h);
	} else {
		check_clean(fault.text);
	}
	(void)guard_free(guard);
	(void)router_free(router);
	free(text);
	return 0;
}
