#include "fake.h"
#include "sim/fleet/mib.h"
#include <errno.h>
#include <string.h>

START_TEST(the_list_is_sound)
{
	uint16_t number = 0;
	const struct mib_group *g;
	for (unsigned i = 0; (g = mib_group_nth(i)); i++) {
		struct oid base;
		ck_assert_int_eq(oid_parse(g->oid, &base), 0);
		for (uint16_t k = 0; k < g->n; k++, number++) {
			const struct mib_object *o = &g->objects[k];
			if (k)
				ck_assert_msg(o->arc > o[-1].arc, "%s", o->name);
			ck_assert_msg(o->name && o->syntax, "%s", g->oid);
			struct mib_ref by_number = mib_nth(number), found;
			ck_assert_ptr_eq(by_number.object, o);
			struct oid oid = mib_oid(&by_number);
			ck_assert_int_eq(oid.n, base.n + 1);
			oid.arcs[oid.n++] = 0;
			ck_assert_msg(mib_find(&oid, &found) == 0, "%s", o->name);
			ck_assert_msg(found.object == o, "%s is hidden by %s", o->name,
				found.object->name);
			ck_assert_uint_eq(found.number, number);
			ck_assert_uint_eq(found.arcs, base.n + 1);
		}
	}
	ck_assert_uint_gt(number, 400);
}
END_TEST

START_TEST(names_are_unique)
{
	const struct mib_group *g, *h;
	for (unsigned i = 0; (g = mib_group_nth(i)); i++)
		for (uint16_t k = 0; k < g->n; k++)
			for (unsigned j = i; (h = mib_group_nth(j)); j++)
				for (uint16_t m = j == i ? k + 1 : 0; m < h->n; m++)
					ck_assert_str_ne(g->objects[k].name, h->objects[m].name);
}
END_TEST

START_TEST(what_is_not_listed_is_not_found)
{
	static const char *const unknown[] = {"1.3.6.1.2.1.1", "1.3.6.1.2.1.1.10.0",
		"1.3.6.1.2.1.11.7.0", "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.2.2.1.23.1",
		"1.3.6.1.4.1.99999.1.0", "2.999"};
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		struct oid o;
		struct mib_ref ref;
		ck_assert_int_eq(oid_parse(unknown[i], &o), 0);
		ck_assert_int_eq(mib_find(&o, &ref), -ENOENT);
	}
}
END_TEST

UNIT_MAIN(the_list_is_sound, names_are_unique, what_is_not_listed_is_not_found)
