#include "net/lab_check.h"
#include "net/lab_names.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *lab_check_text(
	const struct addr *first, const struct addr *last, char buf[static LAB_RANGE_TEXT_BYTES])
{
	char a[ADDR_TEXT_BYTES], b[ADDR_TEXT_BYTES];
	(void)snprintf(buf, LAB_RANGE_TEXT_BYTES, "%s%s%s", addr_text(first, a),
		addr_eq(first, last) ? "" : "-", addr_eq(first, last) ? "" : addr_text(last, b));
	return buf;
}

static bool holds(const struct addr *first, const struct addr *last, const struct addr *a)
{
	return addr_cmp(first, a) <= 0 && addr_cmp(a, last) <= 0;
}

int lab_check_range(const struct addr *first, const struct addr *last, struct fault *reterr_fault)
{
	static const struct {
		struct prefix p;
		const char *what;
	} never[] = {
#define V4(a, b, c, d, len) {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}}, 96 + (len)}
		{V4(0, 0, 0, 0, 8), "reserved (0.0.0.0/8)"},
		{V4(169, 254, 0, 0, 16), "link-local"},
		{V4(224, 0, 0, 0, 4), "multicast"},
		{V4(255, 255, 255, 255, 32), "broadcast"},
		{{{{0}}, 128}, "unspecified"},
		{{{{0xfe, 0x80}}, 10}, "link-local"},
		{{{{0xff}}, 8}, "multicast"},
#undef V4
	};
	char text[LAB_RANGE_TEXT_BYTES];
	(void)lab_check_text(first, last, text);
	if (addr_is_v4(first) != addr_is_v4(last) || addr_cmp(first, last) > 0)
		return fault_set(
			reterr_fault, -EINVAL, "", "", "%s is no range of addresses", text);
	bool loopback = addr_is_loopback(first) && addr_is_loopback(last);
	struct addr lo4 = addr_from_v4(0x7f000000), lo6 = {{[15] = 1}};
	if (!loopback && (addr_is_loopback(first) || addr_is_loopback(last) ||
				 holds(first, last, &lo4) || holds(first, last, &lo6)))
		return fault_set(reterr_fault, -EINVAL, "", "all or none of it in 127.0.0.0/8",
			"%s is in part loopback", text);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		struct addr end = prefix_last(&never[i].p);
		if (addr_is_v4(first) != addr_is_v4(&end))
			continue;
		if (addr_cmp(first, &end) <= 0 && addr_cmp(&never[i].p.addr, last) <= 0)
			return fault_set(reterr_fault, -EINVAL, "", "unicast addresses",
				"%s has %s addresses", text, never[i].what);
	}
	return 0;
}

struct check {
	const struct lab_check_env *env;
	const struct addr *first, *last;
	const char *what;
	char text[LAB_RANGE_TEXT_BYTES];
	struct fault *fault;
	int r; /* the first refusal */
};

/* " (eth0)" */
static const char *on_link(struct check *c, uint32_t index, char buf[static 24])
{
	struct nl_link link;
	buf[0] = 0;
	if (index && nl_link_find(c->env->names, NULL, index, &link) == 0)
		(void)snprintf(buf, 24, " (%s)", link.name);
	return buf;
}

static void refuse(struct check *c, const struct addr *a, const char *of_what, uint32_t index)
{
	char text[ADDR_TEXT_BYTES], link[24];
	if (c->r == 0)
		c->r = fault_set(c->fault, -EEXIST, "", "addresses that the host does not use",
			"%s%s covers %s, %s%s", c->what, c->text, addr_text(a, text), of_what,
			on_link(c, index, link));
}

static void see_addr(void *arg, const struct nl_addr *a)
{
	struct check *c = arg;
	if (holds(c->first, c->last, &a->local.addr))
		refuse(c, &a->local.addr, "an address of this host", a->index);
}

/* Entries of the table local go before any route of ours. */
static void see_local(struct check *c, const struct nl_route *r, const struct addr *end)
{
	char text[PREFIX_TEXT_BYTES];
	bool ours = r->protocol == LAB_RTPROT && c->env->own_mark && r->metric == c->env->own_mark;
	if (ours || c->r < 0)
		return;
	if (addr_eq(&r->to.addr, end))
		refuse(c, &r->to.addr,
			r->type == RTN_BROADCAST ? "a broadcast address of this host"
						 : "an address of this host",
			r->index);
	else
		c->r = fault_set(c->fault, -EEXIST, "", "addresses that the host does not use",
			"%s%s meets %s, which is local here%s", c->what, c->text,
			prefix_text(&r->to, text),
			r->protocol == LAB_RTPROT ? " by another nl6" : "");
}

