#include "base/file.h"
#include "base/notify.h"
#include "base/share.h"
#include "fake.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A fresh directory; path joins onto it. */
static char dir[64];

static const char *path(const char *name)
{
	static char buf[2][128];
	static unsigned turn;
	turn = !turn;
	(void)snprintf(buf[turn], sizeof(buf[0]), "%s/%s", dir, name);
	return buf[turn];
}

static void make_dir(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/nl6-file-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void write_file(const char *name, const char *bytes, size_t n)
{
	FILE *f = fopen(path(name), "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

static int read_scenario(struct fake *f, void *arg)
{
	char *bytes;
	size_t len;
	int r = file_read(f->mem, arg, 100, &bytes, &len);
	if (r < 0)
		return r;
	ck_assert_uint_eq(len, 4);
	ck_assert_int_eq(memcmp(bytes, "a\0bc", 5), 0);
	(void)mem_free(f->mem, bytes);
	return 0;
}

START_TEST(reads_whole_files)
{
	make_dir();
	struct fake f = fake_make();
	write_file("four", "a\0bc", 4);
	char four[128];
	(void)snprintf(four, sizeof(four), "%s", path("four"));
	fake_fail_each(&f, read_scenario, four);
	char *bytes;
	size_t len;
	ck_assert_int_eq(file_read(f.mem, four, 4, &bytes, &len), 0);
	ck_assert_uint_eq(len, 4);
	(void)mem_free(f.mem, bytes);
	ck_assert_int_eq(file_read(f.mem, four, 3, &bytes, &len), -EFBIG);
	ck_assert_int_eq(file_read(f.mem, path("none"), 3, &bytes, &len), -ENOENT);
	ck_assert_int_eq(file_read(f.mem, dir, 3, &bytes, &len), -EISDIR);
	write_file("empty", "", 0);
	ck_assert_int_eq(file_read(f.mem, path("empty"), 0, &bytes, &len), 0);
	ck_assert_uint_eq(len, 0);
	ck_assert_str_eq(bytes, "");
	(void)mem_free(f.mem, bytes);
	(void)unlink(path("empty"));
	(void)unlink(four);
	ck_assert_int_eq(rmdir(dir), 0);
	fake_done(&f);
}
END_TEST

START_TEST(finds_the_data_of_a_program)
{
	make_dir();
	struct fake f = fake_make();
	static const char *const made[] = {"build", "build/share", "build/share/nl6", "usr",
		"usr/bin", "usr/share", "usr/share/nl6", "usr/share/nl6/devices"};
	for (unsigned i = 0; i < ARRAY_SIZE(made); i++)
		ck_assert_int_eq(mkdir(path(made[i]), 0700), 0);
	char *found;
	struct fault fault;
	ck_assert_int_eq(share_find(f.mem, path("build/nl6"), &found, &fault), -ENOENT);
	ck_assert_ptr_nonnull(strstr(fault.text, "build/share/nl6"));
	ck_assert_int_eq(mkdir(path("build/share/nl6/devices"), 0700), 0);
	ck_assert_int_eq(share_find(f.mem, path("build/nl6"), &found, &fault), 0);
	ck_assert_str_eq(found, path("build/share/nl6"));
	(void)mem_free(f.mem, found);
	ck_assert_int_eq(share_find(f.mem, path("usr/bin/nl6"), &found, &fault), 0);
	ck_assert_str_eq(found, path("usr/bin/../share/nl6"));
	(void)mem_free(f.mem, found);
	/* A link to the program is followed, as /proc/self/exe is one. */
	ck_assert_int_eq(symlink(path("usr/bin/nl6"), path("link")), 0);
	ck_assert_int_eq(share_find(f.mem, path("link"), &found, &fault), 0);
	ck_assert_str_eq(found, path("usr/bin/../share/nl6"));
	(void)mem_free(f.mem, found);
	(void)unlink(path("link"));
	ck_assert_int_eq(rmdir(path("build/share/nl6/devices")), 0);
	for (unsigned i = ARRAY_SIZE(made); i-- > 0;)
		ck_assert_int_eq(rmdir(path(made[i])), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	fake_done(&f);
}
END_TEST

static void ck_notified(const char *target, const struct sockaddr_un *sa, socklen_t len)
{
	AUTO_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)sa, len), 0);
	ck_assert_int_eq(notify_send(target, "READY=1"), 0);
	char buf[32];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);
	ck_assert_int_eq(n, 7);
	ck_assert_int_eq(memcmp(buf, "READY=1", 7), 0);
}

START_TEST(notifies_a_service_manager)
{
	make_dir();
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path("notify"));
	ck_notified(path("notify"), &sa, sizeof(sa));
	(void)unlink(path("notify"));
	char abstract[64];
	int n = snprintf(abstract, sizeof(abstract), "@nl6-test-%d", getpid());
	memcpy(sa.sun_path, abstract, (size_t)n);
	sa.sun_path[0] = 0;
	ck_notified(abstract, &sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n));
	ck_assert_int_eq(notify_send(NULL, "READY=1"), 0);
	ck_assert_int_eq(notify_send("", "READY=1"), 0);
	ck_assert_int_eq(notify_send("relative", "READY=1"), -EINVAL);
	ck_assert_int_eq(notify_send(path("nobody"), "READY=1"), -ENOENT);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

UNIT_MAIN(reads_whole_files, finds_the_data_of_a_program, notifies_a_service_manager)
