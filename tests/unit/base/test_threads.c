#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static sem_t started, leave;
struct counts {
	struct threads_hooks hooks;
	bool asking; /* born and gone are called for those there are, by the test */
	unsigned born, gone;
};

static void wait_inside(void *arg UNUSED)
{
	sem_post(&started);
	sem_wait(&leave);
}

static void *wait_inside_p(void *arg)
{
	wait_inside(arg);
	return NULL;
}

/* A subscriber that counts those there are with those that come. */
static void count_born(void *arg, struct self *thread)
{
	struct counts *c = arg;
	ck_assert(c->asking || thread == &nl6_self);
	c->born++;
}

static void count_gone(void *arg, struct self *thread)
{
	struct counts *c = arg;
	ck_assert(c->asking || thread == &nl6_self);
	c->gone++;
}

static void subscribe(struct counts *c)
{
	c->asking = true;
	c->hooks = (struct threads_hooks){count_born, count_gone, c, NULL};
	threads_subscribe(&c->hooks);
	c->asking = false;
}

static void unsubscribe(struct counts *c)
{
	c->asking = true;
	threads_unsubscribe(&c->hooks);
	c->asking = false;
}

static void check_one(void *arg, struct self *thread)
{
	unsigned *seen = arg;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	ck_assert_uint_lt(thread->stack_lo, thread->stack_hi);
	if (thread == &nl6_self)
		ck_assert(here >= thread->stack_lo && here < thread->stack_hi);
	(*seen)++;
}

static unsigned tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(d);
	unsigned n = 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

START_TEST(every_thread_is_listed_while_it_lives)
{
	struct fake f = fake_make();
	unsigned others, seen = 0;
	pthread_t first; /* with it comes a sanitizer's own thread, if it has one */
	sem_init(&started, 0, 0);
	sem_init(&leave, 0, 1);
	ck_assert_int_eq(pthread_create(&first, NULL, wait_inside_p, NULL), 0);
	pthread_join(first, NULL);
	sem_wait(&started);
	others = tasks() - threads_count();
	struct counts early = {0}, late = {0};
	unsigned there = threads_count();
	subscribe(&early);
	ck_assert_uint_eq(early.born, there);
	struct thread *t[4];
	pthread_t p;
	struct thread_conf conf = {.name = "test-0", .run = wait_inside};
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(thread_start(f.mem, &conf, &t[i]), 0);
	ck_assert_int_eq(pthread_create(&p, NULL, wait_inside_p, NULL), 0);
	for (int i = 0; i < 5; i++)
		sem_wait(&started);
	threads_each(check_one, &seen);
	ck_assert_uint_eq(seen, threads_count());
	ck_assert_uint_eq(tasks(), seen + others);
	subscribe(&late);
	ck_assert_uint_eq(early.born, there + 5);
	ck_assert_uint_eq(late.born, there + 5);
	for (int i = 0; i < 5; i++)
		sem_post(&leave);
	for (int i = 0; i < 4; i++)
		thread_join(t[i]);
	pthread_join(p, NULL);
	ck_assert_uint_eq(early.gone, 5);
	ck_assert_uint_eq(late.gone, 5);
	ck_assert_uint_eq(threads_count(), seen - 5);
	unsubscribe(&early);
	ck_assert_uint_eq(early.gone, 5 + there);
	ck_assert_uint_eq(late.gone, 5);
	unsubscribe(&late);
	ck_assert_uint_eq(late.gone, late.born);
	fake_done(&f);
}
END_TEST

static void find_birth(void *arg, struct self *thread)
{
	if (thread == &nl6_self || thread->birth_n == 0)
		return;
	for (unsigned i = 0; i < thread->birth_n; i++) {
		Dl_info info;
		if (dladdr((void *)(thread->birth[i] - 1), &info) && info.dli_sname &&
			strcmp(info.dli_sname, "__libc_start_main") == 0)
			*(bool *)arg = true;
	}
}

START_TEST(a_thread_knows_where_it_was_made)
{
	struct fake f = fake_make();
	bool found = false;
	sem_init(&started, 0, 0);
	sem_init(&leave, 0, 0);
	struct thread *t;
	struct thread_conf conf = {.name = "test-1", .run = wait_inside};
	ck_assert_int_eq(thread_start(f.mem, &conf, &t), 0);
	sem_wait(&started);
	threads_each(find_birth, &found);
	ck_assert(found);
	sem_post(&leave);
	thread_join(t);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(every_thread_is_listed_while_it_lives, a_thread_knows_where_it_was_made)
