/* The lab network: where fleet addresses live. 127/8 and ::1 need nothing; other prefixes are
 * local-prefix routes in a network namespace of our own behind a veth pair, or (no_namespace) in
 * the present one. One thread owns it all: it lives in the namespace, makes every route and binds
 * every fleet socket, and it alone keeps CAP_NET_ADMIN and CAP_NET_BIND_SERVICE. Everything made is
 * undone by lab_stop; what a killed run left is reclaimed under the lock of /run/nl6/NAME.lock.
 * How and why: docs/lab-network.md. main owns the lab. */
#pragma once
#include "base/addr.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/text.h"

struct lab;
struct lab_env { /* borrowed */
	const struct mem *mem;
	uint64_t keep_caps; /* what lab_start leaves of the capabilities, see net/caps.h */
};
struct lab_conf {
	const char *ns_name;	/* -namespace, "nl6sim"; copied */
	struct prefix veth_net; /* -veth-net, 10.254.0.0/30: host .1, namespace .2 */
	bool no_namespace;	/* -no-namespace */
	const char *run_dir;	/* -run-dir; NULL: /run/nl6 or what can be written; copied */
};
extern const struct flag lab_flags[];
/* The check of lab_flags (struct flag_set): -EINVAL. */
MUST_CHECK int lab_conf_check(const void *lab_conf, struct fault *reterr_fault);

/* -EINVAL: lab_conf_check refuses conf; -ENOMEM. */
MUST_CHECK int lab_new(
	const struct lab_env *env, const struct lab_conf *conf, struct lab **ret_lab);
struct lab *lab_free(struct lab *l);
CLEANUP(lab);
/* Starts the thread, which reclaims what a killed run left, then takes every capability but
 * keep_caps from the calling thread and so from all that it starts later; for good: what else needs
 * privileges (a port below 1024, a private file) comes before. A network that fits the privileges
 * is made with the first range that needs one. -ENOMEM, -EAGAIN. */
MUST_CHECK int lab_start(struct lab *l, struct fault *reterr_fault);
/* Undoes all. The fleet's sockets should be closed before: the namespace lives as long as they.
 * Calls of other threads that come too late are refused (-EPIPE). */
void lab_stop(struct lab *l);

/* All of the following: from any thread; they wait for the lab thread; -EPIPE before start and
 * after stop. */

/* Makes exactly first..last (one family) answer; nothing to do for 127/8 and ::1. Ranges nest and
 * repeat: each add pairs with a lab_del of the same range. -EINVAL: no range for devices; -EEXIST:
 * it covers an address, gateway, resolver or collector of the host or another's route, which the
 * fault names; -EPERM: a capability is missing, which it names; -EBUSY: another process has the
 * namespace; -ENOMEM; an error of the kernel. */
MUST_CHECK int lab_add(struct lab *l, const struct addr *first, const struct addr *last,
	struct fault *reterr_fault);
void lab_del(struct lab *l, const struct addr *first, const struct addr *last);

/* An address that must stay reachable, such as a collector's, is no device's: ranges that cover it
 * are refused, and so is it while a device has it (-EEXIST). what names it ("the trap collector").
 * Each pairs with a lab_unprotect. -ENOMEM. */
MUST_CHECK int lab_protect(
	struct lab *l, const struct addr *a, const char *what, struct fault *reterr_fault);
void lab_unprotect(struct lab *l, const struct addr *a);

/* Where the sockets for an address live. Per place, family and port the fleet has one set. */
enum lab_place {
	LAB_PLACE_LO, /* the host's loopback device: 127/8 and ::1 */
	LAB_PLACE_NET /* the namespace; the present one with no_namespace, loopback included */
};
enum lab_place lab_place(const struct lab *l, const struct addr *a);
/* A UDP socket (non-blocking, cloexec) bound to the wildcard address of a's family and port in the
 * place of a; packet info is on. LAB_PLACE_LO is bound to the device lo: nothing from outside gets
 * there. join false: the first of its port, bound alone, so that another program's, or another
 * nl6's, gives -EADDRINUSE; afterwards sockets with join true may share its port. port 0: the
 * kernel picks. -EADDRINUSE, -EACCES, ... with a fault that names the port. */
MUST_CHECK int lab_udp_socket(struct lab *l, const struct addr *a, uint16_t port, bool join,
	int *ret_fd, struct fault *reterr_fault);
/* Status as JSON members of an open object. Between start and stop. */
void lab_status(struct lab *l, struct text *t);
