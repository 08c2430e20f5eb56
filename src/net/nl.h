/* A small layer on netlink (libmnl): links, addresses and routes of one network namespace, and the
 * forward hooks of its packet filter. A socket stays in the namespace it was opened in, and the
 * caller's capabilities are judged there, wherever its thread has gone. One thread owns each; what
 * a walk calls must not use the socket that walks. */
#pragma once
#include "base/addr.h"
#include "base/mem.h"
#include <stdint.h>

struct nl;
enum nl_bus { NL_ROUTE, NL_FILTER };
/* -ENOMEM, or the errno of the socket. */
MUST_CHECK int nl_new(const struct mem *mem, enum nl_bus bus, struct nl **ret_nl);
struct nl *nl_free(struct nl *n);
CLEANUP(nl);
/* What the kernel said about the last request that failed; may be empty. */
const char *nl_why(const struct nl *n);

#define NL_NAME_BYTES 16 /* of an interface, with the NUL */
struct nl_link {
	uint32_t index;
	uint8_t mac[6];
	bool running; /* up, and so is the other end */
	char name[NL_NAME_BYTES];
};
/* By name, or by index if name is NULL. -ENODEV. */
MUST_CHECK int nl_link_find(
	struct nl *n, const char *name, uint32_t index, struct nl_link *ret_link);
/* Makes a veth pair: a here, b in the namespace of descriptor b_ns. Takes name and mac. -EEXIST. */
MUST_CHECK int nl_veth_add(
	struct nl *n, const struct nl_link *a, const struct nl_link *b, int b_ns);
MUST_CHECK int nl_link_up(struct nl *n, uint32_t index);
/* Waits until it runs: the kernel brings a link to life some time after it is up, and drops what is
 * sent before. -ETIMEDOUT after ms. */
MUST_CHECK int nl_link_await(struct nl *n, uint32_t index, int ms);
/* Deletes it, a veth with its peer. -ENODEV. */
MUST_CHECK int nl_link_del(struct nl *n, uint32_t index);

struct nl_addr {
	uint32_t index;	     /* of the link */
	struct prefix local; /* the address, with the length of its network */
};
/* IPv6 without duplicate detection. -EEXIST. */
MUST_CHECK int nl_addr_add(struct nl *n, const struct nl_addr *a);
/* Calls fn for each address, of any link and family. */
MUST_CHECK int nl_addr_each(
	struct nl *n, void (*fn)(void *arg, const struct nl_addr *a), void *arg);

struct nl_route {
	struct prefix to;
	struct addr via; /* if has_via */
	bool has_via;
	uint32_t index;	  /* of the link; 0: none */
	uint32_t table;	  /* RT_TABLE_MAIN, RT_TABLE_LOCAL ... */
	uint32_t metric;  /* 0: the kernel's default */
	uint8_t type;	  /* RTN_UNICAST, RTN_LOCAL ... */
	uint8_t protocol; /* RTPROT_... */
};
/* -EEXIST: there is one to the same prefix with the same metric; -ESRCH (del): there is none like
 * it. */
MUST_CHECK int nl_route_add(struct nl *n, const struct nl_route *r);
MUST_CHECK int nl_route_del(struct nl *n, const struct nl_route *r);
/* Calls fn for each route of the family in every table, without clones; a route over several
 * gateways comes once for each. */
MUST_CHECK int nl_route_each(
	struct nl *n, bool v6, void (*fn)(void *arg, const struct nl_route *r), void *arg);

struct nl_chain { /* NL_FILTER: a base chain of nf_tables */
	const char *table, *name;
	uint8_t family;	 /* NFPROTO_INET, _IPV4, _IPV6 ... */
	uint32_t hook;	 /* NF_INET_FORWARD ... */
	uint32_t policy; /* NF_DROP, NF_ACCEPT */
	uint32_t rules;
};
/* Calls fn for each base chain. -EOPNOTSUPP and the like: the kernel has no nf_tables. */
MUST_CHECK int nl_chain_each(
	struct nl *n, void (*fn)(void *arg, const struct nl_chain *c), void *arg);
