#include "net/lab_up.h"
#include "base/log.h"
#include "net/lab_check.h"
#include "net/lab_undo.h"
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNNING_MS 5000 /* a kernel takes a few; it may be busy */

static int refuse(struct fault *f, int r, const char *step, const struct nl *n)
{
	const char *why = n ? nl_why(n) : "";
	return fault_set(
		f, r, "", "", "cannot %s: %s%s%s", step, strerror(-r), why[0] ? ": " : "", why);
}

int lab_up_lock(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault)
{
	int r = lab_lock_take(g->mem, g->run_dir, g->ns_name, true, &u->lock, reterr_fault);
	if (r < 0)
		return r;
	r = lab_undo(g, u->lock);
	if (r < 0) {
		(void)fault_set(reterr_fault, r, "-namespace", "",
			"cannot undo what a killed run left in %s: %s", lab_lock_path(u->lock),
			strerror(-r));
		u->lock = lab_lock_drop(u->lock, false);
		return r;
	}
	AUTO_TEXT struct text head = TEXT(g->mem);
	lab_record_put_head(&head, g->boot, g->netns, (uint32_t)getpid());
	r = lab_lock_clear(u->lock);
	if (r == 0)
		r = lab_lock_note(u->lock, &head);
	if (r < 0)
		return refuse(reterr_fault, r, "write the lock", NULL);
	return 0;
}

