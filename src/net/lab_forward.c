#include "net/lab_forward.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct lab_forward {
	const struct mem *mem;
	struct nl *filter; /* NULL: the kernel has no nfnetlink */
	int v4, v6;	   /* sockets for questions to ip_tables and ip6_tables; may be -1 */
};

int lab_forward_new(const struct mem *mem, struct lab_forward **ret_f)
{
	struct lab_forward *f = mem_alloc(mem, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct lab_forward){.mem = mem};
	f->v4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	f->v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (nl_new(mem, NL_FILTER, &f->filter) == -ENOMEM) {
		(void)lab_forward_free(f);
		return -ENOMEM;
	}
	*ret_f = f;
	return 0;
}

struct lab_forward *lab_forward_free(struct lab_forward *f)
{
	if (!f)
		return NULL;
	if (f->v4 >= 0)
		(void)close(f->v4);
	if (f->v6 >= 0)
		(void)close(f->v6);
	(void)nl_free(f->filter);
	return mem_free(f->mem, f);
}

struct hint {
	const char *link;
	bool v4, v6;
	struct text *t;
};

/* Two commands, for both directions, chained to what is there; once, though a dump that was torn
 * shows a chain twice. */
static void put(
	struct hint *h, const char *before, const char *in, const char *out, const char *after)
{
	char pair[640];
	(void)snprintf(pair, sizeof(pair), "%s %s %s %s && %s %s %s %s", before, in, h->link, after,
		before, out, h->link, after);
	if (!h->t->s || !strstr(h->t->s, pair))
		text_printf(h->t, "%s%s", h->t->len ? " && " : "", pair);
}

static void put_iptables(struct hint *h, const char *program)
{
	char before[64];
	(void)snprintf(before, sizeof(before), "%s -I FORWARD", program);
	put(h, before, "-i", "-o", "-j ACCEPT");
}

/* Names are to be pasted into a shell. */
static bool is_plain(const char *s)
{
	static const char ok[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	return strspn(s, ok) == strlen(s);
}

static void see_chain(void *arg, const struct nl_chain *c)
{
	struct hint *h = arg;
	bool v4 = c->family == NFPROTO_IPV4, v6 = c->family == NFPROTO_IPV6,
	     both = c->family == NFPROTO_INET;
	if (c->hook != NF_INET_FORWARD || (c->policy != NF_DROP && c->rules == 0) ||
		!((v4 && h->v4) || (v6 && h->v6) || both))
		return;
	if (!both && strcmp(c->table, "filter") == 0 && strcmp(c->name, "FORWARD") == 0) {
		put_iptables(h, v4 ? "iptables" : "ip6tables");
		return;
	}
	char before[224];
	bool plain = is_plain(c->table) && is_plain(c->name);
	(void)snprintf(before, sizeof(before), "nft insert rule %s %.90s %.90s",
		v4   ? "ip"
		: v6 ? "ip6"
		     : "inet",
		plain ? c->table : "TABLE", plain ? c->name : "CHAIN");
	put(h, before, "iifname", "oifname", "accept");
}

/* Is the table in use? Asking ip_tables itself would load it. */
static bool has_filter(const char *names_path)
{
	char buf[512];
	AUTO_FD int fd = open(names_path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return false;
	buf[n] = 0;
	for (char *s = buf, *end; (end = strchr(s, '\n')); s = end + 1)
		if ((size_t)(end - s) == strlen("filter") && memcmp(s, "filter", 6) == 0)
			return true;
	return false;
}

/* Does the chain FORWARD of the table filter do more than accept? IPv4 and IPv6 tables have the
 * same head; their entries differ in where they tell the place of the target. */
static bool may_drop(const struct mem *mem, int fd, int level, size_t target_offset_at)
{
	struct ipt_getinfo info = {.name = "filter"};
	socklen_t len = sizeof(info);
	if (getsockopt(fd, level, IPT_SO_GET_INFO, &info, &len) < 0)
		return true;
	uint32_t policy_at = info.underflow[NF_INET_FORWARD];
	if (info.hook_entry[NF_INET_FORWARD] != policy_at)
		return true;
	len = (socklen_t)(sizeof(struct ipt_get_entries) + info.size);
	struct ipt_get_entries *all = mem_zalloc(mem, len);
	if (!all)
		return true;
	(void)strcpy(all->name, "filter");
	all->size = info.size;
	bool drops = true;
	uint16_t at;
	if (getsockopt(fd, level, IPT_SO_GET_ENTRIES, all, &len) == 0 &&
		policy_at + target_offset_at + sizeof(at) <= info.size) {
		const char *entry = (const char *)all->entrytable + policy_at;
		memcpy(&at, entry + target_offset_at, sizeof(at));
		struct xt_standard_target target;
		if (policy_at + at + sizeof(target) <= info.size) {
			memcpy(&target, entry + at, sizeof(target));
			drops = target.verdict != -NF_ACCEPT - 1;
		}
	}
	(void)mem_free(mem, all);
	return drops;
}

void lab_forward_hint(struct lab_forward *f, const char *link, bool v4, bool v6, struct text *t)
{
	AUTO_TEXT struct text commands = TEXT(f->mem);
	struct hint h = {link, v4, v6, &commands};
	if (f->filter && nl_chain_each(f->filter, see_chain, &h) == -EINTR)
		text_clear(&commands);
	/* self is the first thread, which stays in the host's namespace. */
	if (v4 && f->v4 >= 0 && has_filter("/proc/self/net/ip_tables_names") &&
		may_drop(f->mem, f->v4, IPPROTO_IP, offsetof(struct ipt_entry, target_offset)))
		put_iptables(&h, "iptables-legacy");
	if (v6 && f->v6 >= 0 && has_filter("/proc/self/net/ip6_tables_names") &&
		may_drop(f->mem, f->v6, IPPROTO_IPV6, offsetof(struct ip6t_entry, target_offset)))
		put_iptables(&h, "ip6tables-legacy");
	if (commands.s)
		text_put(t, commands.s);
}
