#include "api/router.h"
#include "fake.h"
#include <errno.h>
#include <string.h>

static int none(struct request *rq UNUSED)
{
	return 0;
}

static const struct route_query list_query[] = {
	{"limit", "At most so many", "int", 1, 1000}, {"after", "Begin behind", "str"}, {0}};
static const struct route devices[] = {
	{GET, "/devices/{id}", none, 0, "One"},
	{DELETE, "/devices/{id}", none, 0, "Delete one"},
	{GET, "/devices/export", none, 0, "Export"},
	{GET, "/devices", none, 0, "List", .query = list_query},
	{POST, "/devices", none, 10, "Create"},
	{0},
};
static const struct route files[] = {
	{GET, "/", none, 0, "Root"},
	{GET, "/web/{path*}", none, 0, "Files", .any_query = true},
	{GET, "/devices/{id}/interfaces/{index}", none, 0, "Interface"},
	{GET, "/debug/", none, 0, "Index"},
	{GET, "/debug/{name*}", none, 0, "Rest"},
	{0},
};
static const struct route *const tables[] = {devices, files, NULL};

static char target[256];
static int find(const struct router *r, enum method m, const char *path, struct url *ret_url,
	const struct route **ret_route, unsigned *reterr_allowed)
{
	strcpy(target, path);
	ck_assert_int_eq(url_parse(target, ret_url, NULL), 0);
	return router_find(r, m, ret_url, ret_route, reterr_allowed);
}

START_TEST(paths_find_their_route)
{
	static const struct {
		enum method m;
		const char *path, *route;
	} good[] = {
		{GET, "/", "/"},
		{HEAD, "/", "/"},
		{GET, "/devices", "/devices"},
		{POST, "/devices?x=1", "/devices"},
		{GET, "/devices/export", "/devices/export"},
		{GET, "/devices/exports", "/devices/{id}"},
		{GET, "/devices/10.0.0.1", "/devices/{id}"},
		{DELETE, "/devices/10.0.0.1", "/devices/{id}"},
		{GET, "/devices/a/interfaces/7", "/devices/{id}/interfaces/{index}"},
		{GET, "/web/a", "/web/{path*}"},
		{GET, "/debug/", "/debug/"},
		{GET, "/debug/x", "/debug/{name*}"},
		{GET, "/debug//", "/debug/{name*}"},
		{GET, "/web/a/b/c.js", "/web/{path*}"},
	};
	static const char *const bad[] = {"/x", "/debug", "/devices/", "//devices", "/devices//",
		"/device", "/devicess", "/devices/a/", "/devices/a/interfaces",
		"/devices/a/interfaces/", "/devices/a/interfaces/1/2", "/web",
		"/devices/%65xport/x"};
	struct fake f = fake_make();
	struct router *r = NULL;
	const struct route *route = NULL;
	struct url u;
	unsigned allowed = 0;
	ck_assert_int_eq(router_new(f.mem, tables, &r), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_msg(find(r, good[i].m, good[i].path, &u, &route, &allowed) == 0, "%s",
			good[i].path);
		ck_assert_str_eq(route->path, good[i].route);
		ck_assert_int_eq(route->method, good[i].m == HEAD ? GET : good[i].m);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(find(r, GET, bad[i], &u, &route, &allowed) == -ENOENT, "%s", bad[i]);
	r = router_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(a_wrong_method_tells_the_right_ones)
{
	struct fake f = fake_make();
	struct router *r = NULL;
	const struct route *route = NULL;
	struct url u;
	unsigned allowed = 0;
	ck_assert_int_eq(router_new(f.mem, tables, &r), 0);
	ck_assert_int_eq(find(r, PUT, "/devices", &u, &route, &allowed), -EOPNOTSUPP);
	ck_assert_uint_eq(allowed, 1u << GET | 1u << HEAD | 1u << POST | 1u << OPTIONS);
	/* The most literal path tells, not what a parameter would take. */
	ck_assert_int_eq(find(r, DELETE, "/devices/export", &u, &route, &allowed), -EOPNOTSUPP);
	ck_assert_uint_eq(allowed, 1u << GET | 1u << HEAD | 1u << OPTIONS);
	ck_assert_int_eq(find(r, METHOD_OTHER, "/devices/x", &u, &route, &allowed), -EOPNOTSUPP);
	ck_assert_uint_eq(allowed, 1u << GET | 1u << HEAD | 1u << DELETE | 1u << OPTIONS);
	r = router_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(parameters_are_the_segments)
{
	struct fake f = fake_make();
	struct router *r = NULL;
	const struct route *route = NULL;
	struct url u;
	unsigned allowed = 0;
	ck_assert_int_eq(router_new(f.mem, tables, &r), 0);
	ck_assert_int_eq(find(r, GET, "/devices/a%2fb/interfaces/7", &u, &route, &allowed), 0);
	ck_assert_str_eq(route_param(route, &u, "id"), "a/b");
	ck_assert_str_eq(route_param(route, &u, "index"), "7");
	ck_assert_ptr_null(route_param(route, &u, "ind"));
	ck_assert_ptr_null(route_param(route, &u, "devices"));
	ck_assert_int_eq(find(r, GET, "/web/x/y", &u, &route, &allowed), 0);
	ck_assert_str_eq(route_param(route, &u, "path"), "x");
	r = router_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(unknown_query_parameters_are_refused)
{
	struct url u;
	struct fault fault;
	strcpy(target, "/devices?limt=1");
	ck_assert_int_eq(url_parse(target, &u, NULL), 0);
	ck_assert_int_eq(route_check_query(&devices[3], &u, &fault), -EINVAL);
	ck_assert_str_eq(fault.field, "limt");
	ck_assert_str_eq(fault.allowed, "limit");
	ck_assert_int_eq(route_check_query(&devices[0], &u, &fault), -EINVAL);
	ck_assert_int_eq(route_check_query(&files[1], &u, &fault), 0);
	strcpy(target, "/devices?limit=1&after=x");
	ck_assert_int_eq(url_parse(target, &u, NULL), 0);
	ck_assert_int_eq(route_check_query(&devices[3], &u, &fault), 0);
}
END_TEST

START_TEST(malformed_tables_are_refused)
{
	static const char *const bad[] = {
		"x", "/a//", "//a", "/{", "/{}", "/{a", "/a}", "/{a*}/b", "/{*}x"};
	struct fake f = fake_make();
	struct router *r = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct route one[] = {{GET, bad[i], none}, {0}};
		const struct route *const list[] = {one, NULL};
		ck_assert_msg(router_new(f.mem, list, &r) == -EINVAL, "%s", bad[i]);
	}
	const struct route *const twice[] = {devices, devices, NULL};
	ck_assert_int_eq(router_new(f.mem, twice, &r), -EINVAL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(paths_find_their_route, a_wrong_method_tells_the_right_ones, parameters_are_the_segments,
	unknown_query_parameters_are_refused, malformed_tables_are_refused)
