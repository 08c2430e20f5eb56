/* The lock of a lab network: RUN_DIR/NAME.lock, held by flock(2) from the first step to the last,
 * with the record of what was made (lab_record.h). A file that nobody holds was left by a killed
 * run. The lab thread owns it. */
#pragma once
#include "base/fault.h"
#include "net/lab_record.h"

struct lab_lock;
/* Takes the lock of ns_name in run_dir, or, if that is NULL, in the first of /run/nl6,
 * $XDG_RUNTIME_DIR/nl6 and /tmp/nl6-UID that is or can be made ours (our user's, writable by no
 * other). make: also if there is no such file yet. -EBUSY: another process has it, which the fault
 * names; -ENOENT: no file, without make; -EACCES: no directory; -ENOMEM. */
MUST_CHECK int lab_lock_take(const struct mem *mem, const char *run_dir, const char *ns_name,
	bool make, struct lab_lock **ret_lock, struct fault *reterr_fault);
/* Lets go, and deletes the file first if all it tells of is undone. Takes NULL, returns NULL. */
struct lab_lock *lab_lock_drop(struct lab_lock *l, bool undone);
const char *lab_lock_path(const struct lab_lock *l);
/* What an earlier run wrote. */
MUST_CHECK int lab_lock_read(struct lab_lock *l, struct lab_record *ret_record);
/* Empties the file: all that it tells of is undone. */
MUST_CHECK int lab_lock_clear(struct lab_lock *l);
/* Appends lines and waits until they are stored. */
MUST_CHECK int lab_lock_note(struct lab_lock *l, const struct text *lines);

/* While it is held no lock of the directory is taken, read or let go. Not nested. */
MUST_CHECK int lab_lock_dir_take(struct lab_lock *l);
void lab_lock_dir_drop(struct lab_lock *l);
/* Calls fn with the record of each other lock of the directory, which must be held; live: a process
 * has it. */
MUST_CHECK int lab_lock_others(struct lab_lock *l,
	void (*fn)(void *arg, const struct lab_record *r, bool live), void *arg);
