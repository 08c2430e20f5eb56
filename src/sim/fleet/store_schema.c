#include "sim/fleet/store_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STR_(x) #x
#define STR(x) STR_(x)
/* The records lie in order of kind and key; the checksum is over both and the value. */
static const char schema[] = "CREATE TABLE record(kind INTEGER NOT NULL, key BLOB NOT NULL,"
			     " value BLOB NOT NULL, crc INTEGER NOT NULL,"
			     " PRIMARY KEY(kind, key)) WITHOUT ROWID;"
			     "PRAGMA user_version=1"; /* store_migrate.c goes on from here */
/* One process has the file. Nothing is written before a commit, and what is deleted is gone from
 * the file, which makes store_scan.c right about what it finds. */
static const char settings[] = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_spill=OFF;"
			       "PRAGMA secure_delete=ON; PRAGMA trusted_schema=OFF;"
			       "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
			       "PRAGMA temp_store=MEMORY;"
			       "PRAGMA page_size=" STR(STORE_PAGE_BYTES) ";";
static const char durable[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";

static int exec(sqlite3 *db, const char *sql)
{
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return code == SQLITE_OK ? SQLITE_OK : sqlite3_extended_errcode(db);
}

/* The errno of a database that could not be made or opened; it is closed. */
static int give_up(struct store *s, sqlite3 *db, int code)
{
	int error = s->vfs.error;
	(void)sqlite3_close_v2(db);
	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	if ((code & 0xff) == SQLITE_FULL)
		return -ENOSPC;
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
			       code == SQLITE_IOERR_DATA
		       ? -EBADMSG
	       : error ? -error
		       : -EIO;
}

int store_db_open(struct store *s, const char *name, sqlite3 **ret_db)
{
	sqlite3 *db = NULL;
	char *path = store_path(s, name);
	if (!path)
		return -ENOMEM;
	s->vfs.error = 0;
	int code = sqlite3_open_v2(
		path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, s->vfs.name);
	(void)mem_free(s->env.mem, path);
	if (code == SQLITE_OK)
		code = exec(db, settings);
	/* A file that is damaged after all stays as it is. */
	if (code == SQLITE_OK)
		code = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	if (code == SQLITE_OK)
		code = exec(db, durable);
	if (code != SQLITE_OK)
		return give_up(s, db, code);
	*ret_db = db;
	return 0;
}

int store_db_memory(sqlite3 **ret_db)
{
	sqlite3 *db = NULL;
	int code = sqlite3_open_v2(
		":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
	if (code == SQLITE_OK)
		code = exec(db, settings);
	if (code == SQLITE_OK)
		code = exec(db, schema);
	if (code != SQLITE_OK) {
		(void)sqlite3_close_v2(db);
		return code == SQLITE_NOMEM ? -ENOMEM : -EIO;
	}
	*ret_db = db;
	return 0;
}

static int copy_row(sqlite3_stmt *to, sqlite3_stmt *from)
{
	for (int i = 0; i < 4; i++)
		(void)sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
	int code = sqlite3_step(to);
	(void)sqlite3_reset(to);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int copy_all(sqlite3 *to, sqlite3 *from)
{
	sqlite3_stmt *get = NULL, *put = NULL;
	int code = sqlite3_prepare_v2(
		from, "SELECT kind, key, value, crc FROM record", -1, &get, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(
			to, "INSERT OR REPLACE INTO record VALUES(?, ?, ?, ?)", -1, &put, NULL);
	while (code == SQLITE_OK && (code = sqlite3_step(get)) == SQLITE_ROW)
		code = copy_row(put, get);
	(void)sqlite3_finalize(get);
	(void)sqlite3_finalize(put);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* The log is gone when it is closed, before it gets its name. */
static int fill(sqlite3 *db, sqlite3 *from)
{
	int reserved = STORE_SUM_BYTES;
	int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	if (code == SQLITE_OK)
		code = exec(db, settings);
	if (code == SQLITE_OK)
		code = exec(db, "PRAGMA synchronous=FULL; BEGIN;"
				"PRAGMA application_id=" STR(STORE_APPLICATION));
	if (code == SQLITE_OK)
		code = exec(db, schema);
	if (code == SQLITE_OK && from)
		code = copy_all(db, from);
	if (code == SQLITE_OK)
		code = exec(db, "COMMIT");
	if (code == SQLITE_OK)
		code = store_db_migrate(db, 1);
	return code == SQLITE_OK ? exec(db, durable) : code;
}

int store_db_make(struct store *s, sqlite3 *from, struct fault *reterr_fault)
{
	sqlite3 *db = NULL;
	char *path = store_path(s, STORE_FILE ".new");
	if (!path)
		return -ENOMEM;
	s->vfs.error = 0;
	int r = 0, fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		r = -errno;
	else
		(void)close(fd);
	if (r == 0) {
		int code = sqlite3_open_v2(
			path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, s->vfs.name);
		if (code == SQLITE_OK)
			code = fill(db, from);
		if (code == SQLITE_OK)
			code = sqlite3_close(TAKE(db));
		if (code != SQLITE_OK)
			r = give_up(s, db, code);
	}
	(void)mem_free(s->env.mem, path);
	if (r < 0)
		return fault_set(reterr_fault, r, "-state-dir", NULL,
			"cannot make a file in %s: %s", s->dir, strerrordesc_np(-r));
	return store_dir_replace(s, reterr_fault);
}

static int check_structure(struct store *s, bool *ret_sound)
{
	sqlite3_stmt *st = NULL;
	bool sound = false;
	int code = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(16)", -1, &st, NULL);
	while (code == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		const char *said = (const char *)sqlite3_column_text(st, 0);
		sound = said && strcmp(said, "ok") == 0;
		if (!sound)
			store_note(s, "%.200s", said ? said : "no memory to tell");
	}
	(void)sqlite3_finalize(st);
	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	if (code != SQLITE_OK)
		store_note(s, "%s", sqlite3_errstr(code));
	*ret_sound = sound;
	return 0;
}

static int check_records(struct store *s, bool *ret_sound)
{
	sqlite3_stmt *st = NULL;
	int code = sqlite3_prepare_v2(
		s->db, "SELECT kind, key, value, crc FROM record", -1, &st, NULL);
	while (code == SQLITE_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
		code = SQLITE_OK;
		uint32_t crc = store_crc(sqlite3_column_int64(st, 0), sqlite3_column_blob(st, 1),
			(size_t)sqlite3_column_bytes(st, 1), sqlite3_column_blob(st, 2),
			(size_t)sqlite3_column_bytes(st, 2));
		if (sqlite3_column_int64(st, 3) == (int64_t)crc)
			continue;
		*ret_sound = false;
		store_note(s, "a record of kind %d that is not what was written",
			sqlite3_column_int(st, 0));
	}
	(void)sqlite3_finalize(st);
	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	if (code != SQLITE_DONE) {
		*ret_sound = false;
		store_note(s, "%s", sqlite3_errstr(code));
	}
	return 0;
}

int store_db_check(struct store *s, bool *ret_sound)
{
	bool sound = false;
	int r = check_structure(s, &sound);
	if (r == 0 && sound)
		r = check_records(s, &sound);
	if (r == 0)
		*ret_sound = sound;
	return r;
}

struct salvage {
	struct store *s;
	sqlite3_stmt *put;
	bool has_damaged;
};

static int salvage_one(void *arg, const struct store_raw *raw)
{
	struct salvage *v = arg;
	if (raw->crc != (int64_t)store_crc(raw->kind, raw->key, raw->key_bytes, raw->value,
				raw->value_bytes)) {
		store_note(v->s, "a record of kind %lld that is not what was written",
			(long long)raw->kind);
		return 0;
	}
	(void)sqlite3_bind_int64(v->put, 1, raw->kind);
	(void)sqlite3_bind_blob(v->put, 2, raw->key, (int)raw->key_bytes, SQLITE_STATIC);
	(void)sqlite3_bind_blob(v->put, 3, raw->value, (int)raw->value_bytes, SQLITE_STATIC);
	(void)sqlite3_bind_int64(v->put, 4, raw->crc);
	int code = sqlite3_step(v->put);
	(void)sqlite3_reset(v->put);
	return code == SQLITE_DONE ? 0 : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

int store_db_salvage(struct store *s, struct store_scan *scan, sqlite3 **ret_db)
{
	struct salvage v = {.s = s};
	sqlite3 *db = NULL;
	int r = store_db_memory(&db);
	if (r == 0 && sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO record VALUES(?, ?, ?, ?)", -1,
			      &v.put, NULL) != SQLITE_OK)
		r = -ENOMEM;
	if (r == 0)
		r = store_scan_records(scan, salvage_one, &v);
	(void)sqlite3_finalize(v.put);
	if (r == 0 && store_db_migrate(db, scan->version) != SQLITE_OK)
		r = -ENOMEM;
	if (r < 0)
		(void)sqlite3_close_v2(db);
	else
		*ret_db = db;
	return r;
}

void store_db_close(struct store *s)
{
	for (unsigned i = 0; i < STMT_N; i++)
		(void)sqlite3_finalize(TAKE(s->stmt[i]));
	(void)sqlite3_close_v2(TAKE(s->db));
}
