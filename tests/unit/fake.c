#include "fake.h"
#include "base/thread.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct fake_state {
	struct mem mem;
	struct clk clk;
	uint64_t mono_ns, wall_ns;
	uint64_t fail_in;
	bool failed;
	int64_t live;
};

static void *counted_resize(void *arg, void *old, size_t bytes)
{
	struct fake_state *s = arg;
	if (bytes == 0) {
		if (old)
			(void)__atomic_fetch_sub(&s->live, 1, __ATOMIC_RELAXED);
		free(old);
		return NULL;
	}
	if (__atomic_load_n(&s->fail_in, __ATOMIC_RELAXED) != UINT64_MAX &&
		__atomic_fetch_sub(&s->fail_in, 1, __ATOMIC_RELAXED) == 0) {
		__atomic_store_n(&s->fail_in, UINT64_MAX, __ATOMIC_RELAXED);
		__atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
		return NULL;
	}
	void *p = realloc(old, bytes);
	if (p && !old)
		(void)__atomic_fetch_add(&s->live, 1, __ATOMIC_RELAXED);
	return p;
}

static uint64_t mono(void *arg)
{
	return __atomic_load_n(&((struct fake_state *)arg)->mono_ns, __ATOMIC_RELAXED);
}

static uint64_t wall(void *arg)
{
	return __atomic_load_n(&((struct fake_state *)arg)->wall_ns, __ATOMIC_RELAXED);
}

/* Fakes that no test was done with: without fake_done what leaked stays unseen. */
static int open_fakes;

struct fake fake_make(void)
{
	struct fake_state *s = calloc(1, sizeof(*s));
	ck_assert_ptr_nonnull(s);
	s->mem = (struct mem){counted_resize, s};
	s->clk = (struct clk){mono, wall, s};
	s->mono_ns = 1000 * NS_PER_SEC;
	s->wall_ns = 1772355600 * NS_PER_SEC; /* 2026-03-01T09:00:00Z */
	s->fail_in = UINT64_MAX;
	open_fakes++;
	return (struct fake){&s->mem, &s->clk, s};
}

void fake_done(struct fake *f)
{
	ck_assert_int_eq(f->state->live, 0);
	free(f->state);
	open_fakes--;
}

void clk_step_ns(const struct clk *clk, uint64_t ns)
{
	struct fake_state *s = clk->arg;
	(void)__atomic_fetch_add(&s->mono_ns, ns, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&s->wall_ns, ns, __ATOMIC_RELAXED);
}

void fake_fail_at(struct fake *f, uint64_t n)
{
	__atomic_store_n(&f->state->failed, false, __ATOMIC_RELAXED);
	__atomic_store_n(&f->state->fail_in, n, __ATOMIC_RELAXED);
}

bool fake_has_failed(const struct fake *f)
{
	return __atomic_load_n(&f->state->failed, __ATOMIC_RELAXED);
}

int64_t fake_live(const struct fake *f)
{
	return __atomic_load_n(&f->state->live, __ATOMIC_RELAXED);
}

void fake_fail_each(struct fake *f, int (*scenario)(struct fake *f, void *arg), void *arg)
{
	int64_t before = fake_live(f);
	for (uint64_t n = 0;; n++) {
		fake_fail_at(f, n);
		int r = scenario(f, arg);
		bool failed = fake_has_failed(f);
		fake_fail_at(f, UINT64_MAX);
		ck_assert_int_eq(fake_live(f), before);
		if (!failed) {
			ck_assert_int_eq(r, 0);
			return;
		}
		ck_assert_msg(r == 0 || r == -ENOMEM, "allocation %llu failing gave %d",
			(unsigned long long)n, r);
	}
}

int unit_run(const char *name, const TTest *const *tests, unsigned n)
{
	thread_adopt("unit", &label_main);
	Suite *suite = suite_create(name);
	for (unsigned i = 0; i < n; i++) {
		TCase *tc = tcase_create(tests[i]->name);
		tcase_set_timeout(tc, 0);
		tcase_add_test(tc, tests[i]);
		suite_add_tcase(suite, tc);
	}
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (failed == 0 && open_fakes > 0)
		(void)fprintf(stderr, "%s: %d fake_done missing\n", name, open_fakes);
	return failed > 0 || open_fakes > 0;
}
