#include "../fleet/fleet_fixture.h"
#include "base/rcu.h"
#include "sim/fleet/dev_ifs.h"
#include "sim/fleet/dev_sets.h"
#include "sim/fleet/ifcount.h"
#include "sim/fleet/mib.h"
#include "sim/snmp/set.h"
#include "sim/snmp/set_rules.h"
#include <errno.h>

START_TEST(rules_are_of_objects_that_can_be_written)
{
	uint32_t n = 0;
	struct mib_ref ref;
	const struct mib_group *g;
	for (unsigned i = 0; (g = mib_group_nth(i)); i++)
		for (unsigned k = 0; k < g->n; k++) {
			struct oid oid;
			ck_assert_int_eq(oid_parse(g->oid, &oid), 0);
			oid.arcs[oid.n++] = g->objects[k].arc;
			ck_assert_int_eq(mib_find(&oid, &ref), 0);
			const struct set_rule *rule = set_rule_of(ref.number);
			if (!rule)
				continue;
			n++;
			const struct mib_object *o = ref.object;
			ck_assert_msg(o->access == MIB_RW, "%s", o->name);
			ck_assert_str_eq(o->name, rule->name);
			ck_assert_int_le(rule->lo, rule->hi);
			bool octets = o->tag == BER_OCTET_STRING;
			ck_assert_msg(!octets || (rule->lo == 0 && rule->hi <= 255), "%s", o->name);
			ck_assert_msg(o->tag != BER_INTEGER ||
					      (rule->lo >= INT32_MIN && rule->hi <= INT32_MAX),
				"%s", o->name);
		}
	ck_assert_uint_eq(n, 36); /* each rule has its object */
	ck_assert_ptr_null(set_rule_of(OIDTAB_NO_OBJECT));
}
END_TEST

START_TEST(errors_of_version_1)
{
	for (int e = SNMP_NO_ERROR; e <= SNMP_INCONSISTENT_NAME; e++)
		ck_assert_int_le(set_error_v1((enum snmp_error)e), SNMP_GEN_ERR);
	ck_assert_int_eq(set_error_v1(SNMP_WRONG_LENGTH), SNMP_V1_BAD_VALUE);
	ck_assert_int_eq(set_error_v1(SNMP_NO_CREATION), SNMP_NO_SUCH_NAME);
	ck_assert_int_eq(set_error_v1(SNMP_COMMIT_FAILED), SNMP_GEN_ERR);
	ck_assert_int_eq(set_error_v1(SNMP_TOO_BIG), SNMP_TOO_BIG);
	ck_assert_int_eq(set_error_of(-ENOSPC), SNMP_RESOURCE_UNAVAILABLE);
	ck_assert_int_eq(set_error_of(-EROFS), SNMP_COMMIT_FAILED);
}
END_TEST

/* A fleet of a type with two interfaces and a contact. */
struct lab {
	struct fixture x;
	struct type_if ifs[2];
	struct type type;
	const struct type *types[1];
	struct keeper *keeper;
	struct addr addr;
};
static void add_row(struct oidtab_new *b, const char *text, uint16_t instance_arcs, uint8_t kind,
	uint8_t tag, uint32_t arg, uint16_t slot, struct ber_value *v)
{
	struct oid o;
	struct mib_ref ref;
	ck_assert_int_eq(oid_parse(text, &o), 0);
	ck_assert_int_eq(mib_find(&o, &ref), 0);
	ck_assert_uint_eq(ref.arcs + instance_arcs, o.n);
	struct oidtab_add add = {.oid = &o,
		.object_arcs = ref.arcs,
		.object = ref.number,
		.kind = kind,
		.tag = tag,
		.arg = arg,
		.slot = slot,
		.value = v};
	ck_assert_int_eq(oidtab_new_add(b, &add), 0);
}
static void lab_make(struct lab *l)
{
	struct oidtab_new *b;
	uint32_t origins[2];
	struct ber_value text = {.tag = BER_OCTET_STRING, .len = 2, .bytes = (const uint8_t *)"me"};
	memset(l, 0, sizeof(*l));
	l->x = fx_make(1);
	ck_assert_int_eq(oidtab_new(l->x.f.mem, &b), 0);
	add_row(b, "1.3.6.1.2.1.1.4.0", 1, OID_CONST, 0, 0, 0, &text);
	add_row(b, "1.3.6.1.2.1.2.2.1.7.1", 1, OID_IF_COLUMN, BER_INTEGER, IF_COL_ADMIN_STATUS, 0,
		NULL);
	add_row(b, "1.3.6.1.2.1.2.2.1.7.2", 1, OID_IF_COLUMN, BER_INTEGER, IF_COL_ADMIN_STATUS, 1,
		NULL);
	l->type = fake_types[0];
	ck_assert_int_eq(oidtab_new_finish(b, &l->type.table, origins), 0);
	(void)oidtab_new_free(b);
	for (uint32_t i = 0; i < 2; i++)
		l->ifs[i] = (struct type_if){.index = i + 1, .admin = IF_UP, .oper = IF_UP};
	l->type.ifs = l->ifs;
	l->type.n_ifs = 2;
	struct keeper_env env = {l->x.f.mem, l->x.f.clk, l->x.stats, l->x.fleet, NULL};
	ck_assert_int_eq(keeper_new(&env, &l->keeper), 0);
	ck_assert_int_eq(keeper_start(l->keeper), 0);
	/* The row's type is the lab's: the fleet counts references of its own. */
	l->addr = fx_addr("10.0.0.1");
	struct fleet_add add = fx_add(l->addr, 8, 1);
	(void)fx_create(&l->x, &add);
	struct device_conf *conf = (struct device_conf *)fleet_find(l->x.fleet, &l->addr)->conf;
	l->types[0] = conf->type;
	conf->type = &l->type;
}
static void lab_done(struct lab *l)
{
	l->keeper = keeper_free(l->keeper);
	((struct device_conf *)fleet_find(l->x.fleet, &l->addr)->conf)->type = l->types[0];
	oidtab_done(&l->type.table);
	fx_done(&l->x);
}

