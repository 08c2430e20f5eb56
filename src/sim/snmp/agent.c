#include "sim/snmp/agent.h"
#include "base/label.h"
#include "base/rcu.h"
#include "base/thread.h"
#include "base/waits.h"
#include "net/udp.h"
#include "sim/snmp/set_queue.h"
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* Bytes of IP and UDP header in a datagram. */
#define HEADERS_V4 28
#define HEADERS_V6 48
/* Batches from one socket before the others get their turn. */
#define BATCHES_PER_TURN 16
#define STOP UINT64_MAX /* epoll data of the stop eventfd */

struct agent_worker {
	struct agent *agent;
	struct udp_batch *batch;
	struct responder *responder;
	struct thread *thread;
	int epoll_fd;
	char name[16];
	uint64_t received_datagrams, sent_datagrams, unknown_device_datagrams, cut_datagrams;
	uint64_t refused_full_datagrams, refused_unreachable_datagrams, refused_too_long_datagrams;
	uint64_t refused_forbidden_datagrams, refused_other_datagrams;
	uint64_t receive_errors;
};
enum place { PLACE_LOOPBACK, PLACE_V4, PLACE_V6 };
struct listener {
	enum place place;
	uint16_t port;
	bool served; /* every worker waits on its socket */
	int *fds;    /* one a worker */
};
struct agent {
	struct agent_env env;
	struct agent_conf conf;
	struct set_queue *sets; /* NULL: without a keeper */
	unsigned n_workers;
	struct agent_worker *workers;
	uint64_t salt;	  /* of SNMPv3, another at each start */
	int stop_fd;	  /* -1: not started */
	struct lock lock; /* of what follows */
	unsigned n_listeners;
	struct listener listeners[AGENT_PORTS_MAX];
	uint16_t port; /* atomic: read without the lock */
};
const struct flag agent_flags[] = {
	FLAG_U16(struct agent_conf, port, "snmp-port", 161, 0, 65535,
		"UDP `PORT` of the SNMP agents; 0 picks a free one"),
	FLAG_SECRET(struct agent_conf, community, "snmp-community", NULL,
		"Answer SNMPv1 and v2c requests of this `COMMUNITY` only; any if not given"),
	FLAG_U16(struct agent_conf, datagram_mtu, "datagram-mtu", 1500, 576, 65535,
		"Longest IP packet of a response in `BYTES`"),
	FLAG_U16(struct agent_conf, workers, "workers", 0, 0, AGENT_WORKERS_MAX,
		"SNMP worker threads; 0 is one for each core"),
	{0},
};
#define REFUSED(field, why) \
	COUNTER(struct agent_worker, field, "Responses that the kernel refused to send: " why)
const struct counter agent_counters[] = {
	COUNTER(struct agent_worker, received_datagrams, "Datagrams received"),
	COUNTER(struct agent_worker, sent_datagrams, "Responses sent"),
	COUNTER(struct agent_worker, unknown_device_datagrams,
		"Datagrams dropped as no device has the address and port"),
	COUNTER(struct agent_worker, cut_datagrams,
		"Datagrams dropped as too long to be received whole"),
	REFUSED(refused_full_datagrams, "no room to send"),
	REFUSED(refused_unreachable_datagrams, "peer unreachable or address gone"),
	REFUSED(refused_too_long_datagrams, "too long"),
	REFUSED(refused_forbidden_datagrams, "forbidden by a firewall"),
	REFUSED(refused_other_datagrams, "any other reason"),
	COUNTER(struct agent_worker, receive_errors, "Errors of receiving"),
	{0},
};

static unsigned cores(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)MAX(CPU_COUNT(&set), 1);
}

struct from { /* a datagram of the batch */
	int fd;
	unsigned i;
};
static int take_set(void *arg, const struct respond_ask *ask, const struct snmp_pdu *pdu)
{
	const struct agent_worker *w = arg;
	const struct from *from = ask->from;
	struct set_from set = {.fd = from->fd};
	udp_peer(w->batch, from->i, &set.peer, &set.peer_port);
	return set_queue_take(w->agent->sets, &set, ask, pdu);
}

