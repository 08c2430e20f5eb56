#include "profiling/maps.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_line(struct maps *m, const char *line)
{
	struct map map = {0};
	char perms[5];
	int path_at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map.start,
		    &map.limit, perms, &map.offset, &path_at) < 4 ||
		perms[2] != 'x' || path_at == 0 || line[path_at] == 0 || line[path_at] == '\n')
		return 0;
	size_t n = strcspn(line + path_at, "\n");
	static const char deleted[] = " (deleted)";
	if (n > strlen(deleted) &&
		memcmp(line + path_at + n - strlen(deleted), deleted, strlen(deleted)) == 0)
		n -= strlen(deleted);
	n = MIN(n, sizeof(map.file) - 1);
	memcpy(map.file, line + path_at, n);
	if (m->n == m->room) {
		uint32_t room = m->room ? m->room * 2 : 64;
		struct map *list = mem_resize(m->mem, m->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		m->list = list;
		m->room = room;
	}
	m->list[m->n++] = map;
	return 0;
}

int maps_read(const struct mem *mem, struct maps *ret_maps)
{
	struct maps m = {.mem = mem};
	FILE *f = fopen("/proc/self/maps", "re");
	if (!f)
		return -errno;
	char *line = NULL;
	size_t room = 0;
	int r = 0;
	while (r == 0 && getline(&line, &room, f) >= 0)
		r = add_line(&m, line);
	free(line);
	(void)fclose(f);
	if (r < 0) {
		maps_done(&m);
		return r;
	}
	*ret_maps = m;
	return 0;
}

void maps_done(struct maps *m)
{
	mem_free(m->mem, m->list);
	*m = (struct maps){.mem = m->mem};
}

uint32_t maps_find(const struct maps *m, uintptr_t pc)
{
	uint32_t lo = 0, n = m->n;
	while (n > 1) {
		uint32_t half = n / 2;
		if (m->list[lo + half].start <= pc)
			lo += half;
		n -= half;
	}
	return n && m->list[lo].start <= pc && pc < m->list[lo].limit ? lo : UINT32_MAX;
}
