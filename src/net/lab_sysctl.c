#include "net/lab_sysctl.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const forward_path[2] = {"ipv4/ip_forward", "ipv6/conf/all/forwarding"};

int lab_sysctl_open(const struct mem *mem, struct lab_sysctl *ret_s)
{
	/* Not /proc/sys/net: what is below it depends on who looks, what is below these does not.
	 */
	int v4 = open("/proc/sys/net/ipv4", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v4 < 0)
		return -errno;
	int v6 = open("/proc/sys/net/ipv6", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret_s = (struct lab_sysctl){mem, v4, v6};
	return 0;
}

void lab_sysctl_close(struct lab_sysctl *s)
{
	if (s->v4 >= 0)
		(void)close(s->v4);
	if (s->v6 >= 0)
		(void)close(s->v6);
	s->v4 = s->v6 = -1;
}

static int open_path(const struct lab_sysctl *s, const char *path, int flags)
{
	int dir = strncmp(path, "ipv4/", 5) == 0 ? s->v4 : s->v6;
	if (dir < 0)
		return -ENOENT;
	int fd = openat(dir, path + strlen("ipvN/"), flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int lab_sysctl_get(
	const struct lab_sysctl *s, const char *path, char ret_value[static LAB_RECORD_VALUE_BYTES])
{
	AUTO_FD int fd = open_path(s, path, O_RDONLY);
	if (fd < 0)
		return fd;
	char buf[LAB_RECORD_VALUE_BYTES];
	ssize_t n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		return -errno;
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	memcpy(ret_value, buf, (size_t)n + 1);
	return 0;
}

int lab_sysctl_set(const struct lab_sysctl *s, const char *path, const char *value)
{
	AUTO_FD int fd = open_path(s, path, O_WRONLY);
	if (fd < 0)
		return fd;
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* Writes only where it changes something: /proc/sys may be read-only. */
static int set_if_differs(const struct lab_sysctl *s, const char *path, const char *value)
{
	char now[LAB_RECORD_VALUE_BYTES];
	int r = lab_sysctl_get(s, path, now);
	if (r == 0 && strcmp(now, value) != 0)
		r = lab_sysctl_set(s, path, value);
	return r;
}

static void put_after(struct text *t, const char *path, const char *value)
{
	struct lab_setting a = {{0}};
	(void)snprintf(a.path, sizeof(a.path), "%s", path);
	(void)snprintf(a.old, sizeof(a.old), "%s", value);
	lab_record_put_setting(t, &a);
}

/* The "after" lines: interfaces that forward on their own lose that when the switch of all goes
 * back to 0, and accept_redirects of IPv4 becomes its opposite. */
static int put_afters(const struct lab_sysctl *s, bool v6, struct text *t)
{
	char value[LAB_RECORD_VALUE_BYTES], path[LAB_RECORD_PATH_BYTES];
	if (!v6 && lab_sysctl_get(s, "ipv4/conf/all/accept_redirects", value) == 0)
		put_after(t, "ipv4/conf/all/accept_redirects", value);
	int fd = open_path(s, v6 ? "ipv6/conf" : "ipv4/conf", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	DIR *d = fdopendir(fd);
	if (!d) {
		int r = -errno;
		(void)close(fd);
		return r;
	}
	for (struct dirent *e; (e = readdir(d));) {
		int len = snprintf(
			path, sizeof(path), "ipv%d/conf/%s/forwarding", v6 ? 6 : 4, e->d_name);
		if (e->d_name[0] == '.' || len >= (int)sizeof(path))
			continue;
		if (lab_sysctl_get(s, path, value) == 0 && strcmp(value, "1") == 0)
			put_after(t, path, value);
	}
	(void)closedir(d);
	return t->err;
}

struct others {
	const char *path, *boot;
	uint64_t netns;
	struct text *lines; /* the first other's record of path; may be NULL */
	bool found, live;
};

static void see_other(void *arg, const struct lab_record *r, bool live)
{
	struct others *o = arg;
	uint32_t i, n;
	if (r->netns != o->netns || strcmp(r->boot, o->boot) != 0 ||
		!lab_record_find(r, o->path, &i, &n))
		return;
	if (!o->found && o->lines)
		for (uint32_t k = 0; k < n; k++)
			lab_record_put_setting(o->lines, &r->settings[i + k]);
	o->found = true;
	o->live |= live;
}

static int forward_locked(const struct lab_sysctl *s, struct lab_lock *lock, bool v6,
	const char *boot, uint64_t netns)
{
	const char *path = forward_path[v6];
	char now[LAB_RECORD_VALUE_BYTES];
	int r = lab_sysctl_get(s, path, now);
	if (r < 0)
		return r;
	AUTO_TEXT struct text lines = TEXT(s->mem);
	struct others o = {path, boot, netns, &lines, false, false};
	if (strcmp(now, "0") != 0) {
		r = lab_lock_others(lock, see_other, &o);
		/* On without any of us: not ours to restore. */
		return r == 0 && o.found ? lab_lock_note(lock, &lines) : r;
	}
	struct lab_setting set = {.old = "0", .new = "1"};
	(void)snprintf(set.path, sizeof(set.path), "%s", path);
	lab_record_put_setting(&lines, &set);
	r = put_afters(s, v6, &lines);
	if (r == 0)
		r = lab_lock_note(lock, &lines);
	return r == 0 ? lab_sysctl_set(s, path, "1") : r;
}

int lab_sysctl_forward(const struct lab_sysctl *s, struct lab_lock *lock, bool v6, const char *boot,
	uint64_t netns)
{
	int r = lab_lock_dir_take(lock);
	if (r < 0)
		return r;
	r = forward_locked(s, lock, v6, boot, netns);
	lab_lock_dir_drop(lock);
	return r;
}

/* One sysctl with its "after" lines. */
static int restore_one(const struct lab_sysctl *s, struct lab_lock *lock,
	const struct lab_record *rec, uint32_t i, uint32_t n)
{
	const struct lab_setting *set = &rec->settings[i];
	char now[LAB_RECORD_VALUE_BYTES];
	int r = lab_sysctl_get(s, set->path, now);
	if (r < 0 || strcmp(now, set->new) != 0)
		return r == -ENOENT ? 0 : r;
	struct others o = {set->path, rec->boot, rec->netns, NULL, false, false};
	r = lab_lock_others(lock, see_other, &o);
	if (r < 0 || o.live)
		return r;
	r = lab_sysctl_set(s, set->path, set->old);
	for (uint32_t k = 1; k < n && r == 0; k++) {
		r = set_if_differs(s, set[k].path, set[k].old);
		if (r == -ENOENT)
			r = 0; /* the interface has gone */
	}
	return r;
}

int lab_sysctl_restore(
	const struct lab_sysctl *s, struct lab_lock *lock, const struct lab_record *rec)
{
	int r = lab_lock_dir_take(lock);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rec->settings_len && r == 0; i++) {
		uint32_t at, n;
		if (rec->settings[i].new[0] &&
			lab_record_find(rec, rec->settings[i].path, &at, &n) && at == i)
			r = restore_one(s, lock, rec, i, n);
	}
	lab_lock_dir_drop(lock);
	return r;
}
