/* Between SQLite and the system: each page of the database ends in a checksum of its own, so that
 * no bit of the file can change unseen; what a failed commit left in the log is cut off before the
 * next one. Part of store.c. */
#pragma once
#include "base/attr.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_PAGE_BYTES 4096
#define STORE_SUM_BYTES 4 /* reserved at the end of each page: CRC-32C of page number and page */

struct store_vfs {
	sqlite3_vfs vfs;
	sqlite3_vfs *below;
	char name[32];
	int error; /* errno of the last write that failed; 0: none */
};
/* Registers it under v->name. -ENOMEM. Databases are opened with that name as their VFS. */
MUST_CHECK int store_vfs_init(struct store_vfs *v);
void store_vfs_done(struct store_vfs *v); /* no database may be open; takes a zeroed one */
/* number: from 1. */
bool store_page_is_sound(const uint8_t page[static STORE_PAGE_BYTES], uint32_t number);
