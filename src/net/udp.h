/* Batched UDP on a socket that serves many local addresses: recvmmsg, then sendmmsg with each reply
 * leaving from the address that was asked. The buffers are allocated once. One thread owns each. */
#pragma once
#include "base/addr.h"
#include "base/mem.h"

#define UDP_BATCH 64
#define UDP_IN_BYTES 65536 /* largest datagram taken whole, across the batch's shared memory */

struct udp_in {
	struct addr local; /* the address that was asked */
	const uint8_t *p;  /* the payload */
	uint32_t len;
	bool cut; /* longer than the buffer */
		  /* peer: kept by the batch */
};
struct udp_batch;
/* in_bytes, out_bytes: room of each datagram. */
MUST_CHECK int udp_batch_new(
	const struct mem *mem, uint32_t in_bytes, uint32_t out_bytes, struct udp_batch **ret_batch);
struct udp_batch *udp_batch_free(struct udp_batch *b);
CLEANUP(udp_batch);
/* Takes what is there, at most UDP_BATCH; >= 1, -EAGAIN, or the socket's error. */
MUST_CHECK int udp_recv(struct udp_batch *b, int fd);
const struct udp_in *udp_in(const struct udp_batch *b, unsigned i);
/* Peer of datagram i. */
void udp_peer(const struct udp_batch *b, unsigned i, struct addr *ret_addr, uint16_t *ret_port);
/* Room for the reply to datagram i; set with udp_reply. */
uint8_t *udp_out(struct udp_batch *b, unsigned i, size_t *ret_room);
void udp_reply(struct udp_batch *b, unsigned i, const uint8_t *p, size_t len);
/* Sends the replies set since udp_recv, in order; *ret_sent of them left; refused ones (by kind of
 * errno) are skipped and counted in *ret_refused. Returns 0. */
int udp_send(struct udp_batch *b, int fd, unsigned *ret_sent, unsigned *ret_refused);
