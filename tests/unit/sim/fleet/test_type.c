#include "fake.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/type.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct types_conf builtin(char dir[static 512])
{
	(void)snprintf(dir, 512, "%s/devices", getenv("SOURCE_ROOT"));
	return (struct types_conf){dir, NULL};
}

static void check_increasing(const struct oidtab *t)
{
	for (uint32_t i = 1; i < t->n; i++) {
		const struct oid_row *a = &t->rows[i - 1], *b = &t->rows[i];
		ck_assert_int_lt(oid_key_cmp(t->bytes + a->key_at, a->key_len, t->bytes + b->key_at,
					 b->key_len),
			0);
	}
}

START_TEST(every_built_in_type_compiles)
{
	char dir[512];
	struct fake f = fake_make();
	struct types_env env = {f.mem};
	struct types_conf conf = builtin(dir);
	AUTO(types) struct types *types = NULL;
	struct type_info *list;
	uint32_t n;
	ck_assert_int_eq(types_new(&env, &conf, &types), 0);
	ck_assert_int_eq(types_list(types, &list, &n), 0);
	ck_assert_uint_ge(n, 2);
	for (uint32_t i = 0; i < n; i++) {
		const struct type *t;
		struct fault fault = {0};
		int r = types_get(types, list[i].slug, &t, &fault);
		ck_assert_msg(r == 0, "%s: %s: %s (%s)", list[i].slug, fault.field, fault.text,
			fault.allowed);
		ck_assert_uint_gt(t->table.n, 50);
		ck_assert_uint_eq(t->n_warnings, 0);
		check_increasing(&t->table);
		(void)type_unref(t);
	}
	mem_free(f.mem, list);
	types = types_free(types);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(every_built_in_type_compiles)
