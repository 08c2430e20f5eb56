/* The lab's network in namespaces of the test's own. Each scenario runs in a thread of its own, for
 * it leaves its namespace and gives its capabilities up for good. */
#include "apart.h"
#include "base/thread.h"
#include "net/lab_lock.h"
#include "net/lab_net.h"
#include "net/nl.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct scene {
	struct fake *f;
	bool no_namespace;
	int (*run)(struct scene *s, struct lab_net *n);
	int r;
	struct nl *host; /* opened before the scene, in the host's namespace */
};

static struct addr addr(const char *s)
{
	struct addr a;
	ck_assert_int_eq(addr_parse(s, &a), 0);
	return a;
}

static int add(struct lab_net *n, const char *first, const char *last, struct fault *f)
{
	struct addr a = addr(first), b = addr(last);
	return lab_net_add(n, &a, &b, f);
}

static void del(struct lab_net *n, const char *first, const char *last)
{
	struct addr a = addr(first), b = addr(last);
	lab_net_del(n, &a, &b);
}

static void play(void *arg)
{
	struct scene *s = arg;
	struct lab_net_conf conf = {
		.ns_name = "unit", .run_dir = "/run/nl6", .no_namespace = s->no_namespace};
	if (prefix_parse("10.254.9.0/30", &conf.veth_net) < 0)
		return;
	struct lab_net *n = NULL;
	s->r = lab_net_new(s->f->mem, &conf, &n);
	if (s->r == 0) {
		s->r = lab_net_enter(n, NULL);
		if (s->r == 0) {
			s->r = s->run(s, n);
			lab_net_leave(n);
		}
	}
	(void)lab_net_free(n);
}

static char forward_is(void)
{
	char c = 0;
	AUTO_FD int fd = open("/proc/sys/net/ipv4/ip_forward", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(read(fd, &c, 1), 1);
	return c;
}

struct routes {
	unsigned n;
	char text[1024];
};

static void see_route(void *arg, const struct nl_route *r)
{
	struct routes *all = arg;
	char to[PREFIX_TEXT_BYTES];
	if (r->protocol != LAB_RTPROT || r->to.len == 0 || r->to.len == 96)
		return;
	all->n++;
	(void)strcat(all->text, all->text[0] ? " " : "");
	(void)strcat(all->text, prefix_text(&r->to, to));
}

static struct routes our_routes(struct nl *host)
{
	struct routes all = {0};
	ck_assert_int_eq(nl_route_each(host, false, see_route, &all), 0);
	ck_assert_int_eq(nl_route_each(host, true, see_route, &all), 0);
	return all;
}

static void check_nothing_left(struct nl *host)
{
	struct nl_link link;
	ck_assert_int_eq(nl_link_find(host, "veth-unit-host", 0, &link), -ENODEV);
	ck_assert_int_lt(access("/run/nl6/unit.lock", F_OK), 0);
	ck_assert_int_lt(access("/run/netns", F_OK), 0);
	ck_assert_int_eq(forward_is(), '0');
	ck_assert_uint_eq(our_routes(host).n, 0);
}

static void run_in_thread(struct scene *s)
{
	const struct thread_conf conf = {.name = "scene-0", .run = play, .arg = s};
	struct thread *t = NULL;
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &t), 0);
	(void)thread_join(t);
}

static int nothing(struct scene *s UNUSED, struct lab_net *n UNUSED)
{
	return 0;
}

static int stage(struct scene *s)
{
	AUTO(nl) struct nl *host = NULL;
	ck_assert_int_eq(nl_new(&mem_libc, NL_ROUTE, &host), 0);
	s->host = host;
	run_in_thread(s);
	/* Undoing takes memory, too: what there was none for is noted, and the next start does it.
	 */
	if (s->r == 0 || fake_has_failed(s->f)) {
		bool noted = access("/run/nl6/unit.lock", F_OK) == 0;
		ck_assert(!noted || fake_has_failed(s->f));
		struct scene next = *s;
		next.run = nothing;
		if (noted)
			run_in_thread(&next);
	}
	check_nothing_left(host);
	return s->r;
}

