/* A closed-loop SNMPv3 client that costs as little as bench-snmp-get: what it sends is signed and
 * encrypted (SHA-1, AES-128) before the clock starts, and of what comes back only the header is
 * read, but for the first answer, which is checked whole. 64 requests to 64 devices leave in one
 * system call, and the next 64 when all are answered.
 *   bench-snmp-v3 ADDR COUNT PORT SECONDS
 * asks the devices of a fleet made with -snmpv3 -snmpv3-auth sha1 -snmpv3-priv aes128, of at most
 * 65,536 of them one request each, and prints: replies, lost, seconds, bytes and objects of a
 * reply.
 */
#include "base/addr.h"
#include "base/clk.h"
#include "sim/fleet/ident.h"
#include "sim/fleet/keys.h"
#include "wire/oid.h"
#include "wire/usm.h"
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH 64
#define MESSAGES_MAX 65536u
#define OUT_BYTES 256
#define IN_BYTES 2048
#define LOST_AFTER_MS 1000
#define USER "simadmin"

struct message {
	uint32_t address;
	uint16_t bytes;
	uint8_t p[OUT_BYTES];
};
struct client {
	int fd;
	uint16_t port;
	struct keys *keys;
	uint8_t ku[KEYS_HASH_BYTES];
	uint32_t boots, time;
	uint32_t n, at; /* messages; the first of the batch */
	struct message *messages;
	uint64_t replies, lost, bytes;
	struct mmsghdr in[BATCH], out[BATCH];
	struct iovec in_iov[BATCH], out_iov[BATCH];
	struct sockaddr_in peers[BATCH];
	uint8_t bytes_in[BATCH][IN_BYTES];
};

static void fail(const char *what)
{
	(void)fprintf(stderr, "bench-snmp-v3: %s\n", what);
	exit(1);
}

static unsigned engine_of(uint32_t address, uint8_t id[static 32])
{
	struct device d = {.addr = addr_from_v4(address)};
	return ident_engine_id(&d, id);
}

static void local_keys(struct client *c, uint32_t address, struct keys_local *l)
{
	uint8_t id[32];
	unsigned n = engine_of(address, id);
	if (keys_localize(c->keys, KEYS_SHA1, KEYS_AES128, c->ku, c->ku, id, n, l) < 0)
		fail("keys");
}

/* A GET of sysUpTime.0, or of nothing for discovery. */
static void make_message(struct client *c, uint32_t number, bool discovery, struct message *m)
{
	static const uint8_t up_time[] = {43, 6, 1, 2, 1, 1, 3, 0};
	uint8_t list[64], buf[OUT_BYTES], id[32], *mac;
	struct keys_local l;
	struct wr w = wr_make(list, sizeof(list));
	struct bw b = bw_make(buf, sizeof(buf));
	struct ber_value null = {.tag = BER_NULL};
	struct snmp_head head = {.request_id = 0x40000000};
	struct usm_out o = {.msg_id = (int32_t)number,
		.max_size = 65507,
		.flags = USM_REPORTABLE | (discovery ? 0 : USM_AUTH | USM_PRIV),
		.engine_id = id,
		.engine_id_bytes = discovery ? 0 : engine_of(m->address, id),
		.boots = c->boots,
		.time = c->time,
		.user = (const uint8_t *)USER,
		.user_bytes = discovery ? 0 : strlen(USER),
		.mac_bytes = discovery ? 0 : 12,
		.context = (const uint8_t *)""};
	o.context_engine_id = o.engine_id;
	o.context_engine_id_bytes = o.engine_id_bytes;
	memcpy(o.salt, &number, sizeof(number));
	if (!discovery)
		snmp_put_binding(&w, up_time, sizeof(up_time), &null);
	bw_bytes(&b, list, wr_len(&w));
	snmp_back_pdu(&b, SNMP_GET, &head, wr_len(&w));
	usm_back_scoped(&b, &o, bw_len(&b));
	if (!discovery) {
		struct keys_iv iv = {.boots = c->boots, .time = c->time};
		memcpy(iv.salt, o.salt, sizeof(iv.salt));
		local_keys(c, m->address, &l);
		if (keys_encrypt(c->keys, KEYS_AES128, &l, &iv, b.p, bw_len(&b)) < 0)
			fail("cipher");
	}
	usm_back_message(&b, &o, bw_len(&b), &mac);
	m->bytes = (uint16_t)bw_len(&b);
	if (b.err)
		fail("the request is too long");
	if (!discovery &&
		keys_mac(c->keys, KEYS_SHA1, &l, b.p, m->bytes, (size_t)(mac - b.p), mac) < 0)
		fail("digest");
	memcpy(m->p, b.p, m->bytes);
}

static void read_reply(const uint8_t *p, size_t bytes, struct usm_header *h, struct usm_params *u)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	if (snmp_read_version(p, bytes, &version, &rest, &bad) < 0 || version != SNMP_V3 ||
		usm_read_header(&rest, h) < 0 || usm_read_params(h->params, h->params_bytes, u) < 0)
		fail("the reply is no SNMPv3 message");
}

static size_t ask_one(struct client *c, const struct message *m)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_port = htons(c->port),
		.sin_addr.s_addr = htonl(m->address)};
	struct pollfd p = {c->fd, POLLIN, 0};
	if (sendto(c->fd, m->p, m->bytes, 0, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
		poll(&p, 1, LOST_AFTER_MS) != 1)
		fail("the first device does not answer");
	ssize_t n = recv(c->fd, c->bytes_in[0], IN_BYTES, 0);
	return n > 0 ? (size_t)n : 0;
}

