#include "base/share.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *share_path(const struct mem *mem, const char *dir, const char *name)
{
	size_t bytes = strlen(dir) + strlen(name) + 2;
	char *path = mem_alloc(mem, bytes);
	if (path)
		(void)snprintf(path, bytes, "%s/%s", dir, name);
	return path;
}

/* The directory of the executable, without a slash at the end. */
static int exe_dir(const char *exe, char buf[static PATH_MAX])
{
	ssize_t n = readlink(exe, buf, PATH_MAX - 1);
	if (n < 0)
		n = snprintf(buf, PATH_MAX, "%s", exe);
	if (n >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	buf[n] = 0;
	char *slash = strrchr(buf, '/');
	if (!slash)
		return -ENOENT;
	*slash = 0;
	return 0;
}

static bool has_devices(const struct mem *mem, const char *dir)
{
	char *path = share_path(mem, dir, "devices");
	struct stat st;
	bool has = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	(void)mem_free(mem, path);
	return has;
}

int share_find(const struct mem *mem, const char *exe, char **ret_dir, struct fault *reterr_fault)
{
	char dir[PATH_MAX];
	int r = exe_dir(exe, dir);
	if (r < 0)
		return fault_set(reterr_fault, r, exe, NULL, "the program cannot find itself");
	static const char *const places[] = {"share/nl6", "../share/nl6"};
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		char *place = share_path(mem, dir, places[i]);
		if (!place)
			return -ENOMEM;
		if (has_devices(mem, place)) {
			*ret_dir = place;
			return 0;
		}
		(void)mem_free(mem, place);
	}
	return fault_set(reterr_fault, -ENOENT, "devices", NULL,
		"no folder devices in %.120s/share/nl6 or %.120s/../share/nl6", dir, dir);
}
