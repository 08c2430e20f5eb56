/* A closed-loop SNMP client that costs little: 64 requests to 64 devices leave in one system call,
 * and the next 64 when all are answered. The devices of a range are asked in an order that meets
 * each once before any twice and no neighbours in turn.
 *   bench-snmp-get ADDR COUNT PORT get|get10|bulk|echo SECONDS
 * prints: replies, lost, seconds, bytes and objects of a reply.
 *   bench-snmp-get ADDR COUNT PORT get|get10|bulk|echo of PID
 * goes on until its input ends, and after each line of it prints between two batches, when nothing
 * is under way: replies, lost, and the CPU time in ns that process PID, the server, has used. */
#include "base/addr.h"
#include "base/clk.h"
#include "wire/oid.h"
#include "wire/snmp.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define OUT_BYTES 512
#define IN_BYTES 2048
#define LOST_AFTER_MS 1000

struct client {
	int fd;
	uint32_t first, count, at, step;
	uint16_t port;
	size_t request_bytes, id_at; /* id_at: of the four octets of the request-id */
	bool echo;
	uint32_t id;
	uint64_t replies, lost, bytes, objects;
	struct mmsghdr in[BATCH], out[BATCH];
	struct iovec in_iov[BATCH], out_iov[BATCH];
	struct sockaddr_in peers[BATCH];
	uint8_t requests[BATCH][OUT_BYTES], bytes_in[BATCH][IN_BYTES];
};

static void fail(const char *what)
{
	(void)fprintf(stderr, "bench-snmp-get: %s\n", what);
	exit(1);
}

static void put_name(struct wr *list, const char *text)
{
	struct oid o;
	uint8_t ber[OID_BER_BYTES];
	struct ber_value null = {.tag = BER_NULL};
	int n = oid_parse(text, &o) == 0 ? oid_to_ber(&o, ber, sizeof(ber)) : -EINVAL;
	if (n < 0)
		fail("OID");
	snmp_put_binding(list, ber, (size_t)n, &null);
}

/* Wraps the list that w holds into a request; returns where the four octets of its id are. */
static size_t put_request(struct bw *b, const struct wr *w, uint8_t pdu, int32_t repetitions)
{
	ber_back_bytes(b, BER_SEQUENCE, w->start, wr_len(w));
	ber_back_int(b, repetitions);
	ber_back_int(b, 0);
	ber_back_int(b, 0x40000000);
	size_t id_from_end = bw_len(b) - 2;
	ber_back_header(b, pdu, bw_len(b));
	ber_back_bytes(b, BER_OCTET_STRING, "public", 6);
	ber_back_int(b, SNMP_V2C);
	ber_back_header(b, BER_SEQUENCE, bw_len(b));
	if (w->err || b->err)
		fail("the request is too long");
	return bw_len(b) - id_from_end;
}

/* The list of a response without an error. */
static struct rd read_list(const uint8_t *p, size_t bytes, struct snmp_pdu *ret_pdu)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	const uint8_t *community;
	size_t n;
	if (snmp_read_version(p, bytes, &version, &rest, &bad) < 0 ||
		snmp_read_community(&rest, &community, &n, &bad) < 0 ||
		snmp_read_pdu(&rest, version, ret_pdu, &bad) < 0 || ret_pdu->tag != SNMP_RESPONSE ||
		ret_pdu->error_status != 0)
		fail("the reply is no SNMP response, or one with an error");
	return rd_make(ret_pdu->list, ret_pdu->list_bytes);
}

