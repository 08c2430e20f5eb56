/* The lab network: where fleet addresses live. 127/8 needs nothing; other prefixes are local-prefix
 * routes in a network namespace of our own behind a veth pair, or (no_namespace) in the present
 * one. One thread owns it all: it alone keeps CAP_NET_ADMIN and CAP_NET_BIND_SERVICE and makes
 * every route and every fleet socket. Everything made is undone by lab_stop; what a killed run left
 * is reclaimed under the lock of /run/nl6/NAME.lock. */
#pragma once
#include "base/addr.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

struct lab;
struct lab_env { /* borrowed */
	const struct mem *mem;
	struct stats *stats;
};
struct lab_conf {
	const char *ns_name;	/* -namespace, "nl6sim" */
	struct prefix veth_net; /* -veth-net, 10.254.0.0/30: host .1, namespace .2 */
	bool no_namespace;	/* -no-namespace */
	const char *run_dir;	/* /run/nl6 */
};
MUST_CHECK int lab_new(
	const struct lab_env *env, const struct lab_conf *conf, struct lab **ret_lab);
struct lab *lab_free(struct lab *l);
CLEANUP(lab);
/* Starts the thread and drops every capability of the calling thread and of those it will start.
 * The namespace itself is made with the first range that needs one, or reclaimed here. */
MUST_CHECK int lab_start(struct lab *l, struct fault *reterr_fault);
void lab_stop(struct lab *l);

/* Adds routes for exactly first..last (nothing for 127/8); refuses by name a range that covers an
 * address, gateway, resolver or collector of the host. Ranges nest and repeat: each add pairs with
 * a lab_del. -EINVAL, -EPERM (the capability is named), -EEXIST, -ENOMEM. Any thread. */
MUST_CHECK int lab_add(struct lab *l, const struct addr *first, const struct addr *last,
	struct fault *reterr_fault);
void lab_del(struct lab *l, const struct addr *first, const struct addr *last);
/* A UDP socket (non-blocking, cloexec) bound to any address of a's family and port in the place
 * where the fleet address a lives; packet info is on. For 127/8 it is bound to the device lo, so
 * nothing from outside reaches it. reuseport: others of ours may join. port 0: the kernel picks.
 * -EADDRINUSE, -EACCES, … with a fault that names the port. */
MUST_CHECK int lab_udp_socket(struct lab *l, const struct addr *a, uint16_t port, bool reuseport,
	int *ret_fd, struct fault *reterr_fault);
/* Status as JSON members: namespace, veth, routes, forward_hint … */
void lab_status(struct lab *l, struct text *t);
