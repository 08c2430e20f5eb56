/* Finds and reads the files of device types. Only the type*.c files include this. */
#pragma once
#include "sim/fleet/type_recording.h"

/* The files of one type, read whole; owned by the caller. */
struct type_source {
	const struct mem *mem;
	struct type_file *files; /* one, or the parts of a directory by name */
	uint32_t n;
	bool is_dir;
	struct type_recording recording; /* in place of files, read when it is compiled */
};
bool type_slug_is(const char *slug); /* letters, digits, _ and -, 1..63 */
/* Reads DIR/slug.json or all of DIR/slug/ *.json, or finds a recording DIR/slug.snmprec and the
 * like, of the user's directory first. -ENOENT: there is none; -EINVAL: larger than 32 MiB; -EIO,
 * -EACCES…; -ENOMEM. */
MUST_CHECK int type_source_read(const struct mem *mem, const struct types_conf *conf,
	const char *slug, struct type_source *ret_source, struct fault *reterr_fault);
void type_source_done(struct type_source *s); /* takes a zeroed one */
bool type_source_exists(const struct mem *mem, const struct types_conf *conf, const char *slug);

/* Slugs on disk in round-robin order: those of the built-in order.txt, others built in by name, the
 * user's own by name. The caller frees with mem_free. */
struct type_slug {
	char s[64];
};
MUST_CHECK int type_slugs_read(const struct mem *mem, const struct types_conf *conf,
	struct type_slug **ret_slugs, uint32_t *ret_n);

/* Reads the source into the draft by whichever form it has, and compiles. */
MUST_CHECK int type_source_compile(const struct mem *mem, const char *slug,
	const struct type_source *s, struct type **ret_type, struct fault *reterr_fault);
