#include "base/notify.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int notify_send(const char *target, const char *message)
{
	if (!target || !target[0])
		return 0;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strlen(target);
	if ((target[0] != '/' && target[0] != '@') || n >= sizeof(sa.sun_path))
		return -EINVAL;
	memcpy(sa.sun_path, target, n);
	if (target[0] == '@')
		sa.sun_path[0] = 0;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	ssize_t sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
		(struct sockaddr *)&sa, len);
	return sent < 0 ? -errno : 0;
}
