#include "net/server.h"
#include "base/attr.h"
#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TLS_HANDSHAKE 0x16 /* RFC 8446 5.1 */

/* All of a request with a Content-Length, or what came before its end. A hello of TLS is none. */
static void read_request(int fd, char *buf, size_t room)
{
	size_t n = 0, want = SIZE_MAX;
	while (n < want && n < room - 1 && buf[0] != TLS_HANDSHAKE) {
		ssize_t got = read(fd, buf + n, room - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
		buf[n] = '\0';
		const char *end = strstr(buf, "\r\n\r\n"), *len = strstr(buf, "Content-Length: ");
		if (end)
			want = (size_t)(end - buf) + 4 + (len ? strtoul(len + 16, NULL, 10) : 0);
	}
}

static bool is_over(struct server *s)
{
	return __atomic_load_n(&s->over, __ATOMIC_ACQUIRE);
}

static bool tell(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static bool take_request(struct server *s, int fd)
{
	char buf[sizeof(s->last)] = "";
	read_request(fd, buf, sizeof(buf));
	if (!buf[0])
		return false;
	memcpy(s->last, buf, sizeof(buf));
	(void)__atomic_add_fetch(&s->requests, 1, __ATOMIC_RELEASE);
	return true;
}

static void serve_one(struct server *s, int fd)
{
	s->connections++;
	(void)take_request(s, fd);
	const char *answer =
		__atomic_load_n(&s->answer, __ATOMIC_ACQUIRE); /* a test may change it */
	if (!answer && s->n_held < ARRAY_SIZE(s->held)) {
		s->held[s->n_held++] = fd;
		return;
	}
	bool there = tell(fd, answer);
	while (s->again && there && !is_over(s)) {
		there = tell(fd, s->again);
		(void)usleep(s->again_us);
	}
	while (s->keeps && there && take_request(s, fd))
		there = tell(fd, answer);
	if (s->cuts)
		(void)take_request(s, fd);
	(void)close(fd);
}

static void serve(void *arg)
{
	struct server *s = arg;
	while (!is_over(s)) {
		struct pollfd p = {s->fd, POLLIN, 0};
		if (poll(&p, 1, 20) == 1)
			serve_one(s, accept(s->fd, NULL, NULL));
	}
}

int server_listen(uint16_t *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
	ck_assert_int_eq(listen(fd, 64), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

void server_begin(struct server *s)
{
	s->fd = server_listen(&s->port);
	struct thread_conf conf = {"server", NULL, serve, s};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &s->thread), 0);
}

void server_end(struct server *s)
{
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	(void)thread_join(s->thread);
	for (uint32_t i = 0; i < s->n_held; i++)
		(void)close(s->held[i]);
	(void)close(s->fd);
}

uint32_t server_count(struct server *s)
{
	return __atomic_load_n(&s->requests, __ATOMIC_ACQUIRE);
}