/* One of the lab_record_put_ functions, then the disk. */
#define NOTE(g, u, put, ...) \
	({ \
		AUTO_TEXT struct text line_ = TEXT((g)->mem); \
		put(&line_, ##__VA_ARGS__); \
		lab_lock_note((u)->lock, &line_); \
	})

static void see_dir(void *arg, const struct lab_record *r, bool live UNUSED)
{
	*(bool *)arg |= r->made_dir;
}

/* Makes the directory of names; whoever of several lab networks goes last removes it. */
static int make_dir(struct lab_gear *g, struct lab_up *u)
{
	struct stat st;
	bool ours = stat(LAB_NETNS_DIR, &st) < 0;
	int r = lab_lock_dir_take(u->lock);
	if (r < 0)
		return r;
	if (!ours)
		r = lab_lock_others(u->lock, see_dir, &ours);
	if (r == 0 && ours)
		r = NOTE(g, u, lab_record_put_dir);
	if (r == 0 && mkdir(LAB_NETNS_DIR, 0755) < 0 && errno != EEXIST)
		r = -errno;
	lab_lock_dir_drop(u->lock);
	return r;
}

/* A symbolic link instead of ip(8)'s bind mount: a mount takes CAP_SYS_ADMIN once more at the end,
 * and outlives a killed process together with the namespace. */
static int make_name(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault)
{
	char path[sizeof(LAB_NETNS_DIR) + 1 + LAB_NS_NAME_MAX];
	(void)snprintf(path, sizeof(path), LAB_NETNS_DIR "/%s", g->ns_name);
	struct stat st;
	int r = lstat(path, &st) == 0 ? -EEXIST : make_dir(g, u);
	if (r == 0)
		r = NOTE(g, u, lab_record_put_name, g->ns_target);
	if (r == 0 && symlink(g->ns_target, path) < 0)
		r = -errno;
	if (r == -EEXIST)
		return fault_set(reterr_fault, r, "-namespace", "a name that is not taken",
			"%s exists and is not of this nl6", path);
	u->named = r == 0;
	if (r < 0)
		(void)snprintf(u->unnamed_why, sizeof(u->unnamed_why),
			"the namespace has no name, because %s cannot be made: %s", path,
			strerror(-r));
	return 0;
}

/* A setting of a link of ours. A read-only /proc/sys leaves the kernel's default, which does. */
static void set_link(const struct lab_sysctl *s, const char *link, const char *what, const char *v)
{
	char path[LAB_RECORD_PATH_BYTES];
	int len = snprintf(path, sizeof(path), "ipv6/conf/%s/%s", link, what);
	if (len < (int)sizeof(path))
		(void)!lab_sysctl_set(s, path, v);
}

/* The namespace must not forward: what is no device's ends there. Nor be without IPv6 because the
 * host is. */
static void settle_namespace(struct lab_gear *g)
{
	(void)!lab_sysctl_set(&g->ns_sys, "ipv4/ip_forward", "0");
	set_link(&g->ns_sys, "all", "forwarding", "0");
	set_link(&g->ns_sys, "lo", "disable_ipv6", "0");
	set_link(&g->ns_sys, g->names.ns_link, "disable_ipv6", "0");
	set_link(&g->ns_sys, g->names.ns_link, "accept_ra", "0");
	/* Of the two ends neither has a double; the check holds up the first packets. */
	set_link(&g->ns_sys, g->names.ns_link, "accept_dad", "0");
	set_link(&g->host_sys, g->names.host_link, "accept_dad", "0");
}

static int make_veth(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault)
{
	struct nl_link host = {0}, ns = {0};
	memcpy(host.name, g->names.host_link, sizeof(host.name));
	memcpy(host.mac, g->names.host_mac, sizeof(host.mac));
	memcpy(ns.name, g->names.ns_link, sizeof(ns.name));
	memcpy(ns.mac, g->names.ns_mac, sizeof(ns.mac));
	struct nl_link there;
	int r = nl_link_find(g->host, host.name, 0, &there);
	if (r == 0)
		return fault_set(reterr_fault, -EEXIST, "-namespace", "another name",
			"the interface %s exists and is not of this nl6", host.name);
	if (r == -ENODEV)
		r = NOTE(g, u, lab_record_put_link, &host);
	if (r == 0)
		r = nl_veth_add(g->host, &host, &ns, g->ns_fd);
	if (r < 0)
		return refuse(reterr_fault, r, "make the veth pair", g->host);
	settle_namespace(g);
	r = nl_link_find(g->host, host.name, 0, &host);
	if (r == 0)
		r = nl_link_find(g->ns, ns.name, 0, &ns);
	if (r == 0)
		r = nl_link_up(g->host, host.index);
	if (r == 0)
		r = nl_link_up(g->ns, ns.index);
	if (r == 0)
		r = nl_link_await(g->ns, ns.index, RUNNING_MS);
	if (r == 0)
		r = nl_link_await(g->host, host.index, RUNNING_MS);
	if (r < 0)
		return refuse(reterr_fault, r, "bring the veth pair up", g->host);
	u->host_link = host.index;
	return 0;
}

/* Addresses of a family at both ends, and the default route of the namespace. */
static int address_veth(struct lab_gear *g, struct lab_up *u, const struct prefix *host,
	const struct prefix *ns, struct fault *reterr_fault)
{
	struct nl_link link;
	int r = nl_link_find(g->ns, g->names.ns_link, 0, &link);
	if (r < 0)
		return refuse(reterr_fault, r, "find the veth pair", g->ns);
	const struct nl_addr here = {u->host_link, *host}, there = {link.index, *ns};
	r = nl_addr_add(g->host, &here);
	if (r < 0)
		return refuse(reterr_fault, r, "give the veth pair an address", g->host);
	r = nl_addr_add(g->ns, &there);
	if (r < 0)
		return refuse(reterr_fault, r, "give the veth pair an address", g->ns);
	struct nl_route out = {.to = {addr_from_v4(0), 96},
		.via = host->addr,
		.has_via = true,
		.index = link.index,
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.protocol = LAB_RTPROT};
	if (!addr_is_v4(&host->addr))
		out.to = (struct prefix){{{0}}, 0};
	r = nl_route_add(g->ns, &out);
	return r < 0 ? refuse(reterr_fault, r, "route out of the namespace", g->ns) : 0;
}

/* Nothing of the host may have addresses of the network between host and namespace. */
static int check_veth_net(struct lab_gear *g, const struct prefix *net, struct fault *reterr_fault)
{
	struct addr last = prefix_last(net);
	const struct lab_check_env env = {.host = g->host, .names = g->host_names};
	int r = lab_check_host(
		&env, "the network of the veth pair ", &net->addr, &last, reterr_fault);
	if (r < 0 && reterr_fault)
		(void)snprintf(reterr_fault->field, sizeof(reterr_fault->field), "-veth-net");
	return r;
}

static void allow_forwarding(struct lab_gear *g, struct lab_up *u, bool v6)
{
	int r = lab_sysctl_forward(&g->host_sys, u->lock, v6, g->boot, g->netns);
	if (r == 0)
		return;
	(void)snprintf(u->forward_why[v6], sizeof(u->forward_why[v6]),
		"other hosts do not reach IPv%d devices: the host does not forward and cannot be "
		"told to: %s",
		v6 ? 6 : 4, strerror(-r));
	log_warn("lab", 0, "%s", u->forward_why[v6]);
}

int lab_up_make(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault)
{
	if (g->no_namespace) {
		int r = NOTE(g, u, lab_record_put_mark, g->names.mark);
		return r < 0 ? refuse(reterr_fault, r, "write the lock", NULL) : 0;
	}
	int r = check_veth_net(g, &g->names.net_v4, reterr_fault);
	if (r == 0)
		r = make_name(g, u, reterr_fault);
	if (r == 0)
		r = make_veth(g, u, reterr_fault);
	if (r == 0)
		r = address_veth(g, u, &g->names.host_v4, &g->names.ns_v4, reterr_fault);
	if (r < 0)
		return r;
	allow_forwarding(g, u, false);
	return 0;
}

static void see_ra(void *arg, const struct nl_route *r)
{
	*(bool *)arg |= r->protocol == RTPROT_RA;
}

int lab_up_make_v6(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault)
{
	int r = check_veth_net(g, &g->names.net_v6, reterr_fault);
	if (r < 0)
		return r;
	set_link(&g->host_sys, g->names.host_link, "disable_ipv6", "0");
	r = address_veth(g, u, &g->names.host_v6, &g->names.ns_v6, reterr_fault);
	if (r < 0)
		return r;
	u->v6 = true;
	bool advertised = false;
	char on[LAB_RECORD_VALUE_BYTES];
	r = nl_route_each(g->host, true, see_ra, &advertised);
	if (r == 0 && advertised &&
		lab_sysctl_get(&g->host_sys, "ipv6/conf/all/forwarding", on) == 0 &&
		strcmp(on, "0") == 0)
		(void)snprintf(u->forward_why[1], sizeof(u->forward_why[1]),
			"other hosts do not reach IPv6 devices: this host takes routes from router "
			"advertisements and would lose them if it forwarded; "
			"net.ipv6.conf.IFACE.accept_ra=2 and net.ipv6.conf.all.forwarding=1 allow "
			"both");
	else
		allow_forwarding(g, u, true);
	return 0;
}

void lab_up_down(struct lab_gear *g, struct lab_up *u)
{
	if (!u->lock)
		return;
	int r = lab_undo(g, u->lock);
	if (r < 0)
		log_error("lab", r, "not all could be undone; %s remembers it",
			lab_lock_path(u->lock));
	*u = (struct lab_up){.lock = lab_lock_drop(u->lock, r == 0)};
}
