/* Sockets of the fleet: made in one namespace, bound by whoever has the privilege. Stateless. */
#pragma once
#include "base/addr.h"
#include "base/fault.h"

/* An unbound UDP socket of the calling thread's namespace that can serve every local address:
 * non-blocking, cloexec, packet info on, IPv6 only and free to send from local-prefix addresses.
 * Needs no privilege. */
MUST_CHECK int lab_sock_make(bool v6, int *ret_fd, struct fault *reterr_fault);
/* Binds it to the wildcard address and port (0: the kernel picks), on the device lo if asked; join
 * as in lab_udp_socket. Checks the privileges of the calling thread against the socket's namespace,
 * wherever the thread lives. *ret_wide: the device lo was asked for and the kernel refuses it
 * (before Linux 5.7 it takes a privilege), so the socket hears other devices, too. */
MUST_CHECK int lab_sock_bind(int fd, bool v6, uint16_t port, bool on_lo, bool join, bool *ret_wide,
	struct fault *reterr_fault);
