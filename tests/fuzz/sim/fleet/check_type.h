/* What must hold of any type that compiles, and of any fault. */
#pragma once
#include "sim/fleet/type_load.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static inline void check_holds(int condition)
{
	if (!condition)
		abort();
}

static inline void check_type(const struct type *t)
{
	const struct oidtab *tab = &t->table;
	for (uint32_t i = 0; i < tab->n; i++) {
		const struct oid_row *row = &tab->rows[i];
		struct oid oid;
		bool exact;
		check_holds(oid_from_ber(tab->bytes + row->ber_at, row->ber_len, &oid) == 0);
		check_holds(
			oidtab_seek(tab, oidtab_key(tab, i), row->key_len, &exact) == i && exact);
		check_holds(oidtab_has_object(tab, i, oidtab_key(tab, i), row->key_len));
		if (row->kind == OID_CONST || row->kind == OID_TEXT_TEMPLATE) {
			struct rd r = rd_make(tab->bytes + row->arg, tab->bytes_len - row->arg);
			struct ber_value v = ber_get_value(&r);
			check_holds(r.err == 0 && v.tag == row->tag);
		}
		if (row->kind == OID_IF_COLUMN)
			check_holds(row->slot < t->n_ifs);
	}
	check_holds(t->n_ifs == 0 || t->mgmt_slot < t->n_ifs);
	for (uint32_t i = 0; i < t->n_ifs; i++)
		check_holds(memchr(t->ifs[i].name, 0, sizeof(t->ifs[i].name)) &&
			    t->ifs[i].index > 0 && t->ifs[i].speed_bps <= IF_SPEED_MAX);
}

static inline void check_compile(const struct type_source *s)
{
	struct type *t;
	struct fault fault = {0};
	int r = type_source_compile(&mem_libc, "fuzz", s, &t, &fault);
	if (r == 0) {
		check_type(t);
		(void)type_unref(t);
	} else if (r != -ENOMEM) {
		check_holds(r == -EINVAL && fault.code == r && fault.field[0] && fault.text[0]);
	}
}
