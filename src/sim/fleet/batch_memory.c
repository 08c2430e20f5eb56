#include "sim/fleet/batch_memory.h"
#include "base/attr.h"
#include "base/num.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES 16384 /* memory.stat has some 4000 */
#define PATH_BYTES 4096

/* The first bytes of a file as a string; false when it cannot be read. */
static bool read_text(const char *path, char buf[static FILE_BYTES])
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size_t n = 0;
	for (ssize_t got; n < FILE_BYTES - 1; n += (size_t)got) {
		got = read(fd, buf + n, FILE_BYTES - 1 - n);
		if (got < 0)
			return false;
		if (got == 0)
			break;
	}
	buf[n] = 0;
	return true;
}

/* The decimal number at s (blanks may come before); false: there is none. */
static bool number_at(const char *s, uint64_t *ret_n)
{
	char digits[24];
	s += strspn(s, " \t");
	size_t n = strspn(s, "0123456789");
	if (n == 0 || n >= sizeof(digits))
		return false;
	memcpy(digits, s, n);
	digits[n] = 0;
	return num_u64(digits, 0, UINT64_MAX, ret_n) == 0;
}

/* The number after key at the start of a line. */
static bool number_of(const char *text, const char *key, uint64_t *ret_n)
{
	size_t n = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0)
			return number_at(line + n, ret_n);
	}
	return false;
}

static bool file_number(const char *dir, const char *name, const char *key, uint64_t *ret_n)
{
	char path[PATH_BYTES], text[FILE_BYTES];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path) || !read_text(path, text))
		return false;
	return key ? number_of(text, key, ret_n) : number_at(text, ret_n);
}

struct group_files { /* of one version of cgroups */
	const char *mount, *limit[2], *usage, *droppable;
};
static const struct group_files v1 = {"/sys/fs/cgroup/memory", {"memory.limit_in_bytes", NULL},
	"memory.usage_in_bytes", "total_inactive_file "};
static const struct group_files v2 = {
	"/sys/fs/cgroup", {"memory.max", "memory.high"}, "memory.current", "inactive_file "};

/* What the group in dir leaves; UINT64_MAX: no limit. */
static uint64_t group_leaves(const struct group_files *v, const char *dir)
{
	uint64_t limit = UINT64_MAX, one, usage, droppable = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(v->limit); i++)
		if (v->limit[i] && file_number(dir, v->limit[i], NULL, &one))
			limit = MIN(limit, one);
	if (limit == UINT64_MAX || !file_number(dir, v->usage, NULL, &usage))
		return UINT64_MAX;
	(void)file_number(dir, "memory.stat", v->droppable, &droppable);
	usage -= MIN(usage, droppable);
	return limit - MIN(limit, usage);
}

/* The least of what the groups leave from path, below the mount, up to the mount itself. A path
 * that is not there was seen from outside of a container whose own group is mounted: the mount. */
static uint64_t groups_leave(const char *root, const struct group_files *v, const char *path)
{
	char dir[PATH_BYTES];
	int n = snprintf(dir, sizeof(dir), "%s%s", root, v->mount);
	if (n < 0 || (size_t)n + strlen(path) >= sizeof(dir))
		return UINT64_MAX;
	char *top = dir + n;
	memcpy(top, path, strlen(path) + 1);
	uint64_t least = UINT64_MAX;
	for (;;) {
		least = MIN(least, group_leaves(v, dir));
		char *slash = strrchr(top, '/');
		if (!slash)
			return least;
		*slash = 0;
	}
}

/* Is memory among the controllers "cpu,memory" of a line of /proc/self/cgroup? */
static bool has_memory(const char *from, const char *to)
{
	static const char word[] = "memory";
	for (const char *p = from; p < to; p++) {
		size_t n = strcspn(p, ",:");
		if (n == sizeof(word) - 1 && memcmp(p, word, n) == 0)
			return true;
		p += n;
	}
	return false;
}

/* One line "ID:CONTROLLERS:PATH", cut at its end. */
static uint64_t line_leaves(const char *root, const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return UINT64_MAX;
	const struct group_files *v = path == controllers + 1		  ? &v2
				      : has_memory(controllers + 1, path) ? &v1
									  : NULL;
	return v ? groups_leave(root, v, path + 1) : UINT64_MAX;
}

uint64_t batch_memory_available(const char *root)
{
	char path[PATH_BYTES], text[FILE_BYTES], dir[PATH_BYTES];
	uint64_t least = UINT64_MAX, kib;
	(void)snprintf(dir, sizeof(dir), "%s/proc", root);
	if (file_number(dir, "meminfo", "MemAvailable:", &kib))
		least = kib * 1024;
	(void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (!read_text(path, text))
		return least;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n")))
		least = MIN(least, line_leaves(root, line));
	return least;
}
