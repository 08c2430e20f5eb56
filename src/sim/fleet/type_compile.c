#include "sim/fleet/ifcount.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/type_draft.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* The scalars that the engine makes for every device. */
static const struct {
	const char *oid;
	uint8_t kind;
	uint8_t arg;
} scalars[] = {
	{"1.3.6.1.2.1.1.3", OID_SYS_UPTIME, 0},
	{"1.3.6.1.2.1.1.5", OID_SYS_NAME, 0},
	{"1.3.6.1.2.1.1.6", OID_SYS_LOCATION, 0},
	{"1.3.6.1.2.1.11.1", OID_SNMP_COUNTER, DEV_SNMP_IN_PKTS},
	{"1.3.6.1.2.1.11.2", OID_SNMP_COUNTER, DEV_SNMP_OUT_PKTS},
	{"1.3.6.1.2.1.11.3", OID_SNMP_COUNTER, DEV_SNMP_IN_BAD_VERSIONS},
	{"1.3.6.1.2.1.11.4", OID_SNMP_COUNTER, DEV_SNMP_IN_BAD_COMMUNITY_NAMES},
	{"1.3.6.1.2.1.11.5", OID_SNMP_COUNTER, DEV_SNMP_IN_BAD_COMMUNITY_USES},
	{"1.3.6.1.2.1.11.6", OID_SNMP_COUNTER, DEV_SNMP_IN_ASN_PARSE_ERRS},
	{"1.3.6.1.2.1.11.13", OID_SNMP_COUNTER, DEV_SNMP_IN_TOTAL_REQ_VARS},
	{"1.3.6.1.2.1.11.14", OID_SNMP_COUNTER, DEV_SNMP_IN_TOTAL_SET_VARS},
	{"1.3.6.1.2.1.11.15", OID_SNMP_COUNTER, DEV_SNMP_IN_GET_REQUESTS},
	{"1.3.6.1.2.1.11.16", OID_SNMP_COUNTER, DEV_SNMP_IN_GET_NEXTS},
	{"1.3.6.1.2.1.11.17", OID_SNMP_COUNTER, DEV_SNMP_IN_SET_REQUESTS},
	{"1.3.6.1.2.1.11.20", OID_SNMP_COUNTER, DEV_SNMP_OUT_TOO_BIGS},
	{"1.3.6.1.2.1.11.21", OID_SNMP_COUNTER, DEV_SNMP_OUT_NO_SUCH_NAMES},
	{"1.3.6.1.2.1.11.28", OID_SNMP_COUNTER, DEV_SNMP_OUT_GET_RESPONSES},
	{"1.3.6.1.2.1.11.31", OID_SNMP_COUNTER, DEV_SNMP_SILENT_DROPS},
	{"1.3.6.1.2.1.25.1.1", OID_SYS_UPTIME, 0},
	{"1.3.6.1.6.3.10.2.1.1", OID_ENGINE, 1},
	{"1.3.6.1.6.3.10.2.1.2", OID_ENGINE, 2},
	{"1.3.6.1.6.3.10.2.1.3", OID_ENGINE, 3},
	{"1.3.6.1.6.3.10.2.1.4", OID_ENGINE, 4},
	{"1.3.6.1.6.3.11.2.1.1", OID_V3_COUNTER, DEV_V3_UNKNOWN_SECURITY_MODELS},
	{"1.3.6.1.6.3.11.2.1.2", OID_V3_COUNTER, DEV_V3_INVALID_MSGS},
	{"1.3.6.1.6.3.11.2.1.3", OID_V3_COUNTER, DEV_V3_UNKNOWN_PDU_HANDLERS},
	{"1.3.6.1.6.3.12.1.4", OID_V3_COUNTER, DEV_V3_UNAVAILABLE_CONTEXTS},
	{"1.3.6.1.6.3.12.1.5", OID_V3_COUNTER, DEV_V3_UNKNOWN_CONTEXTS},
	{"1.3.6.1.6.3.15.1.1.1", OID_V3_COUNTER, DEV_V3_UNSUPPORTED_SEC_LEVELS},
	{"1.3.6.1.6.3.15.1.1.2", OID_V3_COUNTER, DEV_V3_NOT_IN_TIME_WINDOWS},
	{"1.3.6.1.6.3.15.1.1.3", OID_V3_COUNTER, DEV_V3_UNKNOWN_USER_NAMES},
	{"1.3.6.1.6.3.15.1.1.4", OID_V3_COUNTER, DEV_V3_UNKNOWN_ENGINE_IDS},
	{"1.3.6.1.6.3.15.1.1.5", OID_V3_COUNTER, DEV_V3_WRONG_DIGESTS},
	{"1.3.6.1.6.3.15.1.1.6", OID_V3_COUNTER, DEV_V3_DECRYPTION_ERRORS},
};
/* What can never move on an agent that sends no requests and has no proxy. */
static const char *const zero_scalars[] = {
	"1.3.6.1.2.1.11.8",
	"1.3.6.1.2.1.11.9",
	"1.3.6.1.2.1.11.10",
	"1.3.6.1.2.1.11.11",
	"1.3.6.1.2.1.11.12",
	"1.3.6.1.2.1.11.18",
	"1.3.6.1.2.1.11.19",
	"1.3.6.1.2.1.11.22",
	"1.3.6.1.2.1.11.24",
	"1.3.6.1.2.1.11.25",
	"1.3.6.1.2.1.11.26",
	"1.3.6.1.2.1.11.27",
	"1.3.6.1.2.1.11.29",
	"1.3.6.1.2.1.11.32",
	"1.3.6.1.2.1.31.1.5",
	"1.3.6.1.2.1.31.1.6",
};
#define IF_CONST 0xff
#define IF_ENTRY "1.3.6.1.2.1.2.2.1"
#define IFX_ENTRY "1.3.6.1.2.1.31.1.1.1"
/* ifOutQLen and ifSpecific are deprecated and would tell nothing true. */
static const uint8_t if_columns[] = {IF_CONST, IF_CONST, IF_CONST, IF_CONST, IF_CONST,
	IF_COL_PHYS_ADDRESS, IF_COL_ADMIN_STATUS, IF_COL_OPER_STATUS, IF_COL_LAST_CHANGE,
	IF_COL_IN_OCTETS, IF_COL_IN_UCAST, IF_COL_IN_NUCAST, IF_COL_IN_DISCARDS, IF_COL_IN_ERRORS,
	IF_COL_UNKNOWN_PROTOS, IF_COL_OUT_OCTETS, IF_COL_OUT_UCAST, IF_COL_OUT_NUCAST,
	IF_COL_OUT_DISCARDS, IF_COL_OUT_ERRORS};
