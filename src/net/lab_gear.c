#include "net/lab_gear.h"
#include "net/caps.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_NETNS "/proc/thread-self/ns/net"

static int read_boot(char boot[static 40])
{
	AUTO_FD int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, 39);
	if (n < 0)
		return -errno;
	boot[n] = 0;
	boot[strcspn(boot, "\n")] = 0;
	return 0;
}

int lab_gear_open(struct lab_gear *g)
{
	uint64_t need = CAPS_BIT(CAP_NET_ADMIN);
	if (!g->no_namespace)
		need |= CAPS_BIT(CAP_SYS_ADMIN);
	g->missing = need & ~caps_mask();
	g->entered = g->missing ? -EPERM : 0;
	g->ns_fd = -1;
	g->host_sys = g->ns_sys = (struct lab_sysctl){g->mem, -1, -1};
	struct stat st;
	if (stat(OWN_NETNS, &st) < 0)
		return -errno;
	g->netns = st.st_ino;
	int r = read_boot(g->boot);
	if (r == 0)
		r = nl_new(g->mem, NL_ROUTE, &g->host);
	if (r == 0)
		r = nl_new(g->mem, NL_ROUTE, &g->host_names);
	if (r == 0)
		r = lab_forward_new(g->mem, &g->forward);
	if (r == 0)
		r = lab_sysctl_open(g->mem, &g->host_sys);
	struct nl_link lo;
	if (r == 0)
		r = nl_link_find(g->host, "lo", 0, &lo);
	if (r == 0)
		g->host_lo = lo.index;
	return r;
}

static int enter(struct lab_gear *g)
{
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	char self[LAB_RECORD_TARGET_BYTES - sizeof("/proc//ns/net")];
	ssize_t n = readlink("/proc/thread-self", self, sizeof(self) - 1);
	if (n < 0)
		return -errno;
	self[n] = 0;
	(void)snprintf(g->ns_target, sizeof(g->ns_target), "/proc/%s/ns/net", self);
	g->ns_fd = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);
	if (g->ns_fd < 0)
		return -errno;
	int r = lab_sysctl_open(g->mem, &g->ns_sys);
	if (r == 0)
		r = nl_new(g->mem, NL_ROUTE, &g->ns);
	if (r == 0)
		r = nl_link_up(g->ns, 1); /* lo, the first of every namespace */
	return r;
}

void lab_gear_enter(struct lab_gear *g)
{
	if (!g->no_namespace && g->entered == 0)
		g->entered = enter(g);
}

void lab_gear_close(struct lab_gear *g)
{
	g->ns = nl_free(g->ns);
	lab_sysctl_close(&g->ns_sys);
	if (g->ns_fd >= 0)
		(void)close(g->ns_fd);
	g->ns_fd = -1;
	lab_sysctl_close(&g->host_sys);
	g->forward = lab_forward_free(g->forward);
	g->host_names = nl_free(g->host_names);
	g->host = nl_free(g->host);
}
