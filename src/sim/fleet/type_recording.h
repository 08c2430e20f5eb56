/* Device types made of recordings: what the agent answered is what the devices answer. Only
 * type*.c files include this. */
#pragma once
#include "sim/fleet/recording.h"
#include "sim/fleet/type_draft.h"

struct type_recording {
	char *path;	  /* owned; NULL: there is none */
	const char *name; /* of the file, within path */
	enum recording_form form;
};
/* The recording of a slug in a directory, by the first of the endings that is there: .snmprec,
 * .snmprec.bz2, .snmpwalk, .snmpwalk.bz2. -ENOENT, -ENAMETOOLONG, -ENOMEM. */
MUST_CHECK int type_recording_find(const struct mem *mem, const char *dir, const char *slug,
	struct type_recording *ret_recording);
void type_recording_done(struct type_recording *r, const struct mem *mem); /* takes a zeroed one */
/* Cuts the ending of a recording off a file's name; false: it is none. */
bool type_recording_cut(char *name);
/* Reads it and makes the type; the draft is initialised and has its slug. Records may come in any
 * order; of several with one OID the last counts. -EINVAL: *reterr_fault tells file and line; -EIO,
 * -ENOMEM. */
MUST_CHECK int type_recording_compile(struct type_draft *d, const struct type_recording *r,
	struct type **ret_type, struct fault *reterr_fault);
