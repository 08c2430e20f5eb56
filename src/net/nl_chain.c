#include "net/nl_msg.h"
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

struct walk {
	void (*fn)(void *arg, const struct nl_chain *c);
	void *arg;
};

static void see_chain(void *arg, const struct nlmsghdr *h)
{
	struct walk *w = arg;
	if (h->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN))
		return;
	const struct nfgenmsg *m = mnl_nlmsg_get_payload(h);
	struct nl_chain c = {.family = m->nfgen_family, .policy = NF_ACCEPT};
	const struct nlattr *a, *hook = NULL;
	mnl_attr_for_each (a, h, sizeof(*m)) {
		switch (mnl_attr_get_type(a)) {
		case NFTA_CHAIN_TABLE:
			c.table = mnl_attr_get_str(a);
			break;
		case NFTA_CHAIN_NAME:
			c.name = mnl_attr_get_str(a);
			break;
		case NFTA_CHAIN_POLICY:
			c.policy = ntohl(mnl_attr_get_u32(a));
			break;
		case NFTA_CHAIN_USE: /* what refers to a base chain are its rules */
			c.rules = ntohl(mnl_attr_get_u32(a));
			break;
		case NFTA_CHAIN_HOOK:
			hook = a;
			break;
		default:
			break;
		}
	}
	if (!hook || !c.table || !c.name)
		return;
	const char *end = (const char *)hook + mnl_attr_get_len(hook);
	for (a = mnl_attr_get_payload(hook); mnl_attr_ok(a, (int)(end - (const char *)a));
		a = mnl_attr_next(a))
		if (mnl_attr_get_type(a) == NFTA_HOOK_HOOKNUM)
			c.hook = ntohl(mnl_attr_get_u32(a));
	w->fn(w->arg, &c);
}

int nl_chain_each(struct nl *n, void (*fn)(void *arg, const struct nl_chain *c), void *arg)
{
	struct walk w = {fn, arg};
	return nl_msg_dump(n, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, sizeof(struct nfgenmsg),
		AF_UNSPEC, see_chain, &w);
}
