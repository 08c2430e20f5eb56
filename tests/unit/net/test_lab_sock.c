#include "fake.h"
#include "net/lab_sock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	struct addr a;
	uint16_t port = 0;
	ck_assert_int_eq(addr_from_sockaddr((struct sockaddr *)&ss, &a, &port), 0);
	return port;
}

static int option(int fd, int level, int name)
{
	int v = -1;
	socklen_t len = sizeof(v);
	ck_assert_int_eq(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

static int make_bound(bool v6, uint16_t port, bool join, struct fault *f)
{
	int fd = -1;
	bool wide = true;
	ck_assert_int_eq(lab_sock_make(v6, &fd, f), 0);
	int r = lab_sock_bind(fd, v6, port, true, join, &wide, f);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	ck_assert(!wide);
	return fd;
}

START_TEST(the_first_is_alone_until_it_is_bound)
{
	struct fault f = {0};
	AUTO_FD int first = make_bound(false, 0, false, &f);
	ck_assert_int_ge(first, 0);
	uint16_t port = port_of(first);
	ck_assert_uint_ne(port, 0);
	ck_assert_int_eq(make_bound(false, port, false, &f), -EADDRINUSE);
	char want[64];
	(void)snprintf(want, sizeof(want), "UDP port %u (IPv4) is in use by another program", port);
	ck_assert_str_eq(f.text, want);
	AUTO_FD int second = make_bound(false, port, true, &f);
	ck_assert_int_ge(second, 0);
	AUTO_FD int third = make_bound(false, port, true, &f);
	ck_assert_int_ge(third, 0);
}
END_TEST

START_TEST(options_fit_a_fleet)
{
	struct fault f = {0};
	for (int v6 = 0; v6 < 2; v6++) {
		AUTO_FD int fd = make_bound(v6, 0, false, &f);
		ck_assert_int_ge(fd, 0);
		char dev[16] = "";
		socklen_t len = sizeof(dev);
		ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, &len), 0);
		ck_assert_str_eq(dev, "lo");
		if (v6) {
			ck_assert_int_eq(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
			ck_assert_int_eq(option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO), 1);
			ck_assert_int_eq(option(fd, IPPROTO_IPV6, IPV6_FREEBIND), 1);
		} else {
			ck_assert_int_eq(option(fd, IPPROTO_IP, IP_PKTINFO), 1);
		}
	}
}
END_TEST

UNIT_MAIN(the_first_is_alone_until_it_is_bound, options_fit_a_fleet)