static const uint8_t ifx_columns[] = {IF_CONST, IF_COL_IN_MCAST, IF_COL_IN_BCAST, IF_COL_OUT_MCAST,
	IF_COL_OUT_BCAST, IF_COL_IN_OCTETS, IF_COL_IN_UCAST, IF_COL_IN_MCAST, IF_COL_IN_BCAST,
	IF_COL_OUT_OCTETS, IF_COL_OUT_UCAST, IF_COL_OUT_MCAST, IF_COL_OUT_BCAST, IF_CONST, IF_CONST,
	IF_CONST, IF_CONST, IF_CONST, IF_COL_DISCONTINUITY};
#define TRUTH(x) ((x) ? 1 : 2) /* TruthValue, RFC 2579 */

struct compiler {
	struct type_draft *d;
	struct oidtab_new *b;
};
struct place { /* an object, and the instance arcs of a row of it */
	struct oid oid;
	struct mib_ref ref;
};

static struct place place_of(const char *object_oid)
{
	struct place p;
	int r = oid_parse(object_oid, &p.oid);
	assert(r == 0);
	r = mib_find(&p.oid, &p.ref);
	assert(r == 0 && p.ref.arcs == p.oid.n);
	return p;
}

static struct place column_of(const char *entry, uint32_t column)
{
	struct place p;
	int r = oid_parse(entry, &p.oid);
	assert(r == 0);
	p.oid.arcs[p.oid.n++] = column;
	r = mib_find(&p.oid, &p.ref);
	assert(r == 0);
	return p;
}

struct row_of { /* what put_row adds to a place */
	uint8_t kind;
	uint32_t arg, slot;
	uint32_t instance[2];
	unsigned instances;
	struct ber_value *value;
};

