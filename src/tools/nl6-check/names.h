/* Names of objects by the MIB modules of directories, for recordings. One of a process: the
 * library behind it has a single tree. */
#pragma once
#include "base/fault.h"
#include "base/flag.h"
#include "sim/fleet/recording.h"

/* Reads all modules of the directories. -ENOENT: one is no directory. */
MUST_CHECK int names_read(const struct flag_list *dirs, struct fault *reterr_fault);
extern const struct recording_names names_known; /* after names_read */
