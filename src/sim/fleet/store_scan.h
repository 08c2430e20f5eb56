/* Looks at a database and its log as bytes, before SQLite does: is each page what was written, is
 * the log whole, and which records of a damaged file are sound. Nothing is written. Part of
 * store.c.
 */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "sim/fleet/store_vfs.h"

#define STORE_APPLICATION 0x6e6c3673 /* "nl6s" */

struct store_scan_env { /* borrowed */
	const struct mem *mem;
	/* Told each damage: a phrase such as "page 7". */
	void (*damaged)(void *arg, const char *what);
	void *arg;
};
struct store_scan {
	struct store_scan_env env;
	int db_fd, log_fd; /* -1: there is none */
	uint32_t n_pages;
	uint32_t *frame;   /* by page - 1: its last frame of a commit in the log + 1, or 0 */
	uint8_t *bad;	   /* by page - 1 */
	uint32_t n_bad;	   /* pages */
	bool log_is_bad;   /* from some frame on */
	uint32_t version;  /* of the schema; 0: not known */
	uint32_t n_frames; /* of commits */
};
/* Reads both files; what is not there is no damage. -ENOMEM, errors of open and read. */
MUST_CHECK int store_scan_open(struct store_scan *s, const struct store_scan_env *env,
	const char *db_path, const char *log_path);
void store_scan_done(struct store_scan *s);
static inline bool store_scan_is_sound(const struct store_scan *s)
{
	return s->n_bad == 0 && !s->log_is_bad;
}
/* A record as it is stored. */
struct store_raw {
	int64_t kind, crc;
	const uint8_t *key, *value;
	uint32_t key_bytes, value_bytes;
};
/* Calls fn for each record that lies whole in pages that are sound, whatever its own checksum says.
 * What fn returns other than 0 ends the walk. -ENOMEM, errors of read. */
MUST_CHECK int store_scan_records(
	struct store_scan *s, int (*fn)(void *arg, const struct store_raw *r), void *arg);
/* The same of the bytes of one page (for tests with any bytes); read gives the pages of what does
 * not fit in it, and is false when there is no such sound page. */
struct store_pages {
	bool (*read)(void *arg, uint32_t number, uint8_t page[static STORE_PAGE_BYTES]);
	void *arg;
};
MUST_CHECK int store_page_records(const struct mem *mem, const struct store_pages *pages,
	const uint8_t page[static STORE_PAGE_BYTES],
	int (*fn)(void *arg, const struct store_raw *r), void *arg);
