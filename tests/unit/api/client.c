#include "client.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000

int client_connect(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

int client_send(int fd, const char *s)
{
	for (size_t n = strlen(s); n > 0;) {
		ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);
		if (sent < 0)
			return -errno;
		s += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static int is_complete(const char *buf, size_t len)
{
	const char *end = strstr(buf, "\r\n\r\n");
	const char *length = strcasestr(buf, "\r\nContent-Length:");
	if (!end || !length || length > end)
		return 0;
	return len >= (size_t)(end + 4 - buf) + strtoul(length + 17, NULL, 10);
}

size_t client_read(int fd, char *buf, size_t room, int with_length)
{
	size_t len = 0;
	buf[0] = 0;
	while (!with_length || !is_complete(buf, len)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ck_assert_msg(poll(&p, 1, PATIENCE_MS) == 1, "no answer; so far: %s", buf);
		ck_assert_uint_lt(len + 1, room);
		ssize_t n = recv(fd, buf + len, room - 1 - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
		buf[len] = 0;
	}
	return len;
}

unsigned client_status(const char *answer)
{
	return strncmp(answer, "HTTP/1.", 7) == 0 ? (unsigned)strtoul(answer + 9, NULL, 10) : 0;
}

const char *client_body(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");
	return end ? end + 4 : "";
}

unsigned client_ask(uint16_t port, const char *request, char *buf, size_t room)
{
	int fd = client_connect(port);
	ck_assert_int_eq(client_send(fd, request), 0);
	(void)client_read(fd, buf, room, 0);
	(void)close(fd);
	return client_status(buf);
}
