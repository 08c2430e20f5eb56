#include "base/crc32c.h"
#include "store_fixture.h"
#include <signal.h>
#include <sys/resource.h>

START_TEST(records_outlive_the_store)
{
	struct sx x = sx_make();
	sx_open(&x);
	uint32_t boots = store_boots(x.s);
	ck_assert_uint_eq(boots, store_boots_by_clock(clk_wall_ns(x.f.clk)));
	sx_fill(x.s, 0, 500, 1);
	sx_fill(x.s, 100, 100, 2);
	struct addr first = addr_from_v4(0x0a000000), last = addr_from_v4(0x0a000000 + 199);
	ck_assert_int_eq(store_del_sets_of(x.s, &first, &last), 0);
	uint32_t oid[] = {1, 3, 6, 1, 300};
	struct addr a = addr_from_v4(0x0a000000 + 300);
	ck_assert_int_eq(store_del_set(x.s, &a, oid, 5), 0);
	ck_assert_int_eq(store_del_set(x.s, &a, oid, 5), 0);
	ck_assert_int_eq(store_commit(x.s), 0);
	ck_assert_uint_eq(sx_count(x.s, 1), 299);
	ck_assert_int_eq(sx_put(x.s, 5, 1), 0);
	store_rollback(x.s);
	ck_assert_int_eq(store_commit(x.s), 0);
	sx_close(&x);
	sx_open(&x);
	ck_assert_uint_eq(store_boots(x.s), boots + 1);
	ck_assert_uint_eq(sx_count(x.s, 1), 299);
	struct store_status status = sx_status(&x);
	ck_assert(!status.refuses && status.n_damaged == 0 && !status.refusal[0]);
	sx_done(&x);
}
END_TEST

static int see_if(void *arg, const struct store_if *i)
{
	uint32_t *n = arg;
	ck_assert_uint_eq(i->if_index, ++*n);
	ck_assert_uint_eq(i->bytes, 3);
	return 0;
}

START_TEST(states_of_interfaces)
{
	struct sx x = sx_make();
	struct addr a = addr_from_v4(0x0a000001);
	uint32_t n = 0;
	sx_open(&x);
	for (uint32_t i = 4; i > 0; i--)
		ck_assert_int_eq(store_put_if(x.s, &a, i, "abc", 3), 0);
	ck_assert_int_eq(store_del_if(x.s, &a, 4), 0);
	ck_assert_int_eq(store_each_if(x.s, see_if, &n), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(store_del_ifs_of(x.s, &a, &a), 0);
	n = 0;
	ck_assert_int_eq(store_each_if(x.s, see_if, &n), 0);
	ck_assert_uint_eq(n, 0);
	store_rollback(x.s);
	sx_done(&x);
}
END_TEST

static mode_t mode_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_mode & 0777;
}

START_TEST(the_directory_is_ours_alone)
{
	struct sx x = sx_make();
	struct fault fault = {0};
	mode_t mask = umask(0);
	ck_assert_int_eq(rmdir(x.dir), 0);
	sx_open(&x);
	sx_fill(x.s, 0, 1, 0);
	(void)umask(mask);
	ck_assert_uint_eq(mode_of(x.dir), 0700);
	ck_assert_uint_eq(mode_of(x.path), 0600);
	ck_assert_uint_eq(mode_of(x.log), 0600);
	struct store *first = x.s;
	char pid[32];
	(void)snprintf(pid, sizeof(pid), "process %d", getpid());
	ck_assert_int_eq(sx_try(&x, false, &fault), -EBUSY);
	ck_assert_msg(strstr(fault.text, pid), "%s", fault.text);
	ck_assert_str_eq(fault.field, "-state-dir");
	(void)store_free(first);
	x.s = NULL;
	ck_assert_int_eq(chmod(x.dir, 0770), 0);
	ck_assert_int_eq(sx_try(&x, false, &fault), -EPERM);
	ck_assert_int_eq(chmod(x.dir, 0755), 0);
	ck_assert_int_eq(rename(x.path, x.log), 0);
	ck_assert_int_eq(symlink(x.log, x.path), 0);
	ck_assert_int_eq(sx_try(&x, false, &fault), -EPERM);
	ck_assert_int_eq(rename(x.log, x.path), 0);
	sx_open(&x);
	ck_assert_uint_eq(sx_count(x.s, 0), 1);
	sx_done(&x);
}
END_TEST

