/* A tiny HTTP client over one socket, for tests that must say exactly what goes out. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Connects to 127.0.0.1:port. */
int client_connect(uint16_t port);
/* Sends all of s. Returns 0, or -errno when the peer has closed. */
int client_send(int fd, const char *s);
/* Reads until the peer closes, or (with_length) until the body that Content-Length tells is
 * complete, for at most 20 s; returns bytes, NUL-terminated in buf. */
size_t client_read(int fd, char *buf, size_t room, int with_length);
/* One request on its own connection, "Connection: close" added after head lines; returns the status
 * (0: closed without an answer). The whole answer is in buf. */
unsigned client_ask(uint16_t port, const char *request, char *buf, size_t room);
unsigned client_status(const char *answer);
const char *client_body(const char *answer);
