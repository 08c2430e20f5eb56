#include "fake.h"
#include "net/udp.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

static void set(int fd, int level, int option)
{
	int one = 1;
	ck_assert_int_eq(setsockopt(fd, level, option, &one, sizeof(one)), 0);
}

/* A socket on every address of the family; *ret_port is its port. */
static int server(bool v6, uint16_t *ret_port)
{
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	struct addr any = v6 ? (struct addr){{0}} : addr_from_v4(0), got;
	struct sockaddr_storage sa;
	socklen_t len = addr_to_sockaddr(&any, 0, &sa);
	if (v6)
		set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
	else
		set(fd, IPPROTO_IP, IP_PKTINFO);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	ck_assert_int_eq(addr_from_sockaddr((struct sockaddr *)&sa, &got, ret_port), 0);
	return fd;
}

/* A client that hears only the address it asks. */
static int client(const char *asked, uint16_t port)
{
	struct addr a;
	ck_assert_int_eq(addr_parse(asked, &a), 0);
	struct sockaddr_storage sa;
	socklen_t len = addr_to_sockaddr(&a, port, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

static void hears(int fd, const void *want, size_t len)
{
	static uint8_t buf[65536];
	struct pollfd p = {fd, POLLIN, 0};
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), (ssize_t)len);
	ck_assert_mem_eq(buf, want, len);
}

static int receive(struct udp_batch *b, int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	return udp_recv(b, fd);
}

START_TEST(replies_leave_from_the_address_asked)
{
	struct fake f = fake_make();
	struct udp_batch *b = NULL;
	ck_assert_int_eq(udp_batch_new(f.mem, 2000, 1472, &b), 0);
	static const char *const asked[] = {"127.1.2.3", "127.200.0.1", "127.0.0.1"};
	uint16_t port, peer_port;
	int fd = server(false, &port), c[3];
	for (unsigned i = 0; i < 3; i++) {
		c[i] = client(asked[i], port);
		ck_assert_int_eq(
			send(c[i], asked[i], strlen(asked[i]), 0), (ssize_t)strlen(asked[i]));
	}
	ck_assert_int_eq(receive(b, fd), 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct udp_in *in = udp_in(b, i);
		char text[ADDR_TEXT_BYTES];
		ck_assert_str_eq(addr_text(&in->local, text), asked[i]);
		ck_assert_uint_eq(in->len, strlen(asked[i]));
		ck_assert_mem_eq(in->p, asked[i], in->len);
		ck_assert(!in->cut);
		struct addr peer;
		udp_peer(b, i, &peer, &peer_port);
		ck_assert_uint_ne(peer_port, 0);
		if (i == 1)
			continue; /* no reply */
		size_t room;
		uint8_t *out = udp_out(b, i, &room);
		ck_assert_uint_eq(room, 1472);
		memset(out, 'a' + (int)i, room);
		udp_reply(b, i, out + 10, 20);
	}
	struct udp_sent sent;
	udp_send(b, fd, &sent);
	ck_assert_uint_eq(sent.sent, 2);
	hears(c[0], "aaaaaaaaaaaaaaaaaaaa", 20);
	hears(c[2], "cccccccccccccccccccc", 20);
	ck_assert_int_eq(recv(c[1], &port, 2, MSG_DONTWAIT), -1);
	ck_assert_int_eq(udp_recv(b, fd), -EAGAIN);
	for (unsigned i = 0; i < 3; i++)
		close(c[i]);
	close(fd);
	udp_batch_free(b);
	fake_done(&f);
}
END_TEST

START_TEST(ipv6_alike)
{
	struct fake f = fake_make();
	struct udp_batch *b = NULL;
	ck_assert_int_eq(udp_batch_new(f.mem, 2000, 1472, &b), 0);
	uint16_t port;
	int fd = server(true, &port), c = client("::1", port);
	ck_assert_int_eq(send(c, "six", 3, 0), 3);
	ck_assert_int_eq(receive(b, fd), 1);
	char text[ADDR_TEXT_BYTES];
	ck_assert_str_eq(addr_text(&udp_in(b, 0)->local, text), "::1");
	size_t room;
	uint8_t *out = udp_out(b, 0, &room);
	memcpy(out, "SIX", 3);
	udp_reply(b, 0, out, 3);
	struct udp_sent sent;
	udp_send(b, fd, &sent);
	ck_assert_uint_eq(sent.sent, 1);
	hears(c, "SIX", 3);
	close(c);
	close(fd);
	udp_batch_free(b);
	fake_done(&f);
}
END_TEST

