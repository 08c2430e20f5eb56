#include "sim/fleet/type_load.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (32u << 20)
#define PATH_BYTES 4096

bool type_slug_is(const char *slug)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t n = strlen(slug);
	return n > 0 && n < sizeof(((struct type_info *)0)->slug) && strspn(slug, ok) == n;
}

static int join(char path[static PATH_BYTES], const char *dir, const char *name, const char *end)
{
	int n = snprintf(path, PATH_BYTES, "%s/%s%s", dir, name, end);
	return n < 0 || n >= PATH_BYTES ? -ENAMETOOLONG : 0;
}

static int read_all(int fd, char *buf, size_t bytes)
{
	while (bytes) {
		ssize_t n = read(fd, buf, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		buf += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int read_file(
	const struct mem *mem, const char *path, struct type_file *to, struct fault *reterr_fault)
{
	struct stat st;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if (st.st_size > FILE_MAX)
		return fault_set(reterr_fault, -EINVAL, to->name, "at most 32 MiB", "too large");
	size_t bytes = (size_t)st.st_size;
	char *text = mem_alloc(mem, bytes + 1);
	if (!text)
		return -ENOMEM;
	int r = read_all(fd, text, bytes);
	if (r < 0) {
		mem_free(mem, text);
		return r;
	}
	text[bytes] = 0;
	to->text = text;
	to->len = bytes;
	return 0;
}

void type_source_done(struct type_source *s)
{
	if (!s->mem)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		mem_free(s->mem, (void *)s->files[i].name);
		mem_free(s->mem, (void *)s->files[i].text);
	}
	mem_free(s->mem, s->files);
	type_recording_done(&s->recording, s->mem);
	*s = (struct type_source){0};
}

static int add_file(
	struct type_source *s, const char *path, const char *name, struct fault *reterr_fault)
{
	struct type_file *files = mem_resize(s->mem, s->files, s->n + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	s->files = files;
	struct type_file f = {.name = mem_strdup(s->mem, name)};
	if (!f.name)
		return -ENOMEM;
	int r = read_file(s->mem, path, &f, reterr_fault);
	if (r < 0) {
		mem_free(s->mem, (void *)f.name);
		return r;
	}
	s->files[s->n++] = f;
	return 0;
}

static bool ends_json(const char *name)
{
	size_t n = strlen(name);
	return n > 5 && strcmp(name + n - 5, ".json") == 0 && name[0] != '.';
}

static int json_only(const struct dirent *e)
{
	return ends_json(e->d_name);
}

static int read_parts(
	struct type_source *s, const char *dir, const char *slug, struct fault *reterr_fault)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, json_only, alphasort);
	int r = n < 0 ? -errno : n == 0 ? -ENOENT : 0;
	for (int i = 0; i < n; i++) {
		char path[PATH_BYTES], name[PATH_BYTES];
		if (r == 0)
			r = join(path, dir, entries[i]->d_name, "");
		if (r == 0)
			r = join(name, slug, entries[i]->d_name, "");
		if (r == 0)
			r = add_file(s, path, name, reterr_fault);
		free(entries[i]);
	}
	free(entries);
	s->is_dir = r == 0;
	return r;
}

static int read_from(
	struct type_source *s, const char *dir, const char *slug, struct fault *reterr_fault)
{
	char path[PATH_BYTES], name[80];
	(void)snprintf(name, sizeof(name), "%s.json", slug);
	int r = join(path, dir, slug, ".json");
	if (r == 0)
		r = add_file(s, path, name, reterr_fault);
	if (r != -ENOENT)
		return r;
	(void)join(path, dir, slug, ""); /* shorter than what just fitted */
	r = read_parts(s, path, slug, reterr_fault);
	if (r != -ENOENT && r != -ENOTDIR)
		return r;
	return type_recording_find(s->mem, dir, slug, &s->recording);
}

int type_source_read(const struct mem *mem, const struct types_conf *conf, const char *slug,
	struct type_source *ret_source, struct fault *reterr_fault)
{
	struct fault own = {0};
	struct type_source s = {.mem = mem};
	int r = conf->user_dir ? read_from(&s, conf->user_dir, slug, &own) : -ENOENT;
	if (r == -ENOENT)
		r = read_from(&s, conf->builtin_dir, slug, &own);
	if (r < 0) {
		type_source_done(&s);
		if (own.code == 0)
			(void)fault_set(&own, r, slug, "",
				r == -ENOENT ? "no such device type" : "cannot be read: %s",
				strerror(-r));
		if (reterr_fault)
			*reterr_fault = own;
		return r;
	}
	*ret_source = s;
	return 0;
}

static bool has_parts(const char *dir)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, json_only, alphasort);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return n > 0;
}

