/* The console's files, read into memory at the start: no request can reach beyond them. Immutable
 * once made. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"

#define FILES_MAX_BYTES (8u << 20) /* all together */
struct file {
	char *path; /* below the folder: "js/main.js" */
	const char *type;
	char etag[24]; /* quoted */
	char *bytes;
	size_t len;
};
struct files;
/* Reads all regular files below dir, but hidden ones. dir NULL: there are none. -EFBIG: more than
 * FILES_MAX_BYTES; errors of open and read; the fault names the file. */
MUST_CHECK int files_new(const struct mem *mem, const char *dir, struct files **ret_files,
	struct fault *reterr_fault);
struct files *files_free(struct files *f);
CLEANUP(files);
/* NULL: there is none. */
const struct file *files_find(const struct files *f, const char *path);