static int put_row(struct compiler *c, const struct place *p, const struct row_of *row)
{
	struct oid oid = p->oid;
	for (unsigned i = 0; i < row->instances; i++)
		oid.arcs[oid.n++] = row->instance[i];
	if (row->value)
		row->value->tag = p->ref.object->tag;
	struct oidtab_add add = {.oid = &oid,
		.object_arcs = p->ref.arcs,
		.object = p->ref.number,
		.tag = p->ref.object->tag,
		.kind = row->kind,
		.slot = (uint16_t)row->slot,
		.arg = row->arg,
		.value = row->value};
	return oidtab_new_add(c->b, &add);
}

static int put_scalar(
	struct compiler *c, const char *oid, uint8_t kind, uint32_t arg, struct ber_value *value)
{
	struct place p = place_of(oid);
	struct row_of row = {.kind = kind, .arg = arg, .instances = 1, .value = value};
	return put_row(c, &p, &row);
}

static int put_number(struct compiler *c, const char *oid, int64_t n)
{
	struct ber_value v = {.i = n};
	return put_scalar(c, oid, OID_CONST, 0, &v);
}

static struct ber_value string_value(const char *s)
{
	return (struct ber_value){.len = (uint16_t)strlen(s), .bytes = (const uint8_t *)s};
}

static int put_string(struct compiler *c, const char *oid, const char *s)
{
	struct ber_value v = string_value(s);
	return put_scalar(c, oid, OID_CONST, 0, &v);
}

/* The content of an OID value, in buf. */
static struct ber_value oid_value(const struct oid *o, uint8_t buf[static OID_BER_BYTES])
{
	int n = oid_to_ber(o, buf, OID_BER_BYTES);
	assert(n > 0); /* the readers checked it */
	return (struct ber_value){.len = (uint16_t)n, .bytes = buf};
}

static int put_ors(struct compiler *c)
{
	const struct type_draft *d = c->d;
	int r = d->n_ors ? put_number(c, "1.3.6.1.2.1.1.8", 0) : 0;
	uint8_t buf[OID_BER_BYTES];
	for (uint32_t i = 0; i < d->n_ors && r == 0; i++) {
		struct ber_value id = oid_value(&d->ors[i].id, buf);
		struct ber_value descr = string_value(d->ors[i].descr), since = {.u = 0};
		struct ber_value *const values[] = {&id, &descr, &since};
		for (uint32_t col = 2; col <= 4 && r == 0; col++) {
			struct place p = column_of("1.3.6.1.2.1.1.9.1", col);
			struct row_of row = {
				.instance = {i + 1}, .instances = 1, .value = values[col - 2]};
			r = put_row(c, &p, &row);
		}
	}
	return r;
}

static int put_system(struct compiler *c)
{
	const struct type_draft *d = c->d;
	int r = 0;
	if (d->sys_descr)
		r = put_string(c, "1.3.6.1.2.1.1.1", d->sys_descr);
	if (r == 0 && d->sys_object_id.n) {
		uint8_t buf[OID_BER_BYTES];
		struct ber_value v = oid_value(&d->sys_object_id, buf);
		r = put_scalar(c, "1.3.6.1.2.1.1.2", OID_CONST, 0, &v);
	}
	if (r == 0 && d->sys_contact)
		r = put_string(c, "1.3.6.1.2.1.1.4", d->sys_contact);
	if (r == 0 && d->sys_services >= 0)
		r = put_number(c, "1.3.6.1.2.1.1.7", d->sys_services);
	if (r == 0)
		r = put_ors(c);
	for (size_t i = 0; i < ARRAY_SIZE(scalars) && r == 0; i++)
		r = put_scalar(c, scalars[i].oid, scalars[i].kind, scalars[i].arg, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(zero_scalars) && r == 0; i++)
		r = put_number(c, zero_scalars[i], 0);
	if (r == 0) /* snmpEnableAuthenTraps: disabled */
		r = put_number(c, "1.3.6.1.2.1.11.30", 2);
	if (r == 0)
		r = put_number(c, "1.3.6.1.2.1.2.1", d->n_ifs);
	return r;
}

static struct ber_value if_const(const struct type_if *i, uint32_t column)
{
	switch (column) {
	case 1:
		return (struct ber_value){.i = i->index};
	case 2:
		return string_value(i->descr);
	case 3:
		return (struct ber_value){.i = i->iana_type};
	case 4:
		return (struct ber_value){.i = i->mtu};
	default: /* ifSpeed: what does not fit is its maximum (RFC 2863) */
		return (struct ber_value){.u = MIN(i->speed_bps, (uint64_t)UINT32_MAX)};
	}
}

