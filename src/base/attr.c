#include "base/attr.h"
#include <unistd.h>

void fd_cleanup_(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