/* The files as they are now, in a directory of their own: what a kill leaves. */
static struct sx sx_killed(const struct sx *x)
{
	struct sx y = sx_make();
	uint8_t *bytes;
	size_t n = sx_read(x->path, &bytes);
	sx_write(y.path, bytes, n);
	free(bytes);
	n = sx_read(x->log, &bytes);
	sx_write(y.log, bytes, n);
	free(bytes);
	return y;
}

START_TEST(a_kill_loses_nothing_that_was_committed)
{
	struct sx x = sx_make();
	sx_open(&x);
	sx_fill(x.s, 0, 300, 1);
	ck_assert_int_eq(sx_put(x.s, 300, 1), 0);
	struct sx y = sx_killed(&x);
	sx_open(&y);
	ck_assert_uint_eq(sx_count(y.s, 1), 300);
	ck_assert_uint_eq(sx_status(&y).n_damaged, 0);
	/* Killed within the write of a commit: cut anywhere, only whole ones count. */
	sx_close(&y);
	uint8_t *db, *log;
	sx_fill(x.s, 300, 1, 1);
	sx_fill(x.s, 301, 1, 1);
	size_t db_bytes = sx_read(x.path, &db), log_bytes = sx_read(x.log, &log);
	uint32_t last = 302;
	for (size_t cut = log_bytes; cut > log_bytes - 40000; cut -= 997) {
		sx_write(y.path, db, db_bytes);
		sx_write(y.log, log, cut);
		sx_open(&y);
		uint32_t n = sx_count(y.s, 1);
		ck_assert_uint_le(n, last);
		last = n;
		ck_assert_uint_eq(sx_status(&y).n_damaged, 0);
		sx_close(&y);
	}
	ck_assert_uint_le(last, 300);
	free(db);
	free(log);
	sx_done(&y);
	sx_done(&x);
}
END_TEST

/* Flips bits of a file, one at a time; the other file stays. */
static void flip_each(struct sx *y, const char *path, const char *other, uint8_t *bytes, size_t n,
	size_t step, size_t begin, uint32_t of)
{
	uint8_t *kept;
	size_t n_kept = sx_read(other, &kept);
	for (size_t page = begin; page < n; page += step) {
		size_t at = page + rnd_below(7, page, n, (uint32_t)MIN(step, n - page));
		uint8_t bit = (uint8_t)(1u << rnd_below(8, page, n, 8));
		bytes[at] ^= bit;
		sx_write(path, bytes, n);
		(void)unlink(other);
		if (kept)
			sx_write(other, kept, n_kept);
		bytes[at] ^= bit;
		sx_open(y);
		ck_assert_msg(sx_status(y).refuses, "byte %zu unseen", at);
		uint32_t found = sx_count(y->s, 1);
		ck_assert_uint_lt(found, of + 1);
		ck_assert_int_eq(sx_put(y->s, 1, 1), -EROFS);
		ck_assert_int_eq(store_commit(y->s), 0);
		sx_close(y);
		uint8_t *now;
		ck_assert_uint_eq(sx_read(path, &now), n);
		now[at] ^= bit;
		ck_assert_mem_eq(now, bytes, n); /* nothing was written */
		free(now);
		struct fault fault = {0};
		ck_assert_int_eq(sx_try(y, true, &fault), 0);
		ck_assert(!sx_status(y).refuses && sx_status(y).kept_aside[0]);
		ck_assert_uint_eq(sx_count(y->s, 1), found);
		ck_assert_int_eq(access(sx_status(y).kept_aside, F_OK), 0);
		sx_fill(y->s, of, 1, 1);
		sx_close(y);
		sx_open(y);
		ck_assert_uint_eq(sx_count(y->s, 1), found + 1);
		ck_assert_uint_eq(sx_status(y).n_damaged, 0);
		sx_close(y);
		sx_empty(y->dir);
	}
	free(kept);
}