static void see_route(void *arg, const struct nl_route *r)
{
	struct check *c = arg;
	if (r->has_via && holds(c->first, c->last, &r->via))
		refuse(c, &r->via, "a gateway of this host", r->index);
	struct addr end = prefix_last(&r->to);
	/* Of one family: a default route of IPv6 spans the mapped IPv4 addresses. */
	if (addr_is_v4(&r->to.addr) != addr_is_v4(c->first) || c->r < 0)
		return;
	if (r->table == RT_TABLE_LOCAL) {
		if (addr_cmp(&r->to.addr, c->last) <= 0 && addr_cmp(c->first, &end) <= 0)
			see_local(c, r, &end);
		return;
	}
	if (c->env->own_link && r->index == c->env->own_link)
		return;
	char to[PREFIX_TEXT_BYTES], link[24];
	bool meets = addr_cmp(&r->to.addr, c->last) <= 0 && addr_cmp(c->first, &end) <= 0;
	bool within = holds(c->first, c->last, &r->to.addr) && holds(c->first, c->last, &end);
	if (meets && r->protocol == LAB_RTPROT)
		c->r = fault_set(c->fault, -EEXIST, "", "addresses that no other nl6 has",
			"%s%s meets %s, which another nl6 has%s", c->what, c->text,
			prefix_text(&r->to, to), on_link(c, r->index, link));
	else if (within)
		c->r = fault_set(c->fault, -EEXIST, "", "addresses that the host does not use",
			"%s%s covers %s, which has a route%s", c->what, c->text,
			prefix_text(&r->to, to), on_link(c, r->index, link));
}

static void see_resolver(void *arg, const struct addr *a)
{
	struct check *c = arg;
	if (holds(c->first, c->last, a))
		refuse(c, a, "a resolver of this host", 0);
}

void lab_check_resolvers(
	const char *s, size_t bytes, void (*fn)(void *arg, const struct addr *resolver), void *arg)
{
	static const char word[] = "nameserver";
	for (const char *end = s + bytes; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t len = nl ? (size_t)(nl - s) : (size_t)(end - s);
		const char *at = s;
		char line[160];
		s += len + (nl ? 1 : 0);
		if (len >= sizeof(line) || len < strlen(word) ||
			memcmp(at, word, strlen(word)) != 0)
			continue;
		memcpy(line, at, len);
		line[len] = 0;
		char *value = line + strlen(word);
		size_t blank = strspn(value, " \t");
		value += blank;
		value[strcspn(value, " \t\r%#;")] = 0;
		struct addr a;
		if (blank > 0 && addr_parse(value, &a) == 0)
			fn(arg, &a);
	}
}

static void check_resolvers(struct check *c)
{
	/* The second has those that stand behind systemd-resolved. */
	static const char *const files[] = {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char buf[8192];
		AUTO_FD int fd = open(files[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
		if (n > 0)
			lab_check_resolvers(buf, (size_t)n, see_resolver, c);
	}
}

int lab_check_host(const struct lab_check_env *env, const char *what, const struct addr *first,
	const struct addr *last, struct fault *reterr_fault)
{
	struct check c = {
		.env = env, .first = first, .last = last, .what = what, .fault = reterr_fault};
	(void)lab_check_text(first, last, c.text);
	int r = nl_addr_each(env->host, see_addr, &c);
	for (int v6 = 0; v6 < 2 && r == 0 && c.r == 0; v6++) {
		r = nl_route_each(env->host, v6, see_route, &c);
		if (r == -EAFNOSUPPORT || r == -EOPNOTSUPP)
			r = 0; /* a kernel without IPv6 has no such routes */
	}
	if (r < 0)
		return fault_set(
			reterr_fault, r, "", "", "cannot read the host's routes: %s", strerror(-r));
	if (c.r == 0)
		check_resolvers(&c);
	return c.r;
}
