#include "base/clk.h"
#include "net/nl_msg.h"
#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdio.h>

struct link_seen {
	struct nl_link link;
	bool found;
};

static void see_link(void *arg, const struct nlmsghdr *h)
{
	struct link_seen *seen = arg;
	if (h->nlmsg_type != RTM_NEWLINK)
		return;
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);
	seen->link = (struct nl_link){.index = (uint32_t)i->ifi_index};
	seen->found = true;
	const struct nlattr *a;
	mnl_attr_for_each (a, h, sizeof(*i)) {
		if (mnl_attr_get_type(a) == IFLA_IFNAME)
			(void)snprintf(seen->link.name, sizeof(seen->link.name), "%.*s",
				(int)mnl_attr_get_payload_len(a), mnl_attr_get_str(a));
		else if (mnl_attr_get_type(a) == IFLA_OPERSTATE)
			seen->link.running = mnl_attr_get_u8(a) == IF_OPER_UP;
		else if (mnl_attr_get_type(a) == IFLA_ADDRESS && mnl_attr_get_payload_len(a) == 6)
			memcpy(seen->link.mac, mnl_attr_get_payload(a), 6);
	}
}

int nl_link_find(struct nl *n, const char *name, uint32_t index, struct nl_link *ret_link)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(n, RTM_GETLINK, NLM_F_ACK, sizeof(struct ifinfomsg), &body);
	if (name)
		mnl_attr_put_strz(h, IFLA_IFNAME, name);
	else
		((struct ifinfomsg *)body)->ifi_index = (int)index;
	struct link_seen seen = {0};
	int r = nl_msg_talk(n, h, see_link, &seen);
	if (r == 0 && !seen.found)
		r = -ENODEV;
	if (r == 0)
		*ret_link = seen.link;
	return r;
}

int nl_veth_add(struct nl *n, const struct nl_link *a, const struct nl_link *b, int b_ns)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(
		n, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg), &body);
	mnl_attr_put_strz(h, IFLA_IFNAME, a->name);
	mnl_attr_put(h, IFLA_ADDRESS, sizeof(a->mac), a->mac);
	struct nlattr *info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "veth");
	struct nlattr *data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	struct nlattr *peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	/* The peer's own message head lies within the attribute. */
	(void)mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, b->name);
	mnl_attr_put(h, IFLA_ADDRESS, sizeof(b->mac), b->mac);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)b_ns);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return nl_msg_ask(n, h);
}

int nl_link_up(struct nl *n, uint32_t index)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(n, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), &body);
	struct ifinfomsg *i = body;
	i->ifi_index = (int)index;
	i->ifi_flags = i->ifi_change = IFF_UP;
	return nl_msg_ask(n, h);
}

int nl_link_await(struct nl *n, uint32_t index, int ms)
{
	struct nl_link link = {0};
	uint64_t now_ns, end_ns = clk_ns(&clk_system) + (uint64_t)ms * NS_PER_MS;
	int r = nl_msg_news(n, RTNLGRP_LINK, true);
	while (r == 0 && (r = nl_link_find(n, NULL, index, &link)) == 0 && !link.running) {
		now_ns = clk_ns(&clk_system);
		r = now_ns < end_ns ? nl_msg_await(n, (int)((end_ns - now_ns) / NS_PER_MS) + 1)
				    : -ETIMEDOUT;
		if (r == -EINTR || r == -ENOBUFS)
			r = 0; /* ask again */
	}
	int left = nl_msg_news(n, RTNLGRP_LINK, false);
	return r < 0 ? r : left;
}

int nl_link_del(struct nl *n, uint32_t index)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(n, RTM_DELLINK, 0, sizeof(struct ifinfomsg), &body);
	((struct ifinfomsg *)body)->ifi_index = (int)index;
	return nl_msg_ask(n, h);
}

int nl_addr_add(struct nl *n, const struct nl_addr *a)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(
		n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifaddrmsg), &body);
	struct ifaddrmsg *m = body;
	m->ifa_family = nl_msg_family(&a->local.addr);
	m->ifa_prefixlen = nl_msg_len(&a->local);
	m->ifa_index = a->index;
	if (m->ifa_family == AF_INET6)
		m->ifa_flags = IFA_F_NODAD;
	nl_msg_put_addr(h, IFA_LOCAL, &a->local.addr);
	nl_msg_put_addr(h, IFA_ADDRESS, &a->local.addr);
	return nl_msg_ask(n, h);
}

struct addr_walk {
	void (*fn)(void *arg, const struct nl_addr *a);
	void *arg;
};

static void see_addr(void *arg, const struct nlmsghdr *h)
{
	struct addr_walk *w = arg;
	if (h->nlmsg_type != RTM_NEWADDR)
		return;
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	struct addr local = {{0}}, address = {{0}};
	bool has_local = false, has_address = false;
	const struct nlattr *a;
	mnl_attr_for_each (a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == IFA_LOCAL)
			has_local = nl_msg_get_addr(m->ifa_family, a, 0, &local);
		else if (mnl_attr_get_type(a) == IFA_ADDRESS)
			has_address = nl_msg_get_addr(m->ifa_family, a, 0, &address);
	}
	/* IFA_ADDRESS is the peer's where there is a local one. */
	if (!has_local && !has_address)
		return;
	struct nl_addr seen = {m->ifa_index,
		nl_msg_prefix(m->ifa_family, has_local ? &local : &address, m->ifa_prefixlen)};
	w->fn(w->arg, &seen);
}

int nl_addr_each(struct nl *n, void (*fn)(void *arg, const struct nl_addr *a), void *arg)
{
	struct addr_walk w = {fn, arg};
	return nl_msg_dump(n, RTM_GETADDR, sizeof(struct ifaddrmsg), AF_UNSPEC, see_addr, &w);
}
