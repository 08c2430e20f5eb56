#include "net/lab_undo.h"
#include "base/log.h"
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUTES_AT_ONCE 256

static int unname(const struct lab_gear *g, const struct lab_record *rec)
{
	char path[sizeof(LAB_NETNS_DIR) + 1 + LAB_NS_NAME_MAX], target[LAB_RECORD_TARGET_BYTES + 1];
	(void)snprintf(path, sizeof(path), LAB_NETNS_DIR "/%s", g->ns_name);
	ssize_t n = readlink(path, target, sizeof(target));
	bool ours =
		n == (ssize_t)strlen(rec->target) && memcmp(target, rec->target, (size_t)n) == 0;
	if (rec->target[0] && ours && unlink(path) < 0 && errno != ENOENT)
		return -errno;
	/* Another's names, or a mount, keep it. */
	if (rec->made_dir)
		(void)rmdir(LAB_NETNS_DIR);
	return 0;
}

static int delete_link(const struct lab_gear *g, const struct lab_record *rec)
{
	struct nl_link link;
	int r = nl_link_find(g->host, rec->link.name, 0, &link);
	/* One of another make that happens to have the name is left alone. */
	if (r == 0 && memcmp(link.mac, rec->link.mac, sizeof(link.mac)) == 0)
		r = nl_link_del(g->host, link.index);
	return r == -ENODEV ? 0 : r;
}

struct marked {
	uint32_t mark, n;
	struct nl_route routes[ROUTES_AT_ONCE];
};

static void see_route(void *arg, const struct nl_route *r)
{
	struct marked *m = arg;
	if (r->table == RT_TABLE_LOCAL && r->type == RTN_LOCAL && r->protocol == LAB_RTPROT &&
		r->metric == m->mark && m->n < ROUTES_AT_ONCE)
		m->routes[m->n++] = *r;
}

static int delete_routes(const struct lab_gear *g, bool v6, uint32_t mark)
{
	for (;;) {
		struct marked m = {.mark = mark};
		int r = nl_route_each(g->host, v6, see_route, &m);
		if (r < 0)
			return v6 && (r == -EAFNOSUPPORT || r == -EOPNOTSUPP) ? 0 : r;
		if (m.n == 0)
			return 0;
		for (uint32_t i = 0; i < m.n; i++) {
			r = nl_route_del(g->host, &m.routes[i]);
			if (r < 0 && r != -ESRCH)
				return r;
		}
	}
}

static int undo_here(struct lab_gear *g, struct lab_lock *lock, const struct lab_record *rec)
{
	int r = 0, done;
	if (rec->link.name[0])
		r = delete_link(g, rec);
	for (int v6 = 0; v6 < 2 && rec->mark; v6++) {
		done = delete_routes(g, v6, rec->mark);
		r = r < 0 ? r : done;
	}
	if (rec->settings_len > 0) {
		done = lab_sysctl_restore(&g->host_sys, lock, rec);
		r = r < 0 ? r : done;
	}
	return r;
}

int lab_undo(struct lab_gear *g, struct lab_lock *lock)
{
	AUTO_RECORD struct lab_record rec = {0};
	int r = lab_lock_read(lock, &rec);
	if (r < 0)
		return r;
	r = unname(g, &rec);
	if (strcmp(rec.boot, g->boot) != 0)
		return r;
	if (rec.netns != g->netns) {
		log_warn("lab", 0, "%s was left by process %u in another network namespace",
			lab_lock_path(lock), rec.pid);
		return r;
	}
	int done = undo_here(g, lock, &rec);
	return r < 0 ? r : done;
}

int lab_undo_leftover(struct lab_gear *g)
{
	struct lab_lock *lock = NULL;
	int r = lab_lock_take(g->mem, g->run_dir, g->ns_name, false, &lock, NULL);
	if (r == -ENOENT || r == -EBUSY)
		return 0;
	if (r < 0)
		return r;
	r = lab_undo(g, lock);
	if (r == 0)
		log_info("lab", 0, "undid what a killed run left (%s)", lab_lock_path(lock));
	lock = lab_lock_drop(lock, r == 0);
	return r;
}
