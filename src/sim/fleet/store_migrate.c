#include "sim/fleet/store_impl.h"
#include <stdio.h>
#include <string.h>

/* Version 2 says its number in a record, too: the header of a damaged file may be lost, and with it
 * what its records mean. */
static const char schema_key[] = "schema";
#define SCHEMA_KEY_BYTES (sizeof(schema_key) - 1)

static int put_schema(sqlite3 *db, uint32_t version)
{
	sqlite3_stmt *st = NULL;
	uint8_t value[4] = {0, 0, 0, (uint8_t)version};
	int code = sqlite3_prepare_v2(
		db, "INSERT OR REPLACE INTO record VALUES(?, ?, ?, ?)", -1, &st, NULL);
	if (code != SQLITE_OK)
		return code;
	(void)sqlite3_bind_int(st, 1, STORE_META);
	(void)sqlite3_bind_blob(st, 2, schema_key, SCHEMA_KEY_BYTES, SQLITE_STATIC);
	(void)sqlite3_bind_blob(st, 3, value, sizeof(value), SQLITE_STATIC);
	(void)sqlite3_bind_int64(
		st, 4, store_crc(STORE_META, schema_key, SCHEMA_KEY_BYTES, value, sizeof(value)));
	code = sqlite3_step(st);
	(void)sqlite3_finalize(st);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Of a file without a header: what its record says, 1 when there is none. */
static uint32_t told_version(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	uint32_t version = 1;
	if (sqlite3_prepare_v2(db, "SELECT value FROM record WHERE kind = 1 AND key = ?", -1, &st,
		    NULL) != SQLITE_OK)
		return version;
	(void)sqlite3_bind_blob(st, 1, schema_key, SCHEMA_KEY_BYTES, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == 4)
		version = ((const uint8_t *)sqlite3_column_blob(st, 0))[3];
	(void)sqlite3_finalize(st);
	return version;
}

int store_db_migrate(sqlite3 *db, uint32_t version)
{
	char number[48];
	if (version == 0)
		version = told_version(db);
	if (version >= STORE_VERSION)
		return SQLITE_OK;
	(void)snprintf(number, sizeof(number), "PRAGMA user_version=%d; COMMIT", STORE_VERSION);
	int code = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	if (code == SQLITE_OK && version < 2)
		code = put_schema(db, STORE_VERSION);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, number, NULL, NULL, NULL);
	if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}
