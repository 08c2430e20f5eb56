/* Settings below /proc/sys/net of one network namespace, whichever the thread is in later, and
 * forwarding: switched on with a record of what to restore, shared by every lab network of the
 * machine, restored by the last. The lab thread owns it. */
#pragma once
#include "net/lab_lock.h"

struct lab_sysctl {
	const struct mem *mem;
	int v4, v6; /* directories; v6 is -1 in a kernel without */
};
/* Of the calling thread's present namespace. */
MUST_CHECK int lab_sysctl_open(const struct mem *mem, struct lab_sysctl *ret_s);
void lab_sysctl_close(struct lab_sysctl *s);
/* path: "ipv4/...", "ipv6/...". The value without its newline. -ENOENT, -EACCES, -EROFS ... */
MUST_CHECK int lab_sysctl_get(const struct lab_sysctl *s, const char *path,
	char ret_value[static LAB_RECORD_VALUE_BYTES]);
MUST_CHECK int lab_sysctl_set(const struct lab_sysctl *s, const char *path, const char *value);

/* Switches forwarding of a family on, unless it is; notes in the lock what to restore, also if
 * another lab network did it and has to be outlived. boot, netns: of the present run; others'
 * records with other ones do not count. An error of lab_sysctl_get or _set, or -ENOMEM. */
MUST_CHECK int lab_sysctl_forward(const struct lab_sysctl *s, struct lab_lock *lock, bool v6,
	const char *boot, uint64_t netns);
/* Restores what rec tells of, unless a living lab network needs it or someone has changed it since.
 * rec: the lock's own. */
MUST_CHECK int lab_sysctl_restore(
	const struct lab_sysctl *s, struct lab_lock *lock, const struct lab_record *rec);
