#include "base/crc32c.h"
#include "base/log.h"
#include "sim/fleet/store_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

uint32_t store_crc(
	int64_t kind, const void *key, size_t key_bytes, const void *value, size_t value_bytes)
{
	uint8_t head[5] = {(uint8_t)kind, (uint8_t)(key_bytes >> 24), (uint8_t)(key_bytes >> 16),
		(uint8_t)(key_bytes >> 8), (uint8_t)key_bytes};
	return crc32c(crc32c(crc32c(0, head, sizeof(head)), key, key_bytes), value, value_bytes);
}

static void refuse_as(struct store *s, const char *text)
{
	LOCK_SCOPE(&s->lock);
	(void)snprintf(s->refusal, sizeof(s->refusal), "%s", text);
}

static bool is_no_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

void store_refuse(struct store *s)
{
	char text[sizeof(s->refusal)];
	(void)snprintf(text, sizeof(text),
		"%.160s/" STORE_FILE " is damaged: start with -state-repair, which keeps it aside",
		s->dir);
	refuse_as(s, text);
	__atomic_store_n(&s->refuses, true, __ATOMIC_RELAXED);
	stat_set(&s->damaged, 1);
	log_error("state", 0, "%s", text);
}

/* What is found damaged now was sound when the program started. */
static int found_damaged(struct store *s, const char *said)
{
	if (!s->refuses) {
		store_note(s, "found while running: %s", said);
		store_refuse(s);
	}
	return -EROFS;
}

int store_failed(struct store *s, int sqlite_code)
{
	char text[sizeof(s->refusal)];
	const char *said = sqlite3_errstr(sqlite_code);
	int error = s->vfs.error;
	switch (sqlite_code & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return found_damaged(s, said);
	case SQLITE_FULL:
		error = ENOSPC;
		break;
	case SQLITE_IOERR:
		if (sqlite_code == SQLITE_IOERR_DATA)
			return found_damaged(s, "a page is not what was written");
		break;
	}
	(void)snprintf(text, sizeof(text), "%.200s/" STORE_FILE ": %s", s->dir ? s->dir : "",
		error ? strerrordesc_np(error) : said);
	refuse_as(s, text);
	return is_no_room(error) ? -ENOSPC : -EROFS;
}

int store_exec(struct store *s, const char *sql)
{
	s->vfs.error = 0;
	int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : store_failed(s, sqlite3_extended_errcode(s->db));
}

int store_prepare(struct store *s)
{
	static const char *const sql[STMT_N] = {
		[STMT_PUT] = "INSERT OR REPLACE INTO record VALUES(?1, ?2, ?3, ?4)",
		[STMT_DEL] = "DELETE FROM record WHERE kind = ?1 AND key = ?2",
		[STMT_DEL_BETWEEN] =
			"DELETE FROM record WHERE kind = ?1 AND key >= ?2 AND key <= ?3",
		[STMT_GET] = "SELECT value, crc FROM record WHERE kind = ?1 AND key = ?2",
		[STMT_EACH] = "SELECT key, value, crc FROM record"
			      " WHERE kind = ?1 AND key >= ?2 AND key <= ?3 ORDER BY key",
		[STMT_LAST] = "SELECT key, value, crc FROM record"
			      " WHERE kind = ?1 AND key >= ?2 AND key <= ?3"
			      " ORDER BY key DESC LIMIT 1",
	};
	for (unsigned i = 0; i < STMT_N; i++)
		if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[i],
			    NULL) != SQLITE_OK)
			return store_failed(s, sqlite3_extended_errcode(s->db));
	return 0;
}

static void bind_blob(sqlite3_stmt *st, int at, const void *p, size_t bytes)
{
	/* A NULL pointer would be a NULL value. What cannot be bound fails when it is stepped. */
	(void)sqlite3_bind_blob64(st, at, bytes ? p : "", bytes, SQLITE_STATIC);
}

/* Runs a statement that gives no rows. */
static int run(struct store *s, sqlite3_stmt *st)
{
	s->vfs.error = 0;
	int code = sqlite3_step(st);
	if (code != SQLITE_DONE)
		code = sqlite3_extended_errcode(s->db);
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return code == SQLITE_DONE ? 0 : store_failed(s, code);
}

static int put_boots(struct store *s)
{
	uint8_t value[4] = {(uint8_t)(s->boots >> 24), (uint8_t)(s->boots >> 16),
		(uint8_t)(s->boots >> 8), (uint8_t)s->boots};
	return store_put(s, STORE_META, STORE_KEY("boots", 5), value, sizeof(value));
}

static int begin(struct store *s)
{
	if (s->refuses)
		return -EROFS;
	if (s->in_change)
		return 0;
	int r = store_exec(s, "BEGIN");
	if (r < 0)
		return r;
	s->in_change = true;
	return s->boots_pending ? put_boots(s) : 0;
}

int store_put(struct store *s, enum store_kind kind, struct store_key key, const void *value,
	size_t value_bytes)
{
	int r = begin(s);
	if (r < 0)
		return r;
	sqlite3_stmt *st = s->stmt[STMT_PUT];
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, key.p, key.bytes);
	bind_blob(st, 3, value, value_bytes);
	(void)sqlite3_bind_int64(st, 4, store_crc(kind, key.p, key.bytes, value, value_bytes));
	stat_add(&s->put_records, 1);
	return run(s, st);
}

