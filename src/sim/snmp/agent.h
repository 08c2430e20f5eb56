/* The SNMP agents of the whole fleet: one worker thread a core, each with a socket of its own for
 * every port and place that the fleet uses. A datagram is answered if the address it was sent to is
 * a device whose SNMP port is the socket's. */
#pragma once
#include "base/addr.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include "sim/fleet/fleet.h"

struct keeper;
struct store;

struct agent;
struct agent_env { /* borrowed */
	const struct mem *mem;
	struct stats *stats;
	struct fleet *fleet;
	/* A socket as lab_udp_socket makes it: bound to any address of a's family and to port (0:
	 * the kernel picks) in the place where a lives, packet info on, not blocking. join: others
	 * of this process hold the port already; else nobody may. Called by any thread. */
	int (*udp_socket)(void *arg, const struct addr *a, uint16_t port, bool join, int *ret_fd,
		struct fault *reterr_fault);
	void *arg;
	struct keeper *keeper; /* carries SETs out; NULL: nothing can be set */
	struct store *store;   /* keeps them; NULL: nothing survives */
};
struct agent_conf {
	uint16_t workers;      /* 0: as many as cores this process may use */
	uint16_t port;	       /* of devices that name none; 0: the first agent_listen picks */
	uint16_t datagram_mtu; /* bytes of an IP packet, 576..65535 */
	const char *community; /* borrowed; NULL or empty: any */
};
#define AGENT_WORKERS_MAX 256
#define AGENT_PORTS_MAX 256 /* ports times places */
extern const struct flag agent_flags[];
extern const struct counter agent_counters[];

MUST_CHECK int agent_new(
	const struct agent_env *env, const struct agent_conf *conf, struct agent **ret_agent);
struct agent *agent_free(struct agent *a); /* stops first */
CLEANUP(agent);
/* Starts the workers; they serve nothing until agent_listen. -ENOMEM, -EAGAIN, -EMFILE. */
MUST_CHECK int agent_start(struct agent *a);
/* Joins the workers and closes every socket; a started again agent listens nowhere. */
void agent_stop(struct agent *a);

/* Makes every worker serve port (0: that of agent_port) in the place where addr lives: 127/8, other
 * IPv4, IPv6. Does nothing when they do already. Any thread, also while workers run.
 * -ESHUTDOWN: not started; -EMFILE: more than AGENT_PORTS_MAX; else what udp_socket said. */
MUST_CHECK int agent_listen(
	struct agent *a, const struct addr *addr, uint16_t port, struct fault *reterr_fault);
/* The port of devices that name none; 0 while conf's was 0 and nothing listened. Any thread. */
uint16_t agent_port(const struct agent *a);
unsigned agent_workers(const struct agent *a);