START_TEST(a_flipped_bit_is_seen_in_any_page)
{
	enum { N = 1200 };
	struct sx x = sx_make(), y = sx_make();
	uint8_t *bytes;
	sx_open(&x);
	sx_fill(x.s, 0, N, 0);
	sx_close(&x);
	sx_open(&x);
	sx_fill(x.s, 0, N, 1);
	sx_close(&x);
	size_t n = sx_read(x.path, &bytes);
	ck_assert_uint_gt(n, 50 * 4096);
	flip_each(&y, y.path, y.log, bytes, n, 4096, 0, N);
	/* One record a page at most is lost, even by damage of the root. */
	bytes[4096 + 100] ^= 1;
	sx_write(y.path, bytes, n);
	sx_open(&y);
	ck_assert_uint_ge(sx_count(y.s, 1), N - 60);
	free(bytes);
	sx_done(&y);
	sx_done(&x);
}
END_TEST

START_TEST(a_flipped_bit_is_seen_in_the_log)
{
	enum { N = 40 };
	struct sx x = sx_make();
	sx_open(&x);
	for (uint32_t i = 0; i < N; i++)
		sx_fill(x.s, i, 1, 1);
	struct sx y = sx_killed(&x);
	uint8_t *db, *log;
	size_t n_db = sx_read(y.path, &db), n = sx_read(y.log, &log);
	(void)n_db;
	uint8_t *head = malloc(n);
	memcpy(head, log, n);
	flip_each(&y, y.log, y.path, head, 32, 32, 0, N);
	sx_write(y.path, db, n_db);
	sx_write(y.log, log, n);
	flip_each(&y, y.log, y.path, log, n, 4120, 32, N);
	free(head);
	free(db);
	free(log);
	sx_done(&y);
	sx_done(&x);
}
END_TEST

START_TEST(what_is_not_ours_is_never_overwritten)
{
	struct sx x = sx_make();
	struct fault fault = {0};
	static const uint8_t text[] = "A letter that somebody has put there.\n";
	uint8_t *now;
	sx_write(x.path, text, sizeof(text));
	sx_open(&x);
	ck_assert(sx_status(&x).refuses);
	ck_assert_uint_eq(sx_count(x.s, 0), 0);
	ck_assert_int_eq(sx_put(x.s, 0, 0), -EROFS);
	ck_assert_int_eq(store_refusal(x.s, -EROFS, &fault), -EROFS);
	ck_assert_ptr_nonnull(strstr(fault.text, "-state-repair"));
	sx_close(&x);
	ck_assert_uint_eq(sx_read(x.path, &now), sizeof(text));
	ck_assert_mem_eq(now, text, sizeof(text));
	free(now);
	ck_assert_int_eq(sx_try(&x, true, &fault), 0);
	struct store_status status = sx_status(&x);
	ck_assert_uint_eq(sx_read(status.kept_aside, &now), sizeof(text));
	ck_assert_mem_eq(now, text, sizeof(text));
	free(now);
	sx_fill(x.s, 0, 3, 0);
	sx_done(&x);
}
END_TEST

/* Marks the file as of a later schema, with the checksum that goes with it. */
static void make_newer(const struct sx *x)
{
	uint8_t *bytes, number[4] = {0, 0, 0, 1};
	size_t n = sx_read(x->path, &bytes);
	bytes[63] = 99;
	uint32_t sum = crc32c(crc32c(0, number, 4), bytes, 4092);
	memcpy(bytes + 4092, &sum, 4);
	sx_write(x->path, bytes, n);
	free(bytes);
}

