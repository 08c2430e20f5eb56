#include "fake.h"
#include "net/lab.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct lab_conf conf_make(void)
{
	struct lab_conf c = {.ns_name = "nl6unit"};
	ck_assert_int_eq(prefix_parse("10.254.9.0/30", &c.veth_net), 0);
	return c;
}

static struct addr addr(const char *s)
{
	struct addr a;
	ck_assert_int_eq(addr_parse(s, &a), 0);
	return a;
}

static int start_and_stop(struct fake *f, void *arg UNUSED)
{
	struct lab_env env = {f->mem};
	struct lab_conf conf = conf_make();
	AUTO(lab) struct lab *l = NULL;
	int r = lab_new(&env, &conf, &l);
	if (r == 0)
		r = lab_start(l, NULL);
	if (r == 0)
		lab_stop(l);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, start_and_stop, NULL);
	fake_done(&f);
}
END_TEST

START_TEST(conf_is_judged)
{
	struct lab_conf c = conf_make();
	struct fault f = {0};
	ck_assert_int_eq(lab_conf_check(&c, &f), 0);
	ck_assert_int_eq(prefix_parse("10.0.0.0/31", &c.veth_net), 0);
	ck_assert_int_eq(lab_conf_check(&c, &f), -EINVAL);
	ck_assert_str_eq(f.field, "-veth-net");
	ck_assert_int_eq(prefix_parse("fd00::/64", &c.veth_net), 0);
	ck_assert_int_eq(lab_conf_check(&c, &f), -EINVAL);
	c = conf_make();
	c.ns_name = "../x";
	ck_assert_int_eq(lab_conf_check(&c, &f), -EINVAL);
	ck_assert_str_eq(f.field, "-namespace");
}
END_TEST

START_TEST(loopback_answers_from_the_address_asked)
{
	struct fake f = fake_make();
	struct lab_env env = {f.mem};
	struct lab_conf conf = conf_make();
	struct lab *l = NULL;
	struct fault fault = {0};
	ck_assert_int_eq(lab_new(&env, &conf, &l), 0);
	ck_assert_int_eq(lab_start(l, &fault), 0);
	struct addr a = addr("127.91.2.3"), b = addr("127.91.2.9");
	ck_assert_int_eq(lab_add(l, &a, &b, &fault), 0);
	ck_assert_int_eq(lab_add(l, &b, &a, &fault), -EINVAL);
	ck_assert_int_eq(lab_place(l, &a), LAB_PLACE_LO);
	AUTO_FD int fd = -1;
	ck_assert_int_eq(lab_udp_socket(l, &a, 0, false, &fd, &fault), 0);
	struct sockaddr_in sin = {0};
	socklen_t len = sizeof(sin);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	ck_assert_uint_eq(sin.sin_addr.s_addr, 0);
	AUTO_FD int peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(inet_pton(AF_INET, "127.91.2.7", &sin.sin_addr), 1);
	ck_assert_int_eq(sendto(peer, "x", 1, 0, (struct sockaddr *)&sin, sizeof(sin)), 1);
	char byte, control[64];
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	ck_assert_int_eq(recvmsg(fd, &m, 0), 1);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(c->cmsg_type, IP_PKTINFO);
	struct in_pktinfo info;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	ck_assert_uint_eq(info.ipi_addr.s_addr, sin.sin_addr.s_addr);
	lab_del(l, &a, &b);
	lab_stop(l);
	l = lab_free(l);
	fake_done(&f);
}
END_TEST

START_TEST(calls_that_come_too_late_are_refused)
{
	struct fake f = fake_make();
	struct lab_env env = {f.mem};
	struct lab_conf conf = conf_make();
	struct lab *l = NULL;
	struct addr a = addr("10.42.0.1");
	ck_assert_int_eq(lab_new(&env, &conf, &l), 0);
	for (int i = 0; i < 3; i++) {
		struct fault fault = {0};
		int fd = -1;
		ck_assert_int_eq(lab_add(l, &a, &a, &fault), -EPIPE);
		ck_assert_str_eq(fault.text, "the lab network is down");
		ck_assert_int_eq(lab_udp_socket(l, &a, 0, false, &fd, &fault), -EPIPE);
		ck_assert_int_eq(fd, -1);
		lab_del(l, &a, &a);
		lab_stop(l);
		/* Start may follow stop. */
		ck_assert_int_eq(lab_start(l, &fault), 0);
		lab_stop(l);
	}
	l = lab_free(l);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(each_allocation_may_fail, conf_is_judged, loopback_answers_from_the_address_asked,
	calls_that_come_too_late_are_refused)
