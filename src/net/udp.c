#include "net/udp.h"
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>

/* One datagram's header fields. The control bytes that the kernel fills with the address asked are
 * given back to it with the reply: the same option sets the source. */
struct slot {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} peer;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	struct udp_in in;
};
struct udp_batch {
	const struct mem *mem;
	uint8_t *in_bytes, *out_bytes;
	size_t in_stride, out_stride;
	uint32_t out_room;
	unsigned n_in, n_out;
	struct mmsghdr in[UDP_BATCH], out[UDP_BATCH];
	struct iovec in_iov[UDP_BATCH], out_iov[UDP_BATCH];
	struct slot slots[UDP_BATCH];
};

/* An odd number of cache lines: slots of a batch then start in different sets of the cache. */
static size_t stride_of(uint32_t bytes)
{
	size_t lines = ((size_t)bytes + 63) / 64;
	return (lines | 1) * 64;
}

int udp_batch_new(
	const struct mem *mem, uint32_t in_bytes, uint32_t out_bytes, struct udp_batch **ret_batch)
{
	AUTO(udp_batch) struct udp_batch *b = mem_zalloc(mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->mem = mem;
	b->in_stride = stride_of(in_bytes);
	b->out_stride = stride_of(out_bytes);
	b->out_room = out_bytes;
	b->in_bytes = mem_alloc(mem, UDP_BATCH * b->in_stride);
	b->out_bytes = mem_alloc(mem, UDP_BATCH * b->out_stride);
	if (!b->in_bytes || !b->out_bytes)
		return -ENOMEM;
	for (unsigned i = 0; i < UDP_BATCH; i++) {
		b->in_iov[i] = (struct iovec){b->in_bytes + i * b->in_stride, in_bytes};
		b->in[i].msg_hdr = (struct msghdr){.msg_name = &b->slots[i].peer,
			.msg_iov = &b->in_iov[i],
			.msg_iovlen = 1,
			.msg_control = b->slots[i].control};
		b->out[i].msg_hdr = (struct msghdr){.msg_iov = &b->out_iov[i], .msg_iovlen = 1};
	}
	b->n_in = UDP_BATCH; /* the first udp_recv arms them all */
	*ret_batch = TAKE(b);
	return 0;
}

struct udp_batch *udp_batch_free(struct udp_batch *b)
{
	if (!b)
		return NULL;
	mem_free(b->mem, b->in_bytes);
	mem_free(b->mem, b->out_bytes);
	return mem_free(b->mem, b);
}

/* Turns the packet info into the address asked, and in place into what a reply says. */
static struct addr take_local(struct msghdr *h)
{
	struct addr a = {{0}};
	struct cmsghdr *c = CMSG_FIRSTHDR(h);
	if (!c)
		return a;
	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(c);
		a.b[10] = a.b[11] = 0xff;
		memcpy(a.b + 12, &info->ipi_addr, 4);
		/* Only the source is set: the route of the reply is the kernel's choice. */
		info->ipi_ifindex = 0;
		info->ipi_spec_dst = info->ipi_addr;
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(c);
		memcpy(a.b, &info->ipi6_addr, 16);
		/* A link-local peer is known by its interface, which its address names. */
		info->ipi6_ifindex = 0;
	}
	return a;
}

int udp_recv(struct udp_batch *b, int fd)
{
	for (unsigned i = 0; i < b->n_in; i++) {
		b->in[i].msg_hdr.msg_namelen = sizeof(b->slots[i].peer);
		b->in[i].msg_hdr.msg_controllen = sizeof(b->slots[i].control);
	}
	b->n_in = b->n_out = 0;
	int n;
	do
		n = recvmmsg(fd, b->in, UDP_BATCH, MSG_DONTWAIT, NULL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	b->n_in = (unsigned)n;
	for (unsigned i = 0; i < b->n_in; i++) {
		struct msghdr *h = &b->in[i].msg_hdr;
		b->slots[i].in = (struct udp_in){.local = take_local(h),
			.p = b->in_bytes + i * b->in_stride,
			.len = b->in[i].msg_len,
			.cut = h->msg_flags & MSG_TRUNC};
	}
	return n > 0 ? n : -EAGAIN;
}

const struct udp_in *udp_in(const struct udp_batch *b, unsigned i)
{
	return &b->slots[i].in;
}

void udp_peer(const struct udp_batch *b, unsigned i, struct addr *ret_addr, uint16_t *ret_port)
{
	int r = addr_from_sockaddr(&b->slots[i].peer.sa, ret_addr, ret_port);
	assert(r == 0); /* the socket is of one of the two families */
}

uint8_t *udp_out(struct udp_batch *b, unsigned i, size_t *ret_room)
{
	*ret_room = b->out_room;
	return b->out_bytes + i * b->out_stride;
}

void udp_reply(struct udp_batch *b, unsigned i, const uint8_t *p, size_t len)
{
	assert(i < b->n_in && b->n_out < UDP_BATCH);
	const struct msghdr *asked = &b->in[i].msg_hdr;
	struct msghdr *h = &b->out[b->n_out].msg_hdr;
	b->out_iov[b->n_out] = (struct iovec){(void *)p, len};
	h->msg_name = asked->msg_name;
	h->msg_namelen = asked->msg_namelen;
	h->msg_control = asked->msg_control;
	h->msg_controllen = asked->msg_controllen;
	b->n_out++;
}

static enum udp_refusal refusal_of(int e)
{
	switch (e) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		return UDP_REFUSED_FULL;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EADDRNOTAVAIL:
	case EINVAL: /* IPv4: the source is not, or no longer, an address of this place */
		return UDP_REFUSED_UNREACHABLE;
	case EMSGSIZE:
		return UDP_REFUSED_TOO_LONG;
	case EPERM:
	case EACCES:
		return UDP_REFUSED_FORBIDDEN;
	default:
		return UDP_REFUSED_OTHER;
	}
}

void udp_send(struct udp_batch *b, int fd, struct udp_sent *ret_sent)
{
	struct udp_sent s = {0};
	for (unsigned at = 0; at < b->n_out;) {
		int n = sendmmsg(fd, b->out + at, b->n_out - at, MSG_DONTWAIT);
		if (n > 0) {
			at += (unsigned)n;
			s.sent += (unsigned)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		enum udp_refusal why = refusal_of(errno);
		/* What is full now refuses the rest alike, at a system call for each. */
		unsigned lost = why == UDP_REFUSED_FULL ? b->n_out - at : 1;
		s.refused[why] += lost;
		at += lost;
	}
	b->n_out = 0;
	*ret_sent = s;
}

int udp_send_one(int fd, const struct addr *local, const struct addr *peer, uint16_t peer_port,
	const void *p, size_t len)
{
	struct sockaddr_storage to;
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {.bytes = {0}};
	struct iovec iov = {(void *)p, len};
	struct msghdr h = {.msg_name = &to,
		.msg_namelen = addr_to_sockaddr(peer, peer_port, &to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	if (addr_is_v4(local)) {
		struct in_pktinfo info = {0};
		memcpy(&info.ipi_spec_dst, local->b + 12, 4);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		h.msg_controllen = CMSG_SPACE(sizeof(info));
	} else {
		struct in6_pktinfo info = {0};
		memcpy(&info.ipi6_addr, local->b, 16);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IPV6, IPV6_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		h.msg_controllen = CMSG_SPACE(sizeof(info));
	}
	ssize_t n;
	do
		n = sendmsg(fd, &h, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}