START_TEST(a_newer_file_is_refused)
{
	struct sx x = sx_make();
	struct fault fault = {0};
	sx_open(&x);
	sx_close(&x);
	make_newer(&x);
	for (int repair = 0; repair < 2; repair++) {
		ck_assert_int_eq(sx_try(&x, repair, &fault), -EINVAL);
		ck_assert_msg(strstr(fault.text, "schema is 99"), "%s", fault.text);
	}
	sx_done(&x);
}
END_TEST

static int count_one(
	void *arg, struct store_key key UNUSED, const void *value UNUSED, size_t bytes UNUSED)
{
	++*(uint32_t *)arg;
	return 0;
}

static uint32_t count_kind(struct store *s, enum store_kind kind)
{
	uint32_t n = 0;
	ck_assert_int_eq(store_each(s, kind, count_one, &n), 0);
	return n;
}

static int see_schema(void *arg, const void *value, size_t bytes)
{
	ck_assert_uint_eq(bytes, 4);
	*(uint8_t *)arg = ((const uint8_t *)value)[3];
	return 0;
}

static void check_migrated(struct sx *x)
{
	uint8_t version = 0;
	ck_assert_int_eq(
		store_get(x->s, STORE_META, STORE_KEY("schema", 6), see_schema, &version), 0);
	ck_assert_uint_eq(version, 2);
	ck_assert_uint_eq(count_kind(x->s, STORE_META), 3);
	ck_assert_uint_eq(count_kind(x->s, STORE_RANGE), 2);
	ck_assert_uint_eq(count_kind(x->s, STORE_HOLE), 2);
	ck_assert_uint_eq(count_kind(x->s, STORE_SET), 2);
	ck_assert_uint_eq(count_kind(x->s, STORE_IF), 1);
}

/* state-1.db was written by a program that knew version 1 alone. */
START_TEST(a_file_of_version_1_is_brought_up_to_date)
{
	struct sx x = sx_make();
	char path[512];
	uint8_t *old, *now;
	(void)snprintf(
		path, sizeof(path), "%s/tests/unit/sim/fleet/state-1.db", getenv("SOURCE_ROOT"));
	size_t n = sx_read(path, &old);
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(old[63], 1);
	sx_write(x.path, old, n);
	for (int i = 0; i < 2; i++) {
		sx_open(&x);
		check_migrated(&x);
		sx_close(&x);
		(void)sx_read(x.path, &now);
		ck_assert_uint_eq(now[63], 2);
		free(now);
	}
	/* Damaged, it is only read; a repair writes the new version. */
	old[100] ^= 1;
	sx_write(x.path, old, n);
	sx_open(&x);
	ck_assert(sx_status(&x).refuses);
	check_migrated(&x);
	sx_close(&x);
	struct fault fault = {0};
	ck_assert_int_eq(sx_try(&x, true, &fault), 0);
	check_migrated(&x);
	free(old);
	sx_done(&x);
}
END_TEST

