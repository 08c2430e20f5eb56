/* What the lab thread works with: sockets and settings of the host's namespace, opened before it
 * leaves, and of its own. They keep working in their namespaces wherever the thread is, so it never
 * goes back, and needs CAP_SYS_ADMIN only to leave. The lab thread owns it. */
#pragma once
#include "net/lab_forward.h"
#include "net/lab_names.h"
#include "net/lab_sysctl.h"

#define LAB_NETNS_DIR "/run/netns" /* where ip(8) looks for names */

struct lab_gear {
	const struct mem *mem;
	const char *ns_name, *run_dir; /* borrowed; run_dir may be NULL */
	struct prefix veth_net;
	bool no_namespace;
	struct lab_names names;

	struct nl *host, *host_names; /* the second for questions during a walk of the first */
	struct lab_sysctl host_sys;
	struct lab_forward *forward;
	char boot[40];	/* of the machine */
	uint64_t netns; /* inode of the host's namespace */
	uint32_t host_lo;

	uint64_t missing; /* capabilities (caps.h) without which there are no routes */
	int entered;	  /* 0: in a namespace of its own, or no_namespace; else why not */
	int ns_fd;
	struct nl *ns;
	struct lab_sysctl ns_sys;
	char ns_target[LAB_RECORD_TARGET_BYTES]; /* path of the thread's own namespace in /proc */
};

/* Opens what the host's namespace has to offer and looks at the thread's privileges. The settings
 * (mem to names) are set before. -ENOMEM, or an errno. */
MUST_CHECK int lab_gear_open(struct lab_gear *g);
/* Leaves for a new namespace, unless no_namespace or privileges are missing; sets entered. */
void lab_gear_enter(struct lab_gear *g);
void lab_gear_close(struct lab_gear *g);