/* More than a batch holds comes in turns; each turn starts anew. */
START_TEST(batches_follow_each_other)
{
	struct fake f = fake_make();
	struct udp_batch *b = NULL;
	ck_assert_int_eq(udp_batch_new(f.mem, 16, 16, &b), 0);
	uint16_t port;
	int fd = server(false, &port), c = client("127.3.3.3", port);
	unsigned sent = 2 * UDP_BATCH + 5, got = 0;
	for (unsigned i = 0; i < sent; i++)
		ck_assert_int_eq(send(c, &i, sizeof(i), 0), sizeof(i));
	while (got < sent) {
		int n = receive(b, fd);
		ck_assert_int_eq(n, (int)MIN(sent - got, (unsigned)UDP_BATCH));
		for (int i = 0; i < n; i++, got++) {
			unsigned v;
			ck_assert_uint_eq(udp_in(b, (unsigned)i)->len, sizeof(v));
			memcpy(&v, udp_in(b, (unsigned)i)->p, sizeof(v));
			ck_assert_uint_eq(v, got);
			ck_assert_uint_eq(udp_in(b, (unsigned)i)->local.b[13], 3);
		}
	}
	close(c);
	close(fd);
	udp_batch_free(b);
	fake_done(&f);
}
END_TEST

START_TEST(long_ones_whole_or_marked)
{
	static uint8_t big[UDP_DATAGRAM_BYTES];
	struct fake f = fake_make();
	struct udp_batch *whole = NULL, *small = NULL;
	ck_assert_int_eq(udp_batch_new(f.mem, UDP_DATAGRAM_BYTES, 16, &whole), 0);
	ck_assert_int_eq(udp_batch_new(f.mem, 1000, 16, &small), 0);
	uint16_t port;
	int fd = server(false, &port), c = client("127.0.0.1", port);
	big[sizeof(big) - 1] = 7;
	ck_assert_int_eq(send(c, big, sizeof(big), 0), sizeof(big));
	ck_assert_int_eq(receive(whole, fd), 1);
	ck_assert_uint_eq(udp_in(whole, 0)->len, sizeof(big));
	ck_assert_uint_eq(udp_in(whole, 0)->p[sizeof(big) - 1], 7);
	ck_assert(!udp_in(whole, 0)->cut);
	ck_assert_int_eq(send(c, big, 1001, 0), 1001);
	ck_assert_int_eq(send(c, big, 1000, 0), 1000);
	ck_assert_int_eq(receive(small, fd), 2);
	ck_assert_uint_eq(udp_in(small, 0)->len, 1000);
	ck_assert(udp_in(small, 0)->cut);
	ck_assert(!udp_in(small, 1)->cut);
	close(c);
	close(fd);
	udp_batch_free(whole);
	udp_batch_free(small);
	fake_done(&f);
}
END_TEST

/* One that the kernel refuses does not keep the others from leaving. */
START_TEST(a_refused_one_is_told_and_skipped)
{
	static uint8_t big[UDP_DATAGRAM_BYTES + 1];
	struct fake f = fake_make();
	struct udp_batch *b = NULL;
	ck_assert_int_eq(udp_batch_new(f.mem, 16, 16, &b), 0);
	uint16_t port;
	int fd = server(false, &port), c = client("127.0.0.1", port);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(send(c, "x", 1, 0), 1);
	ck_assert_int_eq(receive(b, fd), 3);
	udp_reply(b, 0, (const uint8_t *)"one", 3);
	udp_reply(b, 1, big, sizeof(big));
	udp_reply(b, 2, (const uint8_t *)"three", 5);
	struct udp_sent sent;
	udp_send(b, fd, &sent);
	ck_assert_uint_eq(sent.sent, 2);
	ck_assert_uint_eq(sent.refused[UDP_REFUSED_TOO_LONG], 1);
	hears(c, "one", 3);
	hears(c, "three", 5);
	udp_send(b, fd, &sent); /* nothing left */
	ck_assert_uint_eq(sent.sent, 0);
	ck_assert_int_eq(udp_recv(b, c), -EAGAIN);
	ck_assert_int_eq(udp_recv(b, -1), -EBADF);
	close(c);
	close(fd);
	udp_batch_free(b);
	fake_done(&f);
}
END_TEST

static int make(struct fake *f, void *arg UNUSED)
{
	AUTO(udp_batch) struct udp_batch *b = NULL;
	return udp_batch_new(f->mem, 64, 64, &b);
}

START_TEST(no_memory)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(replies_leave_from_the_address_asked, ipv6_alike, batches_follow_each_other,
	long_ones_whole_or_marked, a_refused_one_is_told_and_skipped, no_memory)