static void limit_files(rlim_t bytes)
{
	struct rlimit lim;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

START_TEST(no_room_refuses_and_room_heals)
{
	struct sx x = sx_make();
	struct fault fault = {0};
	(void)signal(SIGXFSZ, SIG_IGN);
	sx_open(&x);
	sx_fill(x.s, 0, 50, 1);
	uint32_t n = 50;
	limit_files(512 << 10);
	for (int failures = 0; failures < 5;) {
		int r = sx_put(x.s, n, 1);
		if (r == 0)
			r = store_commit(x.s);
		if (r == 0) {
			n++;
			continue;
		}
		ck_assert_int_eq(r, -ENOSPC);
		store_rollback(x.s);
		failures++;
		ck_assert_int_eq(store_refusal(x.s, r, &fault), -ENOSPC);
		ck_assert_msg(
			strstr(fault.text, "File too large") || strstr(fault.text, "No space left"),
			"%s", fault.text);
		ck_assert_uint_eq(sx_count(x.s, 1), n);
	}
	ck_assert_uint_gt(n, 60);
	struct sx y = sx_killed(&x);
	limit_files(RLIM_INFINITY);
	sx_open(&y);
	ck_assert_uint_eq(sx_count(y.s, 1), n);
	ck_assert_uint_eq(sx_status(&y).n_damaged, 0);
	sx_done(&y);
	sx_fill(x.s, n, 5, 1);
	ck_assert_int_eq(sx_status(&x).refusal[0], 0);
	y = sx_killed(&x);
	sx_open(&y);
	ck_assert_uint_eq(sx_count(y.s, 1), n + 5);
	ck_assert_uint_eq(sx_status(&y).n_damaged, 0);
	sx_done(&y);
	sx_done(&x);
}
END_TEST

/* A repair that was killed goes on at the next start, wherever it was. */
START_TEST(a_repair_that_was_cut_off_is_ended)
{
	struct sx x = sx_make();
	char repaired[128], begun[128];
	uint8_t *good, *bad;
	(void)snprintf(repaired, sizeof(repaired), "%s/nl6.db.repaired", x.dir);
	(void)snprintf(begun, sizeof(begun), "%s/nl6.db.new", x.dir);
	sx_open(&x);
	sx_fill(x.s, 0, 50, 1);
	sx_close(&x);
	size_t n = sx_read(x.path, &good);
	bad = malloc(n);
	memcpy(bad, good, n);
	bad[5000] ^= 4;
	for (int at = 0; at < 4; at++) {
		sx_empty(x.dir);
		if (at < 3)
			sx_write(x.path, bad, n);
		if (at == 0)
			sx_write(begun, good, n / 2);
		else
			sx_write(repaired, good, n);
		if (at == 1)
			sx_write(x.log, good, 32); /* of the damaged file */
		sx_open(&x);
		ck_assert_int_eq(sx_status(&x).refuses, at == 0);
		ck_assert_int_eq(sx_status(&x).kept_aside[0] != 0, at == 1 || at == 2);
		if (at > 0)
			ck_assert_uint_eq(sx_count(x.s, 1), 50);
		ck_assert(access(repaired, F_OK) < 0 && access(begun, F_OK) < 0);
		sx_close(&x);
	}
	free(good);
	free(bad);
	sx_done(&x);
}
END_TEST

static int open_and_read(struct fake *f, void *arg)
{
	struct sx *x = arg;
	struct store_env env = {f->mem, f->clk, x->stats};
	struct store_conf conf = {x->dir, false};
	struct store *s = NULL;
	int r = store_open(&env, &conf, &s, NULL);
	if (r < 0)
		return r;
	(void)store_free(s);
	return 0;
}

START_TEST(want_of_memory_leaves_nothing_behind)
{
	struct sx x = sx_make();
	sx_open(&x);
	sx_fill(x.s, 0, 50, 1);
	sx_close(&x);
	fake_fail_each(&x.f, open_and_read, &x);
	sx_open(&x);
	ck_assert_uint_eq(sx_count(x.s, 1), 50);
	sx_done(&x);
}
END_TEST

UNIT_MAIN(records_outlive_the_store, states_of_interfaces, the_directory_is_ours_alone,
	a_kill_loses_nothing_that_was_committed, a_flipped_bit_is_seen_in_any_page,
	a_flipped_bit_is_seen_in_the_log, what_is_not_ours_is_never_overwritten,
	a_newer_file_is_refused, a_file_of_version_1_is_brought_up_to_date,
	no_room_refuses_and_room_heals, a_repair_that_was_cut_off_is_ended,
	want_of_memory_leaves_nothing_behind)