static bool exists_in(const struct mem *mem, const char *dir, const char *slug)
{
	char path[PATH_BYTES];
	struct stat st;
	if (join(path, dir, slug, ".json") < 0)
		return false;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	(void)join(path, dir, slug, "");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && has_parts(path))
		return true;
	struct type_recording recording = {0};
	bool found = type_recording_find(mem, dir, slug, &recording) == 0;
	type_recording_done(&recording, mem);
	return found;
}

bool type_source_exists(const struct mem *mem, const struct types_conf *conf, const char *slug)
{
	return type_slug_is(slug) && ((conf->user_dir && exists_in(mem, conf->user_dir, slug)) ||
					     exists_in(mem, conf->builtin_dir, slug));
}

struct slug_list {
	const struct mem *mem;
	struct type_slug *slugs;
	uint32_t n, room;
};

static int add_slug(struct slug_list *l, const char *slug)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (strcmp(l->slugs[i].s, slug) == 0)
			return 0;
	if (l->n == l->room) {
		uint32_t room = l->room ? l->room * 2 : 64;
		struct type_slug *slugs = mem_resize(l->mem, l->slugs, room, sizeof(*slugs));
		if (!slugs)
			return -ENOMEM;
		l->slugs = slugs;
		l->room = room;
	}
	(void)snprintf(l->slugs[l->n++].s, sizeof(l->slugs->s), "%s", slug);
	return 0;
}

/* Slugs of a directory, by name. */
static int add_slugs_of(struct slug_list *l, const char *dir)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, NULL, alphasort), r = n < 0 ? -errno : 0;
	for (int i = 0; i < n; i++) {
		char *name = entries[i]->d_name;
		if (ends_json(name))
			name[strlen(name) - 5] = 0;
		else
			(void)type_recording_cut(name);
		if (r == 0 && type_slug_is(name) && exists_in(l->mem, dir, name))
			r = add_slug(l, name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* order.txt: a slug a line, # begins a comment. */
static int add_ordered(struct slug_list *l, const struct types_conf *conf)
{
	struct type_file f = {.name = "order.txt"};
	char path[PATH_BYTES], *rest = NULL;
	int r = join(path, conf->builtin_dir, "order", ".txt");
	if (r == 0)
		r = read_file(l->mem, path, &f, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	char *text = (char *)f.text;
	for (char *s = strtok_r(text, "\n", &rest); s && r == 0; s = strtok_r(NULL, "\n", &rest))
		if (s[0] != '#' && type_slug_is(s) && type_source_exists(l->mem, conf, s))
			r = add_slug(l, s);
	mem_free(l->mem, text);
	return r;
}

int type_slugs_read(const struct mem *mem, const struct types_conf *conf,
	struct type_slug **ret_slugs, uint32_t *ret_n)
{
	struct slug_list l = {.mem = mem};
	int r = add_ordered(&l, conf);
	if (r == 0)
		r = add_slugs_of(&l, conf->builtin_dir);
	if (r == 0 && conf->user_dir)
		r = add_slugs_of(&l, conf->user_dir);
	if (r < 0) {
		mem_free(mem, l.slugs);
		return r;
	}
	*ret_slugs = l.slugs;
	*ret_n = l.n;
	return 0;
}

static int read_draft(struct type_draft *d, const struct type_source *s, struct fault *reterr_fault)
{
	if (s->is_dir || type_nl6_is(&s->files[0]))
		return type_nl6_read(d, s->files, s->n, reterr_fault);
	return type_json_read(d, &s->files[0], reterr_fault);
}

int type_source_compile(const struct mem *mem, const char *slug, const struct type_source *s,
	struct type **ret_type, struct fault *reterr_fault)
{
	struct type_draft d;
	struct compile_fault wrong = {0};
	type_draft_init(&d, mem);
	d.slug = slug;
	int r;
	if (s->recording.path)
		r = type_recording_compile(&d, &s->recording, ret_type, reterr_fault);
	else
		r = read_draft(&d, s, reterr_fault);
	if (r == 0 && !s->recording.path)
		r = type_compile(&d, ret_type, &wrong);
	if (r == -EINVAL && wrong.what != COMPILE_OK)
		r = type_json_tell(&s->files[0], &wrong, reterr_fault);
	type_draft_done(&d);
	return r;
}
