#include "profiling/maps.h"
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
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

/* The notes at p, aligned to 4 bytes (System V ABI, note section); looks for NT_GNU_BUILD_ID. */
static void read_notes(const uint8_t *p, size_t bytes, char build_id[static 41])
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		memcpy(&n, p, sizeof(n));
		size_t name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
		size_t desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (bytes - sizeof(n) < name || bytes - sizeof(n) - name < desc)
			return;
		const uint8_t *id = p + sizeof(n) + name;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= 20 &&
			memcmp(p + sizeof(n), "GNU", 4) == 0) {
			for (unsigned i = 0; i < n.n_descsz; i++)
				(void)snprintf(build_id + 2 * i, 3, "%02x", id[i]);
			return;
		}
		p = id + desc;
		bytes -= sizeof(n) + name + desc;
	}
}

static bool is_loaded(const struct dl_phdr_info *info, uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && lo >= at && hi <= at + p->p_filesz)
			return true;
	}
	return false;
}

static int see_object(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	struct maps *m = arg;
	char build_id[41] = "";
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_NOTE && is_loaded(info, at, at + p->p_filesz))
			read_notes((const uint8_t *)at, p->p_filesz, build_id);
	}
	for (uint32_t i = 0; i < m->n; i++)
		if (is_loaded(info, m->list[i].start, m->list[i].start + 1))
			memcpy(m->list[i].build_id, build_id, sizeof(build_id));
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
	(void)dl_iterate_phdr(see_object, &m);
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
