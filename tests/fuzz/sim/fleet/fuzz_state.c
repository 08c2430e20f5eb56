/* A damaged state directory: the database's length in four bytes (little-endian), the database, its
 * log. Whatever bytes changed, nothing of it may be wrong: each set of the seeds follows from its
 * key. */
#include "base/rnd.h"
#include "fuzz.h"
#include "sim/fleet/store_create.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void put_file(const char *dir, const char *name, const uint8_t *p, size_t bytes)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, p, bytes) == (ssize_t)bytes);
	(void)close(fd);
}

/* Of tests/unit/sim/fleet/store_fixture.h, in its generation 1. */
static int on_set(void *arg, const struct store_set *set)
{
	uint32_t i = set->oid[4], *n = arg;
	const uint8_t *value = set->tlv;
	size_t bytes = i % 37 == 5 ? 3000 + i % 17000 : i % 90;
	check(set->oid_len == 5 && addr_v4_u32(&set->device) == 0x0a000000 + i);
	check(set->tlv_bytes == bytes && (bytes == 0 || value[0] == 1));
	for (size_t at = 1; at < bytes; at++)
		check(value[at] == (uint8_t)rnd_below(2, i, at, 256));
	++*n;
	return 0;
}

static int on_create(void *arg UNUSED, uint32_t id UNUSED, const void *json, size_t bytes)
{
	struct store_create c = {0};
	static struct kus *kus; /* made once, for all inputs */
	if (!kus && kus_new(&mem_libc, &kus) < 0)
		return -ENOMEM;
	if (store_create_read(&mem_libc, kus, json, bytes, &c, NULL) == 0)
		store_create_done(&mem_libc, &c);
	return 0;
}

static uint32_t read_all(const char *dir, bool repair, bool *ret_sound)
{
	struct stats *stats;
	struct store *s;
	uint32_t n = 0;
	check(stats_new(&mem_libc, &stats) == 0);
	struct store_env env = {&mem_libc, &clk_system, stats};
	struct store_conf conf = {dir, repair};
	if (store_open(&env, &conf, &s, NULL) == 0) {
		struct store_status status;
		store_status(s, &status);
		*ret_sound = !status.refuses;
		check(!repair || !status.refuses);
		check(store_each_set(s, on_set, &n) == 0);
		check(store_each_create(s, on_create, NULL) == 0);
		(void)store_free(s);
	} else {
		*ret_sound = false;
	}
	(void)stats_free(stats);
	return n;
}

static void remove_all(const char *dir)
{
	DIR *d = opendir(dir);
	check(d != NULL);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	(void)closedir(d);
	check(rmdir(dir) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	char dir[] = "/dev/shm/nl6-fuzz-state-XXXXXX";
	uint32_t db_bytes;
	bool sound;
	if (bytes < sizeof(db_bytes))
		return 0;
	memcpy(&db_bytes, p, sizeof(db_bytes));
	p += sizeof(db_bytes);
	bytes -= sizeof(db_bytes);
	size_t n_db = MIN(db_bytes, bytes);
	check(mkdtemp(dir) != NULL);
	put_file(dir, "nl6.db", p, n_db);
	if (bytes > n_db)
		put_file(dir, "nl6.db-wal", p + n_db, bytes - n_db);
	uint32_t n = read_all(dir, false, &sound);
	/* A newer schema is refused also by a repair. */
	uint32_t again = read_all(dir, true, &sound);
	check(!sound || again == n);
	remove_all(dir);
	return 0;
}
