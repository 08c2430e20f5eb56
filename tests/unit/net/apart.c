#include "apart.h"
#include "base/attr.h"
#include "base/mem.h"
#include "net/nl.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static void die(const char *what, int r)
{
	fprintf(stderr, "no namespace for the test: %s: %s\n", what, strerror(-r));
	exit(1);
}

void apart_enter(void)
{
	if (!getenv("TEST_APART")) {
		(void)setenv("TEST_APART", "1", 1);
		const char *how = geteuid() == 0 ? "-nm" : "-Urnm";
		char self[4096];
		ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[n > 0 ? n : 0] = 0;
		(void)execlp("unshare", "unshare", how, self, (char *)NULL);
		die("unshare", -errno);
	}
	if (mount("run", "/run", "tmpfs", 0, "mode=755") < 0)
		die("mount", -errno);
	AUTO(nl) struct nl *n = NULL;
	int r = nl_new(&mem_libc, NL_ROUTE, &n);
	if (r == 0)
		r = nl_link_up(n, 1);
	if (r < 0)
		die("lo", r);
}