/* Boots and time of the first device, which are those of all: the fleet was made in seconds. */
static void discover(struct client *c, uint32_t first)
{
	struct message m = {.address = first};
	struct usm_header h;
	struct usm_params u;
	make_message(c, 1, true, &m);
	read_reply(c->bytes_in[0], ask_one(c, &m), &h, &u);
	c->boots = u.boots;
	c->time = u.time;
}

/* The first answer is signed, encrypted, a response, and has a value. */
static void check_first(struct client *c)
{
	struct usm_header h;
	struct usm_params u;
	struct usm_scoped s;
	struct keys_local l;
	struct keys_iv iv;
	struct snmp_pdu pdu;
	enum snmp_bad bad;
	const uint8_t *text, *p = c->bytes_in[0];
	uint8_t mac[12], plain[IN_BYTES];
	size_t n, bytes = ask_one(c, &c->messages[0]);
	read_reply(p, bytes, &h, &u);
	local_keys(c, c->messages[0].address, &l);
	if (h.flags != (USM_AUTH | USM_PRIV) || u.mac_bytes != 12 || u.salt_bytes != 8 ||
		keys_mac(c->keys, KEYS_SHA1, &l, p, bytes, (size_t)(u.mac - p), mac) < 0 ||
		memcmp(mac, u.mac, 12) != 0)
		fail("the reply is not signed");
	iv = (struct keys_iv){.boots = u.boots, .time = u.time};
	memcpy(iv.salt, u.salt, sizeof(iv.salt));
	if (usm_read_encrypted(h.data, h.data_bytes, &text, &n) < 0 ||
		keys_decrypt(c->keys, KEYS_AES128, &l, &iv, text, n, plain) < 0 ||
		usm_read_scoped(plain, n, false, &s) < 0 ||
		snmp_read_pdu(&s.pdu, SNMP_V3, &pdu, &bad) < 0 || pdu.tag != SNMP_RESPONSE ||
		pdu.error_status != 0 || pdu.bindings != 1)
		fail("the reply is no response, or one with an error");
}

static void make_messages(struct client *c, uint32_t first, uint32_t count)
{
	c->n = MAX(MIN(count, MESSAGES_MAX) / BATCH * BATCH, (uint32_t)BATCH);
	c->messages = calloc(c->n, sizeof(*c->messages));
	if (!c->messages)
		fail("no memory");
	for (uint32_t i = 0; i < c->n; i++) {
		/* Spread over the range, no neighbours in turn. */
		uint32_t k = (uint32_t)((uint64_t)i * 40503 % c->n);
		c->messages[i].address = first + (uint32_t)((uint64_t)k * count / c->n);
		make_message(c, i, false, &c->messages[i]);
	}
}

static void arm(struct client *c)
{
	for (unsigned i = 0; i < BATCH; i++) {
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
		struct message *m = &c->messages[c->at + i];
		c->out_iov[i] = (struct iovec){m->p, m->bytes};
		c->peers[i].sin_addr.s_addr = htonl(m->address);
	}
	for (unsigned at = 0; at < BATCH;) {
		int n = sendmmsg(c->fd, c->out + at, BATCH - at, 0);
		if (n < 0)
			fail("sendmmsg");
		at += (unsigned)n;
	}
}

/* Is it the answer to a message of this batch, and no Report (which is longer or not encrypted)? */
static bool take(struct client *c, unsigned i)
{
	struct usm_header h;
	struct usm_params u;
	read_reply(c->bytes_in[i], c->in[i].msg_len, &h, &u);
	if (!(h.flags & USM_PRIV))
		fail("a device answers with a Report");
	c->bytes += c->in[i].msg_len;
	return (uint32_t)h.msg_id - c->at < BATCH; /* else late, of a batch that was given up */
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
		for (int i = 0; i < n; i++)
			if (take(c, (unsigned)i)) {
				got++;
				c->replies++;
			}
	}
}

static void run_for(struct client *c, uint64_t run_ns)
{
	uint64_t start_ns = clk_ns(&clk_system), now_ns = start_ns;
	for (; now_ns - start_ns < run_ns; now_ns = clk_ns(&clk_system)) {
		send_batch(c);
		receive_batch(c);
		c->at = (c->at + BATCH) % c->n;
	}
	if (c->replies == 0)
		fail("no reply");
	(void)printf("%llu %llu %.6f %.1f 1.00\n", (unsigned long long)c->replies,
		(unsigned long long)c->lost, (double)(now_ns - start_ns) / 1e9,
		(double)c->bytes / (double)c->replies);
}

int main(int argc, char **argv)
{
	static struct client c;
	struct addr first;
	int room = 4 << 20;
	if (argc != 5 || addr_parse(argv[1], &first) < 0 || !addr_is_v4(&first)) {
		(void)fprintf(stderr, "usage: bench-snmp-v3 ADDR COUNT PORT SECONDS\n");
		return 2;
	}
	c.port = (uint16_t)strtoul(argv[3], NULL, 10);
	c.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (c.fd < 0 || keys_new(&mem_libc, &c.keys) < 0 ||
		keys_ku(c.keys, KEYS_SHA1, USER, strlen(USER), c.ku) < 0)
		fail("cannot begin");
	(void)setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	discover(&c, addr_v4_u32(&first));
	make_messages(&c, addr_v4_u32(&first), (uint32_t)MAX(strtoul(argv[2], NULL, 10), 1ul));
	check_first(&c);
	arm(&c);
	run_for(&c, (uint64_t)(strtod(argv[4], NULL) * 1e9));
	return 0;
}
