/* The lab's network as its one thread runs it: which ranges answer, and the routes for exactly
 * them. All functions but new and free are called by that thread alone. */
#pragma once
#include "base/fault.h"
#include "base/text.h"
#include "net/lab_gear.h"

struct lab_net;
struct lab_net_conf { /* strings are borrowed */
	const char *ns_name, *run_dir;
	struct prefix veth_net;
	bool no_namespace;
};
MUST_CHECK int lab_net_new(
	const struct mem *mem, const struct lab_net_conf *conf, struct lab_net **ret_net);
struct lab_net *lab_net_free(struct lab_net *n);
/* Looks at host and privileges, undoes what a killed run left, and leaves for a new namespace if
 * the thread may; gives up all capabilities but two. */
MUST_CHECK int lab_net_enter(struct lab_net *n, struct fault *reterr_fault);
/* Undoes all. */
void lab_net_leave(struct lab_net *n);
/* As lab_add, for what is not loopback. */
MUST_CHECK int lab_net_add(struct lab_net *n, const struct addr *first, const struct addr *last,
	struct fault *reterr_fault);
void lab_net_del(struct lab_net *n, const struct addr *first, const struct addr *last);
/* As lab_protect. */
MUST_CHECK int lab_net_protect(
	struct lab_net *n, const struct addr *a, const char *what, struct fault *reterr_fault);
void lab_net_unprotect(struct lab_net *n, const struct addr *a);
/* JSON members. */
void lab_net_status(struct lab_net *n, struct text *t);