static int worker_init(struct agent_worker *w, struct agent *a, unsigned i)
{
	const struct agent_env *env = &a->env;
	uint32_t max_bytes = a->conf.datagram_mtu - HEADERS_V4;
	w->agent = a;
	w->epoll_fd = -1;
	(void)snprintf(w->name, sizeof(w->name), "snmp-%u", i);
	struct responder_env responder_env = {env->mem, env->stats, a->sets ? take_set : NULL, w};
	struct responder_conf responder_conf = {
		a->conf.community, max_bytes, a->salt + ((uint64_t)i << 48)};
	int r = udp_batch_new(env->mem, UDP_DATAGRAM_BYTES, RESPOND_ROOM(max_bytes), &w->batch);
	if (r == 0)
		r = responder_new(&responder_env, &responder_conf, w->name, &w->responder);
	if (r == 0)
		r = stats_attach(env->stats, agent_counters, w->name, w);
	return r;
}

int agent_new(const struct agent_env *env, const struct agent_conf *conf, struct agent **ret_agent)
{
	AUTO(agent) struct agent *a = mem_zalloc(env->mem, sizeof(*a));
	if (!a)
		return -ENOMEM;
	lock_init(&a->lock);
	a->env = *env;
	a->conf = *conf;
	a->port = conf->port;
	a->stop_fd = -1;
	if (getrandom(&a->salt, sizeof(a->salt), 0) != sizeof(a->salt))
		return -EIO;
	if (env->keeper) {
		struct set_queue_env set_env = {
			env->mem, env->stats, env->fleet, env->keeper, env->store};
		struct responder_conf responder_conf = {conf->community,
			conf->datagram_mtu - HEADERS_V4,
			a->salt + ((uint64_t)AGENT_WORKERS_MAX << 48)};
		int r = set_queue_new(&set_env, &responder_conf, &a->sets);
		if (r < 0)
			return r;
	}
	unsigned n = conf->workers ? conf->workers : MIN(cores(), AGENT_WORKERS_MAX + 0u);
	a->workers = mem_array(env->mem, n, sizeof(*a->workers));
	if (!a->workers)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		a->n_workers++;
		int r = worker_init(&a->workers[i], a, i);
		if (r < 0)
			return r;
	}
	*ret_agent = TAKE(a);
	return 0;
}

struct agent *agent_free(struct agent *a)
{
	if (!a)
		return NULL;
	agent_stop(a);
	for (unsigned i = 0; i < a->n_workers; i++) {
		struct agent_worker *w = &a->workers[i];
		stats_detach(a->env.stats, w);
		responder_free(w->responder);
		udp_batch_free(w->batch);
	}
	(void)set_queue_free(a->sets);
	mem_free(a->env.mem, a->workers);
	lock_done(&a->lock);
	return mem_free(a->env.mem, a);
}

/* In three passes, so that the rows of a batch come from memory side by side, not one by one. */
static void answer_batch(struct agent_worker *w, int fd, unsigned n, uint16_t port)
{
	const struct fleet *fleet = w->agent->env.fleet;
	uint64_t now_ns = fleet_now_ns(fleet);
	RCU_SCOPE;
	for (unsigned i = 0; i < n; i++)
		fleet_prefetch_slot(fleet, &udp_in(w->batch, i)->local);
	for (unsigned i = 0; i < n; i++)
		fleet_prefetch_row(fleet, &udp_in(w->batch, i)->local);
	for (unsigned i = 0; i < n; i++) {
		const struct udp_in *in = udp_in(w->batch, i);
		if (UNLIKELY(in->cut)) {
			stat_add(&w->cut_datagrams, 1);
			continue;
		}
		const struct device *d = fleet_find(fleet, &in->local);
		if (UNLIKELY(!d || d->conf->snmp_port != port)) {
			stat_add(&w->unknown_device_datagrams, 1);
			continue;
		}
		size_t room;
		const uint8_t *p;
		struct from from = {fd, i};
		struct respond_ask ask = {.dev = d,
			.now_ns = now_ns,
			.p = in->p,
			.len = in->len,
			.max_bytes = w->agent->conf.datagram_mtu -
				     (addr_is_v4(&in->local) ? HEADERS_V4 : HEADERS_V6),
			.out = udp_out(w->batch, i, &room),
			.from = &from};
		size_t bytes = respond(w->responder, &ask, &p);
		if (LIKELY(bytes > 0))
			udp_reply(w->batch, i, p, bytes);
	}
}

