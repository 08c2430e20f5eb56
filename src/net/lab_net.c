#include "net/lab_net.h"
#include "base/log.h"
#include "net/caps.h"
#include "net/cover.h"
#include "net/lab_check.h"
#include "net/lab_undo.h"
#include "net/lab_up.h"
#include "net/ranges.h"
#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

struct protected
{
	struct addr a;
	uint32_t count;
	char what[48];
};
struct lab_net {
	struct lab_gear gear;
	struct lab_up up;
	struct ranges *ranges;
	uint64_t routes; /* prefixes that answer */
	struct protected *protected;
	size_t protected_len;
};

int lab_net_new(const struct mem *mem, const struct lab_net_conf *conf, struct lab_net **ret_net)
{
	struct lab_net *n = mem_alloc(mem, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct lab_net){.gear = {.mem = mem,
				      .ns_name = conf->ns_name,
				      .run_dir = conf->run_dir,
				      .veth_net = conf->veth_net,
				      .no_namespace = conf->no_namespace}};
	lab_names_make(conf->ns_name, &conf->veth_net, &n->gear.names);
	int r = ranges_new(mem, &n->ranges);
	if (r < 0)
		n = mem_free(mem, n);
	else
		*ret_net = n;
	return r;
}

struct lab_net *lab_net_free(struct lab_net *n)
{
	if (!n)
		return NULL;
	(void)ranges_free(n->ranges);
	(void)mem_free(n->gear.mem, n->protected);
	return mem_free(n->gear.mem, n);
}

int lab_net_enter(struct lab_net *n, struct fault *reterr_fault)
{
	int r = lab_gear_open(&n->gear);
	if (r < 0) {
		lab_gear_close(&n->gear);
		return fault_set(
			reterr_fault, r, "", "", "cannot look at the network: %s", strerror(-r));
	}
	if (!(n->gear.missing & CAPS_BIT(CAP_NET_ADMIN))) {
		int undone = lab_undo_leftover(&n->gear);
		if (undone < 0)
			log_warn("lab", undone, "cannot undo what a killed run left");
	}
	lab_gear_enter(&n->gear);
	r = caps_keep(CAPS_BIT(CAP_NET_ADMIN) | CAPS_BIT(CAP_NET_BIND_SERVICE));
	if (r < 0) {
		lab_gear_close(&n->gear);
		return fault_set(reterr_fault, r, "", "", "cannot give up capabilities");
	}
	return 0;
}

/* One prefix: local here, or in the namespace and the way to it. */
static int route(struct lab_net *n, const struct prefix *p, bool add)
{
	struct lab_gear *g = &n->gear;
	const struct nl_route local = {.to = *p,
		.index = g->no_namespace ? g->host_lo : 1,
		.table = RT_TABLE_LOCAL,
		.metric = g->no_namespace ? g->names.mark : 0,
		.type = RTN_LOCAL,
		.protocol = LAB_RTPROT};
	const struct nl_route way = {.to = *p,
		.via = addr_is_v4(&p->addr) ? g->names.ns_v4.addr : g->names.ns_v6.addr,
		.has_via = true,
		.index = n->up.host_link,
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.protocol = LAB_RTPROT};
	struct nl *at = g->no_namespace ? g->host : g->ns;
	if (!add) {
		int gone = g->no_namespace ? 0 : nl_route_del(g->host, &way);
		int r = nl_route_del(at, &local);
		return r < 0 ? r : gone;
	}
	int r = nl_route_add(at, &local);
	if (r < 0 || g->no_namespace)
		return r;
	r = nl_route_add(g->host, &way);
	if (r < 0)
		(void)!nl_route_del(at, &local);
	return r;
}

/* The prefixes of several stretches, in order of address. */
struct covers {
	const struct ranges *ranges; /* NULL: one stretch, in c from the start */
	struct addr first, last;     /* the ranges' part that counts */
	struct cover c;
	struct prefix p;
	bool any; /* p is the next */
};

static void next(struct covers *s)
{
	struct addr f, l;
	while (!(s->any = cover_next(&s->c, &s->p)) && s->ranges) {
		if (!ranges_next(s->ranges, &s->first, &f, &l) || addr_cmp(&f, &s->last) > 0)
			return;
		s->c = cover_of(&f, &l);
		s->first = addr_add(&l, 1);
	}
}

static int order(const struct covers *a, const struct covers *b)
{
	if (!a->any || !b->any)
		return (int)b->any - (int)a->any;
	int c = addr_cmp(&a->p.addr, &b->p.addr);
	return c ? c : (int)a->p.len - (int)b->p.len;
}

/* Adds or deletes the prefixes that one of the two ways to cover a stretch has and the other has
 * not: as a whole, or as the ranges in it. At most max of them; *ret_done were. Stops at an error
 * if strict, else goes on and returns the first. */