static bool is_upper(const struct type_draft *d, uint32_t slot)
{
	for (uint32_t i = 0; i < d->n_stacks; i++)
		if (d->stacks[i].upper == slot)
			return true;
	return false;
}

static bool is_lower(const struct type_draft *d, uint32_t slot)
{
	for (uint32_t i = 0; i < d->n_stacks; i++)
		if (d->stacks[i].lower == slot)
			return true;
	return false;
}

static struct ber_value ifx_const(const struct type_draft *d, uint32_t slot, uint32_t column)
{
	const struct type_if *i = &d->ifs[slot];
	switch (column) {
	case 1:
		return string_value(i->name);
	case 14: /* ifLinkUpDownTrapEnable: enabled where nothing is below (RFC 2863) */
		return (struct ber_value){.i = TRUTH(!is_upper(d, slot))};
	case 15: /* ifHighSpeed, rounded to the nearest */
		return (struct ber_value){.u = (i->speed_bps + 500000) / 1000000};
	case 16: /* ifPromiscuousMode */
		return (struct ber_value){.i = TRUTH(false)};
	case 17:
		return (struct ber_value){.i = TRUTH(i->connector)};
	default:
		return string_value(i->alias);
	}
}

static int put_if_table(struct compiler *c, bool extended)
{
	const struct type_draft *d = c->d;
	const uint8_t *columns = extended ? ifx_columns : if_columns;
	size_t n = extended ? ARRAY_SIZE(ifx_columns) : ARRAY_SIZE(if_columns);
	for (uint32_t col = 1; col <= n; col++) {
		struct place p = column_of(extended ? IFX_ENTRY : IF_ENTRY, col);
		for (uint32_t slot = 0; slot < d->n_ifs; slot++) {
			struct row_of row = {.kind = OID_IF_COLUMN,
				.arg = columns[col - 1],
				.slot = slot,
				.instance = {d->ifs[slot].index},
				.instances = 1};
			struct ber_value v;
			if (columns[col - 1] == IF_CONST) {
				v = extended ? ifx_const(d, slot, col)
					     : if_const(&d->ifs[slot], col);
				row.kind = OID_CONST;
				row.value = &v;
			}
			int r = put_row(c, &p, &row);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int put_stack_row(struct compiler *c, const struct place *p, uint32_t upper, uint32_t lower)
{
	struct ber_value active = {.i = 1};
	struct row_of row = {.instance = {upper, lower}, .instances = 2, .value = &active};
	return put_row(c, p, &row);
}

/* The pairs, and 0 above what is on top and below what is at the bottom (RFC 2863). */
static int put_stack(struct compiler *c)
{
	const struct type_draft *d = c->d;
	struct place p = column_of("1.3.6.1.2.1.31.1.2.1", 3);
	int r = 0;
	for (uint32_t i = 0; i < d->n_stacks && r == 0; i++)
		r = put_stack_row(
			c, &p, d->ifs[d->stacks[i].upper].index, d->ifs[d->stacks[i].lower].index);
	for (uint32_t i = 0; i < d->n_ifs && r == 0; i++) {
		if (!is_lower(d, i))
			r = put_stack_row(c, &p, 0, d->ifs[i].index);
		if (r == 0 && !is_upper(d, i))
			r = put_stack_row(c, &p, d->ifs[i].index, 0);
	}
	return r;
}

static int put_addr_table(struct compiler *c)
{
	int r = 0;
	for (uint32_t col = 1; col <= 5 && c->d->n_ifs && r == 0; col++) {
		struct place p = column_of("1.3.6.1.2.1.4.20.1", col);
		struct row_of row = {.kind = OID_DEVICE_ADDR, .arg = col};
		r = put_row(c, &p, &row);
	}
	return r;
}

static bool is_column(const struct mib_ref *ref, const char *entry, size_t n)
{
	return strcmp(ref->group->oid, entry) == 0 && ref->object->arc <= n;
}

bool type_makes(uint16_t number)
{
	struct mib_ref ref = mib_nth(number);
	struct oid oid = mib_oid(&ref);
	char text[OID_TEXT_BYTES];
	(void)oid_text(&oid, text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		if (strcmp(text, scalars[i].oid) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(zero_scalars); i++)
		if (strcmp(text, zero_scalars[i]) == 0)
			return true;
	static const char *const others[] = {"1.3.6.1.2.1.1", "1.3.6.1.2.1.1.9.1", "1.3.6.1.2.1.2",
		"1.3.6.1.2.1.4.20.1", "1.3.6.1.2.1.11", "1.3.6.1.2.1.31.1.2.1"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(ref.group->oid, others[i]) == 0)
			return true;
	return is_column(&ref, IF_ENTRY, ARRAY_SIZE(if_columns)) ||
	       is_column(&ref, IFX_ENTRY, ARRAY_SIZE(ifx_columns));
}

static int put_objects(struct compiler *c, struct compile_fault *reterr_fault)
{
	for (uint32_t i = 0; i < c->d->n_objects; i++) {
		struct draft_object *o = &c->d->objects[i];
		struct mib_ref ref;
		/* An unknown object is taken for the OID without its last arc. */
		struct oidtab_add add = {.oid = &o->oid,
			.object_arcs = (uint16_t)MAX(o->oid.n - 1, 2),
			.object = OIDTAB_NO_OBJECT,
			.kind = o->is_template ? OID_TEXT_TEMPLATE : OID_CONST,
			.value = &o->value,
			.origin = i + 1};
		if (mib_find(&o->oid, &ref) == 0) {
			if (type_makes(ref.number)) {
				*reterr_fault = (struct compile_fault){COMPILE_TAKEN, o->number, 0};
				return -EINVAL;
			}
			add.object = ref.number;
			add.object_arcs = ref.arcs;
		}
		int r = oidtab_new_add(c->b, &add);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compile_table(
	struct type_draft *d, struct oidtab *ret_tab, struct compile_fault *reterr_fault)
{
	AUTO(oidtab_new) struct oidtab_new *b = NULL;
	int r = oidtab_new(d->arena.mem, &b);
	if (r < 0)
		return r;
	struct compiler c = {d, b};
	r = put_system(&c);
	if (r == 0)
		r = put_if_table(&c, false);
	if (r == 0)
		r = put_if_table(&c, true);
	if (r == 0)
		r = put_stack(&c);
	if (r == 0)
		r = put_addr_table(&c);
	if (r == 0)
		r = put_objects(&c, reterr_fault);
	if (r < 0)
		return r;
	uint32_t origins[2];
	r = oidtab_new_finish(b, ret_tab, origins);
	if (r != -EEXIST)
		return r;
	assert(origins[0] && origins[1]); /* interfaces have distinct indexes, the rest is fixed */
	*reterr_fault = (struct compile_fault){COMPILE_DUPLICATE, d->objects[origins[1] - 1].number,
		d->objects[origins[0] - 1].number};
	return -EINVAL;
}

int type_make(struct type_draft *d, struct oidtab *table, struct type **ret_type)
{
	struct type_box *box = arena_zalloc(&d->arena, sizeof(*box));
	const char *const *warnings =
		arena_copy(&d->arena, d->warnings, d->n_warnings * sizeof(*warnings));
	const struct type_if *ifs = arena_copy(&d->arena, d->ifs, d->n_ifs * sizeof(*ifs));
	const char *slug = arena_strdup(&d->arena, d->slug);
	if (!box || !warnings || !ifs || !slug)
		return -ENOMEM;
	box->type = (struct type){.slug = slug,
		.name = d->name,
		.label = d->label,
		.category = d->category,
		.doc_category = d->doc_category,
		.sys_descr = d->sys_descr ? d->sys_descr : "",
		.sys_object_id = d->sys_object_id,
		.n_ifs = d->n_ifs,
		.mgmt_slot = d->mgmt_slot,
		.ifs = ifs,
		.profile = d->profile,
		.warnings = warnings,
		.n_warnings = d->n_warnings};
	box->type.table = *table;
	*table = (struct oidtab){0};
	box->refs = 1;
	box->arena = d->arena; /* the box lies in it */
	d->arena.blocks = NULL;
	*ret_type = &box->type;
	return 0;
}

int type_compile(struct type_draft *d, struct type **ret_type, struct compile_fault *reterr_fault)
{
	struct oidtab table = {0};
	int r = compile_table(d, &table, reterr_fault);
	if (r == 0)
		r = type_make(d, &table, ret_type);
	oidtab_done(&table);
	return r;
}
