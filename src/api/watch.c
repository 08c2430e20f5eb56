#include "api/watch.h"
#include "base/thread.h"
#include "base/waits.h"
#include "base/wheel.h"
#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_NS (10 * NS_PER_MS)
/* How often an idle connection is asked whether a request has begun to come. */
#define IDLE_LOOK_NS (250 * NS_PER_MS)

/* Bytes that came in over the connection, and bytes the client's side has taken; 0 when the kernel
 * does not tell. */
struct moved {
	uint64_t in, out;
};
struct watched {
	struct watch *watch;
	struct watched *next, **prev;
	struct wheel_timer timer; /* armed but in WATCH_WORK, or when cut */
	uint64_t id;		  /* never used again, unlike the descriptor */
	int fd;
	enum watch_phase phase;
	bool cut, armed;
	uint64_t deadline_ns;
	struct moved moved; /* when the phase began */
	struct later *later;
};
struct watch {
	struct watch_env env;
	struct watch_conf conf;
	struct lock lock;
	struct watched *all;
	struct wheel *wheel;
	uint64_t wakes_ns; /* when the thread looks at the wheel by itself */
	uint64_t last_id;
	int epoll_fd, wake_fd;
	bool stopping;
	struct thread *thread;
	uint64_t connections; /* writer: the server's thread; the rest: the watch's thread */
	uint64_t idle_timeouts, receive_timeouts, send_timeouts, left_clients;
};
const struct counter watch_counters[] = {
	GAUGE(struct watch, connections, "Open connections of the API"),
	COUNTER(struct watch, idle_timeouts, "Connections closed for want of a request"),
	COUNTER(struct watch, receive_timeouts,
		"Connections closed for a request that took too long"),
	COUNTER(struct watch, send_timeouts, "Connections closed for an answer read too slowly"),
	COUNTER(struct watch, left_clients, "Clients that left before their answer was ready"),
	{0},
};

int watch_new(const struct watch_env *env, const struct watch_conf *conf, struct watch **ret_watch)
{
	AUTO(watch) struct watch *w = mem_zalloc(env->mem, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->env = *env;
	w->conf = *conf;
	w->epoll_fd = w->wake_fd = -1;
	lock_init(&w->lock);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->wake_fd = w->epoll_fd < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0)
		return -errno;
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0};
	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &ev) < 0)
		return -errno;
	int r = wheel_new(env->mem, TICK_NS, clk_ns(env->clk), &w->wheel);
	if (r == 0)
		r = stats_attach(env->stats, watch_counters, NULL, w);
	if (r < 0)
		return r;
	*ret_watch = TAKE(w);
	return 0;
}

struct watch *watch_free(struct watch *w)
{
	if (!w)
		return NULL;
	watch_stop(w);
	stats_detach(w->env.stats, w);
	w->wheel = wheel_free(w->wheel);
	if (w->epoll_fd >= 0)
		(void)close(w->epoll_fd);
	if (w->wake_fd >= 0)
		(void)close(w->wake_fd);
	lock_done(&w->lock);
	return mem_free(w->env.mem, w);
}

static struct moved moved_bytes(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return (struct moved){0};
	return (struct moved){info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

/* Shuts the connection down; libmicrohttpd then closes it. */
static void cut(struct watched *c, uint64_t *counter)
{
	stat_add(counter, 1);
	c->cut = true;
	(void)shutdown(c->fd, SHUT_RDWR);
}

static void wake(struct watch *w)
{
	uint64_t one = 1;
	(void)!write(w->wake_fd, &one, sizeof(one));
}

/* Looks at the connection again, at the deadline or before; the lock is held. */
static void arm(struct watch *w, struct watched *c, uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t at_ns = deadline_ns;
	if (c->phase == WATCH_IDLE)
		at_ns = MIN(at_ns, now_ns + IDLE_LOOK_NS);
	wheel_arm(w->wheel, &c->timer, at_ns);
	if (at_ns >= w->wakes_ns)
		return;
	w->wakes_ns = 0; /* it is on its way */
	wake(w);
}

static void look_at(void *arg)
{
	struct watched *c = arg;
	struct watch *w = c->watch;
	uint64_t now_ns = clk_ns(w->env.clk), deadline_ns = c->deadline_ns;
	struct moved now = moved_bytes(c->fd);
	if (c->phase == WATCH_IDLE && now.in > c->moved.in) {
		c->phase = WATCH_RECEIVE;
		deadline_ns = c->deadline_ns = now_ns + w->conf.receive_ns;
	}
	if (c->phase == WATCH_SEND)
		deadline_ns += (now.out - c->moved.out) * NS_PER_SEC / w->conf.send_bytes_per_s;
	if (now_ns < deadline_ns)
		arm(w, c, now_ns, deadline_ns);
	else
		cut(c, c->phase == WATCH_IDLE	    ? &w->idle_timeouts
			: c->phase == WATCH_RECEIVE ? &w->receive_timeouts
						    : &w->send_timeouts);
}

/* The client of connection id has left: its later, with a reference, or NULL. */
static struct later *leaver(struct watch *w, uint64_t id)
{
	LOCK_SCOPE(&w->lock);
	for (struct watched *c = w->all; c; c = c->next) {
		if (c->id != id)
			continue;
		if (c->phase != WATCH_WORK || !c->later)
			return NULL;
		stat_add(&w->left_clients, 1);
		return later_ref(c->later);
	}
	return NULL;
}

/* Waits for events, at most until the time given, and sees to those who left. */
static void wait_until(struct watch *w, uint64_t until_ns)
{
	struct epoll_event events[16];
	uint64_t now_ns = clk_ns(w->env.clk), ms = 0;
	if (until_ns > now_ns)
		ms = MIN((until_ns - now_ns) / NS_PER_MS + 1, (uint64_t)INT_MAX);
	int n = wait_epoll(
		w->epoll_fd, events, ARRAY_SIZE(events), until_ns == UINT64_MAX ? -1 : (int)ms);
	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == 0) {
			uint64_t count;
			(void)!read(w->wake_fd, &count, sizeof(count));
			continue;
		}
		struct later *l = leaver(w, events[i].data.u64);
		if (l)
			later_wake(l, true);
		(void)later_unref(l);
	}
}