/* ifIndex of the first interface of the first device. */
static int64_t first_if_index(struct client *c)
{
	uint8_t list[OUT_BYTES], buf[OUT_BYTES];
	struct wr w = wr_make(list, sizeof(list));
	struct bw b = bw_make(buf, sizeof(buf));
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_port = htons(c->port),
		.sin_addr.s_addr = htonl(c->first)};
	struct pollfd p = {c->fd, POLLIN, 0};
	put_name(&w, "1.3.6.1.2.1.2.2.1.1");
	(void)put_request(&b, &w, SNMP_GETNEXT, 0);
	ssize_t n = sendto(c->fd, b.p, bw_len(&b), 0, (struct sockaddr *)&sa, sizeof(sa));
	if (n < 0 || poll(&p, 1, LOST_AFTER_MS) != 1)
		fail("the first device does not answer");
	n = recv(c->fd, c->bytes_in[0], IN_BYTES, 0);
	struct snmp_pdu pdu;
	struct rd reply = read_list(c->bytes_in[0], n > 0 ? (size_t)n : 0, &pdu);
	struct snmp_binding first;
	if (!snmp_next_binding(&reply, &first) || first.value_tag != BER_INTEGER)
		fail("the first device has no interface");
	struct rd value = rd_make(first.value, first.value_bytes);
	int64_t index = 0;
	while (rd_left(&value) > 0)
		index = index << 8 | rd_u8(&value);
	return index;
}

/* sysUpTime.0; ten objects of a poll; or as much of ifTable as a datagram takes. */
static void make_request(struct client *c, const char *mode)
{
	static const char *const ten[] = {"1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.5.0",
		"1.3.6.1.2.1.2.2.1.7.", "1.3.6.1.2.1.2.2.1.8.", "1.3.6.1.2.1.2.2.1.10.",
		"1.3.6.1.2.1.2.2.1.16.", "1.3.6.1.2.1.31.1.1.1.6.", "1.3.6.1.2.1.31.1.1.1.10.",
		"1.3.6.1.2.1.31.1.1.1.7.", "1.3.6.1.2.1.31.1.1.1.11."};
	uint8_t list[OUT_BYTES], buf[OUT_BYTES];
	struct wr w = wr_make(list, sizeof(list));
	struct bw b = bw_make(buf, sizeof(buf));
	bool bulk = strcmp(mode, "bulk") == 0;
	c->echo = strcmp(mode, "echo") == 0;
	unsigned n = strcmp(mode, "get10") == 0 ? ARRAY_SIZE(ten) : 1;
	int64_t index = n > 1 ? first_if_index(c) : 0;
	for (unsigned i = 0; i < n; i++) {
		char name[64];
		int len = snprintf(name, sizeof(name), "%s", ten[i]);
		if (name[len - 1] == '.')
			(void)snprintf(
				name + len, sizeof(name) - (size_t)len, "%lld", (long long)index);
		put_name(&w, bulk ? "1.3.6.1.2.1.2.2.1.1" : name);
	}
	c->id_at = put_request(&b, &w, bulk ? SNMP_GETBULK : SNMP_GET, bulk ? 1000 : 0);
	c->request_bytes = bw_len(&b);
	for (unsigned i = 0; i < BATCH; i++)
		memcpy(c->requests[i], b.p, bw_len(&b));
}

static void arm(struct client *c)
{
	for (unsigned i = 0; i < BATCH; i++) {
		c->out_iov[i] = (struct iovec){c->requests[i], c->request_bytes};
		c->out[i].msg_hdr = (struct msghdr){.msg_name = &c->peers[i],
			.msg_namelen = sizeof(c->peers[i]),
			.msg_iov = &c->out_iov[i],
			.msg_iovlen = 1};
		c->in_iov[i] = (struct iovec){c->bytes_in[i], IN_BYTES};
		c->in[i].msg_hdr = (struct msghdr){.msg_iov = &c->in_iov[i], .msg_iovlen = 1};
		c->peers[i] =
			(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(c->port)};
	}
}

static void send_batch(struct client *c)
{
	for (unsigned i = 0; i < BATCH; i++) {
		uint32_t id = 0x40000000 | (c->id << 6 & 0x3fffffc0) | i;
		uint32_t be = htonl(id);
		memcpy(c->requests[i] + c->id_at, &be, sizeof(be));
		c->peers[i].sin_addr.s_addr = htonl(c->first + c->at);
		c->at = (uint32_t)(((uint64_t)c->at + c->step) % c->count);
	}
	for (unsigned at = 0; at < BATCH;) {
		int n = sendmmsg(c->fd, c->out + at, BATCH - at, 0);
		if (n < 0)
			fail("sendmmsg");
		at += (unsigned)n;
	}
}

