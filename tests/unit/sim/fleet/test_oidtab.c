#include "base/rnd.h"
#include "fake.h"
#include "sim/fleet/oidtab.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct oid oid_of(const char *text)
{
	struct oid o;
	ck_assert_int_eq(oid_parse(text, &o), 0);
	return o;
}

static int add(struct oidtab_new *b, const char *text, uint16_t object_arcs, uint32_t origin)
{
	struct oid o = oid_of(text);
	struct ber_value v = {.tag = BER_INTEGER, .i = origin};
	struct oidtab_add a = {.oid = &o,
		.object_arcs = object_arcs,
		.object = OIDTAB_NO_OBJECT,
		.value = &v,
		.origin = origin};
	return oidtab_new_add(b, &a);
}

/* Columns as an agent has them: short keys, long ones, and runs that share their first bytes. */
static int make(const struct mem *mem, uint32_t n, struct oidtab *ret_tab)
{
	AUTO(oidtab_new) struct oidtab_new *b = NULL;
	uint32_t origins[2];
	int r = oidtab_new(mem, &b);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		char text[128];
		/* Added backward, so that the sort has work. */
		uint32_t k = n - 1 - i;
		(void)snprintf(text, sizeof(text), "1.3.6.1.2.1.%u.%u.%u.4294967295.%u", k % 3,
			k / 3 % 5, k / 15 % 200, k);
		r = add(b, text, 9, k);
	}
	return r < 0 ? r : oidtab_new_finish(b, ret_tab, origins);
}

/* The plain way to say what a seek means. */
static uint32_t seek_slowly(const struct oidtab *t, const struct oid_key *k, bool *exact)
{
	uint32_t i = 0;
	while (i < t->n && oid_key_cmp(oidtab_key(t, i), t->rows[i].key_len, k->b, k->n) < 0)
		i++;
	*exact = i < t->n && oid_key_cmp(oidtab_key(t, i), t->rows[i].key_len, k->b, k->n) == 0;
	return i;
}

static void check_seek(const struct oidtab *t, const struct oid *o)
{
	struct oid_key k;
	bool exact, is_exact;
	oid_to_key(o, &k);
	uint32_t is = seek_slowly(t, &k, &is_exact);
	ck_assert_uint_eq(oidtab_seek(t, k.b, k.n, &exact), is);
	ck_assert_int_eq(exact, is_exact);
}

static const uint32_t arcs_of_interest[] = {0, 1, 2, 3, 4, 6, 127, 128, 16383, 16384, 4294967295};

START_TEST(seek_finds_what_a_scan_finds)
{
	struct fake f = fake_make();
	struct oidtab t;
	ck_assert_int_eq(make(f.mem, 500, &t), 0);
	ck_assert_uint_eq(t.n, 500);
	for (uint32_t i = 1; i < t.n; i++)
		ck_assert_int_lt(oid_key_cmp(oidtab_key(&t, i - 1), t.rows[i - 1].key_len,
					 oidtab_key(&t, i), t.rows[i].key_len),
			0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct oid o = oid_of("1.3.6.1.2.1.0.0.0.4294967295.0");
		o.n = 2 + rnd_below(1, 1, i, 12);
		for (uint32_t k = 2; k < o.n; k++)
			if (k > 5 || rnd_below(1, 2, i * 16 + k, 40) == 0)
				o.arcs[k] = arcs_of_interest[rnd_below(
					1, 3, i * 16 + k, ARRAY_SIZE(arcs_of_interest))];
		check_seek(&t, &o);
	}
	for (uint32_t i = 0; i < t.n; i++) {
		struct oid o;
		ck_assert_int_eq(
			oid_from_ber(t.bytes + t.rows[i].ber_at, t.rows[i].ber_len, &o), 0);
		check_seek(&t, &o);
		o.arcs[o.n - 1]++;
		check_seek(&t, &o);
	}
	oidtab_done(&t);
	fake_done(&f);
}
END_TEST

START_TEST(small_tables_are_searched)
{
	struct fake f = fake_make();
	for (uint32_t n = 0; n < 9; n++) {
		struct oidtab t;
		ck_assert_int_eq(make(f.mem, n, &t), 0);
		for (uint32_t i = 0; i < 3000; i++) {
			struct oid o = oid_of("1.3.6.1.2.1.0.0.0.4294967295.0");
			o.arcs[6] = rnd_below(2, 1, i, 4);
			o.arcs[7] = rnd_below(2, 2, i, 3);
			o.arcs[10] = rnd_below(2, 3, i, 10);
			o.n = (uint16_t)(i % 7 ? 11 : 2 + i % 10);
			check_seek(&t, &o);
		}
		struct oid before = oid_of("1.0.8802"), after = oid_of("2.999");
		check_seek(&t, &before);
		check_seek(&t, &after);
		oidtab_done(&t);
	}
	fake_done(&f);
}
END_TEST

