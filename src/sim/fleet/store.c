#include "sim/fleet/store.h"
#include "base/log.h"
#include "base/num.h"
#include "sim/fleet/keeper.h"
#include "sim/fleet/store_impl.h"
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIELD "-state-dir"
#define SUBJECT "state"

const struct flag store_flags[] = {
	FLAG_PATH(struct store_conf, dir, "state-dir", NULL,
		"Keep devices and what was set on them in `DIR`, across restarts"),
	FLAG_BOOL(struct store_conf, repair, "state-repair", false,
		"With -state-dir: keep a damaged file aside, and go on with what is sound of it"),
	{0}};
const struct counter store_counters[] = {
	COUNTER(struct store, put_records, "Records put into the state directory"),
	COUNTER(struct store, deleted_records, "Records deleted from it"),
	COUNTER(struct store, commits, "Commits of the state directory"),
	COUNTER(struct store, failed_commits, "Commits that failed"),
	GAUGE(struct store, damaged, "1 while writes are refused as the file is damaged"),
	{0},
};

int store_conf_check(const void *store_conf, struct fault *reterr_fault)
{
	const struct store_conf *c = store_conf;
	if (c->repair && !c->dir)
		return fault_set(reterr_fault, -EINVAL, "-state-repair", NULL, "needs -state-dir");
	return 0;
}

uint32_t store_boots_by_clock(uint64_t wall_ns)
{
	const uint64_t year_2020_s = 1577836800, minute_s = 60;
	uint64_t s = wall_ns / NS_PER_SEC;
	uint64_t n = s > year_2020_s ? (s - year_2020_s) / minute_s : 0;
	return (uint32_t)MIN(MAX(n, 1u), STORE_BOOTS_MAX);
}

uint32_t store_boots(const struct store *s)
{
	return s->boots;
}

void store_note(struct store *s, const char *fmt, ...)
{
	char line[300];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_warn(SUBJECT, 0, "not loaded: %s", line);
	LOCK_SCOPE(&s->lock);
	if (s->n_damaged++ < STORE_DAMAGE_KEPT)
		text_write(&s->damage, line, strlen(line) + 1);
}

void store_each_damage(struct store *s, void (*fn)(void *arg, const char *what), void *arg)
{
	LOCK_SCOPE(&s->lock);
	for (size_t at = 0; at < s->damage.len; at += strlen(s->damage.s + at) + 1)
		fn(arg, s->damage.s + at);
}

static void on_damage(void *arg, const char *what)
{
	store_note(arg, STORE_FILE ": %s", what);
}

void store_status(struct store *s, struct store_status *ret_status)
{
	LOCK_SCOPE(&s->lock);
	*ret_status = (struct store_status){.dir = s->dir,
		.refuses = __atomic_load_n(&s->refuses, __ATOMIC_RELAXED),
		.n_damaged = s->n_damaged,
		.boots = s->boots};
	memcpy(ret_status->refusal, s->refusal, sizeof(s->refusal));
	memcpy(ret_status->kept_aside, s->kept_aside, sizeof(s->kept_aside));
}

int store_refusal(struct store *s, int r, struct fault *ret_fault)
{
	LOCK_SCOPE(&s->lock);
	if (r == -ENOMEM || !s->refusal[0])
		return fault_set(
			ret_fault, r, "", NULL, "the change was not kept: %s", strerrordesc_np(-r));
	return fault_set(ret_fault, r, "", NULL, "the change was not kept: %s", s->refusal);
}

static int get_boots(void *arg, const void *value, size_t bytes)
{
	const uint8_t *p = value;
	uint32_t *boots = arg;
	if (bytes == 4)
		*boots = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return 0;
}

/* The clock makes sure that no start has the boots of one before, though the count could not be
 * kept or devices were given more (engine.h). */
static int count_start(struct store *s)
{
	uint32_t before = 0, by_clock = store_boots_by_clock(clk_wall_ns(s->env.clk));
	int r = store_get(s, STORE_META, STORE_KEY("boots", 5), get_boots, &before);
	if (r < 0 && r != -ENOENT)
		return r;
	s->boots = MIN(before + 1 + (s->kept_aside[0] != 0), STORE_BOOTS_MAX);
	s->boots = MAX(s->boots, by_clock);
	if (s->refuses)
		return 0;
	s->boots_pending = true;
	r = store_exec(s, "BEGIN");
	if (r == 0) {
		s->in_change = true;
		uint8_t value[4] = {(uint8_t)(s->boots >> 24), (uint8_t)(s->boots >> 16),
			(uint8_t)(s->boots >> 8), (uint8_t)s->boots};
		r = store_put(s, STORE_META, STORE_KEY("boots", 5), value, sizeof(value));
		if (r == 0)
			r = store_commit(s);
		else
			store_rollback(s);
	}
	if (r < 0)
		log_error(SUBJECT, 0, "cannot count this start: %s", s->refusal);
	return r == -ENOMEM ? r : 0;
}

