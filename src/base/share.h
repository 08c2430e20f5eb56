/* Where the program's own data (devices/, web/) lies, found by the place of the executable: DIR is
 * its directory, the data is in DIR/share/nl6 (build tree) or DIR/../share/nl6 (installed). */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"

/* exe: path of the executable; /proc/self/exe is resolved. The caller frees *ret_dir with mem_free.
 * -ENOENT: neither place has a folder devices, the fault names both; -ENOMEM. */
MUST_CHECK int share_find(
	const struct mem *mem, const char *exe, char **ret_dir, struct fault *reterr_fault);
/* dir/name, for the caller to free with mem_free; NULL: no memory. */
MUST_CHECK char *share_path(const struct mem *mem, const char *dir, const char *name);