static void serve(struct agent_worker *w, int fd, uint16_t port)
{
	for (unsigned turn = 0; turn < BATCHES_PER_TURN; turn++) {
		int n = udp_recv(w->batch, fd);
		if (n < 0) {
			stat_add(&w->receive_errors, n != -EAGAIN);
			return;
		}
		stat_add(&w->received_datagrams, (unsigned)n);
		answer_batch(w, fd, (unsigned)n, port);
		struct udp_sent s;
		udp_send(w->batch, fd, &s);
		stat_add(&w->sent_datagrams, s.sent);
		stat_add(&w->refused_full_datagrams, s.refused[UDP_REFUSED_FULL]);
		stat_add(&w->refused_unreachable_datagrams, s.refused[UDP_REFUSED_UNREACHABLE]);
		stat_add(&w->refused_too_long_datagrams, s.refused[UDP_REFUSED_TOO_LONG]);
		stat_add(&w->refused_forbidden_datagrams, s.refused[UDP_REFUSED_FORBIDDEN]);
		stat_add(&w->refused_other_datagrams, s.refused[UDP_REFUSED_OTHER]);
		if (n < UDP_BATCH) /* most likely drained; epoll tells if not */
			return;
	}
}

/* A socket in the epoll set is told by its descriptor and its port: no table that another thread
 * writes. It is closed only after the worker has ended. */
static void worker_run(void *arg)
{
	struct agent_worker *w = arg;
	struct epoll_event events[16];
	for (;;) {
		int n = wait_epoll(w->epoll_fd, events, ARRAY_SIZE(events), -1);
		for (int i = 0; i < n; i++) {
			uint64_t data = events[i].data.u64;
			if (data == STOP)
				return;
			serve(w, (int)(data >> 16), (uint16_t)data);
		}
	}
}

static int worker_start(struct agent_worker *w)
{
	struct epoll_event stop = {.events = EPOLLIN, .data.u64 = STOP};
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0 || epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->agent->stop_fd, &stop) < 0)
		return -errno;
	struct thread_conf conf = {.label = &label_snmp, .run = worker_run, .arg = w};
	memcpy(conf.name, w->name, sizeof(conf.name));
	return thread_start(w->agent->env.mem, &conf, &w->thread);
}

int agent_start(struct agent *a)
{
	assert(a->stop_fd < 0);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	lock_take(&a->lock);
	a->stop_fd = fd;
	lock_drop(&a->lock);
	int r = 0;
	for (unsigned i = 0; i < a->n_workers && r == 0; i++)
		r = worker_start(&a->workers[i]);
	if (r < 0)
		agent_stop(a);
	return r;
}

static void listener_close(struct agent *a, struct listener *l)
{
	for (unsigned i = 0; i < a->n_workers; i++)
		if (l->fds[i] >= 0)
			(void)close(l->fds[i]);
	l->fds = mem_free(a->env.mem, l->fds);
}

void agent_stop(struct agent *a)
{
	LOCK_SCOPE(&a->lock);
	if (a->stop_fd < 0)
		return;
	(void)eventfd_write(a->stop_fd, 1); /* cannot be full: written once */
	for (unsigned i = 0; i < a->n_workers; i++) {
		struct agent_worker *w = &a->workers[i];
		w->thread = thread_join(w->thread);
		if (w->epoll_fd >= 0)
			(void)close(w->epoll_fd);
		w->epoll_fd = -1;
	}
	for (unsigned i = 0; i < a->n_listeners; i++)
		listener_close(a, &a->listeners[i]);
	a->n_listeners = 0;
	(void)close(a->stop_fd);
	a->stop_fd = -1;
}

static enum place place_of(const struct addr *a)
{
	if (!addr_is_v4(a))
		return PLACE_V6;
	return addr_is_loopback(a) ? PLACE_LOOPBACK : PLACE_V4;
}

static int bound_port(int fd, uint16_t *ret_port)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct addr any;
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	return addr_from_sockaddr((struct sockaddr *)&sa, &any, ret_port);
}

/* Does this process hold the port in another place of the family? Both are the same network where
 * there is no namespace, so the second must join what the first holds. */
