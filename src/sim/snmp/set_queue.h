/* SETs on their way through the keeper: a request is parked until what it asks for is kept, its
 * retransmissions are dropped meanwhile, and its answer leaves from the socket that it came by. No
 * other answer waits. Several threads. */
#pragma once
#include "sim/fleet/keeper.h"
#include "sim/snmp/respond.h"

#define SET_QUEUE_ROOM 16384u /* requests parked at a time */

struct store;
struct set_queue;
struct set_queue_env { /* borrowed */
	const struct mem *mem;
	struct stats *stats;
	struct fleet *fleet;
	struct keeper *keeper;
	struct store *store; /* NULL: nothing survives */
};
extern const struct counter set_queue_counters[];
/* conf: of the responders whose requests it takes. -ENOMEM. */
MUST_CHECK int set_queue_new(const struct set_queue_env *env, const struct responder_conf *conf,
	struct set_queue **ret_queue);
struct set_queue *set_queue_free(struct set_queue *q); /* after keeper_stop */
CLEANUP(set_queue);

struct set_from { /* where the request came from, and its answer goes */
	int fd;	  /* stays open until the keeper has stopped */
	struct addr peer;
	uint16_t peer_port;
};
/* Takes a request that the device admits. Any thread; copies what it needs. -EALREADY: it waits
 * already; -EAGAIN: too many wait; -ENOMEM, -ESHUTDOWN. Then the datagram is to be dropped: a
 * manager tries again. */
MUST_CHECK int set_queue_take(struct set_queue *q, const struct set_from *from,
	const struct respond_ask *ask, const struct snmp_pdu *pdu);