struct asked {
	struct change change;
	struct wr list;
	uint8_t bytes[4096];
	enum snmp_error error;
	int32_t index;
};
static void bind_to(struct asked *a, const char *oid, const struct ber_value *v)
{
	struct oid o;
	uint8_t ber[OID_BER_BYTES];
	ck_assert_int_eq(oid_parse(oid, &o), 0);
	int n = oid_to_ber(&o, ber, sizeof(ber));
	snmp_put_binding(&a->list, ber, (size_t)n, v);
	ck_assert_int_eq(a->list.err, 0);
}
static void number(struct asked *a, const char *oid, int64_t i)
{
	bind_to(a, oid, &(struct ber_value){.tag = BER_INTEGER, .i = i});
}
static void string(struct asked *a, const char *oid, const char *s)
{
	bind_to(a, oid,
		&(struct ber_value){.tag = BER_OCTET_STRING,
			.len = (uint16_t)strlen(s),
			.bytes = (const uint8_t *)s});
}
static int apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct asked *a = CONTAINER_OF(c, struct asked, change);
	struct set_ask ask = {d, a->bytes, wr_len(&a->list), NULL};
	a->error = set_apply(k, &ask, &a->index);
	return 0;
}
static void begin(struct asked *a, struct lab *l)
{
	a->change = (struct change){.addr = l->addr, .apply = apply};
	a->list = wr_make(a->bytes, sizeof(a->bytes));
	a->error = SNMP_GEN_ERR;
	a->index = 0;
}

static uint8_t oper(struct lab *l, uint32_t slot)
{
	struct ifstate s;
	const struct device *d = fleet_find(l->x.fleet, &l->addr);
	ifstate_get(d, d->state ? d->state->ifs : NULL, slot, fleet_now_ns(l->x.fleet), &s);
	return s.oper;
}
static uint32_t sets(struct lab *l)
{
	const struct device *d = fleet_find(l->x.fleet, &l->addr);
	return d->state && d->state->sets ? d->state->sets->n : 0;
}
#define CONTACT "1.3.6.1.2.1.1.4.0"
#define ADMIN "1.3.6.1.2.1.2.2.1.7."

START_TEST(all_or_nothing)
{
	static struct lab l;
	static struct asked a;
	lab_make(&l);
	begin(&a, &l);
	number(&a, ADMIN "1", IF_DOWN);
	string(&a, CONTACT, "you");
	number(&a, ADMIN "2", 9);
	ck_assert_int_eq(keeper_run(l.keeper, &a.change), 0);
	ck_assert_int_eq(a.error, SNMP_WRONG_VALUE);
	ck_assert_int_eq(a.index, 3);
	ck_assert(oper(&l, 0) == IF_UP && oper(&l, 1) == IF_UP && sets(&l) == 0);
	begin(&a, &l);
	number(&a, ADMIN "1", IF_DOWN);
	string(&a, CONTACT, "you");
	number(&a, ADMIN "2", IF_TESTING);
	number(&a, ADMIN "2", IF_DOWN); /* again: the last counts */
	ck_assert_int_eq(keeper_run(l.keeper, &a.change), 0);
	ck_assert_int_eq(a.error, SNMP_NO_ERROR);
	ck_assert(oper(&l, 0) == IF_DOWN && oper(&l, 1) == IF_DOWN && sets(&l) == 1);
	begin(&a, &l);
	ck_assert_int_eq(keeper_run(l.keeper, &a.change), 0);
	ck_assert_int_eq(a.error, SNMP_NO_ERROR); /* of nothing */
	lab_done(&l);
}
END_TEST

/* Each allocation fails in turn: the answer says so, and nothing has changed; or all has. */
START_TEST(memory_may_fail)
{
	static struct lab l;
	static struct asked a;
	lab_make(&l);
	for (uint64_t n = 0;; n++) {
		begin(&a, &l);
		number(&a, ADMIN "1", oper(&l, 0) == IF_UP ? IF_DOWN : IF_UP);
		string(&a, CONTACT, "you");
		uint8_t before = oper(&l, 0);
		uint32_t set = sets(&l);
		fake_fail_at(&l.x.f, n);
		int r = keeper_run(l.keeper, &a.change);
		bool failed = fake_has_failed(&l.x.f);
		fake_fail_at(&l.x.f, UINT64_MAX);
		bool done = r == 0 && a.error == SNMP_NO_ERROR;
		ck_assert(done || r == -ENOMEM || a.error == SNMP_RESOURCE_UNAVAILABLE);
		ck_assert((oper(&l, 0) != before) == done && sets(&l) == (done ? 1 : set));
		if (!failed)
			break;
	}
	lab_done(&l);
}
END_TEST

UNIT_MAIN(rules_are_of_objects_that_can_be_written, errors_of_version_1, all_or_nothing,
	memory_may_fail)
