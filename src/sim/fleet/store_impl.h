/* The inside of struct store, shared by store*.c only. */
#pragma once
#include "base/lock.h"
#include "base/text.h"
#include "sim/fleet/store.h"
#include "sim/fleet/store_scan.h"

#define STORE_FILE "nl6.db"
#define STORE_LOG "-wal"
#define STORE_VERSION 2 /* of the schema; see store_migrate.c */
#define STORE_DAMAGE_KEPT 64u
#define STORE_KEY_BYTES_MAX 1024u

enum store_stmt { STMT_PUT, STMT_DEL, STMT_DEL_BETWEEN, STMT_GET, STMT_EACH, STMT_LAST, STMT_N };
struct store {
	struct store_env env;
	char *dir; /* resolved */
	int dir_fd, lock_fd;
	struct store_vfs vfs;
	sqlite3 *db; /* the file; while it is damaged, what was sound in memory */
	sqlite3_stmt *stmt[STMT_N];
	bool in_change;
	bool refuses;	    /* the file is damaged */
	bool boots_pending; /* not committed yet */
	uint32_t boots;
	struct lock lock; /* of what follows */
	char refusal[320], kept_aside[512];
	struct text damage; /* lines, each with a NUL */
	uint64_t n_damaged;
	/* Counters. */
	uint64_t put_records, deleted_records, commits, failed_commits, damaged;
};

/* store_dir.c. Makes and judges the directory, opens and locks it. */
MUST_CHECK int store_dir_open(struct store *s, const char *dir, struct fault *reterr_fault);
void store_dir_close(struct store *s);
/* Ends a repair that was cut off; removes what was never finished. */
MUST_CHECK int store_dir_settle(struct store *s, struct fault *reterr_fault);
/* The path of a file of the directory; the caller frees it. NULL: no memory. */
MUST_CHECK char *store_path(const struct store *s, const char *name);
/* Puts nl6.db.new in place of nl6.db, which is kept under another name (told in kept_aside). */
MUST_CHECK int store_dir_replace(struct store *s, struct fault *reterr_fault);

/* store_schema.c. Opens a file of the directory that is there; one that has no schema gets it. */
MUST_CHECK int store_db_open(struct store *s, const char *name, sqlite3 **ret_db);
/* What was sound is read into a database in memory. */
MUST_CHECK int store_db_memory(sqlite3 **ret_db);
/* Makes nl6.db.new, with the records of from (may be NULL). */
MUST_CHECK int store_db_make(struct store *s, sqlite3 *from, struct fault *reterr_fault);
/* store_migrate.c. Brings the schema from version (0: what the records say) to STORE_VERSION, as a
 * whole. A result of SQLite's. */
MUST_CHECK int store_db_migrate(sqlite3 *db, uint32_t version);
/* Does the database hold together, and each record? Notes what does not. */
MUST_CHECK int store_db_check(struct store *s, bool *ret_sound);
/* Reads what the scan finds sound into a database in memory. */
MUST_CHECK int store_db_salvage(struct store *s, struct store_scan *scan, sqlite3 **ret_db);
void store_db_close(struct store *s);

/* store_record.c */
uint32_t store_crc(
	int64_t kind, const void *key, size_t key_bytes, const void *value, size_t value_bytes);
MUST_CHECK int store_prepare(struct store *s);
/* The errno of a result of SQLite's, whose reason is noted. */
MUST_CHECK int store_failed(struct store *s, int sqlite_code);
/* From now on writes are refused, as the file is damaged. */
void store_refuse(struct store *s);
/* Runs SQL without parameters. */
MUST_CHECK int store_exec(struct store *s, const char *sql);
