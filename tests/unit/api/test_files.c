#include "api/files.h"
#include "fake.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/nl6-files-XXXXXX";

static void put(const char *name, const char *text, size_t bytes)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	(void)close(fd);
}

static int remove_one(
	const char *path, const struct stat *st UNUSED, int flag UNUSED, struct FTW *at UNUSED)
{
	return remove(path);
}

static void make_tree(void)
{
	char path[256];
	(void)strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/js", dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	put("index.html", "<p>", 3);
	put("js/main.js", "x\0y", 3);
	put("unknown.bin", "", 0);
	put(".hidden", "secret", 6);
	(void)snprintf(path, sizeof(path), "%s/link.html", dir);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

static void drop_tree(void)
{
	ck_assert_int_eq(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

START_TEST(files_are_found_by_their_path)
{
	static const char *const bad[] = {"", ".", "..", ".hidden", "js", "js/", "main.js",
		"js/../index.html", "../files", "/etc/passwd", "link.html", "INDEX.html"};
	struct fake f = fake_make();
	struct files *files = NULL;
	make_tree();
	ck_assert_int_eq(files_new(f.mem, dir, &files, NULL), 0);
	const struct file *page = files_find(files, "index.html");
	const struct file *script = files_find(files, "js/main.js");
	ck_assert_ptr_nonnull(page);
	ck_assert_ptr_nonnull(script);
	ck_assert_str_eq(page->type, "text/html; charset=utf-8");
	ck_assert_str_eq(script->type, "text/javascript; charset=utf-8");
	ck_assert_uint_eq(script->len, 3);
	ck_assert_mem_eq(script->bytes, "x\0y", 3);
	ck_assert_str_ne(page->etag, script->etag);
	ck_assert_str_eq(files_find(files, "unknown.bin")->type, "application/octet-stream");
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!files_find(files, bad[i]), "%s", bad[i]);
	files = files_free(files);
	drop_tree();
	fake_done(&f);
}
END_TEST

START_TEST(a_missing_folder_is_named)
{
	struct fake f = fake_make();
	struct files *files = NULL;
	struct fault fault;
	ck_assert_int_eq(files_new(f.mem, "/nonexistent/web", &files, &fault), -ENOENT);
	ck_assert_str_eq(fault.field, "/nonexistent/web");
	ck_assert_int_eq(files_new(f.mem, NULL, &files, &fault), 0);
	ck_assert_ptr_null(files_find(files, "index.html"));
	files = files_free(files);
	fake_done(&f);
}
END_TEST

static int make_one(struct fake *f, void *arg UNUSED)
{
	struct files *files = NULL;
	int r = files_new(f->mem, dir, &files, NULL);
	files = files_free(files);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	make_tree();
	fake_fail_each(&f, make_one, NULL);
	drop_tree();
	fake_done(&f);
}
END_TEST

UNIT_MAIN(files_are_found_by_their_path, a_missing_folder_is_named, each_allocation_may_fail)
