#include "base/thread.h"
#include "fake.h"
#include "net/lab_sock.h"
#include "sim/fleet/type.h"
#include "sim/snmp/agent.h"
#include "wire/snmp.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A fleet of devices from 127.66.0.1 on, and agents for them with sockets of this test's own. */
struct lab {
	struct fake f;
	struct stats *stats;
	struct types *types;
	const struct type *type;
	struct fleet *fleet;
	struct agent_env env;
};

static int make_socket(void *arg UNUSED, const struct addr *a, uint16_t port, bool join,
	int *ret_fd, struct fault *reterr_fault)
{
	AUTO_FD int fd = -1;
	bool wide;
	int r = lab_sock_make(!addr_is_v4(a), &fd, reterr_fault);
	if (r == 0)
		r = lab_sock_bind(fd, !addr_is_v4(a), port, addr_is_v4(a) && addr_is_loopback(a),
			join, &wide, reterr_fault);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

static void lab_make(struct lab *l)
{
	char dir[512];
	const char *root = getenv("SOURCE_ROOT");
	struct fault fault = {0};
	*l = (struct lab){.f = fake_make()};
	(void)snprintf(dir, sizeof(dir), "%s/devices", root ? root : ".");
	struct types_env types_env = {l->f.mem};
	struct types_conf types_conf = {dir, NULL};
	ck_assert_int_eq(stats_new(l->f.mem, &l->stats), 0);
	ck_assert_int_eq(types_new(&types_env, &types_conf, &l->types), 0);
	ck_assert_msg(types_get(l->types, "asr9k", &l->type, &fault) == 0, "%s", fault.text);
	struct fleet_env fleet_env = {l->f.mem, l->f.clk, l->stats};
	struct fleet_conf fleet_conf = {1};
	ck_assert_int_eq(fleet_new(&fleet_env, &fleet_conf, &l->fleet), 0);
	l->env = (struct agent_env){l->f.mem, l->stats, l->fleet, make_socket, NULL};
}

static void lab_done(struct lab *l)
{
	fleet_free(l->fleet);
	type_unref(l->type);
	types_free(l->types);
	stats_free(l->stats);
	fake_done(&l->f);
}

static void add_devices(struct lab *l, const char *start, uint32_t n, uint16_t port)
{
	struct fleet_add add = {.conf = {.netmask_len = 32, .snmp_port = port},
		.count = n,
		.types = &l->type,
		.n_types = 1};
	struct fleet_added added = {0};
	ck_assert_int_eq(addr_parse(start, &add.start), 0);
	add.conf.netmask_len = addr_is_v4(&add.start) ? 32 : 128;
	ck_assert_int_eq(fleet_add_slice(l->fleet, &add, 0, n, &added), 0);
	ck_assert_uint_eq(added.created, n);
}

static struct agent *agent_make(struct lab *l, uint16_t workers)
{
	struct agent *a = NULL;
	struct agent_conf conf = {.workers = workers, .port = 0, .datagram_mtu = 1500};
	ck_assert_int_eq(agent_new(&l->env, &conf, &a), 0);
	ck_assert_int_eq(agent_start(a), 0);
	return a;
}

static int listen_at(struct agent *a, const char *text, uint16_t port)
{
	struct addr addr;
	struct fault fault = {0};
	ck_assert_int_eq(addr_parse(text, &addr), 0);
	int r = agent_listen(a, &addr, port, &fault);
	ck_assert_int_eq(fault.code, r);
	return r;
}

/* Connected: it hears only what comes from the address and port asked. */
static int client(const char *text, uint16_t port)
{
	struct addr a;
	struct sockaddr_storage sa;
	ck_assert_int_eq(addr_parse(text, &a), 0);
	socklen_t len = addr_to_sockaddr(&a, port, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

static void ask(int fd, int32_t id)
{
	/* GET sysUpTime.0, request-id of four octets */
	uint8_t q[] = {0x30, 41, 2, 1, 1, 4, 6, 'p', 'u', 'b', 'l', 'i', 'c', 0xa0, 28, 2, 4, 0, 0,
		0, 0, 2, 1, 0, 2, 1, 0, 0x30, 14, 0x30, 12, 6, 8, 0x2b, 6, 1, 2, 1, 1, 3, 0, 5, 0};
	for (int i = 0; i < 4; i++)
		q[17 + i] = (uint8_t)(id >> (24 - 8 * i));
	ck_assert_int_eq(send(fd, q, sizeof(q), 0), sizeof(q));
}

/* The request-id answered; -1 when nothing came. */
static int32_t hear(int fd, int timeout_ms)
{
	uint8_t buf[2000];
	struct pollfd p = {fd, POLLIN, 0};
	if (poll(&p, 1, timeout_ms) == 0)
		return -1;
	ssize_t n = recv(fd, buf, sizeof(buf), 0);
	ck_assert_int_gt(n, 0);
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	const uint8_t *community;
	size_t bytes;
	struct snmp_pdu pdu;
	ck_assert_int_eq(snmp_read_version(buf, (size_t)n, &version, &rest, &bad), 0);
	ck_assert_int_eq(snmp_read_community(&rest, &community, &bytes, &bad), 0);
	ck_assert_int_eq(snmp_read_pdu(&rest, version, &pdu, &bad), 0);
	ck_assert_int_eq(pdu.error_status, 0);
	ck_assert_uint_eq(pdu.bindings, 1);
	return pdu.request_id;
}

static bool answers(const char *addr, uint16_t port, int timeout_ms)
{
	int fd = client(addr, port);
	ask(fd, 4711);
	int32_t id = hear(fd, timeout_ms);
	close(fd);
	ck_assert(id == 4711 || id == -1);
	return id == 4711;
}

struct sum {
	const char *field;
	uint64_t value;
};
static void add_up(void *arg, const struct counter *c, const char *name UNUSED, uint64_t value)
{
	struct sum *s = arg;
	if (strcmp(c->field, s->field) == 0)
		s->value += value;
}
static uint64_t sum_of(struct lab *l, const char *field)
{
	struct sum s = {field, 0};
	stats_each(l->stats, add_up, &s);
	return s.value;
}

static void wait_for_sum(struct lab *l, const char *field, uint64_t want)
{
	for (int tries = 0; tries < 1000 && sum_of(l, field) < want; tries++)
		(void)poll(NULL, 0, 10);
	ck_assert_uint_eq(sum_of(l, field), want);
}

START_TEST(devices_answer_at_their_address_and_port)
{
	struct lab l;
	lab_make(&l);
	struct agent *a = agent_make(&l, 2), *other = agent_make(&l, 1);
	ck_assert_uint_eq(agent_port(a), 0);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", 0), 0);
	uint16_t port = agent_port(a);
	ck_assert_uint_ne(port, 0);
	ck_assert_int_eq(listen_at(a, "127.1.1.1", 0), 0); /* the same place and port */
	ck_assert_uint_eq(agent_port(a), port);
	ck_assert_int_eq(listen_at(other, "127.66.0.1", port), -EADDRINUSE);
	add_devices(&l, "127.66.0.1", 2, port);
	ck_assert(answers("127.66.0.1", port, 10000));
	ck_assert(answers("127.66.0.2", port, 10000));
	/* Another port, made while the workers run; a device has one port only. */
	ck_assert_int_eq(listen_at(other, "127.66.0.1", 0), 0);
	uint16_t second = agent_port(other);
	agent_free(other);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", second), 0);
	add_devices(&l, "127.66.1.1", 1, second);
	ck_assert(answers("127.66.1.1", second, 10000));
	uint64_t unknown = sum_of(&l, "unknown_device_datagrams");
	ck_assert_uint_eq(unknown, 0);
	ck_assert(!answers("127.66.1.1", port, 100));
	ck_assert(!answers("127.66.0.1", second, 100));
	ck_assert(!answers("127.66.0.3", port, 100));
	wait_for_sum(&l, "unknown_device_datagrams", 3);
	wait_for_sum(&l, "received_datagrams", 6);
	agent_free(a);
	lab_done(&l);
}
END_TEST

START_TEST(ipv6_devices)
{
	struct lab l;
	lab_make(&l);
	struct agent *a = agent_make(&l, 2);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", 0), 0);
	uint16_t port = agent_port(a);
	ck_assert_int_eq(listen_at(a, "::1", 0), 0);
	ck_assert_uint_eq(agent_port(a), port);
	add_devices(&l, "::1", 1, port);
	ck_assert(answers("::1", port, 10000));
	agent_free(a);
	lab_done(&l);
}
END_TEST

/* Many clients with many requests each: all are answered, by all workers together. */
START_TEST(nothing_is_lost)
{
	enum { CLIENTS = 40, ROUNDS = 40, BURST = 4 };
	struct lab l;
	lab_make(&l);
	struct agent *a = agent_make(&l, 3);
	ck_assert_uint_eq(agent_workers(a), 3);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", 0), 0);
	uint16_t port = agent_port(a);
	add_devices(&l, "127.66.0.1", CLIENTS, port);
	int fds[CLIENTS];
	for (int i = 0; i < CLIENTS; i++) {
		char text[32];
		(void)snprintf(text, sizeof(text), "127.66.0.%d", i + 1);
		fds[i] = client(text, port);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CLIENTS * BURST; i++)
			ask(fds[i % CLIENTS], i);
		for (int i = 0; i < CLIENTS * BURST; i++)
			ck_assert_int_eq(hear(fds[i % CLIENTS], 10000), i);
	}
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	agent_stop(a); /* the workers count after they sent */
	ck_assert_uint_eq(sum_of(&l, "received_datagrams"), CLIENTS * ROUNDS * BURST);
	ck_assert_uint_eq(sum_of(&l, "sent_datagrams"), CLIENTS * ROUNDS * BURST);
	ck_assert_uint_eq(sum_of(&l, "responses"), CLIENTS * ROUNDS * BURST);
	agent_free(a);
	lab_done(&l);
}
END_TEST

START_TEST(stop_and_start_again)
{
	struct lab l;
	lab_make(&l);
	struct agent *a = agent_make(&l, 2);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", 0), 0);
	uint16_t port = agent_port(a);
	add_devices(&l, "127.66.0.1", 1, port);
	ck_assert(answers("127.66.0.1", port, 10000));
	agent_stop(a);
	agent_stop(a);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", port), -ESHUTDOWN);
	ck_assert_int_eq(agent_start(a), 0);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", port), 0);
	ck_assert(answers("127.66.0.1", port, 10000));
	agent_free(a);
	lab_done(&l);
}
END_TEST

START_TEST(ports_have_a_limit)
{
	struct lab l;
	lab_make(&l);
	struct agent *a = agent_make(&l, 1);
	unsigned made = 0;
	/* Whatever others use is passed over. */
	for (unsigned port = 20000; port < 30000 && made < AGENT_PORTS_MAX; port++) {
		int r = listen_at(a, "127.66.0.1", (uint16_t)port);
		ck_assert(r == 0 || r == -EADDRINUSE);
		made += r == 0;
	}
	ck_assert_uint_eq(made, AGENT_PORTS_MAX);
	ck_assert_int_eq(listen_at(a, "127.66.0.1", 30001), -EMFILE);
	agent_free(a);
	lab_done(&l);
}
END_TEST

static int make(struct fake *f UNUSED, void *arg)
{
	struct lab *l = arg;
	struct agent_conf conf = {.workers = 2, .datagram_mtu = 1500};
	struct addr addr = addr_from_v4(0x7f420001);
	struct fault fault;
	AUTO(agent) struct agent *a = NULL;
	int r = agent_new(&l->env, &conf, &a);
	if (r == 0)
		r = agent_start(a);
	if (r == 0)
		r = agent_listen(a, &addr, 0, &fault);
	return r;
}

START_TEST(no_memory)
{
	struct lab l;
	lab_make(&l);
	ck_assert_int_eq(make(&l.f, &l), 0); /* the registry keeps the tables it has seen */
	fake_fail_each(&l.f, make, &l);
	lab_done(&l);
}
END_TEST

UNIT_MAIN(devices_answer_at_their_address_and_port, ipv6_devices, nothing_is_lost,
	stop_and_start_again, ports_have_a_limit, no_memory)
