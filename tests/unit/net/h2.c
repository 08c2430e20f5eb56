#include "net/h2.h"
#include "base/attr.h"
#include "net/server.h"
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* RFC 9113 3.4, 4.1, 6 */
#define PREFACE_BYTES 24
#define HEAD_BYTES 9
enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, GOAWAY = 7 };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4 };
#define FRAME_MAX_BYTES 16384

struct frame {
	uint8_t type, flags;
	uint32_t stream;
	size_t bytes;
	uint8_t payload[FRAME_MAX_BYTES];
};

static bool is_over(struct h2 *s)
{
	return __atomic_load_n(&s->over, __ATOMIC_ACQUIRE);
}

static bool take(struct h2 *s, int fd, void *to, size_t bytes)
{
	for (size_t n = 0; n < bytes;) {
		struct pollfd p = {fd, POLLIN, 0};
		if (is_over(s))
			return false;
		if (poll(&p, 1, 20) != 1)
			continue;
		ssize_t got = read(fd, (char *)to + n, bytes - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

static bool take_frame(struct h2 *s, int fd, struct frame *f)
{
	uint8_t head[HEAD_BYTES];
	if (!take(s, fd, head, sizeof(head)))
		return false;
	f->bytes = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	f->type = head[3];
	f->flags = head[4];
	f->stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 |
		    head[8];
	return f->bytes <= sizeof(f->payload) && take(s, fd, f->payload, f->bytes);
}

static void give(int fd, uint8_t type, uint8_t flags, uint32_t stream, const void *p, size_t bytes)
{
	uint8_t head[HEAD_BYTES] = {(uint8_t)(bytes >> 16), (uint8_t)(bytes >> 8), (uint8_t)bytes,
		type, flags, (uint8_t)(stream >> 24), (uint8_t)(stream >> 16),
		(uint8_t)(stream >> 8), (uint8_t)stream};
	(void)send(fd, head, sizeof(head), MSG_NOSIGNAL | MSG_MORE);
	(void)send(fd, p, bytes, MSG_NOSIGNAL);
}

/* A literal field without indexing, its name new or that of :status (RFC 7541 6.2.2). */
static size_t put_field(uint8_t *to, const char *name, const char *value)
{
	size_t n = 0, name_bytes = strlen(name), value_bytes = strlen(value);
	if (strcmp(name, ":status") == 0) {
		to[n++] = 0x08;
	} else {
		to[n++] = 0x00;
		to[n++] = (uint8_t)name_bytes;
		memcpy(to + n, name, name_bytes);
		n += name_bytes;
	}
	to[n++] = (uint8_t)value_bytes;
	memcpy(to + n, value, value_bytes);
	return n + value_bytes;
}

static size_t put_fields(uint8_t *to, const char *const *fields)
{
	size_t n = 0;
	for (; fields && *fields; fields += 2)
		n += put_field(to + n, fields[0], fields[1]);
	return n;
}

static void answer(struct h2 *s, int fd, uint32_t stream)
{
	uint8_t block[4096];
	char status[8];
	(void)snprintf(status, sizeof(status), "%u", s->status);
	size_t n = put_field(block, ":status", status);
	n += put_fields(block + n, s->headers);
	bool last = !s->body_bytes && !s->trailers;
	give(fd, HEADERS, END_HEADERS | (last ? END_STREAM : 0), stream, block, n);
	if (s->body_bytes)
		give(fd, DATA, s->trailers ? 0 : END_STREAM, stream, s->body, s->body_bytes);
	if (s->trailers)
		give(fd, HEADERS, END_HEADERS | END_STREAM, stream, block,
			put_fields(block, s->trailers));
}

/* Of a request or of the connection; false: it is over. */
static bool obey(struct h2 *s, int fd, const struct frame *f)
{
	if (f->type == SETTINGS && !(f->flags & ACK))
		give(fd, SETTINGS, ACK, 0, NULL, 0);
	if (f->type == PING && !(f->flags & ACK))
		give(fd, PING, ACK, 0, f->payload, f->bytes);
	if (f->type == HEADERS)
		s->last_bytes = 0;
	if (f->type == DATA) {
		size_t keep = MIN(f->bytes, sizeof(s->last) - s->last_bytes);
		memcpy(s->last + s->last_bytes, f->payload, keep);
		s->last_bytes += keep;
	}
	if ((f->type == DATA || f->type == HEADERS) && f->flags & END_STREAM) {
		(void)__atomic_add_fetch(&s->requests, 1, __ATOMIC_RELEASE);
		if (s->cuts)
			return false;
		answer(s, fd, f->stream);
	}
	return f->type != GOAWAY;
}

static void serve_one(struct h2 *s, int fd)
{
	char preface[PREFACE_BYTES];
	struct frame f;
	s->connections++;
	if (take(s, fd, preface, sizeof(preface)) && memcmp(preface, "PRI * HTTP/2.0", 14) == 0) {
		give(fd, SETTINGS, 0, 0, NULL, 0);
		while (take_frame(s, fd, &f) && obey(s, fd, &f))
			continue;
	}
	(void)close(fd);
}

static void serve(void *arg)
{
	struct h2 *s = arg;
	while (!is_over(s)) {
		struct pollfd p = {s->fd, POLLIN, 0};
		if (poll(&p, 1, 20) == 1)
			serve_one(s, accept(s->fd, NULL, NULL));
	}
}

void h2_begin(struct h2 *s)
{
	s->fd = server_listen(&s->port);
	struct thread_conf conf = {"h2", NULL, serve, s};
	ck_assert_int_eq(thread_start(&mem_libc, &conf, &s->thread), 0);
}

void h2_end(struct h2 *s)
{
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	(void)thread_join(s->thread);
	(void)close(s->fd);
}

uint32_t h2_count(struct h2 *s)
{
	return __atomic_load_n(&s->requests, __ATOMIC_ACQUIRE);
}
