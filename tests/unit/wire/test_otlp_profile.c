#include "fake.h"
#include "wire/otlp_profile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const uint8_t trace_id[16] = {0xaa}, span_id[8] = {0xbb};

static void hex_of(const struct text *t, char *buf, size_t room)
{
	buf[0] = 0;
	for (size_t i = 0; i < t->len && 2 * i + 3 < room; i++)
		(void)snprintf(buf + 2 * i, 3, "%02x", (uint8_t)t->s[i]);
}

static int write_one(struct fake *f, struct text *out)
{
	AUTO(otlp_profile) struct otlp_profile *o = NULL;
	struct otlp_scope scope = {"s", "1"};
	int r = otlp_profile_new(f->mem, "R", 1, &scope, &o);
	if (r < 0)
		return r;
	uint32_t attr = otlp_profile_attr_str(o, "k", "v", "");
	struct otlp_mapping m = {
		.start = 1, .limit = 2, .filename = "f", .attrs = &attr, .n_attrs = 1};
	uint32_t map = otlp_profile_mapping(o, &m);
	uint32_t inner = otlp_profile_function(o, "in", "in", "f", 0),
		 outer = otlp_profile_function(o, "out", "out", "f", 9);
	struct otlp_line lines[] = {{inner, 3, 0}, {outer, 4, 5}};
	uint32_t where = otlp_profile_location(o, map, 7, lines, 2, NULL, 0);
	uint32_t again = otlp_profile_location(o, map, 7, lines, 2, NULL, 0);
	uint32_t stack = otlp_profile_stack(o, &where, 1);
	uint32_t link = otlp_profile_link(o, trace_id, span_id);
	struct otlp_head head = {.type = "t",
		.unit = "u",
		.period_type = "t",
		.period_unit = "u",
		.period = 6,
		.time_ns = 0x0102,
		.duration_ns = 3};
	otlp_profile_begin(o, &head);
	otlp_profile_sample(o, stack, &attr, 1, link, 300);
	otlp_profile_end(o);
	otlp_profile_begin(o, &head);
	otlp_profile_end(o); /* empty: left out */
	if (where && again)
		ck_assert_uint_eq(where, again);
	return otlp_profile_finish(o, out);
}

/* Each field by its number in opentelemetry-proto 1.10: what follows was written down from there.
 */
START_TEST(bytes_are_those_of_the_wire)
{
	struct fake f = fake_make();
	struct text out = TEXT(f.mem);
	char have[1024];
	ck_assert_int_eq(write_one(&f, &out), 0);
	hex_of(&out, have, sizeof(have));
	ck_assert_str_eq(have,
		"0a350a015212300a060a017312013112260a040805100619020100000000000020032a04"
		"080510063006120b080112010118012202ac02"
		"129c010a000a090801100220022a010112001212080110071a04080110031a0608021004"
		"18051a001a060803100318021a080804100418022009221c0a1000000000000000000000"
		"00000000000012080000000000000000221c0a10aa000000000000000000000000000000"
		"1208bb000000000000002a002a016b2a01662a02696e2a036f75742a01742a0175320032"
		"07080112030a01763a003a030a0101");
	text_done(&out);
	fake_done(&f);
}
END_TEST

START_TEST(an_export_without_samples_is_none)
{
	struct fake f = fake_make();
	struct text out = TEXT(f.mem);
	struct otlp_profile *o = NULL;
	struct otlp_scope scope = {"s", "1"};
	ck_assert_int_eq(otlp_profile_new(f.mem, "", 0, &scope, &o), 0);
	struct otlp_head head = {.type = "t", .unit = "u"};
	otlp_profile_begin(o, &head);
	otlp_profile_end(o);
	ck_assert_int_eq(otlp_profile_finish(o, &out), -ENODATA);
	(void)otlp_profile_free(o);
	ck_assert_uint_eq(out.len, 0);
	fake_done(&f);
}
END_TEST

START_TEST(texts_become_utf8_and_zero_is_written_where_it_counts)
{
	struct fake f = fake_make();
	struct text out = TEXT(f.mem);
	struct otlp_profile *o = NULL;
	struct otlp_scope scope = {"s", "1"};
	char have[1024];
	ck_assert_int_eq(otlp_profile_new(f.mem, "", 0, &scope, &o), 0);
	struct otlp_head head = {.type = "t", .unit = "u"};
	uint32_t attrs[] = {otlp_profile_attr_int(o, "zero", 0, "By"),
		otlp_profile_attr_bool(o, "no", false), otlp_profile_attr_str(o, "", "", ""),
		otlp_profile_attr_str(o, "bad", "a\xff", "")};
	otlp_profile_begin(o, &head);
	otlp_profile_sample(o, 0, attrs, 4, 0, -1);
	otlp_profile_end(o);
	ck_assert_int_eq(otlp_profile_finish(o, &out), 0);
	hex_of(&out, have, sizeof(have));
	ck_assert_ptr_nonnull(strstr(have, "12021800"));		 /* int_value 0 */
	ck_assert_ptr_nonnull(strstr(have, "12021000"));		 /* bool_value false */
	ck_assert_ptr_nonnull(strstr(have, "12020a00"));		 /* string_value "" */
	ck_assert_ptr_nonnull(strstr(have, "12040a02613f"));		 /* a? */
	ck_assert_ptr_nonnull(strstr(have, "220affffffffffffffffff01")); /* -1 */
	(void)otlp_profile_free(o);
	text_done(&out);
	fake_done(&f);
}
END_TEST

static int scenario(struct fake *f, void *arg UNUSED)
{
	struct text out = TEXT(f->mem);
	int r = write_one(f, &out);
	text_done(&out);
	return r;
}

START_TEST(every_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, scenario, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(bytes_are_those_of_the_wire, an_export_without_samples_is_none,
	texts_become_utf8_and_zero_is_written_where_it_counts, every_allocation_may_fail)
