#include "fake.h"
#include "sim/fleet/batch_memory.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file system of the test's own: writes a file and the directories before it. */
static void put(const char *root, const char *path, const char *text)
{
	char full[512];
	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		ck_assert(mkdir(full, 0700) == 0 || errno == EEXIST);
	}
	FILE *f = fopen(full, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static int remove_one(
	const char *path, const struct stat *st UNUSED, int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

struct place {
	char root[32];
};
static struct place place_make(const char *cgroup)
{
	struct place p = {"/tmp/nl6-unit-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(p.root));
	put(p.root, "/proc/meminfo",
		"MemTotal:       1000000 kB\nMemFree:  1 kB\nMemAvailable:    900000 kB\nBuffers: "
		"5 "
		"kB\n");
	if (cgroup)
		put(p.root, "/proc/self/cgroup", cgroup);
	return p;
}

static void place_done(struct place *p)
{
	ck_assert_int_eq(nftw(p->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#define MEMINFO (900000ull * 1024)

START_TEST(without_groups_the_kernel_decides)
{
	struct place p = place_make(NULL);
	ck_assert_uint_eq(batch_memory_available(p.root), MEMINFO);
	place_done(&p);
	p = place_make("0::/\n");
	ck_assert_uint_eq(batch_memory_available(p.root), MEMINFO);
	put(p.root, "/proc/meminfo", "nonsense");
	ck_assert_uint_eq(batch_memory_available(p.root), UINT64_MAX);
	place_done(&p);
}
END_TEST

START_TEST(v2_takes_the_tightest_level)
{
	struct place p = place_make("0::/a/b\n");
	put(p.root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
	put(p.root, "/sys/fs/cgroup/a/b/memory.current", "500\n");
	ck_assert_uint_eq(batch_memory_available(p.root), MEMINFO);
	put(p.root, "/sys/fs/cgroup/a/memory.max", "10000\n");
	put(p.root, "/sys/fs/cgroup/a/memory.current", "4000\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 6000);
	put(p.root, "/sys/fs/cgroup/a/memory.stat", "anon 77\nactive_file 9\ninactive_file 1500\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 7500);
	put(p.root, "/sys/fs/cgroup/a/b/memory.high", "600\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 100);
	put(p.root, "/sys/fs/cgroup/a/b/memory.current", "700\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 0);
	place_done(&p);
}
END_TEST

START_TEST(a_container_sees_its_group_at_the_mount)
{
	struct place p = place_make("0::/docker/0123456789abcdef\n");
	put(p.root, "/sys/fs/cgroup/memory.max", "5000\n");
	put(p.root, "/sys/fs/cgroup/memory.current", "1000\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 4000);
	place_done(&p);
}
END_TEST

START_TEST(v1_has_its_own_names)
{
	struct place p = place_make("9:name=systemd:/\n8:pids:/x\n4:cpu,memory:/x/y\n"
				    "3:memoryless:/z\n0::/\n");
	put(p.root, "/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
	put(p.root, "/sys/fs/cgroup/memory/x/y/memory.usage_in_bytes", "100\n");
	ck_assert_uint_eq(batch_memory_available(p.root), MEMINFO);
	put(p.root, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000\n");
	put(p.root, "/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1500\n");
	put(p.root, "/sys/fs/cgroup/memory/x/memory.stat",
		"inactive_file 1\ntotal_inactive_file 300\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 800);
	put(p.root, "/sys/fs/cgroup/memory/z/memory.limit_in_bytes", "1\n");
	put(p.root, "/sys/fs/cgroup/memory/z/memory.usage_in_bytes", "1\n");
	ck_assert_uint_eq(batch_memory_available(p.root), 800);
	place_done(&p);
}
END_TEST

START_TEST(this_machine_has_some)
{
	uint64_t bytes = batch_memory_available("");
	ck_assert_uint_gt(bytes, 1 << 20);
	ck_assert_uint_lt(bytes, UINT64_MAX);
}
END_TEST

UNIT_MAIN(without_groups_the_kernel_decides, v2_takes_the_tightest_level,
	a_container_sees_its_group_at_the_mount, v1_has_its_own_names, this_machine_has_some)
