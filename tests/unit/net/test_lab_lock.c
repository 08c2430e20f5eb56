#include "fake.h"
#include "net/lab_lock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char dir[64], locks[96];
};

static struct place place_make(void)
{
	struct place p = {.dir = "/tmp/nl6-test-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(p.dir));
	(void)snprintf(p.locks, sizeof(p.locks), "%s/locks", p.dir);
	return p;
}

static void place_done(const struct place *p)
{
	ck_assert_int_eq(rmdir(p->locks), 0);
	ck_assert_int_eq(rmdir(p->dir), 0);
}

static void note_head(struct lab_lock *l, const struct mem *mem, uint32_t pid)
{
	AUTO_TEXT struct text t = TEXT(mem);
	lab_record_put_head(&t, "boot", 1, pid);
	ck_assert_int_eq(lab_lock_note(l, &t), 0);
}

START_TEST(one_at_a_time)
{
	struct fake f = fake_make();
	struct place p = place_make();
	struct lab_lock *a = NULL, *b = NULL;
	struct fault fault = {0};
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", false, &a, NULL), -ENOENT);
	ck_assert_int_lt(access(p.locks, F_OK), 0);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &a, &fault), 0);
	note_head(a, f.mem, 4242);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &b, &fault), -EBUSY);
	char want[256];
	(void)snprintf(want, sizeof(want),
		"the lab network x is in use by process 4242, which holds %s/x.lock", p.locks);
	ck_assert_str_eq(fault.text, want);
	ck_assert_str_eq(fault.field, "-namespace");
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "y", true, &b, &fault), 0);
	b = lab_lock_drop(b, true);
	a = lab_lock_drop(a, true);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", false, &a, NULL), -ENOENT);
	place_done(&p);
	fake_done(&f);
}
END_TEST

START_TEST(what_a_killed_run_noted_is_read)
{
	struct fake f = fake_make();
	struct place p = place_make();
	struct lab_lock *l = NULL;
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &l, NULL), 0);
	note_head(l, f.mem, 4242);
	l = lab_lock_drop(l, false); /* as the kernel does for a killed process */
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", false, &l, NULL), 0);
	struct lab_record r = {0};
	ck_assert_int_eq(lab_lock_read(l, &r), 0);
	ck_assert_uint_eq(r.pid, 4242);
	lab_record_done(&r);
	ck_assert_int_eq(lab_lock_clear(l), 0);
	note_head(l, f.mem, 4243);
	ck_assert_int_eq(lab_lock_read(l, &r), 0);
	ck_assert_uint_eq(r.pid, 4243);
	ck_assert_uint_eq(r.bad_lines, 0);
	lab_record_done(&r);
	l = lab_lock_drop(l, true);
	place_done(&p);
	fake_done(&f);
}
END_TEST

START_TEST(directories_of_others_are_refused)
{
	struct fake f = fake_make();
	struct place p = place_make();
	struct lab_lock *l = NULL;
	struct fault fault = {0};
	ck_assert_int_eq(mkdir(p.locks, 0755), 0);
	ck_assert_int_eq(chmod(p.locks, 0777), 0);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &l, &fault), -EACCES);
	ck_assert_str_eq(fault.field, "-run-dir");
	ck_assert_int_eq(rmdir(p.locks), 0);
	ck_assert_int_eq(symlink("/", p.locks), 0);
	ck_assert_int_lt(lab_lock_take(f.mem, p.locks, "x", true, &l, &fault), 0);
	ck_assert_int_eq(unlink(p.locks), 0);
	ck_assert_int_eq(mkdir(p.locks, 0755), 0);
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/x.lock", p.locks);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &l, &fault), -ELOOP);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(lab_lock_take(f.mem, "/nowhere/locks", "x", true, &l, &fault), -ENOENT);
	place_done(&p);
	fake_done(&f);
}
END_TEST

struct others {
	unsigned n, live;
	uint32_t pids;
};

static void see(void *arg, const struct lab_record *r, bool live)
{
	struct others *o = arg;
	o->n++;
	o->live += live;
	o->pids += r->pid;
}

START_TEST(others_are_seen_living_or_dead)
{
	struct fake f = fake_make();
	struct place p = place_make();
	struct lab_lock *mine = NULL, *living = NULL, *dead = NULL;
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "mine", true, &mine, NULL), 0);
	note_head(mine, f.mem, 1);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "living", true, &living, NULL), 0);
	note_head(living, f.mem, 10);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "dead", true, &dead, NULL), 0);
	note_head(dead, f.mem, 100);
	dead = lab_lock_drop(dead, false);
	struct others o = {0};
	ck_assert_int_eq(lab_lock_dir_take(mine), 0);
	ck_assert_int_eq(lab_lock_others(mine, see, &o), 0);
	lab_lock_dir_drop(mine);
	ck_assert_uint_eq(o.n, 2);
	ck_assert_uint_eq(o.live, 1);
	ck_assert_uint_eq(o.pids, 110);
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "dead", false, &dead, NULL), 0);
	dead = lab_lock_drop(dead, true);
	living = lab_lock_drop(living, true);
	mine = lab_lock_drop(mine, true);
	place_done(&p);
	fake_done(&f);
}
END_TEST

START_TEST(a_record_has_an_end)
{
	struct fake f = fake_make();
	struct place p = place_make();
	struct lab_lock *l = NULL;
	ck_assert_int_eq(lab_lock_take(f.mem, p.locks, "x", true, &l, NULL), 0);
	struct text t = TEXT(f.mem);
	for (unsigned i = 0; i < 5000; i++)
		lab_record_put_mark(&t, 1234567);
	ck_assert_int_eq(lab_lock_note(l, &t), 0);
	ck_assert_int_eq(lab_lock_note(l, &t), -EFBIG);
	text_done(&t);
	l = lab_lock_drop(l, true);
	place_done(&p);
	fake_done(&f);
}
END_TEST

static int take_and_drop(struct fake *f, void *arg)
{
	struct place *p = arg;
	struct lab_lock *l = NULL;
	int r = lab_lock_take(f->mem, p->locks, "x", true, &l, NULL);
	if (r < 0)
		return r;
	AUTO_RECORD struct lab_record rec = {0};
	r = lab_lock_read(l, &rec);
	(void)lab_lock_drop(l, true);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct place p = place_make();
	fake_fail_each(&f, take_and_drop, &p);
	place_done(&p);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(one_at_a_time, what_a_killed_run_noted_is_read, directories_of_others_are_refused,
	others_are_seen_living_or_dead, a_record_has_an_end, each_allocation_may_fail)