static int open_sound(struct store *s, uint32_t version, bool *ret_sound)
{
	int r = store_db_open(s, STORE_FILE, &s->db);
	if (r == -EBADMSG) {
		store_note(s, STORE_FILE ": SQLite cannot read it");
		*ret_sound = false;
		return 0;
	}
	if (r == 0)
		r = store_db_check(s, ret_sound);
	if (r == 0 && *ret_sound && store_db_migrate(s->db, version) != SQLITE_OK)
		r = store_failed(s, sqlite3_extended_errcode(s->db));
	if (r < 0 || !*ret_sound)
		store_db_close(s);
	return r;
}

static int open_damaged(struct store *s, const struct store_conf *conf, struct store_scan *scan,
	struct fault *fault)
{
	int r = store_db_salvage(s, scan, &s->db);
	if (r == 0 && !conf->repair)
		store_refuse(s);
	if (r < 0 || !conf->repair)
		return r;
	r = store_db_make(s, s->db, fault);
	store_db_close(s);
	if (r == 0)
		r = store_db_open(s, STORE_FILE, &s->db);
	if (r == 0)
		log_warn(SUBJECT, 0, "repaired: what was damaged is kept as %s", s->kept_aside);
	return r;
}

static int open_file(struct store *s, const struct store_conf *conf, struct fault *fault)
{
	struct store_scan scan;
	struct store_scan_env env = {s->env.mem, on_damage, s};
	char *db = store_path(s, STORE_FILE), *log = store_path(s, STORE_FILE STORE_LOG);
	int r = db && log ? store_scan_open(&scan, &env, db, log) : -ENOMEM;
	(void)mem_free(s->env.mem, db);
	(void)mem_free(s->env.mem, log);
	if (r < 0)
		return r;
	bool sound = store_scan_is_sound(&scan);
	if (sound && scan.n_pages == 0) {
		r = store_db_make(s, NULL, fault);
		if (r == 0)
			r = store_db_open(s, STORE_FILE, &s->db);
	} else if (scan.version > STORE_VERSION) {
		r = fault_set(fault, -EINVAL, FIELD, NULL,
			"%s/" STORE_FILE " is of a newer nl6: its schema is %u, this one knows %u",
			s->dir, scan.version, STORE_VERSION);
	} else {
		if (sound)
			r = open_sound(s, scan.version, &sound);
		if (r == 0 && !sound)
			r = open_damaged(s, conf, &scan, fault);
		else if (r == 0 && conf->repair)
			log_info(SUBJECT, 0, "nothing to repair");
	}
	store_scan_done(&scan);
	return r;
}

static int open_all(struct store *s, const struct store_conf *conf, struct fault *fault)
{
	int r = store_dir_open(s, conf->dir, fault);
	if (r == 0)
		r = store_dir_settle(s, fault);
	if (r == 0)
		r = store_vfs_init(&s->vfs);
	if (r == 0)
		r = open_file(s, conf, fault);
	if (r == 0)
		r = store_prepare(s);
	if (r == 0)
		r = count_start(s);
	return r;
}

int store_open(const struct store_env *env, const struct store_conf *conf, struct store **ret_store,
	struct fault *reterr_fault)
{
	struct fault fault = {0};
	AUTO(store) struct store *s = mem_zalloc(env->mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->dir_fd = s->lock_fd = -1;
	s->damage = (struct text)TEXT(env->mem);
	lock_init(&s->lock);
	int r = open_all(s, conf, &fault);
	if (r == 0)
		r = stats_attach(env->stats, store_counters, NULL, s);
	if (r == 0) {
		*ret_store = TAKE(s);
		return 0;
	}
	if (fault.code == r && reterr_fault)
		*reterr_fault = fault;
	else if (r != -ENOMEM)
		(void)fault_set(reterr_fault, r, FIELD, NULL, "%.160s/" STORE_FILE ": %s",
			conf->dir, s->refusal[0] ? s->refusal : strerrordesc_np(-r));
	return r;
}

struct store *store_free(struct store *s)
{
	if (!s)
		return NULL;
	stats_detach(s->env.stats, s);
	/* What the log holds goes to the file, if it can. */
	if (s->db && !s->refuses)
		(void)sqlite3_wal_checkpoint_v2(
			s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	store_db_close(s);
	store_vfs_done(&s->vfs);
	store_dir_close(s);
	text_done(&s->damage);
	lock_done(&s->lock);
	return mem_free(s->env.mem, s);
}

static int keeper_commit(void *arg)
{
	return store_commit(arg);
}

static void keeper_rollback(void *arg)
{
	store_rollback(arg);
}

struct keeper_store store_keeper(struct store *s)
{
	return (struct keeper_store){keeper_commit, keeper_rollback, s};
}
