#include "net/nl_msg.h"
#include <errno.h>
#include <linux/rtnetlink.h>

static int change(struct nl *n, uint16_t type, uint16_t flags, const struct nl_route *r)
{
	void *body;
	struct nlmsghdr *h = nl_msg_new(n, type, flags, sizeof(struct rtmsg), &body);
	struct rtmsg *m = body;
	m->rtm_family = nl_msg_family(&r->to.addr);
	m->rtm_dst_len = nl_msg_len(&r->to);
	m->rtm_table = r->table < 256 ? (uint8_t)r->table : RT_TABLE_UNSPEC;
	m->rtm_protocol = r->protocol;
	m->rtm_type = r->type;
	m->rtm_scope = r->type == RTN_LOCAL ? RT_SCOPE_HOST
		       : r->has_via	    ? RT_SCOPE_UNIVERSE
					    : RT_SCOPE_LINK;
	if (m->rtm_dst_len > 0)
		nl_msg_put_addr(h, RTA_DST, &r->to.addr);
	if (r->has_via)
		nl_msg_put_addr(h, RTA_GATEWAY, &r->via);
	if (r->index)
		mnl_attr_put_u32(h, RTA_OIF, r->index);
	if (r->metric)
		mnl_attr_put_u32(h, RTA_PRIORITY, r->metric);
	mnl_attr_put_u32(h, RTA_TABLE, r->table);
	return nl_msg_ask(n, h);
}

int nl_route_add(struct nl *n, const struct nl_route *r)
{
	return change(n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, r);
}

int nl_route_del(struct nl *n, const struct nl_route *r)
{
	return change(n, RTM_DELROUTE, 0, r);
}

struct walk {
	bool v6;
	void (*fn)(void *arg, const struct nl_route *r);
	void *arg;
};

/* A gateway in RTA_GATEWAY, or in RTA_VIA if it is of the other family. */
static bool see_gateway(uint8_t family, const struct nlattr *a, struct nl_route *r)
{
	if (mnl_attr_get_type(a) == RTA_GATEWAY)
		return nl_msg_get_addr(family, a, 0, &r->via);
	if (mnl_attr_get_type(a) != RTA_VIA || mnl_attr_get_payload_len(a) < sizeof(uint16_t))
		return false;
	uint16_t via_family;
	memcpy(&via_family, mnl_attr_get_payload(a), sizeof(via_family));
	return nl_msg_get_addr((uint8_t)via_family, a, sizeof(via_family), &r->via);
}

/* Each hop of RTA_MULTIPATH as a route of its own. */
static void see_hops(const struct walk *w, uint8_t family, const struct nlattr *multipath,
	const struct nl_route *route)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(multipath);
	int left = mnl_attr_get_payload_len(multipath);
	while (RTNH_OK(hop, left)) {
		struct nl_route r = *route;
		r.index = (uint32_t)hop->rtnh_ifindex;
		const struct nlattr *a = (const struct nlattr *)(const void *)RTNH_DATA(hop);
		const char *end = (const char *)hop + hop->rtnh_len;
		for (; mnl_attr_ok(a, (int)(end - (const char *)a)); a = mnl_attr_next(a))
			r.has_via |= see_gateway(family, a, &r);
		w->fn(w->arg, &r);
		left -= (int)RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

static void see_route(void *arg, const struct nlmsghdr *h)
{
	struct walk *w = arg;
	if (h->nlmsg_type != RTM_NEWROUTE)
		return;
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	if ((m->rtm_flags & RTM_F_CLONED) || m->rtm_family != (w->v6 ? AF_INET6 : AF_INET))
		return;
	struct nl_route r = {
		.table = m->rtm_table, .type = m->rtm_type, .protocol = m->rtm_protocol};
	struct addr to = w->v6 ? (struct addr){{0}} : addr_from_v4(0);
	const struct nlattr *a, *multipath = NULL;
	mnl_attr_for_each (a, h, sizeof(*m)) {
		switch (mnl_attr_get_type(a)) {
		case RTA_DST:
			(void)nl_msg_get_addr(m->rtm_family, a, 0, &to);
			break;
		case RTA_OIF:
			r.index = mnl_attr_get_u32(a);
			break;
		case RTA_PRIORITY:
			r.metric = mnl_attr_get_u32(a);
			break;
		case RTA_TABLE:
			r.table = mnl_attr_get_u32(a);
			break;
		case RTA_MULTIPATH:
			multipath = a;
			break;
		default:
			r.has_via |= see_gateway(m->rtm_family, a, &r);
		}
	}
	r.to = nl_msg_prefix(m->rtm_family, &to, m->rtm_dst_len);
	if (multipath)
		see_hops(w, m->rtm_family, multipath, &r);
	else
		w->fn(w->arg, &r);
}

int nl_route_each(struct nl *n, bool v6, void (*fn)(void *arg, const struct nl_route *r), void *arg)
{
	struct walk w = {v6, fn, arg};
	return nl_msg_dump(
		n, RTM_GETROUTE, sizeof(struct rtmsg), v6 ? AF_INET6 : AF_INET, see_route, &w);
}
