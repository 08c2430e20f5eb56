/* Messages of netlink, for the files of nl.h alone: one request at a time lies in the socket's
 * buffer.
 */
#pragma once
#include "net/nl.h"
#include <libmnl/libmnl.h>

/* Starts a request; *ret_body has body_bytes of zero. */
struct nlmsghdr *nl_msg_new(
	struct nl *n, uint16_t type, uint16_t flags, size_t body_bytes, void **ret_body);
/* Sends it and hands each answer to fn (may be NULL) until the kernel says it is done. -EINTR: the
 * tables changed under a dump. */
int nl_msg_talk(struct nl *n, struct nlmsghdr *h, void (*fn)(void *arg, const struct nlmsghdr *h),
	void *arg);
/* Sends it and takes the verdict. */
int nl_msg_ask(struct nl *n, struct nlmsghdr *h);
/* Runs a dump, again while the tables change under it: fn may see an entry more than once. */
int nl_msg_dump(struct nl *n, uint16_t type, size_t body_bytes, uint8_t family,
	void (*fn)(void *arg, const struct nlmsghdr *h), void *arg);

/* Joins or leaves a group of news (RTNLGRP_LINK ...); and waits for some, which are lost.
 * -ETIMEDOUT, -EINTR. */
MUST_CHECK int nl_msg_news(struct nl *n, int group, bool on);
MUST_CHECK int nl_msg_await(struct nl *n, int ms);

/* An address as an attribute of its family's length; and back, after skip bytes of the payload. */
void nl_msg_put_addr(struct nlmsghdr *h, uint16_t type, const struct addr *a);
bool nl_msg_get_addr(uint8_t family, const struct nlattr *a, size_t skip, struct addr *ret_addr);
static inline uint8_t nl_msg_family(const struct addr *a)
{
	return addr_is_v4(a) ? AF_INET : AF_INET6;
}
static inline uint8_t nl_msg_len(const struct prefix *p)
{
	return addr_is_v4(&p->addr) ? p->len - 96 : p->len;
}
static inline struct prefix nl_msg_prefix(uint8_t family, const struct addr *a, uint8_t len)
{
	return (struct prefix){*a, family == AF_INET ? len + 96 : len};
}