static int change(struct lab_net *n, const struct addr *first, const struct addr *last, bool whole,
	bool add, bool strict, uint64_t max, uint64_t *ret_done)
{
	struct covers one = {.c = cover_of(first, last)};
	struct covers parts = {
		.ranges = n->ranges, .first = *first, .last = *last, .c = {.done = true}};
	int r = 0;
	*ret_done = 0;
	next(&one);
	next(&parts);
	while ((one.any || parts.any) && *ret_done < max) {
		int c = order(&one, &parts);
		if (whole ? c < 0 : c > 0) {
			int changed = route(n, whole ? &one.p : &parts.p, add);
			r = r < 0 ? r : changed;
			if (r < 0 && strict)
				return r;
			(*ret_done)++;
		}
		if (c <= 0)
			next(&one);
		if (c >= 0)
			next(&parts);
	}
	return r;
}

/* From the ranges to the whole stretch: all, or nothing. What is new comes first, so that no
 * address is without a route in between. */
static int grow(struct lab_net *n, const struct addr *first, const struct addr *last)
{
	uint64_t added, deleted;
	int r = change(n, first, last, true, true, true, UINT64_MAX, &added);
	if (r < 0) {
		(void)!change(n, first, last, true, false, false, added, &deleted);
		return r;
	}
	int gone = change(n, first, last, false, false, false, UINT64_MAX, &deleted);
	if (gone < 0)
		log_warn("lab", gone, "a route that others replace could not be deleted");
	n->routes += added - deleted;
	return 0;
}

/* From the whole stretch to the ranges in it, as far as it goes. */
static void shrink(struct lab_net *n, const struct addr *first, const struct addr *last)
{
	uint64_t added, deleted;
	int r = change(n, first, last, false, true, false, UINT64_MAX, &added);
	int gone = change(n, first, last, true, false, false, UINT64_MAX, &deleted);
	if (r < 0 || gone < 0)
		log_error("lab", r < 0 ? r : gone, "not all routes could be changed");
	n->routes += added - deleted;
}

static int refuse_powerless(const struct lab_net *n, const char *range, bool v6, struct fault *f)
{
	const struct lab_gear *g = &n->gear;
	char caps[80];
	const char *way_out =
		v6 ? "run as root, or use IPv4 devices in 127.0.0.0/8, which need "
		     "nothing"
		   : "run as root, or use a range in 127.0.0.0/8, which needs nothing";
	if (!g->missing)
		return fault_set(f, g->entered, "-namespace", "",
			"%s needs a network namespace, which the kernel refuses (%s): use "
			"-no-namespace, or a range in 127.0.0.0/8, which needs nothing",
			range, strerror(-g->entered));
	return fault_set(f, -EPERM, "", "127.0.0.0/8", "%s needs %s, which needs %s: %s", range,
		g->no_namespace ? "local routes" : "a network namespace",
		caps_text(g->missing, caps, sizeof(caps)), way_out);
}

static bool meets(const struct addr *first, const struct addr *last, const struct prefix *p)
{
	struct addr end = prefix_last(p);
	return addr_cmp(first, &end) <= 0 && addr_cmp(&p->addr, last) <= 0;
}

/* Refuses what meets the veth pair, a collector or the host. */
static int check(struct lab_net *n, const struct addr *first, const struct addr *last,
	const char *range, struct fault *f)
{
	const struct lab_gear *g = &n->gear;
	const struct prefix *nets[] = {&g->names.net_v4, &g->names.net_v6};
	for (size_t i = 0; i < ARRAY_SIZE(nets) && !g->no_namespace; i++) {
		char text[PREFIX_TEXT_BYTES];
		if (meets(first, last, nets[i]))
			return fault_set(f, -EEXIST, "", "addresses outside of it",
				"%s meets %s between host and namespace (-veth-net)", range,
				prefix_text(nets[i], text));
	}
	for (size_t i = 0; i < n->protected_len; i++) {
		char text[ADDR_TEXT_BYTES];
		const struct protected *p = &n->protected[i];
		if (addr_cmp(first, &p->a) <= 0 && addr_cmp(&p->a, last) <= 0)
			return fault_set(f, -EEXIST, "", "addresses that the host does not use",
				"%s covers %s, %s", range, addr_text(&p->a, text), p->what);
	}
	const struct lab_check_env env = {.host = g->host,
		.names = g->host_names,
		.own_link = n->up.host_link,
		.own_mark = g->no_namespace ? g->names.mark : 0};
	return lab_check_host(&env, "", first, last, f);
}

static void tell(struct lab_net *n)
{
	AUTO_TEXT struct text hint = TEXT(n->gear.mem);
	if (n->gear.no_namespace)
		return;
	if (n->up.unnamed_why[0])
		log_warn("lab", 0, "%s", n->up.unnamed_why);
	lab_forward_hint(n->gear.forward, n->gear.names.host_link, true, n->up.v6, &hint);
	if (hint.len)
		log_warn("lab", 0,
			"the packet filter may keep other hosts from devices; to let them through: "
			"%s",
			hint.s);
}

/* Makes what the first range of a family needs. */
static int make(struct lab_net *n, bool first, bool v6, struct fault *f)
{
	int r = first ? lab_up_make(&n->gear, &n->up, f) : 0;
	bool more = r == 0 && v6 && !n->up.v6 && !n->gear.no_namespace;
	if (more)
		r = lab_up_make_v6(&n->gear, &n->up, f);
	if (r == 0 && (first || more))
		tell(n);
	return r;
}

