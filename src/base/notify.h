/* Tells a service manager how far the program is (sd_notify(3)'s protocol): one datagram to the
 * socket that NOTIFY_SOCKET names. */
#pragma once
#include "base/attr.h"

/* target: the value of NOTIFY_SOCKET, a path or @abstract; NULL or empty: nobody asked, 0. message:
 * "READY=1". Negative errno when it cannot be sent. */
MUST_CHECK int notify_send(const char *target, const char *message);
