#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Appends what the descriptor gives until its end; the buffer has room for max + 1 bytes. */
static int read_all(int fd, char *buf, size_t max, size_t *ret_len)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = read(fd, buf + len, max + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		if (n == 0)
			break;
	}
	*ret_len = len;
	return 0;
}

int file_read(
	const struct mem *mem, const char *path, size_t max, char **ret_bytes, size_t *ret_len)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	char *buf = mem_alloc(mem, max + 1);
	if (!buf)
		return -ENOMEM;
	size_t len = 0;
	int r = read_all(fd, buf, max, &len);
	if (r < 0) {
		(void)mem_free(mem, buf);
		return r;
	}
	buf[len] = 0;
	/* Smaller needs no new memory; when it does, the large block will do. */
	char *tight = mem_resize(mem, buf, len + 1, 1);
	*ret_bytes = tight ? tight : buf;
	*ret_len = len;
	return 0;
}
