#include "api/http.h"
#include "api/exchange.h"
#include "api/watch.h"
#include "base/label.h"
#include "base/log.h"
#include "base/self.h"
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 511
#define SEND_BYTES_PER_S (64u << 10)
/* How long http_stop lets answers under way finish. */
#define LINGER_NS (2 * NS_PER_SEC)

struct http {
	struct http_env env;
	struct http_conf conf;
	struct exchanges exchanges;
	struct MHD_Daemon *daemon;
	int fd; /* bound, while not started; -1: none */
	uint16_t port;
};

int http_new(const struct http_env *env, const struct http_conf *conf, struct http **ret_http)
{
	AUTO(http) struct http *h = mem_zalloc(env->mem, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->env = *env;
	h->conf = *conf;
	h->fd = -1;
	h->exchanges = (struct exchanges){.mem = env->mem,
		.clk = env->clk,
		.router = env->router,
		.guard = env->guard,
		.api = env->api};
	lock_init(&h->exchanges.lock);
	cond_init(&h->exchanges.ended);
	struct watch_env watch_env = {env->mem, env->clk, env->stats};
	struct watch_conf watch_conf = {
		conf->idle_ns, conf->receive_ns, conf->send_ns, SEND_BYTES_PER_S};
	int r = watch_new(&watch_env, &watch_conf, &h->exchanges.watch);
	if (r == 0)
		r = stats_attach(env->stats, exchange_counters, NULL, &h->exchanges);
	if (r < 0)
		return r;
	*ret_http = TAKE(h);
	return 0;
}

struct http *http_free(struct http *h)
{
	if (!h)
		return NULL;
	http_stop(h);
	if (h->fd >= 0)
		(void)close(h->fd);
	stats_detach(h->env.stats, &h->exchanges);
	h->exchanges.watch = watch_free(h->exchanges.watch);
	cond_done(&h->exchanges.ended);
	lock_done(&h->exchanges.lock);
	return mem_free(h->env.mem, h);
}

static int listen_on(struct http *h, int *ret_fd)
{
	struct sockaddr_storage sa;
	struct addr bound;
	const struct addr any_v6 = {{0}};
	socklen_t len = addr_to_sockaddr(&h->conf.listen, h->conf.port, &sa);
	AUTO_FD int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int on = 1, off = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	/* "::" is all addresses of both families. */
	if (addr_eq(&h->conf.listen, &any_v6) &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	len = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	int r = addr_from_sockaddr((struct sockaddr *)&sa, &bound, &h->port);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **watched,
	enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		watch_del(h->exchanges.watch, TAKE(*watched));
		return;
	}
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct watched *added = NULL;
	/* Unwatched, it could stay for ever. */
	if (watch_add(h->exchanges.watch, fd, &added) < 0)
		(void)shutdown(fd, SHUT_RDWR);
	*watched = added;
}

/* Targets reach us undecoded: url.c decodes, strictly. */
static size_t keep_escapes(void *arg UNUSED, struct MHD_Connection *connection UNUSED, char *s)
{
	return strlen(s);
}

static void on_library_message(void *arg UNUSED, const char *fmt, va_list ap) PRINTF(2, 0);
static void on_library_message(void *arg UNUSED, const char *fmt, va_list ap)
{
	char line[256];
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	log_debug("libmicrohttpd", 0, "%s", line);
}

static struct MHD_Daemon *start_daemon(struct http *h, int fd)
{
	LABEL_SCOPE(&label_api); /* which the thread inherits */
	/* Not epoll, whose edges libmicrohttpd loses: a client that sends and leaves at once would
	 * keep its connection until it has been silent for too long. */
	return MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		NULL, NULL, exchange_step, &h->exchanges, MHD_OPTION_EXTERNAL_LOGGER,
		on_library_message, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)h->conf.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)h->conf.connections_per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK,
		exchange_begin, &h->exchanges, MHD_OPTION_NOTIFY_COMPLETED, exchange_end,
		&h->exchanges, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
}

int http_bind(struct http *h, struct fault *reterr_fault)
{
	char where[ADDR_PORT_TEXT_BYTES];
	int r = h->fd < 0 ? listen_on(h, &h->fd) : 0;
	if (r < 0)
		return fault_set(reterr_fault, r, "port", NULL, "cannot listen on %s: %s",
			addr_port_text(&h->conf.listen, h->conf.port, where), strerrordesc_np(-r));
	return 0;
}

int http_start(struct http *h, struct fault *reterr_fault)
{
	int r = http_bind(h, reterr_fault);
	if (r < 0)
		return r;
	AUTO_FD int fd = TAKE_FD(h->fd);
	h->exchanges.stopping = false;
	r = watch_start(h->exchanges.watch);
	if (r < 0)
		return fault_set(reterr_fault, r, "", NULL, "cannot start the API's watch");
	h->daemon = start_daemon(h, fd);
	if (!h->daemon) {
		watch_stop(h->exchanges.watch);
		return fault_set(reterr_fault, -ENOMEM, "", NULL, "cannot start the HTTP server");
	}
	(void)TAKE_FD(fd); /* closed in http_stop */
	return 0;
}

/* Until no exchange is live, or LINGER_NS. */
static void let_finish(struct exchanges *all)
{
	uint64_t until_ns = clk_ns(&clk_system) + LINGER_NS;
	LOCK_SCOPE(&all->lock);
	while (all->live > 0)
		if (cond_wait_until(&all->ended, &all->lock, until_ns) == -ETIMEDOUT)
			return;
}

void http_stop(struct http *h)
{
	if (!h->daemon)
		return;
	AUTO_FD int fd = MHD_quiesce_daemon(h->daemon);
	lock_take(&h->exchanges.lock);
	h->exchanges.stopping = true;
	lock_drop(&h->exchanges.lock);
	watch_wake_all(h->exchanges.watch);
	let_finish(&h->exchanges);
	MHD_stop_daemon(h->daemon);
	h->daemon = NULL;
	watch_stop(h->exchanges.watch);
}

uint16_t http_port(const struct http *h)
{
	return h->port;
}
