/* A state directory of a test's own, a store in it, and records whose values follow from their
 * keys, so that a wrong one is seen. */
#pragma once
#include "base/rnd.h"
#include "base/thread.h"
#include "fake.h"
#include "sim/fleet/store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sx {
	struct fake f;
	struct stats *stats;
	char dir[64], path[80], log[96];
	struct store *s;
};

static inline struct sx sx_make(void)
{
	struct sx x = {.f = fake_make(), .dir = "/tmp/nl6-unit-store-XXXXXX"};
	ck_assert_int_eq(stats_new(x.f.mem, &x.stats), 0);
	ck_assert_ptr_nonnull(mkdtemp(x.dir));
	(void)snprintf(x.path, sizeof(x.path), "%s/nl6.db", x.dir);
	(void)snprintf(x.log, sizeof(x.log), "%s-wal", x.path);
	return x;
}

static inline int sx_try(struct sx *x, bool repair, struct fault *fault)
{
	struct store_env env = {x->f.mem, x->f.clk, x->stats};
	struct store_conf conf = {x->dir, repair};
	return store_open(&env, &conf, &x->s, fault);
}

static inline void sx_open(struct sx *x)
{
	struct fault fault = {0};
	int r = sx_try(x, false, &fault);
	ck_assert_msg(r == 0, "%s", fault.text);
}

static inline void sx_close(struct sx *x)
{
	x->s = store_free(x->s);
}

static inline void sx_empty(const char *dir)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	(void)closedir(d);
}

static inline void sx_done(struct sx *x)
{
	sx_close(x);
	sx_empty(x->dir);
	(void)rmdir(x->dir);
	(void)stats_free(x->stats);
	fake_done(&x->f);
}

#define SX_VALUE_BYTES_MAX 20000u
/* The value of record i of a generation: mostly small, some larger than a page. */
static inline size_t sx_value(uint32_t i, uint32_t generation, uint8_t *buf)
{
	size_t n = i % 37 == 5 ? 3000 + i % 17000 : i % 90;
	for (size_t at = 0; at < n; at++)
		buf[at] = (uint8_t)rnd_below(generation + 1, i, at, 256);
	if (n > 0)
		buf[0] = (uint8_t)generation;
	return n;
}

static inline int sx_put(struct store *s, uint32_t i, uint32_t generation)
{
	uint8_t buf[SX_VALUE_BYTES_MAX];
	struct addr a = addr_from_v4(0x0a000000 + i);
	uint32_t oid[] = {1, 3, 6, 1, i};
	return store_put_set(s, &a, oid, 5, buf, sx_value(i, generation, buf));
}

struct sx_seen {
	uint32_t n, generation, last;
	bool any_generation; /* of generation or the one before */
};

static inline bool sx_is(const struct store_set *set, uint32_t i, uint32_t generation)
{
	uint8_t buf[SX_VALUE_BYTES_MAX];
	size_t n = sx_value(i, generation, buf);
	return set->tlv_bytes == n && (n == 0 || memcmp(set->tlv, buf, n) == 0);
}

static inline int sx_see(void *arg, const struct store_set *set)
{
	struct sx_seen *seen = arg;
	ck_assert(set->oid_len == 5 && set->oid[0] == 1 && addr_is_v4(&set->device));
	uint32_t i = set->oid[4];
	ck_assert_uint_eq(addr_v4_u32(&set->device), 0x0a000000 + i);
	ck_assert(seen->n == 0 || i > seen->last);
	seen->last = i;
	seen->n++;
	ck_assert_msg(sx_is(set, i, seen->generation) ||
			      (seen->any_generation && sx_is(set, i, seen->generation - 1)),
		"record %u is wrong", i);
	return 0;
}

/* How many there are; every one must be right. */
static inline uint32_t sx_count(struct store *s, uint32_t generation)
{
	struct sx_seen seen = {.generation = generation};
	ck_assert_int_eq(store_each_set(s, sx_see, &seen), 0);
	return seen.n;
}

static inline void sx_fill(struct store *s, uint32_t first, uint32_t n, uint32_t generation)
{
	for (uint32_t i = first; i < first + n; i++)
		ck_assert_int_eq(sx_put(s, i, generation), 0);
	ck_assert_int_eq(store_commit(s), 0);
}

static inline size_t sx_read(const char *path, uint8_t **ret_bytes)
{
	FILE *f = fopen(path, "rbe");
	*ret_bytes = NULL;
	if (!f)
		return 0;
	(void)fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	rewind(f);
	*ret_bytes = malloc(n + 1);
	ck_assert_uint_eq(fread(*ret_bytes, 1, n, f), n);
	(void)fclose(f);
	return n;
}

static inline void sx_write(const char *path, const uint8_t *p, size_t n)
{
	(void)unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq((int)write(fd, p, n), (int)n);
	(void)close(fd);
}

static inline struct store_status sx_status(struct sx *x)
{
	struct store_status status;
	store_status(x->s, &status);
	return status;
}
