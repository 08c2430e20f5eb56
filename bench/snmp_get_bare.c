/* The bare baseline of the SNMP benchmarks: as many threads and sockets as the agents have, the
 * same system calls, and no work: each datagram is answered from the address it was sent to, with
 * its own bytes or with a fixed number of them. bench-snmp-bare PORT [ANSWER_BYTES]     prints
 * "ready" and runs until it is killed */
#include "base/attr.h"
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64
#define IN_BYTES 2048
#define BATCHES_PER_TURN 16

struct echo {
	int fd, epoll_fd;
	size_t answer_bytes; /* 0: the request's */
	struct mmsghdr in[BATCH], out[BATCH];
	struct iovec in_iov[BATCH], out_iov[BATCH];
	struct sockaddr_in peers[BATCH];
	uint8_t control[BATCH][CMSG_SPACE(sizeof(struct in_pktinfo))];
	uint8_t bytes[BATCH][IN_BYTES + 64], answers[BATCH][IN_BYTES + 64];
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int make_socket(uint16_t port)
{
	int one = 1, room = 8 << 20;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")) < 0 ||
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) < 0)
		fail("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		fail("bind");
	return fd;
}

static int receive(struct echo *e)
{
	for (unsigned i = 0; i < BATCH; i++) {
		e->in_iov[i] = (struct iovec){e->bytes[i], IN_BYTES};
		e->in[i].msg_hdr = (struct msghdr){.msg_name = &e->peers[i],
			.msg_namelen = sizeof(e->peers[i]),
			.msg_iov = &e->in_iov[i],
			.msg_iovlen = 1,
			.msg_control = e->control[i],
			.msg_controllen = sizeof(e->control[i])};
	}
	return recvmmsg(e->fd, e->in, BATCH, MSG_DONTWAIT, NULL);
}

static void answer(struct echo *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct msghdr *h = &e->in[i].msg_hdr;
		struct cmsghdr *c = CMSG_FIRSTHDR(h);
		if (c) {
			struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(c);
			info->ipi_ifindex = 0;
			info->ipi_spec_dst = info->ipi_addr;
		}
		size_t bytes = e->answer_bytes ? e->answer_bytes : e->in[i].msg_len;
		memcpy(e->answers[i], e->bytes[i], e->in[i].msg_len);
		e->out_iov[i] = (struct iovec){e->answers[i], bytes};
		e->out[i].msg_hdr = *h;
		e->out[i].msg_hdr.msg_iov = &e->out_iov[i];
	}
	for (unsigned at = 0; at < n;) {
		int sent = sendmmsg(e->fd, e->out + at, n - at, MSG_DONTWAIT);
		at += sent > 0 ? (unsigned)sent : 1;
	}
}

static void *run(void *arg)
{
	struct echo *e = arg;
	struct epoll_event event;
	for (;;) {
		if (epoll_wait(e->epoll_fd, &event, 1, -1) < 1)
			continue;
		for (unsigned turn = 0; turn < BATCHES_PER_TURN; turn++) {
			int n = receive(e);
			if (n <= 0)
				break;
			answer(e, (unsigned)n);
			if (n < BATCH)
				break;
		}
	}
	return NULL;
}

static void start(uint16_t port, size_t answer_bytes)
{
	struct echo *e = calloc(1, sizeof(*e));
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;
	if (!e)
		fail("calloc");
	e->answer_bytes = answer_bytes;
	e->fd = make_socket(port);
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0 || epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->fd, &event) < 0)
		fail("epoll");
	if (pthread_create(&thread, NULL, run, e) != 0)
		fail("pthread_create");
}

int main(int argc, char **argv)
{
	cpu_set_t cores;
	if (argc < 2 || sched_getaffinity(0, sizeof(cores), &cores) < 0) {
		(void)fprintf(stderr, "usage: bench-snmp-bare PORT [ANSWER_BYTES]\n");
		return 2;
	}
	size_t answer_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	if (answer_bytes > IN_BYTES)
		return 2;
	for (int i = 0; i < CPU_COUNT(&cores); i++)
		start((uint16_t)strtoul(argv[1], NULL, 10), answer_bytes);
	(void)printf("ready\n");
	(void)fflush(stdout);
	pause();
	return 0;
}
