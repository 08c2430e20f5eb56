#include "api/files.h"
#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8
#define PATH_BYTES 512

struct files {
	const struct mem *mem;
	size_t bytes;
	unsigned n;
	struct file *all; /* sorted by path */
};

static const char *type_of(const char *path)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".json", "application/json"},
		{".svg", "image/svg+xml"},
		{".png", "image/png"},
		{".ico", "image/x-icon"},
		{".woff2", "font/woff2"},
		{".txt", "text/plain; charset=utf-8"},
	};
	const char *dot = strrchr(path, '.');
	for (unsigned i = 0; dot && i < ARRAY_SIZE(types); i++)
		if (strcmp(dot, types[i].suffix) == 0)
			return types[i].type;
	return "application/octet-stream";
}

/* FNV-1a, 64 bits: tells versions of a file apart. */
static uint64_t hash(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 0x100000001b3ull;
	return h;
}

static int add_file(struct files *f, const char *full, const char *path)
{
	void *grown = mem_resize(f->mem, f->all, f->n + 1, sizeof(*f->all));
	if (!grown)
		return -ENOMEM;
	f->all = grown;
	struct file *file = &f->all[f->n];
	int r = file_read(f->mem, full, FILES_MAX_BYTES - f->bytes, &file->bytes, &file->len);
	if (r < 0)
		return r;
	file->path = mem_strdup(f->mem, path);
	if (!file->path) {
		mem_free(f->mem, file->bytes);
		return -ENOMEM;
	}
	file->type = type_of(path);
	(void)snprintf(file->etag, sizeof(file->etag), "\"%016llx\"",
		(unsigned long long)hash(file->bytes, file->len));
	f->bytes += file->len;
	f->n++;
	return 0;
}

static int add_dir(
	struct files *f, const char *full, const char *path, unsigned depth, struct fault *fault);

static int add_entry(struct files *f, const char *full, const char *path, const struct dirent *e,
	unsigned depth, struct fault *fault)
{
	char sub_full[PATH_BYTES * 2], sub_path[PATH_BYTES];
	if (e->d_name[0] == '.')
		return 0;
	if (snprintf(sub_path, sizeof(sub_path), "%s%s%s", path, *path ? "/" : "", e->d_name) >=
			(int)sizeof(sub_path) ||
		snprintf(sub_full, sizeof(sub_full), "%s/%s", full, e->d_name) >=
			(int)sizeof(sub_full))
		return fault_set(fault, -ENAMETOOLONG, sub_path, NULL, "the name is too long");
	if (e->d_type == DT_DIR)
		return add_dir(f, sub_full, sub_path, depth + 1, fault);
	if (e->d_type != DT_REG)
		return 0;
	int r = add_file(f, sub_full, sub_path);
	return r < 0 ? fault_set(
			       fault, r, sub_full, NULL, "cannot be read: %s", strerrordesc_np(-r))
		     : 0;
}

static int add_dir(
	struct files *f, const char *full, const char *path, unsigned depth, struct fault *fault)
{
	DIR *dir = depth > DEPTH_MAX ? (errno = ELOOP, NULL) : opendir(full);
	int r = dir ? 0 : -errno;
	if (r < 0)
		return fault_set(fault, r, full, NULL, "cannot be opened: %s", strerrordesc_np(-r));
	for (const struct dirent *e; r == 0 && (e = readdir(dir));)
		r = add_entry(f, full, path, e, depth, fault);
	(void)closedir(dir);
	return r;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

int files_new(const struct mem *mem, const char *dir, struct files **ret_files,
	struct fault *reterr_fault)
{
	AUTO(files) struct files *f = mem_zalloc(mem, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->mem = mem;
	int r = dir ? add_dir(f, dir, "", 0, reterr_fault) : 0;
	if (r < 0)
		return r;
	if (f->n)
		qsort(f->all, f->n, sizeof(*f->all), compare);
	*ret_files = TAKE(f);
	return 0;
}

struct files *files_free(struct files *f)
{
	if (!f)
		return NULL;
	for (unsigned i = 0; i < f->n; i++) {
		mem_free(f->mem, f->all[i].path);
		mem_free(f->mem, f->all[i].bytes);
	}
	mem_free(f->mem, f->all);
	return mem_free(f->mem, f);
}

const struct file *files_find(const struct files *f, const char *path)
{
	struct file key = {.path = (char *)(uintptr_t)path};
	return f->n ? bsearch(&key, f->all, f->n, sizeof(*f->all), compare) : NULL;
}