/* Is it a reply to this batch, without an error? Of each batch's first one the objects count. */
static bool take(struct client *c, unsigned i, bool first)
{
	struct snmp_pdu pdu;
	c->bytes += c->in[i].msg_len;
	if (c->echo || !first)
		return true;
	struct rd list = read_list(c->bytes_in[i], c->in[i].msg_len, &pdu);
	if (((uint32_t)pdu.request_id & 0x3fffffc0) != (c->id << 6 & 0x3fffffc0))
		return false; /* late, of a batch that was given up */
	struct snmp_binding b;
	while (snmp_next_binding(&list, &b))
		if (b.value_tag >= BER_NO_SUCH_OBJECT)
			fail("a device lacks an object that was asked");
	c->objects += (uint64_t)pdu.bindings * BATCH;
	return true;
}

static void receive_batch(struct client *c)
{
	for (unsigned got = 0; got < BATCH;) {
		struct pollfd p = {c->fd, POLLIN, 0};
		int n = recvmmsg(c->fd, c->in, BATCH, MSG_DONTWAIT, NULL);
		if (n < 0 && poll(&p, 1, LOST_AFTER_MS) == 0) {
			c->lost += BATCH - got;
			return;
		}
		for (int i = 0; i < n; i++) {
			if (!take(c, (unsigned)i, got == 0))
				continue;
			got++;
			c->replies++;
		}
	}
}

/* Near the golden section of the range and without a common divisor. */
static uint32_t step_of(uint32_t count)
{
	for (uint32_t step = (uint32_t)(count * 0.6180339887) | 1;; step += 2) {
		uint32_t a = step, b = count;
		while (b) {
			uint32_t rest = a % b;
			a = b;
			b = rest;
		}
		if (a == 1)
			return step;
	}
}

static void run_for(struct client *c, uint64_t run_ns)
{
	uint64_t start_ns = clk_ns(&clk_system), now_ns = start_ns;
	for (; now_ns - start_ns < run_ns; now_ns = clk_ns(&clk_system)) {
		c->id++;
		send_batch(c);
		receive_batch(c);
	}
	if (c->replies == 0)
		fail("no reply");
	(void)printf("%llu %llu %.6f %.1f %.2f\n", (unsigned long long)c->replies,
		(unsigned long long)c->lost, (double)(now_ns - start_ns) / 1e9,
		(double)c->bytes / (double)c->replies, (double)c->objects / (double)c->replies);
}

/* Of all its threads, those that have ended too. */
static uint64_t process_cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) < 0)
		fail("no such process");
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void run_as_told(struct client *c, pid_t server)
{
	struct pollfd p = {STDIN_FILENO, POLLIN, 0};
	for (;;) {
		c->id++;
		send_batch(c);
		receive_batch(c);
		if (poll(&p, 1, 0) == 0)
			continue;
		char line[64];
		uint64_t cpu_ns = process_cpu_ns(server);
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return;
		(void)printf("%llu %llu %llu\n", (unsigned long long)c->replies,
			(unsigned long long)c->lost, (unsigned long long)cpu_ns);
		(void)fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static struct client c;
	struct addr first;
	int room = 4 << 20;
	bool told = argc == 7 && strcmp(argv[5], "of") == 0;
	if ((argc != 6 && !told) || addr_parse(argv[1], &first) < 0 || !addr_is_v4(&first)) {
		(void)fprintf(stderr, "usage: bench-snmp-get ADDR COUNT PORT "
				      "get|get10|bulk|echo SECONDS|of PID\n");
		return 2;
	}
	c.first = addr_v4_u32(&first);
	c.count = (uint32_t)MAX(strtoul(argv[2], NULL, 10), 1ul);
	c.port = (uint16_t)strtoul(argv[3], NULL, 10);
	c.step = step_of(c.count);
	c.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (c.fd < 0)
		fail("socket");
	(void)setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	make_request(&c, argv[4]);
	arm(&c);
	if (told)
		run_as_told(&c, (pid_t)atoi(argv[6]));
	else
		run_for(&c, (uint64_t)(strtod(argv[5], NULL) * 1e9));
	return 0;
}
