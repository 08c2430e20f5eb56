#include "base/thread.h"
#include "base/threads.h"
#include "fake.h"
#include "profiling/said.h"
#include "profiling/walker.h"
#include <dlfcn.h>

__attribute__((noinline)) static unsigned walk(
	struct walker *w, uintptr_t *pcs, unsigned room, enum unwind_end *ret_end)
{
	struct unwind_regs regs = UNWIND_REGS_HERE();
	return walker_here(w, &regs, pcs, room, ret_end);
}

START_TEST(a_walk_reaches_the_entry)
{
	AUTO(walker) struct walker *w = NULL;
	uintptr_t pcs[UNWIND_DEPTH];
	enum unwind_end end;
	ck_assert_int_eq(walker_new(&mem_libc, &w), 0);
	thread_adopt("test", &label_main);
	ck_assert_uint_gt(walk(w, pcs, UNWIND_DEPTH, &end), 3);
	ck_assert_int_eq(end, UNWIND_ENTRY);
	ck_assert_uint_eq(walk(w, pcs, 2, &end), 2);
	ck_assert_int_eq(end, UNWIND_DEEP);
}
END_TEST

struct walking {
	struct walker *w;
	bool stop;
};

static void walk_on(void *arg)
{
	struct walking *k = arg;
	uintptr_t pcs[UNWIND_DEPTH];
	enum unwind_end end;
	while (!__atomic_load_n(&k->stop, __ATOMIC_RELAXED))
		(void)walk(k->w, pcs, UNWIND_DEPTH, &end);
}

/* Tables go only when nobody walks by them: a sanitizer sees if one does. */
START_TEST(tables_change_under_a_walk)
{
	struct walking k = {0};
	struct thread *t;
	struct unwind_info one, two;
	ck_assert_int_eq(walker_new(&mem_libc, &k.w), 0);
	ck_assert_int_eq(
		thread_start(&mem_libc, &(struct thread_conf){"walk", NULL, walk_on, &k}, &t), 0);
	walker_info(k.w, &one);
	for (unsigned i = 0; i < 20; i++) {
		void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
		void *more = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
		walker_refresh(k.w);
		walker_info(k.w, &two);
		if (more) {
			ck_assert_uint_gt(two.objects, one.objects);
			dlclose(more);
		}
		dlclose(lib);
		walker_refresh(k.w);
	}
	__atomic_store_n(&k.stop, true, __ATOMIC_RELAXED);
	ck_assert_ptr_null(thread_join(t));
	ck_assert_ptr_null(walker_free(k.w));
}
END_TEST

static int make(struct fake *f, void *arg UNUSED)
{
	AUTO(walker) struct walker *w = NULL;
	return walker_new(f->mem, &w);
}

START_TEST(without_memory_nothing_is_left)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make, NULL);
	fake_done(&f);
}
END_TEST

START_TEST(every_said_frame_has_a_text)
{
	for (unsigned i = 0; i < SAID_N; i++) {
		ck_assert(said_is(said_pc((enum said)i)));
		ck_assert_str_ne(said_text(said_pc((enum said)i)), "[?]");
	}
	ck_assert(!said_is(SAID_LIMIT));
	ck_assert_str_eq(said_text(SAID_LIMIT - 1), "[?]");
}
END_TEST

UNIT_MAIN(a_walk_reaches_the_entry, tables_change_under_a_walk, without_memory_nothing_is_left,
	every_said_frame_has_a_text)