static bool held_elsewhere(const struct agent *a, enum place place, uint16_t port)
{
	for (unsigned i = 0; i < a->n_listeners; i++)
		if (a->listeners[i].port == port && place != PLACE_V6 &&
			a->listeners[i].place != PLACE_V6)
			return true;
	return false;
}

static int open_sockets(
	struct agent *a, const struct addr *addr, struct listener *l, struct fault *reterr_fault)
{
	const struct agent_env *env = &a->env;
	int r = env->udp_socket(env->arg, addr, l->port, false, &l->fds[0], reterr_fault);
	if (r == -EADDRINUSE && held_elsewhere(a, l->place, l->port))
		r = env->udp_socket(env->arg, addr, l->port, true, &l->fds[0], reterr_fault);
	if (r == 0)
		r = bound_port(l->fds[0], &l->port);
	for (unsigned i = 1; i < a->n_workers && r == 0; i++)
		r = env->udp_socket(env->arg, addr, l->port, true, &l->fds[i], reterr_fault);
	return r;
}

/* Gives each worker its socket; does no harm to those that have theirs. */
static int serve_sockets(struct agent *a, struct listener *l, struct fault *reterr_fault)
{
	for (unsigned i = 0; i < a->n_workers; i++) {
		struct epoll_event ev = {
			.events = EPOLLIN, .data.u64 = (uint64_t)l->fds[i] << 16 | l->port};
		if (epoll_ctl(a->workers[i].epoll_fd, EPOLL_CTL_ADD, l->fds[i], &ev) < 0 &&
			errno != EEXIST)
			return fault_set(reterr_fault, -errno, "", "",
				"cannot wait for datagrams on UDP port %u: %s", l->port,
				strerror(errno));
	}
	l->served = true;
	return 0;
}

static struct listener *listener_find(struct agent *a, enum place place, uint16_t port)
{
	for (unsigned i = 0; i < a->n_listeners; i++)
		if (a->listeners[i].place == place && a->listeners[i].port == port)
			return &a->listeners[i];
	return NULL;
}

static int listener_add(struct agent *a, const struct addr *addr, uint16_t port,
	struct listener **ret_listener, struct fault *reterr_fault)
{
	struct listener l = {.place = place_of(addr), .port = port};
	if (a->n_listeners == AGENT_PORTS_MAX)
		return fault_set(reterr_fault, -EMFILE, "", "a port that devices use already",
			"all %d ports for SNMP agents are in use", AGENT_PORTS_MAX);
	l.fds = mem_array(a->env.mem, a->n_workers, sizeof(*l.fds));
	if (!l.fds)
		return fault_set(reterr_fault, -ENOMEM, "", "", "out of memory");
	memset(l.fds, 0xff, a->n_workers * sizeof(*l.fds)); /* -1: none */
	int r = open_sockets(a, addr, &l, reterr_fault);
	if (r < 0) {
		listener_close(a, &l);
		return r;
	}
	a->listeners[a->n_listeners] = l;
	*ret_listener = &a->listeners[a->n_listeners++];
	return 0;
}

int agent_listen(
	struct agent *a, const struct addr *addr, uint16_t port, struct fault *reterr_fault)
{
	LOCK_SCOPE(&a->lock);
	if (a->stop_fd < 0)
		return fault_set(reterr_fault, -ESHUTDOWN, "", "", "the SNMP agents are stopped");
	uint16_t wanted = port ? port : a->port;
	struct listener *l = listener_find(a, place_of(addr), wanted);
	if (!l) {
		int r = listener_add(a, addr, wanted, &l, reterr_fault);
		if (r < 0)
			return r;
	}
	if (!l->served) {
		/* One that fails here stays for the next try: a worker may have been told of its
		 * socket, so that only agent_stop may close it. */
		int r = serve_sockets(a, l, reterr_fault);
		if (r < 0)
			return r;
	}
	if (port == 0)
		__atomic_store_n(&a->port, l->port, __ATOMIC_RELAXED);
	return 0;
}

uint16_t agent_port(const struct agent *a)
{
	return __atomic_load_n(&a->port, __ATOMIC_RELAXED);
}

unsigned agent_workers(const struct agent *a)
{
	return a->n_workers;
}