int store_del(struct store *s, enum store_kind kind, struct store_key key)
{
	int r = begin(s);
	if (r < 0)
		return r;
	sqlite3_stmt *st = s->stmt[STMT_DEL];
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, key.p, key.bytes);
	r = run(s, st);
	if (r == 0)
		stat_add(&s->deleted_records, (uint64_t)sqlite3_changes(s->db));
	return r;
}

/* What begins with last is at most last with the highest bytes behind it. */
static void fill_end(uint8_t end[static STORE_KEY_BYTES_MAX], struct store_key last)
{
	memset(end, 0xff, STORE_KEY_BYTES_MAX);
	memcpy(end, last.p, last.bytes);
}

int store_del_between(
	struct store *s, enum store_kind kind, struct store_key first, struct store_key last)
{
	uint8_t end[STORE_KEY_BYTES_MAX];
	int r = begin(s);
	if (r < 0)
		return r;
	fill_end(end, last);
	sqlite3_stmt *st = s->stmt[STMT_DEL_BETWEEN];
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, first.p, first.bytes);
	bind_blob(st, 3, end, sizeof(end));
	r = run(s, st);
	if (r == 0)
		stat_add(&s->deleted_records, (uint64_t)sqlite3_changes(s->db));
	return r;
}

int store_commit(struct store *s)
{
	if (!s->in_change)
		return 0;
	int r = store_exec(s, "COMMIT");
	if (r < 0) {
		stat_add(&s->failed_commits, 1);
		store_rollback(s);
		return r;
	}
	s->in_change = false;
	s->boots_pending = false;
	stat_add(&s->commits, 1);
	if (s->refusal[0]) /* only this thread writes it now */
		refuse_as(s, "");
	return 0;
}

void store_rollback(struct store *s)
{
	s->in_change = false;
	/* Some failures have ended the transaction already. */
	if (!sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* The columns from at on are the key (if key is NULL), the value and the checksum. */
static bool row_is_sound(
	struct store *s, sqlite3_stmt *st, int at, enum store_kind kind, struct store_key key)
{
	const void *value = sqlite3_column_blob(st, at);
	size_t bytes = (size_t)sqlite3_column_bytes(st, at);
	if (sqlite3_column_int64(st, at + 1) ==
		(int64_t)store_crc(kind, key.p, key.bytes, value, bytes))
		return true;
	(void)found_damaged(s, "a record that is not what was written");
	return false;
}

int store_get(struct store *s, enum store_kind kind, struct store_key key,
	int (*fn)(void *arg, const void *value, size_t bytes), void *arg)
{
	sqlite3_stmt *st = s->stmt[STMT_GET];
	int r = -ENOENT;
	s->vfs.error = 0;
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, key.p, key.bytes);
	int code = sqlite3_step(st);
	if (code == SQLITE_ROW && row_is_sound(s, st, 0, kind, key))
		r = fn(arg, sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0));
	else if (code != SQLITE_ROW && code != SQLITE_DONE)
		r = store_failed(s, sqlite3_extended_errcode(s->db));
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return r;
}

/* Runs a statement whose rows have key, value and checksum. */
static int each_row(struct store *s, sqlite3_stmt *st, enum store_kind kind,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg,
	uint32_t *n)
{
	int r = 0, code = SQLITE_DONE;
	s->vfs.error = 0;
	while (r == 0 && (code = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_key key = {
			sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0)};
		if (!row_is_sound(s, st, 1, kind, key))
			continue;
		++*n;
		r = fn(arg, key, sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1));
	}
	if (r == 0 && code != SQLITE_DONE)
		r = store_failed(s, sqlite3_extended_errcode(s->db));
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return r;
}

int store_get_last(struct store *s, enum store_kind kind, struct store_key first,
	struct store_key last,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg)
{
	sqlite3_stmt *st = s->stmt[STMT_LAST];
	uint32_t n = 0;
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, first.p, first.bytes);
	bind_blob(st, 3, last.p, last.bytes);
	int r = each_row(s, st, kind, fn, arg, &n);
	return r == 0 && n == 0 ? -ENOENT : r;
}

int store_each_between(struct store *s, enum store_kind kind, struct store_key first,
	struct store_key last,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg)
{
	uint8_t end[STORE_KEY_BYTES_MAX];
	sqlite3_stmt *st = s->stmt[STMT_EACH];
	uint32_t n = 0;
	fill_end(end, last);
	(void)sqlite3_bind_int(st, 1, (int)kind);
	bind_blob(st, 2, first.p, first.bytes);
	bind_blob(st, 3, end, sizeof(end));
	return each_row(s, st, kind, fn, arg, &n);
}

int store_each(struct store *s, enum store_kind kind,
	int (*fn)(void *arg, struct store_key key, const void *value, size_t bytes), void *arg)
{
	return store_each_between(s, kind, STORE_KEY("", 0), STORE_KEY("", 0), fn, arg);
}
