#include "net/lab_lock.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".lock"

struct lab_lock {
	const struct mem *mem;
	int dir, fd;
	char name[NAME_MAX + 1]; /* in dir */
	char path[PATH_MAX];
};

static int flock_wait(int fd, int how)
{
	while (flock(fd, how) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Opens a directory for locks that no other user can tamper with. */
static int open_dir(const char *path, bool make, int *ret_dir)
{
	if (make && mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	AUTO_FD int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (dir < 0 || fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EACCES;
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return -errno;
	*ret_dir = TAKE_FD(dir);
	return 0;
}

/* The first usable directory; its path in buf. */
static int choose_dir(
	const char *run_dir, bool make, char buf[static PATH_MAX], int *ret_dir, struct fault *f)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int r = -EACCES;
	for (int i = 0; i < (run_dir ? 1 : 3); i++) {
		int len = run_dir  ? snprintf(buf, PATH_MAX, "%s", run_dir)
			  : i == 0 ? snprintf(buf, PATH_MAX, "/run/nl6")
			  : i == 1 ? snprintf(buf, PATH_MAX, "%s/nl6", xdg ? xdg : "")
				   : snprintf(buf, PATH_MAX, "/tmp/nl6-%u", geteuid());
		if (len >= PATH_MAX || (i == 1 && (!xdg || xdg[0] != '/')))
			continue;
		r = open_dir(buf, make, ret_dir);
		if (r == 0)
			return 0;
	}
	if (!make)
		return -ENOENT;
	return fault_set(f, r, "-run-dir", "a directory of this user's that no other can write",
		"no directory for locks: %s: %s", buf, strerror(-r));
}

/* Opens and locks the file; *ret_fd is the one that the name still stands for. */
static int open_locked(int dir, const char *name, bool make, int *ret_fd)
{
	for (;;) {
		AUTO_FD int fd = openat(
			dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0644);
		if (fd < 0)
			return -errno;
		int r = flock_wait(fd, LOCK_EX | LOCK_NB);
		struct stat mine, named;
		if (r == -EWOULDBLOCK) {
			*ret_fd = TAKE_FD(fd); /* to be read */
			return r;
		}
		if (r < 0)
			return r;
		if (fstat(fd, &mine) < 0)
			return -errno;
		/* Its holder may have deleted it between the two calls. */
		if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
			named.st_ino != mine.st_ino || named.st_dev != mine.st_dev)
			continue;
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
}

static int read_record(const struct mem *mem, int fd, struct lab_record *ret_record)
{
	char *buf = mem_alloc(mem, LAB_RECORD_MAX_BYTES);
	if (!buf)
		return -ENOMEM;
	size_t len = 0;
	int r = 0;
	while (len < LAB_RECORD_MAX_BYTES) {
		ssize_t n = pread(fd, buf + len, LAB_RECORD_MAX_BYTES - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		len += (size_t)n;
	}
	if (r == 0)
		r = lab_record_parse(mem, buf, len, ret_record);
	(void)mem_free(mem, buf);
	return r;
}

static int refuse_busy(const struct lab_lock *l, const char *ns_name, struct fault *f)
{
	AUTO_RECORD struct lab_record rec = {0};
	int r = read_record(l->mem, l->fd, &rec);
	char who[32] = "another process";
	if (r == 0 && rec.pid)
		(void)snprintf(who, sizeof(who), "process %u", rec.pid);
	return fault_set(f, -EBUSY, "-namespace", "the name of a namespace that is not in use",
		"the lab network %s is in use by %s, which holds %s", ns_name, who, l->path);
}

int lab_lock_take(const struct mem *mem, const char *run_dir, const char *ns_name, bool make,
	struct lab_lock **ret_lock, struct fault *reterr_fault)
{
	struct lab_lock *l = mem_alloc(mem, sizeof(*l));
	if (!l)
		return fault_set(reterr_fault, -ENOMEM, "", "", "no memory for a lock");
	l->mem = mem;
	l->dir = l->fd = -1;
	char dir[PATH_MAX];
	int r = choose_dir(run_dir, make, dir, &l->dir, reterr_fault);
	if (r == 0) {
		(void)snprintf(l->name, sizeof(l->name), "%s" SUFFIX, ns_name);
		(void)snprintf(l->path, sizeof(l->path), "%.*s/%s",
			(int)(sizeof(l->path) - sizeof(l->name) - 2), dir, l->name);
		r = lab_lock_dir_take(l);
		if (r == 0) {
			r = open_locked(l->dir, l->name, make, &l->fd);
			if (r == -EWOULDBLOCK)
				r = refuse_busy(l, ns_name, reterr_fault);
			else if (r < 0)
				(void)fault_set(reterr_fault, r, "-run-dir", "",
					"cannot lock %s: %s", l->path, strerror(-r));
			lab_lock_dir_drop(l);
		}
	}
	if (r < 0)
		l = lab_lock_drop(l, false);
	else
		*ret_lock = l;
	return r;
}

struct lab_lock *lab_lock_drop(struct lab_lock *l, bool undone)
{
	if (!l)
		return NULL;
	if (undone)
		(void)unlinkat(l->dir, l->name, 0);
	if (l->fd >= 0)
		(void)close(l->fd);
	if (l->dir >= 0)
		(void)close(l->dir);
	return mem_free(l->mem, l);
}

const char *lab_lock_path(const struct lab_lock *l)
{
	return l->path;
}

int lab_lock_read(struct lab_lock *l, struct lab_record *ret_record)
{
	return read_record(l->mem, l->fd, ret_record);
}

int lab_lock_clear(struct lab_lock *l)
{
	return ftruncate(l->fd, 0) < 0 ? -errno : 0;
}

int lab_lock_note(struct lab_lock *l, const struct text *lines)
{
	if (lines->err)
		return lines->err;
	size_t len = 0;
	off_t end = lseek(l->fd, 0, SEEK_END);
	if (end < 0)
		return -errno;
	if ((size_t)end + lines->len > LAB_RECORD_MAX_BYTES)
		return -EFBIG;
	while (len < lines->len) {
		ssize_t n = write(l->fd, lines->s + len, lines->len - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	}
	/* Some file systems have nothing to store to. */
	return fsync(l->fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int lab_lock_dir_take(struct lab_lock *l)
{
	return flock_wait(l->dir, LOCK_EX);
}

void lab_lock_dir_drop(struct lab_lock *l)
{
	(void)flock(l->dir, LOCK_UN);
}

static int see_other(struct lab_lock *l, const char *name,
	void (*fn)(void *arg, const struct lab_record *r, bool live), void *arg)
{
	AUTO_FD int fd = -1;
	int r = open_locked(l->dir, name, false, &fd);
	if (r < 0 && r != -EWOULDBLOCK)
		return r == -ENOENT ? 0 : r;
	AUTO_RECORD struct lab_record rec = {0};
	int read = read_record(l->mem, fd, &rec);
	if (read == 0)
		fn(arg, &rec, r == -EWOULDBLOCK);
	return read;
}

int lab_lock_others(
	struct lab_lock *l, void (*fn)(void *arg, const struct lab_record *r, bool live), void *arg)
{
	int again = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (again < 0)
		return -errno;
	DIR *d = fdopendir(again);
	if (!d) {
		int r = -errno;
		(void)close(again);
		return r;
	}
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len <= strlen(SUFFIX) || strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		if (strcmp(e->d_name, l->name) != 0)
			r = see_other(l, e->d_name, fn, arg);
	}
	(void)closedir(d);
	return r;
}