START_TEST(two_rows_of_one_oid_are_told)
{
	struct fake f = fake_make();
	struct oidtab_new *b;
	struct oidtab t;
	uint32_t origins[2] = {0};
	ck_assert_int_eq(oidtab_new(f.mem, &b), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.2", 4, 7), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.1", 4, 8), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.2", 4, 9), 0);
	ck_assert_int_eq(oidtab_new_finish(b, &t, origins), -EEXIST);
	ck_assert_uint_eq(origins[0], 7);
	ck_assert_uint_eq(origins[1], 9);
	(void)oidtab_new_free(b);
	fake_done(&f);
}
END_TEST

/* The last one stays, in a table whose rows come in order and in one whose rows do not. */
START_TEST(the_last_of_one_oid_may_stay)
{
	struct fake f = fake_make();
	static const char *const oids[] = {
		"1.3.1", "1.3.1", "1.3.2", "1.3.3", "1.3.3", "1.3.3", "1.3.2"};
	for (uint32_t n = 5; n <= ARRAY_SIZE(oids); n++) {
		struct oidtab_new *b;
		struct oidtab t;
		uint32_t origins[2];
		ck_assert_int_eq(oidtab_new(f.mem, &b), 0);
		oidtab_new_keep_last(b);
		for (uint32_t i = 0; i < n; i++)
			ck_assert_int_eq(add(b, oids[i], 2, i), 0);
		ck_assert_int_eq(oidtab_new_finish(b, &t, origins), 0);
		ck_assert_uint_eq(t.n, 3);
		const uint32_t want[] = {1, n == 7 ? 6 : 2, n == 5 ? 4 : 5};
		for (uint32_t i = 0; i < 3; i++) {
			struct rd r = rd_make(t.bytes + t.rows[i].arg, t.bytes_len - t.rows[i].arg);
			ck_assert_int_eq(ber_get_value(&r).i, want[i]);
		}
		oidtab_done(&t);
		(void)oidtab_new_free(b);
	}
	fake_done(&f);
}
END_TEST

START_TEST(objects_are_told_from_instances)
{
	static const struct {
		const char *oid;
		bool known;
	} cases[] = {
		{"1.3.6.1.2.1.1.1.0", true},
		{"1.3.6.1.2.1.1.1", true}, /* the object without an instance */
		{"1.3.6.1.2.1.1.1.1", true},
		{"1.3.6.1.2.1.1", false},
		{"1.3.6.1.2.1.1.2", false},
		{"1.3.6.1.2.1.2.2.1.10.5", true},
		{"1.3.6.1.2.1.2.2.1.10.1", true},
		{"1.3.6.1.2.1.2.2.1.10.99", true},
		{"1.3.6.1.2.1.2.2.1.11.1", false},
		{"1.3.6.1.2.1.2.2.1.9.1", false},
		{"1.3.6.1.4", false},
		{"1.0", false},
	};
	struct fake f = fake_make();
	struct oidtab_new *b;
	struct oidtab t;
	uint32_t origins[2];
	ck_assert_int_eq(oidtab_new(f.mem, &b), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.2.1.2.2.1.10.5", 10, 1), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.2.1.2.2.1.10.7", 10, 2), 0);
	ck_assert_int_eq(add(b, "1.3.6.1.2.1.1.1.0", 8, 3), 0);
	ck_assert_int_eq(oidtab_new_finish(b, &t, origins), 0);
	(void)oidtab_new_free(b);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct oid o = oid_of(cases[i].oid);
		struct oid_key k;
		bool exact;
		oid_to_key(&o, &k);
		uint32_t pos = oidtab_seek(&t, k.b, k.n, &exact);
		ck_assert_msg(
			oidtab_has_object(&t, pos, k.b, k.n) == cases[i].known, "%s", cases[i].oid);
	}
	oidtab_done(&t);
	fake_done(&f);
}
END_TEST

static int make_and_drop(struct fake *f, void *arg UNUSED)
{
	struct oidtab t;
	int r = make(f->mem, 600, &t);
	if (r == 0)
		oidtab_done(&t);
	return r;
}

START_TEST(every_failed_allocation_is_survived)
{
	struct fake f = fake_make();
	fake_fail_each(&f, make_and_drop, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(seek_finds_what_a_scan_finds, small_tables_are_searched, two_rows_of_one_oid_are_told,
	the_last_of_one_oid_may_stay, objects_are_told_from_instances,
	every_failed_allocation_is_survived)
