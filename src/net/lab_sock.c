#include "net/lab_sock.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* A burst of one datagram a device must find room; the kernel cuts it to what it allows. */
#define RECEIVE_BYTES (8 << 20)

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

int lab_sock_make(bool v6, int *ret_fd, struct fault *reterr_fault)
{
	AUTO_FD int fd = socket(
		v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
	int r = fd < 0 ? -errno : 0;
	if (r == 0 && v6) {
		r = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		if (r == 0)
			r = set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
		/* Else sending from an address of a local-prefix route is EINVAL. */
		if (r == 0)
			r = set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
	} else if (r == 0) {
		r = set(fd, IPPROTO_IP, IP_PKTINFO, 1);
	}
	if (r < 0)
		return fault_set(reterr_fault, r, "", "", "cannot make a UDP socket of IPv%d: %s",
			v6 ? 6 : 4, strerror(-r));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int refuse(struct fault *f, int r, uint16_t port, bool v6)
{
	if (r == -EADDRINUSE)
		return fault_set(f, r, "", "a free port",
			"UDP port %u (IPv%d) is in use by another program", port, v6 ? 6 : 4);
	if (r == -EACCES)
		return fault_set(f, r, "", "1024..65535 without privileges",
			"UDP port %u needs CAP_NET_BIND_SERVICE: run as root, or use a port "
			"above 1023",
			port);
	return fault_set(f, r, "", "", "cannot bind UDP port %u (IPv%d): %s", port, v6 ? 6 : 4,
		strerror(-r));
}

int lab_sock_bind(int fd, bool v6, uint16_t port, bool on_lo, bool join, bool *ret_wide,
	struct fault *reterr_fault)
{
	bool wide = false;
	if (on_lo && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")) < 0) {
		if (errno != EPERM)
			return refuse(reterr_fault, -errno, port, v6);
		wide = true;
	}
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES) < 0)
		(void)set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES);
	if (join) {
		int r = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
		if (r < 0)
			return refuse(reterr_fault, r, port, v6);
	}
	struct sockaddr_storage sa = {0};
	socklen_t len;
	if (v6) {
		*(struct sockaddr_in6 *)&sa =
			(struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		len = sizeof(struct sockaddr_in6);
	} else {
		*(struct sockaddr_in *)&sa =
			(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		len = sizeof(struct sockaddr_in);
	}
	if (bind(fd, (struct sockaddr *)&sa, len) < 0)
		return refuse(reterr_fault, -errno, port, v6);
	/* Only now: a second instance must not be able to join. */
	if (!join) {
		int r = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
		if (r < 0)
			return refuse(reterr_fault, r, port, v6);
	}
	*ret_wide = wide;
	return 0;
}
