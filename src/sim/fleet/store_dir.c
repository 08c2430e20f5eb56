#include "sim/fleet/store_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIELD "-state-dir"
#define LOCK_FILE "nl6.lock"
#define NEW STORE_FILE ".new"
#define REPAIRED STORE_FILE ".repaired" /* whole, and to be put in place */

char *store_path(const struct store *s, const char *name)
{
	struct text t = TEXT(s->env.mem);
	text_printf(&t, "%s/%s", s->dir, name);
	if (t.err == 0)
		return t.s;
	text_done(&t);
	return NULL;
}

static int judge_dir(const struct store *s, struct fault *fault)
{
	struct stat st;
	if (fstat(s->dir_fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return fault_set(fault, -EPERM, FIELD, NULL,
			"%s belongs to user %u, not to user %u, who runs nl6", s->dir, st.st_uid,
			geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return fault_set(fault, -EPERM, FIELD, NULL,
			"%s may be written by others, and what is in it could be theirs", s->dir);
	return 0;
}

/* A name in the directory must be a file of ours. */
static int judge_file(const struct store *s, const char *name, struct fault *fault)
{
	struct stat st;
	if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return fault_set(fault, -EPERM, FIELD, NULL, "%s/%s is no regular file of user %u",
			s->dir, name, geteuid());
	/* It may hold secrets. */
	if ((st.st_mode & 077) && fchmodat(s->dir_fd, name, 0600, 0) < 0)
		return -errno;
	return 0;
}

static int lock_dir(struct store *s, struct fault *fault)
{
	char pid[32] = "";
	s->lock_fd = openat(
		s->dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (s->lock_fd < 0)
		return -errno;
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		int n = snprintf(pid, sizeof(pid), "%d\n", getpid());
		/* Only for people: where there is no room for it, the lock holds as well. */
		if (ftruncate(s->lock_fd, 0) == 0)
			(void)!pwrite(s->lock_fd, pid, (size_t)n, 0);
		return 0;
	}
	if (errno != EWOULDBLOCK)
		return -errno;
	ssize_t n = pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
	pid[n > 0 ? n : 0] = 0;
	pid[strspn(pid, "0123456789")] = 0;
	return fault_set(fault, -EBUSY, FIELD, NULL, "%s is used by another nl6, process %s",
		s->dir, pid[0] ? pid : "unknown");
}

static int open_dir(struct store *s, const char *dir, struct fault *fault)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	char *resolved = realpath(dir, NULL);
	if (!resolved)
		return -errno;
	s->dir = mem_strdup(s->env.mem, resolved);
	free(resolved);
	if (!s->dir)
		return -ENOMEM;
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return -errno;
	int r = judge_dir(s, fault);
	static const char *const names[] = {
		LOCK_FILE, STORE_FILE, STORE_FILE STORE_LOG, NEW, NEW STORE_LOG, REPAIRED};
	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = judge_file(s, names[i], fault);
	return r;
}

int store_dir_open(struct store *s, const char *dir, struct fault *reterr_fault)
{
	int r = open_dir(s, dir, reterr_fault);
	if (r == 0)
		r = lock_dir(s, reterr_fault);
	if (r < 0 && reterr_fault && reterr_fault->code != r && r != -ENOMEM)
		return fault_set(
			reterr_fault, r, FIELD, NULL, "%.200s: %s", dir, strerrordesc_np(-r));
	return r;
}

void store_dir_close(struct store *s)
{
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	if (s->dir_fd >= 0)
		(void)close(s->dir_fd);
	s->lock_fd = s->dir_fd = -1;
	s->dir = mem_free(s->env.mem, s->dir);
}

static bool is_there(const struct store *s, const char *name)
{
	return faccessat(s->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int remove_file(const struct store *s, const char *name)
{
	return unlinkat(s->dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* A second name for what is damaged. */
static int link_aside(struct store *s, const char *name, const char *aside)
{
	if (!is_there(s, name))
		return 0;
	return linkat(s->dir_fd, name, s->dir_fd, aside, 0) < 0 ? -errno : 0;
}

static int keep_aside(struct store *s)
{
	char stamp[32], aside[64], aside_log[80];
	time_t now = (time_t)(clk_wall_ns(s->env.clk) / NS_PER_SEC);
	struct tm tm;
	(void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	int r = -EEXIST;
	for (unsigned i = 0; r == -EEXIST && i < 1000; i++) {
		(void)snprintf(aside, sizeof(aside), STORE_FILE ".damaged-%s-%u", stamp, i);
		(void)snprintf(aside_log, sizeof(aside_log), "%s" STORE_LOG, aside);
		r = is_there(s, aside_log) ? -EEXIST : link_aside(s, STORE_FILE, aside);
	}
	if (r == 0)
		r = link_aside(s, STORE_FILE STORE_LOG, aside_log);
	if (r == 0)
		(void)snprintf(s->kept_aside, sizeof(s->kept_aside), "%.400s/%s", s->dir, aside);
	return r;
}

/* The damaged file keeps a name before it loses its own. The log must be gone when the new file
 * gets the name, since it would be taken for that one's. */
static int put_in_place(struct store *s)
{
	int r = is_there(s, STORE_FILE) ? keep_aside(s) : 0;
	if (r == 0 && fsync(s->dir_fd) < 0)
		r = -errno;
	if (r == 0)
		r = remove_file(s, STORE_FILE STORE_LOG);
	if (r == 0 && renameat(s->dir_fd, REPAIRED, s->dir_fd, STORE_FILE) < 0)
		r = -errno;
	return r == 0 && fsync(s->dir_fd) < 0 ? -errno : r;
}

static int tell(const struct store *s, int r, struct fault *fault)
{
	if (r < 0)
		return fault_set(fault, r, FIELD, NULL, "cannot make a new file in %s: %s", s->dir,
			strerrordesc_np(-r));
	return r;
}

int store_dir_replace(struct store *s, struct fault *reterr_fault)
{
	int r = renameat(s->dir_fd, NEW, s->dir_fd, REPAIRED) < 0 ? -errno : 0;
	if (r == 0 && fsync(s->dir_fd) < 0)
		r = -errno;
	if (r == 0)
		r = put_in_place(s);
	return tell(s, r, reterr_fault);
}

int store_dir_settle(struct store *s, struct fault *reterr_fault)
{
	static const char *const names[] = {NEW, NEW STORE_LOG, NEW "-journal"};
	int r = is_there(s, REPAIRED) ? put_in_place(s) : 0;
	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = remove_file(s, names[i]);
	return tell(s, r, reterr_fault);
}
