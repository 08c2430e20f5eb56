#include "net/nl_msg.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define BUFFER_BYTES 32768 /* what the kernel fills in a dump */
#define DUMP_TRIES 8

struct nl {
	const struct mem *mem;
	struct mnl_socket *socket;
	uint32_t seq;
	char why[160];
	_Alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
};

int nl_new(const struct mem *mem, enum nl_bus bus, struct nl **ret_nl)
{
	AUTO(nl) struct nl *n = mem_zalloc(mem, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->mem = mem;
	n->socket =
		mnl_socket_open2(bus == NL_ROUTE ? NETLINK_ROUTE : NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!n->socket || mnl_socket_bind(n->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	/* Reasons in words; no echo of the request. Old kernels do without. */
	int on = 1;
	(void)mnl_socket_setsockopt(n->socket, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(n->socket, NETLINK_CAP_ACK, &on, sizeof(on));
	*ret_nl = TAKE(n);
	return 0;
}

struct nl *nl_free(struct nl *n)
{
	if (!n)
		return NULL;
	if (n->socket)
		(void)mnl_socket_close(n->socket);
	return mem_free(n->mem, n);
}

const char *nl_why(const struct nl *n)
{
	return n->why;
}

/* Starts a request in the buffer; *ret_body has body_bytes of zero. */
struct nlmsghdr *nl_msg_new(
	struct nl *n, uint16_t type, uint16_t flags, size_t body_bytes, void **ret_body)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(n->buffer);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++n->seq;
	*ret_body = mnl_nlmsg_put_extra_header(h, body_bytes);
	n->why[0] = 0;
	return h;
}

static void keep_reason(struct nl *n, const struct nlmsghdr *h)
{
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	size_t offset = sizeof(struct nlmsgerr);
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		offset += e->msg.nlmsg_len - sizeof(struct nlmsghdr);
	const struct nlattr *a;
	mnl_attr_for_each (a, h, offset)
		if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG &&
			mnl_attr_validate(a, MNL_TYPE_NUL_STRING) == 0)
			(void)snprintf(n->why, sizeof(n->why), "%s", mnl_attr_get_str(a));
}

/* 1: more to come. */
static int take_message(struct nl *n, const struct nlmsghdr *h,
	void (*fn)(void *arg, const struct nlmsghdr *h), void *arg)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	switch (h->nlmsg_type) {
	case NLMSG_ERROR:
		if (mnl_nlmsg_get_payload_len(h) < sizeof(*e))
			return -EBADMSG;
		if (e->error < 0)
			keep_reason(n, h);
		return e->error;
	case NLMSG_DONE:
		return mnl_nlmsg_get_payload_len(h) >= sizeof(int) ? *(const int *)(const void *)e
								   : 0;
	case NLMSG_NOOP:
		return 1;
	default:
		if (fn)
			fn(arg, h);
		return 1;
	}
}

/* Sends the request and hands each answer to fn until the kernel says it is done. */
int nl_msg_talk(struct nl *n, struct nlmsghdr *h, void (*fn)(void *arg, const struct nlmsghdr *h),
	void *arg)
{
	if (mnl_socket_sendto(n->socket, h, h->nlmsg_len) < 0)
		return -errno;
	bool torn = false;
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(n->socket, n->buffer, sizeof(n->buffer));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		int left = (int)got;
		for (h = (struct nlmsghdr *)n->buffer; mnl_nlmsg_ok(h, left);
			h = mnl_nlmsg_next(h, &left)) {
			if (h->nlmsg_seq != n->seq)
				continue; /* of a request that was given up, or news */
			torn |= h->nlmsg_flags & NLM_F_DUMP_INTR;
			int r = take_message(n, h, fn, arg);
			if (r <= 0)
				return r == 0 && torn ? -EINTR : r;
		}
	}
}

int nl_msg_ask(struct nl *n, struct nlmsghdr *h)
{
	h->nlmsg_flags |= NLM_F_ACK;
	return nl_msg_talk(n, h, NULL, NULL);
}

int nl_msg_news(struct nl *n, int group, bool on)
{
	int option = on ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP;
	return mnl_socket_setsockopt(n->socket, option, &group, sizeof(group)) < 0 ? -errno : 0;
}

int nl_msg_await(struct nl *n, int ms)
{
	struct pollfd p = {mnl_socket_get_fd(n->socket), POLLIN, 0};
	int r = poll(&p, 1, ms);
	if (r < 0)
		return -errno;
	if (r == 0)
		return -ETIMEDOUT;
	return mnl_socket_recvfrom(n->socket, n->buffer, sizeof(n->buffer)) < 0 ? -errno : 0;
}

/* Runs a dump, again while the tables change under it: fn may see an entry more than once. */
int nl_msg_dump(struct nl *n, uint16_t type, size_t body_bytes, uint8_t family,
	void (*fn)(void *arg, const struct nlmsghdr *h), void *arg)
{
	int r = -EINTR;
	for (int i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		void *body;
		struct nlmsghdr *h = nl_msg_new(n, type, NLM_F_DUMP, body_bytes, &body);
		*(uint8_t *)body = family; /* the first byte of each kind of head */
		r = nl_msg_talk(n, h, fn, arg);
	}
	return r;
}

/* Adds an address as an attribute of the family's length. */
void nl_msg_put_addr(struct nlmsghdr *h, uint16_t type, const struct addr *a)
{
	if (addr_is_v4(a))
		mnl_attr_put(h, type, 4, a->b + 12);
	else
		mnl_attr_put(h, type, 16, a->b);
}

bool nl_msg_get_addr(uint8_t family, const struct nlattr *a, size_t skip, struct addr *ret_addr)
{
	size_t want = family == AF_INET ? 4 : 16;
	if ((family != AF_INET && family != AF_INET6) || mnl_attr_get_payload_len(a) < skip + want)
		return false;
	const uint8_t *p = (const uint8_t *)mnl_attr_get_payload(a) + skip;
	*ret_addr = addr_from_v4(0);
	memcpy(ret_addr->b + 16 - want, p, want);
	return true;
}
