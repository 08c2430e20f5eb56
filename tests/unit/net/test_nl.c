#include "apart.h"
#include "fake.h"
#include "net/nl.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

struct seen {
	struct prefix want;
	unsigned n;
	struct nl_route route;
	uint32_t index;
};

static void see_route(void *arg, const struct nl_route *r)
{
	struct seen *s = arg;
	if (!addr_eq(&r->to.addr, &s->want.addr) || r->to.len != s->want.len)
		return;
	s->n++;
	s->route = *r;
}

static void see_addr(void *arg, const struct nl_addr *a)
{
	struct seen *s = arg;
	if (!addr_eq(&a->local.addr, &s->want.addr) || a->local.len != s->want.len)
		return;
	s->n++;
	s->index = a->index;
}

static struct prefix prefix(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), 0);
	return p;
}

static struct seen routes_to(struct nl *n, const char *text)
{
	struct seen s = {.want = prefix(text)};
	ck_assert_int_eq(nl_route_each(n, !addr_is_v4(&s.want.addr), see_route, &s), 0);
	return s;
}

START_TEST(lo_is_there)
{
	AUTO(nl) struct nl *n = NULL;
	struct nl_link lo, none;
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &n), 0);
	ck_assert_int_eq(nl_link_find(n, "lo", 0, &lo), 0);
	ck_assert_uint_eq(lo.index, 1);
	ck_assert_str_eq(lo.name, "lo");
	ck_assert_int_eq(nl_link_find(n, NULL, 1, &lo), 0);
	ck_assert_str_eq(lo.name, "lo");
	ck_assert_int_eq(nl_link_find(n, "nolink", 0, &none), -ENODEV);
	ck_assert_int_eq(nl_link_del(n, 4711), -ENODEV);
	struct seen s = {.want = prefix("127.0.0.1")};
	s.want.len = 96 + 8;
	ck_assert_int_eq(nl_addr_each(n, see_addr, &s), 0);
	ck_assert_uint_eq(s.n, 1);
	ck_assert_uint_eq(s.index, 1);
}
END_TEST

START_TEST(local_routes_come_and_go)
{
	AUTO(nl) struct nl *n = NULL;
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &n), 0);
	static const char *const to[] = {"10.42.0.0/24", "2001:db8::/64"};
	for (unsigned i = 0; i < ARRAY_SIZE(to); i++) {
		struct nl_route r = {.to = prefix(to[i]),
			.index = 1,
			.table = RT_TABLE_LOCAL,
			.metric = 77,
			.type = RTN_LOCAL,
			.protocol = 110};
		ck_assert_uint_eq(routes_to(n, to[i]).n, 0);
		ck_assert_int_eq(nl_route_add(n, &r), 0);
		ck_assert_int_eq(nl_route_add(n, &r), -EEXIST);
		struct seen s = routes_to(n, to[i]);
		ck_assert_uint_eq(s.n, 1);
		ck_assert_uint_eq(s.route.table, RT_TABLE_LOCAL);
		ck_assert_uint_eq(s.route.metric, 77);
		ck_assert_uint_eq(s.route.type, RTN_LOCAL);
		ck_assert_uint_eq(s.route.protocol, 110);
		ck_assert_uint_eq(s.route.index, 1);
		ck_assert(!s.route.has_via);
		/* One of another maker is not meant. */
		struct nl_route other = r;
		other.protocol = 111;
		ck_assert_int_eq(nl_route_del(n, &other), -ESRCH);
		ck_assert_int_eq(nl_route_del(n, &r), 0);
		ck_assert_uint_eq(routes_to(n, to[i]).n, 0);
		ck_assert_int_eq(nl_route_del(n, &r), -ESRCH);
	}
}
END_TEST

