#include "profiling/kallsyms.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernel text is in the upper half; what is hidden is told as 0. */
#define KERNEL_LOWEST (1ull << 63)
#define NAME_BYTES 128

struct entry {
	uint64_t at;
	uint32_t name; /* in names */
};
struct kallsyms {
	const struct mem *mem;
	struct entry *list; /* sorted */
	char *names;
	uint32_t n, room, names_len, names_room;
};

static int reserve(struct kallsyms *k, size_t name_bytes)
{
	if (k->n == k->room) {
		uint32_t room = k->room ? k->room * 2 : 1u << 14;
		void *p = mem_resize(k->mem, k->list, room, sizeof(*k->list));
		if (!p)
			return -ENOMEM;
		k->list = p;
		k->room = room;
	}
	if (k->names_room - k->names_len < name_bytes) {
		uint32_t room = k->names_room ? k->names_room * 2 : 1u << 18;
		void *p = mem_resize(k->mem, k->names, room, 1);
		if (!p)
			return -ENOMEM;
		k->names = p;
		k->names_room = room;
	}
	return 0;
}

/* "ffffffff81000000 T name\t[module]": code only. */
static int add_line(struct kallsyms *k, const char *line)
{
	char *end;
	uint64_t at = strtoull(line, &end, 16);
	if (at < KERNEL_LOWEST || end == line || *end != ' ' || !strchr("tTwW", end[1]) ||
		!end[1] || end[2] != ' ')
		return 0;
	const char *name = end + 3;
	size_t len = MIN(strcspn(name, " \t\n"), (size_t)NAME_BYTES - 1);
	int r = len ? reserve(k, len + 1) : 0;
	if (r < 0 || !len)
		return r;
	k->list[k->n++] = (struct entry){at, k->names_len};
	memcpy(k->names + k->names_len, name, len);
	k->names_len += (uint32_t)len;
	k->names[k->names_len++] = 0;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int kallsyms_read(const struct mem *mem, const char *path, struct kallsyms **ret_symbols)
{
	AUTO(kallsyms) struct kallsyms *k = mem_zalloc(mem, sizeof(*k));
	char line[512];
	int r = 0;
	if (!k)
		return -ENOMEM;
	k->mem = mem;
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (r == 0 && fgets(line, sizeof(line), f))
		r = add_line(k, line);
	if (r == 0 && ferror(f))
		r = -EIO;
	(void)fclose(f);
	if (r < 0)
		return r;
	if (k->n == 0)
		return -EACCES;
	qsort(k->list, k->n, sizeof(*k->list), by_address);
	*ret_symbols = TAKE(k);
	return 0;
}

int kallsyms_new(const struct mem *mem, struct kallsyms **ret_symbols)
{
	return kallsyms_read(mem, "/proc/kallsyms", ret_symbols);
}

struct kallsyms *kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return NULL;
	(void)mem_free(k->mem, k->list);
	(void)mem_free(k->mem, k->names);
	return mem_free(k->mem, k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t pc, uint64_t *ret_start)
{
	uint32_t lo = 0, hi = k->n;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (k->list[middle].at <= pc)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo == 0)
		return NULL;
	/* Of several names of one address the first in the file. */
	while (lo > 1 && k->list[lo - 2].at == k->list[lo - 1].at)
		lo--;
	if (ret_start)
		*ret_start = k->list[lo - 1].at;
	return k->names + k->list[lo - 1].name;
}

uint64_t kallsyms_bytes(const struct kallsyms *k)
{
	return sizeof(*k) + (uint64_t)k->room * sizeof(*k->list) + k->names_room;
}
