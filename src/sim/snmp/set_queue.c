#include "sim/snmp/set_queue.h"
#include "base/rcu.h"
#include "base/rnd.h"
#include "base/thread.h"
#include "net/udp.h"
#include "sim/snmp/set.h"
#include <errno.h>
#include <string.h>

#define BUCKETS 4096u /* a power of two */

struct parked {
	struct change change;
	struct set_queue *queue;
	struct parked *next; /* of the bucket */
	uint64_t hash;
	struct set_from from;
	struct addr local;
	uint64_t boot_ns; /* which device had the address */
	size_t max_bytes;
	struct respond_set result;
	size_t len, list_bytes;
	uint8_t bytes[]; /* the datagram, then its bindings: those of a scoped PDU are decrypted */
};
struct set_queue {
	struct set_queue_env env;
	struct responder *responder; /* the keeper thread's */
	uint8_t *out;
	struct lock lock; /* of what follows */
	uint32_t n;
	struct parked *bucket[BUCKETS];
	/* Counters: the first three under the lock, the rest is the keeper's. */
	uint64_t taken_requests, repeated_requests, refused_requests;
	uint64_t committed_requests, failed_requests, sent_answers, unsent_answers;
};
const struct counter set_queue_counters[] = {
	COUNTER(struct set_queue, taken_requests, "SET requests taken to be carried out"),
	COUNTER(struct set_queue, repeated_requests,
		"SET requests dropped as they waited already: retransmissions"),
	COUNTER(struct set_queue, refused_requests, "SET requests dropped as too many waited"),
	COUNTER(struct set_queue, committed_requests, "SET requests carried out"),
	COUNTER(struct set_queue, failed_requests, "SET requests answered with an error"),
	COUNTER(struct set_queue, sent_answers, "Answers to SET requests sent"),
	COUNTER(struct set_queue, unsent_answers,
		"Answers to SET requests that the kernel refused to send"),
	{0},
};

int set_queue_new(const struct set_queue_env *env, const struct responder_conf *conf,
	struct set_queue **ret_queue)
{
	AUTO(set_queue) struct set_queue *q = mem_zalloc(env->mem, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->env = *env;
	lock_init(&q->lock);
	q->out = mem_alloc(env->mem, RESPOND_ROOM(conf->max_bytes));
	if (!q->out)
		return -ENOMEM;
	struct responder_env responder_env = {.mem = env->mem, .stats = env->stats};
	int r = responder_new(&responder_env, conf, "keeper", &q->responder);
	if (r == 0)
		r = stats_attach(env->stats, set_queue_counters, NULL, q);
	if (r < 0)
		return r;
	*ret_queue = TAKE(q);
	return 0;
}

struct set_queue *set_queue_free(struct set_queue *q)
{
	if (!q)
		return NULL;
	stats_detach(q->env.stats, q);
	responder_free(q->responder);
	mem_free(q->env.mem, q->out);
	lock_done(&q->lock);
	return mem_free(q->env.mem, q);
}

static uint64_t hash_of(const struct set_from *from, const struct respond_ask *ask)
{
	uint64_t h = rnd_mix(from->peer_port + ask->len);
	for (unsigned i = 0; i < 16; i++)
		h = (h ^ from->peer.b[i] ^ (uint64_t)ask->dev->addr.b[i] << 8) *
		    0x9e3779b97f4a7c15ull;
	for (size_t i = 0; i < ask->len; i++)
		h = (h ^ ask->p[i]) * 0x100000001b3ull;
	return rnd_mix(h);
}

static bool is_same(const struct parked *p, uint64_t hash, const struct set_from *from,
	const struct respond_ask *ask)
{
	return p->hash == hash && p->len == ask->len && p->from.peer_port == from->peer_port &&
	       addr_eq(&p->from.peer, &from->peer) && addr_eq(&p->local, &ask->dev->addr) &&
	       memcmp(p->bytes, ask->p, ask->len) == 0;
}

/* Parks it, unless the same waits or there is no room. */
static int park(struct set_queue *q, struct parked *p, const struct set_from *from,
	const struct respond_ask *ask)
{
	LOCK_SCOPE(&q->lock);
	struct parked **at = &q->bucket[p->hash & (BUCKETS - 1)];
	for (const struct parked *o = *at; o; o = o->next)
		if (is_same(o, p->hash, from, ask)) {
			stat_add(&q->repeated_requests, 1);
			return -EALREADY;
		}
	if (q->n >= SET_QUEUE_ROOM) {
		stat_add(&q->refused_requests, 1);
		return -EAGAIN;
	}
	q->n++;
	p->next = *at;
	*at = p;
	stat_add(&q->taken_requests, 1);
	return 0;
}

static void unpark(struct set_queue *q, struct parked *p)
{
	LOCK_SCOPE(&q->lock);
	struct parked **at = &q->bucket[p->hash & (BUCKETS - 1)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	q->n--;
}

static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct parked *p = CONTAINER_OF(c, struct parked, change);
	if (!d || d->boot_ns != p->boot_ns)
		return -ENOENT;
	struct set_ask ask = {d, p->bytes + p->len, p->list_bytes, p->queue->env.store};
	p->result.index = 0;
	p->result.error = set_apply(k, &ask, &p->result.index);
	return 0;
}

static void answer(struct set_queue *q, const struct parked *p)
{
	const uint8_t *from;
	RCU_SCOPE;
	const struct device *d = fleet_find(q->env.fleet, &p->local);
	if (!d || d->boot_ns != p->boot_ns)
		return;
	struct respond_ask ask = {.dev = d,
		.now_ns = fleet_now_ns(q->env.fleet),
		.p = p->bytes,
		.len = p->len,
		.max_bytes = p->max_bytes,
		.out = q->out,
		.set = &p->result};
	size_t n = respond(q->responder, &ask, &from);
	bool sent = n > 0 && udp_send_one(p->from.fd, &p->local, &p->from.peer, p->from.peer_port,
				     from, n) == 0;
	stat_add(sent ? &q->sent_answers : &q->unsent_answers, 1);
}

static void done(struct change *c, int r)
{
	struct parked *p = CONTAINER_OF(c, struct parked, change);
	struct set_queue *q = p->queue;
	if (r < 0 && r != -ENOENT)
		p->result = (struct respond_set){set_error_of(r), 0};
	stat_add(r < 0 || p->result.error ? &q->failed_requests : &q->committed_requests, 1);
	/* Of a device that is gone nobody answers. */
	if (r != -ENOENT)
		answer(q, p);
	unpark(q, p);
	mem_free(q->env.mem, p);
}

int set_queue_take(struct set_queue *q, const struct set_from *from, const struct respond_ask *ask,
	const struct snmp_pdu *pdu)
{
	struct parked *p = mem_alloc(q->env.mem, sizeof(*p) + ask->len + pdu->list_bytes);
	if (!p)
		return -ENOMEM;
	*p = (struct parked){.change = {.addr = ask->dev->addr, .apply = apply, .done = done},
		.queue = q,
		.hash = hash_of(from, ask),
		.from = *from,
		.local = ask->dev->addr,
		.boot_ns = ask->dev->boot_ns,
		.max_bytes = ask->max_bytes,
		.len = ask->len,
		.list_bytes = pdu->list_bytes};
	memcpy(p->bytes, ask->p, ask->len);
	memcpy(p->bytes + ask->len, pdu->list, pdu->list_bytes);
	int r = park(q, p, from, ask);
	if (r == 0) {
		r = keeper_submit(q->env.keeper, &p->change);
		if (r < 0)
			unpark(q, p);
	}
	if (r < 0)
		mem_free(q->env.mem, p);
	return r;
}
