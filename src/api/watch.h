/* Keeps an eye on the connections of the HTTP server, on a thread of its own: who is over the
 * deadline is shut down, who leaves while parked is told. (libmicrohttpd's timeout is of inactivity
 * only, and it does not look at a suspended connection at all.) */
#pragma once
#include "api/later.h"
#include "base/attr.h"
#include "base/clk.h"
#include "base/mem.h"
#include "base/stats.h"
#include <stdint.h>

enum watch_phase {
	WATCH_IDLE,    /* between requests: idle_ns to the first byte, then receive_ns */
	WATCH_RECEIVE, /* receive_ns for the whole request */
	WATCH_WORK,    /* no deadline; later is woken when the client leaves */
	WATCH_SEND     /* send_ns, and more by what the client has taken */
};
struct watch;
struct watched;	   /* one connection; owned by the watch between add and del */
struct watch_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
};
struct watch_conf {
	uint64_t idle_ns, receive_ns, send_ns;
	uint32_t send_bytes_per_s; /* the slowest rate that keeps a long answer alive */
};
extern const struct counter watch_counters[];

MUST_CHECK int watch_new(
	const struct watch_env *env, const struct watch_conf *conf, struct watch **ret_watch);
struct watch *watch_free(struct watch *w);
CLEANUP(watch);
MUST_CHECK int watch_start(struct watch *w);
void watch_stop(struct watch *w); /* no connection may be left */

/* The rest is called by the server's thread. fd is borrowed until watch_del. -ENOMEM. */
MUST_CHECK int watch_add(struct watch *w, int fd, struct watched **ret_c);
void watch_del(struct watch *w, struct watched *c); /* takes NULL */
/* Enters a phase now. later: only with WATCH_WORK, may be NULL; a reference is taken. */
void watch_enter(struct watch *w, struct watched *c, enum watch_phase phase, struct later *later);
/* Wakes all that are parked, as gone. */
void watch_wake_all(struct watch *w);