int lab_net_add(struct lab_net *n, const struct addr *first, const struct addr *last,
	struct fault *reterr_fault)
{
	char range[LAB_RANGE_TEXT_BYTES];
	(void)lab_check_text(first, last, range);
	bool v6 = !addr_is_v4(first), down = !n->up.lock;
	if (n->gear.entered < 0)
		return refuse_powerless(n, range, v6, reterr_fault);
	int r = down ? lab_up_lock(&n->gear, &n->up, reterr_fault) : 0;
	if (r < 0)
		return r;
	bool had = ranges_have(n->ranges, first, last);
	r = had ? 0 : check(n, first, last, range, reterr_fault);
	if (r == 0)
		r = make(n, down, v6, reterr_fault);
	if (r == 0)
		r = ranges_reserve(n->ranges);
	if (r == 0 && !had) {
		struct addr f, l;
		ranges_joined(n->ranges, first, last, &f, &l);
		r = grow(n, &f, &l);
		if (r < 0)
			(void)fault_set(reterr_fault, r, "", "", "cannot make the routes of %s: %s",
				range, strerror(-r));
	}
	if (r == 0)
		ranges_add(n->ranges, first, last);
	else if (down)
		lab_up_down(&n->gear, &n->up);
	return r;
}

void lab_net_del(struct lab_net *n, const struct addr *first, const struct addr *last)
{
	struct addr f, l;
	ranges_joined(n->ranges, first, last, &f, &l);
	ranges_del(n->ranges, first, last);
	shrink(n, &f, &l);
}

static struct protected *find_protected(struct lab_net *n, const struct addr *a)
{
	for (size_t i = 0; i < n->protected_len; i++)
		if (addr_eq(&n->protected[i].a, a))
			return &n->protected[i];
	return NULL;
}

int lab_net_protect(
	struct lab_net *n, const struct addr *a, const char *what, struct fault *reterr_fault)
{
	struct protected *p = find_protected(n, a);
	char text[ADDR_TEXT_BYTES];
	if (p) {
		p->count++;
		return 0;
	}
	if (ranges_have(n->ranges, a, a))
		return fault_set(reterr_fault, -EEXIST, "", "an address that no device has",
			"%s, %s, is the address of a device", addr_text(a, text), what);
	p = mem_resize(n->gear.mem, n->protected, n->protected_len + 1, sizeof(*p));
	if (!p)
		return fault_set(reterr_fault, -ENOMEM, "", "", "no memory for %s", what);
	n->protected = p;
	p += n->protected_len++;
	*p = (struct protected){.a = *a, .count = 1};
	(void)snprintf(p->what, sizeof(p->what), "%s", what);
	return 0;
}

void lab_net_unprotect(struct lab_net *n, const struct addr *a)
{
	struct protected *p = find_protected(n, a);
	assert(p);
	if (--p->count == 0)
		*p = n->protected[--n->protected_len];
}

static void put_notes(struct lab_net *n, struct text *t)
{
	const char *notes[] = {n->up.unnamed_why, n->up.forward_why[0], n->up.forward_why[1]};
	text_key(t, "notes");
	text_put(t, "[");
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		if (!notes[i][0])
			continue;
		text_put(t, any ? "," : "");
		text_json(t, notes[i]);
		any = true;
	}
	text_put(t, "]");
}

void lab_net_status(struct lab_net *n, struct text *t)
{
	struct lab_gear *g = &n->gear;
	bool up = n->up.lock != NULL, veth = up && !g->no_namespace;
	char net[PREFIX_TEXT_BYTES];
	text_kv_str(t, "mode",
		!up		  ? "loopback"
		: g->no_namespace ? "present namespace"
				  : "namespace");
	text_kv_str(t, "namespace", veth ? g->ns_name : NULL);
	text_kv_bool(t, "named", n->up.named);
	text_key(t, "veth");
	if (veth) {
		text_put(t, "{");
		text_kv_str(t, "host", g->names.host_link);
		text_kv_str(t, "namespace", g->names.ns_link);
		text_kv_str(t, "net", prefix_text(&g->names.net_v4, net));
		text_kv_str(t, "net_v6", n->up.v6 ? prefix_text(&g->names.net_v6, net) : NULL);
		text_put(t, "}");
	} else {
		text_put(t, "null");
	}
	text_kv_u64(t, "ranges", ranges_count(n->ranges));
	text_kv_u64(t, "routes", n->routes);
	text_kv_str(t, "lock", up ? lab_lock_path(n->up.lock) : NULL);
	AUTO_TEXT struct text hint = TEXT(g->mem);
	if (veth)
		lab_forward_hint(g->forward, g->names.host_link, true, n->up.v6, &hint);
	text_kv_str(t, "forward_hint", hint.s && hint.len ? hint.s : NULL);
	put_notes(n, t);
}

void lab_net_leave(struct lab_net *n)
{
	lab_up_down(&n->gear, &n->up);
	lab_gear_close(&n->gear);
}