/* A pair with one end in a second namespace, addresses, a gateway. */
START_TEST(a_pair_spans_two_namespaces)
{
	AUTO(nl) struct nl *here = NULL, *there = NULL;
	AUTO_FD int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &here), 0);
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	AUTO_FD int other = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &there), 0);
	ck_assert_int_eq(setns(home, CLONE_NEWNET), 0);
	const struct nl_link a = {.name = "pair-a", .mac = {2, 0, 0, 0, 0, 1}},
			     b = {.name = "pair-b", .mac = {2, 0, 0, 0, 0, 2}};
	ck_assert_int_eq(nl_veth_add(here, &a, &b, other), 0);
	ck_assert_int_eq(nl_veth_add(here, &a, &b, other), -EEXIST);
	struct nl_link in_a, in_b, none;
	ck_assert_int_eq(nl_link_find(here, "pair-a", 0, &in_a), 0);
	ck_assert_int_eq(memcmp(in_a.mac, a.mac, 6), 0);
	ck_assert_int_eq(nl_link_find(here, "pair-b", 0, &none), -ENODEV);
	ck_assert_int_eq(nl_link_find(there, "pair-b", 0, &in_b), 0);
	ck_assert_int_eq(memcmp(in_b.mac, b.mac, 6), 0);
	struct nl_addr addr = {in_a.index, prefix("10.9.9.1")};
	addr.local.len = 96 + 30;
	ck_assert_int_eq(nl_addr_add(here, &addr), 0);
	ck_assert_int_eq(nl_addr_add(here, &addr), -EEXIST);
	struct nl_route r = {.to = prefix("10.50.0.0/16"),
		.via = prefix("10.9.9.2").addr,
		.has_via = true,
		.index = in_a.index,
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.protocol = 110};
	ck_assert_int_lt(nl_route_add(here, &r), 0); /* the link is down */
	ck_assert_str_ne(nl_why(here), "");
	ck_assert_int_eq(nl_link_up(here, in_a.index), 0);
	ck_assert_int_eq(nl_link_await(here, in_a.index, 1), -ETIMEDOUT);
	ck_assert_int_eq(nl_link_up(there, in_b.index), 0);
	ck_assert_int_eq(nl_link_await(here, in_a.index, 10000), 0);
	ck_assert_int_eq(nl_link_await(there, in_b.index, 10000), 0);
	ck_assert_int_eq(nl_link_find(here, "pair-a", 0, &in_a), 0);
	ck_assert(in_a.running);
	ck_assert_int_eq(nl_link_await(here, 4711, 1000), -ENODEV);
	ck_assert_int_eq(nl_route_add(here, &r), 0);
	struct seen s = routes_to(here, "10.50.0.0/16");
	ck_assert_uint_eq(s.n, 1);
	ck_assert(s.route.has_via && addr_eq(&s.route.via, &r.via));
	ck_assert_int_eq(nl_link_del(here, in_a.index), 0);
	ck_assert_int_eq(nl_link_find(there, "pair-b", 0, &none), -ENODEV);
	ck_assert_uint_eq(routes_to(here, "10.50.0.0/16").n, 0);
}
END_TEST

/* iproute2 as the other opinion. */
START_TEST(each_gateway_of_a_route_is_seen)
{
	AUTO(nl) struct nl *n = NULL;
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &n), 0);
	ck_assert_int_eq(system("ip link add many type veth peer name many-peer && "
				"ip link set many up && ip addr add 10.8.0.1/24 dev many && "
				"ip route add 10.60.0.0/16 nexthop via 10.8.0.2 dev many "
				"nexthop via 10.8.0.3 dev many && "
				"ip route add 10.61.0.0/16 via inet6 fe80::9 dev many table 4711"),
		0);
	struct seen s = routes_to(n, "10.60.0.0/16");
	ck_assert_uint_eq(s.n, 2);
	struct addr last = prefix("10.8.0.3").addr;
	ck_assert(s.route.has_via && addr_eq(&s.route.via, &last));
	s = routes_to(n, "10.61.0.0/16");
	struct addr v6 = prefix("fe80::9").addr;
	ck_assert_uint_eq(s.n, 1);
	ck_assert(s.route.has_via && addr_eq(&s.route.via, &v6));
	ck_assert_uint_eq(s.route.table, 4711);
	ck_assert_int_eq(system("ip link del many"), 0);
}
END_TEST

UNIT_MAIN_APART(lo_is_there, local_routes_come_and_go, a_pair_spans_two_namespaces,
	each_gateway_of_a_route_is_seen)
