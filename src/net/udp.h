/* Batched UDP on a socket that serves many local addresses: recvmmsg, then sendmmsg with each reply
 * leaving from the address that was asked. The buffers are allocated once. One thread owns each. */
#pragma once
#include "base/addr.h"
#include "base/mem.h"

#define UDP_BATCH 64
#define UDP_DATAGRAM_BYTES 65507 /* the longest payload IPv4 can carry */

struct udp_in {
	struct addr local; /* the address that was asked; all zero when the kernel did not tell */
	const uint8_t *p;  /* the payload */
	uint32_t len;
	bool cut; /* longer than the buffer */
};
/* Why the kernel refused to send. */
enum udp_refusal {
	UDP_REFUSED_FULL,	 /* EAGAIN, ENOBUFS, ENOMEM: the rest of the batch is not tried */
	UDP_REFUSED_UNREACHABLE, /* no route to the peer, or the address is no longer ours */
	UDP_REFUSED_TOO_LONG,	 /* EMSGSIZE */
	UDP_REFUSED_FORBIDDEN,	 /* EPERM, EACCES: a firewall, a broadcast address */
	UDP_REFUSED_OTHER,
	UDP_REFUSED_N
};
struct udp_sent {
	unsigned sent, refused[UDP_REFUSED_N];
};

struct udp_batch;
/* in_bytes, out_bytes: room of each datagram. Memory that no datagram touches stays untouched, so
 * room for the longest costs address space only. -ENOMEM. */
MUST_CHECK int udp_batch_new(
	const struct mem *mem, uint32_t in_bytes, uint32_t out_bytes, struct udp_batch **ret_batch);
struct udp_batch *udp_batch_free(struct udp_batch *b);
CLEANUP(udp_batch);
/* Takes what is there, at most UDP_BATCH; >= 1, -EAGAIN, or the socket's error. fd is a UDP socket
 * with IP_PKTINFO or IPV6_RECVPKTINFO on. Replies not sent are forgotten. */
MUST_CHECK int udp_recv(struct udp_batch *b, int fd);
/* Datagram i of those received; valid until the next udp_recv. */
const struct udp_in *udp_in(const struct udp_batch *b, unsigned i);
/* Peer of datagram i. */
void udp_peer(const struct udp_batch *b, unsigned i, struct addr *ret_addr, uint16_t *ret_port);
/* Room for the reply to datagram i, *ret_room = out_bytes. */
uint8_t *udp_out(struct udp_batch *b, unsigned i, size_t *ret_room);
/* Appends the reply to datagram i, whose bytes lie in its room; at most one for each. */
void udp_reply(struct udp_batch *b, unsigned i, const uint8_t *p, size_t len);
/* Sends one datagram to a peer, from a local address, by a socket of this kind. Any thread. Does
 * not wait. Negative errno. */
MUST_CHECK int udp_send_one(int fd, const struct addr *local, const struct addr *peer,
	uint16_t peer_port, const void *p, size_t len);
/* Sends the replies in order and tells what became of them. Does not wait. */
void udp_send(struct udp_batch *b, int fd, struct udp_sent *ret_sent);
