/* Files of recordings, read record by record: .snmprec, .snmprec.bz2, .snmpwalk and .snmpwalk.bz2.
 * What is in memory is one record. One thread owns each. */
#pragma once
#include "base/fault.h"
#include "base/mem.h"
#include "wire/record.h"

#define RECORDING_RECORD_MAX (1u << 20) /* bytes of the text of a record */

enum recording_form { RECORDING_REC, RECORDING_WALK };
/* The form that a file's name tells, and where in the name its ending begins. -EINVAL: it is no
 * recording. */
MUST_CHECK int recording_form_of(
	const char *name, enum recording_form *ret_form, size_t *ret_ending);

/* What names of objects stand for, where a walk has names instead of numbers. */
struct recording_names { /* borrowed */
	/* -ENOENT: nobody knows the name. */
	int (*find)(void *arg, const char *name, struct oid *ret_oid);
	void *arg;
};
struct recording;
/* Whether it is compressed is told from its first bytes. names: of a walk; NULL: a name
 * is a fault. -ENOENT, -EACCES…; -ENOMEM. */
MUST_CHECK int recording_open(const struct mem *mem, const char *path, enum recording_form form,
	const struct recording_names *names, struct recording **ret_recording);
struct recording *recording_free(struct recording *r);
CLEANUP(recording);
/* The next record; its strings are valid until the next call. -ENODATA: the end; -EINVAL: it is
 * wrong (*reterr_what, a constant, tells), the next call goes on after it; -EBADMSG: the
 * compression is, which ends the file; -EIO…; -ENOMEM. */
MUST_CHECK int recording_next(
	struct recording *r, struct record *ret_record, const char **reterr_what);
/* Where the record that was told last begins, from 1. */
uint32_t recording_line(const struct recording *r);
