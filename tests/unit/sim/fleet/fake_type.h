/* Types for tests of the fleet: static ones whose references are counted here, in place of type.c
 * (this program's type_ref and type_unref are linked, not the library's). */
#pragma once
#include "sim/fleet/type.h"
#include <check.h>

#define FAKE_TYPES 4
static const struct type fake_types[FAKE_TYPES] = {
	{.slug = "cisco_catalyst_9500", .category = "Network Devices", .doc_category = "Campus"},
	{.slug = "asr9k", .category = "Network Devices", .doc_category = "Core"},
	{.slug = "linux_server", .category = "Servers", .doc_category = "Servers"},
	{.slug = "ciena_waveserver5",
		.category = "Optical Transport",
		.doc_category = "Optical Transport"},
};
static int64_t fake_type_refs[FAKE_TYPES];

const struct type *type_ref(const struct type *t)
{
	(void)__atomic_fetch_add(&fake_type_refs[t - fake_types], 1, __ATOMIC_RELAXED);
	return t;
}

const struct type *type_unref(const struct type *t)
{
	if (t)
		ck_assert_int_gt(
			__atomic_fetch_sub(&fake_type_refs[t - fake_types], 1, __ATOMIC_RELAXED),
			0);
	return NULL;
}

static inline int64_t fake_type_refs_all(void)
{
	int64_t n = 0;
	for (unsigned i = 0; i < FAKE_TYPES; i++)
		n += __atomic_load_n(&fake_type_refs[i], __ATOMIC_RELAXED);
	return n;
}