static void watch_run(void *arg)
{
	struct watch *w = arg;
	for (uint64_t until_ns = 0;;) {
		wait_until(w, until_ns);
		LOCK_SCOPE(&w->lock);
		if (w->stopping)
			return;
		w->wakes_ns = 0; /* who arms in the run need not wake us */
		wheel_run(w->wheel, clk_ns(w->env.clk));
		until_ns = w->wakes_ns = wheel_next_ns(w->wheel);
	}
}

int watch_start(struct watch *w)
{
	w->stopping = false;
	struct thread_conf conf = {.name = "api-watch", .run = watch_run, .arg = w};
	return thread_start(w->env.mem, &conf, &w->thread);
}

void watch_stop(struct watch *w)
{
	if (!w->thread)
		return;
	lock_take(&w->lock);
	w->stopping = true;
	lock_drop(&w->lock);
	wake(w);
	w->thread = thread_join(w->thread);
}

int watch_add(struct watch *w, int fd, struct watched **ret_c)
{
	struct watched *c = mem_zalloc(w->env.mem, sizeof(*c));
	if (!c)
		return -ENOMEM;
	uint64_t now_ns = clk_ns(w->env.clk);
	c->watch = w;
	c->timer.fire = look_at;
	c->timer.arg = c;
	c->fd = fd;
	c->phase = WATCH_RECEIVE;
	c->deadline_ns = now_ns + w->conf.receive_ns;
	LOCK_SCOPE(&w->lock);
	c->id = ++w->last_id;
	c->next = w->all;
	c->prev = &w->all;
	if (c->next)
		c->next->prev = &c->next;
	w->all = c;
	arm(w, c, now_ns, c->deadline_ns);
	stat_set(&w->connections, w->connections + 1);
	*ret_c = c;
	return 0;
}

static void disarm(struct watch *w, struct watched *c)
{
	if (c->armed)
		(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	c->armed = false;
	c->later = later_unref(c->later);
}

void watch_del(struct watch *w, struct watched *c)
{
	if (!c)
		return;
	LOCK_SCOPE(&w->lock);
	disarm(w, c);
	wheel_disarm(w->wheel, &c->timer);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	stat_set(&w->connections, w->connections - 1);
	mem_free(w->env.mem, c);
}

void watch_enter(struct watch *w, struct watched *c, enum watch_phase phase, struct later *later)
{
	uint64_t now_ns = clk_ns(w->env.clk);
	LOCK_SCOPE(&w->lock);
	disarm(w, c);
	/* What comes in from the answer on is of the next request, however soon it comes. */
	if (phase == WATCH_SEND || (phase == WATCH_IDLE && c->phase != WATCH_SEND))
		c->moved = moved_bytes(c->fd);
	c->phase = phase;
	c->deadline_ns = now_ns + (phase == WATCH_IDLE		   ? w->conf.idle_ns
					  : phase == WATCH_RECEIVE ? w->conf.receive_ns
								   : w->conf.send_ns);
	if (phase == WATCH_WORK || c->cut)
		wheel_disarm(w->wheel, &c->timer);
	else
		arm(w, c, now_ns, c->deadline_ns);
	if (!later)
		return;
	c->later = later_ref(later);
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = c->id};
	c->armed = epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) == 0;
}

void watch_wake_all(struct watch *w)
{
	for (;;) {
		struct later *l = NULL;
		lock_take(&w->lock);
		for (struct watched *c = w->all; c && !l; c = c->next)
			l = c->later ? TAKE(c->later) : NULL;
		lock_drop(&w->lock);
		if (!l)
			return;
		later_wake(l, true);
		(void)later_unref(l);
	}
}