static int several_ranges(struct scene *s UNUSED, struct lab_net *n)
{
	int r = add(n, "10.42.0.1", "10.42.0.200", NULL);
	if (r == 0)
		r = add(n, "2001:db8::1", "2001:db8::77", NULL);
	if (r == 0)
		r = add(n, "10.42.0.100", "10.42.1.7", NULL);
	if (r == 0) {
		struct addr a = addr("192.0.2.1");
		r = lab_net_protect(n, &a, "a collector", NULL);
	}
	if (r == 0)
		del(n, "10.42.0.1", "10.42.0.200");
	return r;
}

static int stage_with(struct fake *f, void *arg)
{
	struct scene *s = arg;
	s->f = f;
	return stage(s);
}

START_TEST(each_allocation_may_fail_in_a_namespace)
{
	struct fake f = fake_make();
	struct scene s = {.run = several_ranges};
	fake_fail_each(&f, stage_with, &s);
	fake_done(&f);
}
END_TEST

START_TEST(each_allocation_may_fail_without_one)
{
	struct fake f = fake_make();
	struct scene s = {.run = several_ranges, .no_namespace = true};
	fake_fail_each(&f, stage_with, &s);
	fake_done(&f);
}
END_TEST

#define WANT(s, want) \
	do { \
		struct routes got_ = our_routes((s)->host); \
		ck_assert_str_eq(got_.text, want); \
	} while (0)

static int exact_routes(struct scene *s, struct lab_net *n)
{
	ck_assert_int_eq(add(n, "10.42.0.4", "10.42.0.9", NULL), 0);
	WANT(s, "10.42.0.4/30 10.42.0.8/31");
	/* Two that touch are one stretch. */
	ck_assert_int_eq(add(n, "10.42.0.10", "10.42.0.15", NULL), 0);
	WANT(s, "10.42.0.4/30 10.42.0.8/29");
	/* One within and one twice change nothing. */
	ck_assert_int_eq(add(n, "10.42.0.5", "10.42.0.5", NULL), 0);
	ck_assert_int_eq(add(n, "10.42.0.4", "10.42.0.9", NULL), 0);
	WANT(s, "10.42.0.4/30 10.42.0.8/29");
	del(n, "10.42.0.4", "10.42.0.9");
	WANT(s, "10.42.0.4/30 10.42.0.8/29");
	del(n, "10.42.0.4", "10.42.0.9");
	WANT(s, "10.42.0.5/32 10.42.0.10/31 10.42.0.12/30");
	ck_assert_int_eq(add(n, "10.42.0.0", "10.42.255.255", NULL), 0);
	WANT(s, "10.42.0.0/16");
	del(n, "10.42.0.10", "10.42.0.15");
	WANT(s, "10.42.0.0/16");
	del(n, "10.42.0.0", "10.42.255.255");
	WANT(s, "10.42.0.5/32");
	ck_assert_int_eq(add(n, "2001:db8::", "2001:db8::ffff", NULL), 0);
	WANT(s, "10.42.0.5/32 2001:db8::/112");
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	lab_net_status(n, &t);
	ck_assert_ptr_nonnull(strstr(t.s, "\"ranges\":2,\"routes\":2,"));
	del(n, "10.42.0.5", "10.42.0.5");
	del(n, "2001:db8::", "2001:db8::ffff");
	WANT(s, "");
	text_clear(&t);
	lab_net_status(n, &t);
	ck_assert_ptr_nonnull(strstr(t.s, "\"ranges\":0,\"routes\":0,"));
	return 0;
}

START_TEST(routes_are_exactly_the_ranges)
{
	struct fake f = fake_make();
	struct scene s = {.f = &f, .run = exact_routes};
	ck_assert_int_eq(stage(&s), 0);
	s.no_namespace = true;
	ck_assert_int_eq(stage(&s), 0);
	fake_done(&f);
}
END_TEST

/* A route of someone else in the middle: all or nothing. */
static int a_stone_in_the_way(struct scene *s, struct lab_net *n)
{
	struct fault f = {0};
	ck_assert_int_eq(add(n, "10.42.0.1", "10.42.0.1", NULL), 0);
	struct nl_route stone = {.to = {addr("10.42.0.16"), 128},
		.index = 1,
		.table = RT_TABLE_LOCAL,
		.type = RTN_LOCAL,
		.protocol = 99};
	ck_assert_int_eq(nl_route_add(s->host, &stone), 0);
	ck_assert_int_eq(add(n, "10.42.0.1", "10.42.0.77", &f), -EEXIST);
	ck_assert_str_eq(
		f.text, "10.42.0.1-10.42.0.77 covers 10.42.0.16, an address of this host (lo)");
	WANT(s, "10.42.0.1/32");
	ck_assert_int_eq(add(n, "10.42.0.16", "10.42.0.16", &f), -EEXIST);
	stone.to.len = 120;
	stone.to.addr = addr("10.43.0.0");
	ck_assert_int_eq(nl_route_add(s->host, &stone), 0);
	ck_assert_int_eq(add(n, "10.43.0.7", "10.43.0.8", &f), -EEXIST);
	ck_assert_str_eq(f.text, "10.43.0.7-10.43.0.8 meets 10.43.0.0/24, which is local here");
	ck_assert_int_eq(add(n, "10.254.9.2", "10.254.9.2", &f), -EEXIST);
	ck_assert_str_eq(
		f.text, "10.254.9.2 meets 10.254.9.0/30 between host and namespace (-veth-net)");
	ck_assert_int_eq(add(n, "10.43.1.0", "10.43.1.255", &f), 0);
	WANT(s, "10.42.0.1/32 10.43.1.0/24");
	ck_assert_int_eq(nl_route_del(s->host, &stone), 0);
	stone.to = (struct prefix){addr("10.42.0.16"), 128};
	ck_assert_int_eq(nl_route_del(s->host, &stone), 0);
	return 0;
}

START_TEST(what_the_host_uses_is_refused)
{
	struct fake f = fake_make();
	struct scene s = {.f = &f, .run = a_stone_in_the_way};
	ck_assert_int_eq(stage(&s), 0);
	fake_done(&f);
}
END_TEST

static int collectors(struct scene *s UNUSED, struct lab_net *n)
{
	struct fault f = {0};
	struct addr a = addr("10.42.0.9"), b = addr("10.44.0.1");
	ck_assert_int_eq(lab_net_protect(n, &a, "the collector of traps", &f), 0);
	ck_assert_int_eq(lab_net_protect(n, &a, "the collector of flows", &f), 0);
	ck_assert_int_eq(add(n, "10.42.0.1", "10.42.0.77", &f), -EEXIST);
	ck_assert_str_eq(f.text, "10.42.0.1-10.42.0.77 covers 10.42.0.9, the collector of traps");
	lab_net_unprotect(n, &a);
	ck_assert_int_eq(add(n, "10.42.0.1", "10.42.0.77", &f), -EEXIST);
	lab_net_unprotect(n, &a);
	ck_assert_int_eq(add(n, "10.42.0.1", "10.42.0.77", &f), 0);
	ck_assert_int_eq(lab_net_protect(n, &a, "the collector of traps", &f), -EEXIST);
	ck_assert_str_eq(f.text, "10.42.0.9, the collector of traps, is the address of a device");
	ck_assert_int_eq(lab_net_protect(n, &b, "the collector of traps", &f), 0);
	return 0;
}

START_TEST(collectors_stay_reachable)
{
	struct fake f = fake_make();
	struct scene s = {.f = &f, .run = collectors};
	ck_assert_int_eq(stage(&s), 0);
	fake_done(&f);
}
END_TEST

UNIT_MAIN_APART(each_allocation_may_fail_in_a_namespace, each_allocation_may_fail_without_one,
	routes_are_exactly_the_ranges, what_the_host_uses_is_refused, collectors_stay_reachable)
