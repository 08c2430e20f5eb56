#include "fake.h"
#include "wire/gunzip.h"
#include "wire/gzip.h"
#include "wire/pprof.h"
#include "wire/pprof_read.h"
#include <errno.h>
#include <string.h>

/* An own profile: two functions in one location, two types, labels of both kinds. */
static struct pprof *make(const struct mem *mem, const void **bytes, size_t *len)
{
	struct pprof *p;
	ck_assert_int_eq(pprof_new(mem, &p), 0);
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	struct pprof_mapping m = {0x1000, 0x2000, 0x10, "/bin/x", "abcd"};
	uint32_t mapping = pprof_add_mapping(p, &m);
	struct pprof_line lines[] = {{pprof_add_function(p, "inner", "_inner", "a.c", 7), 8},
		{pprof_add_function(p, "outer", "outer", "b.c", 0), 9}};
	uint32_t locations[] = {pprof_add_location(p, mapping, 0x1234, lines, 2),
		pprof_add_location(p, mapping, 0x9999, NULL, 0)};
	struct pprof_label labels[] = {{"trace_id", "00", 0, NULL}, {"bytes", NULL, -5, "bytes"}};
	const int64_t values[] = {INT64_MIN, INT64_MAX};
	pprof_sample(p, locations, 2, values, labels, 2);
	pprof_comment(p, "told");
	struct pprof_head head = {12, 34, "cpu", "nanoseconds", 10000000, "cpu"};
	ck_assert_int_eq(pprof_finish(p, &head, bytes, len), 0);
	return p;
}

static bool is(struct pprof_read *r, uint32_t string, const char *want)
{
	size_t len;
	const char *s = pprof_read_string(r, string, &len);
	return len == strlen(want) && memcmp(s, want, len) == 0;
}

START_TEST(all_that_was_written_is_read)
{
	struct fake f = fake_make();
	const void *bytes;
	size_t len, at = 0;
	AUTO(pprof) struct pprof *p = make(f.mem, &bytes, &len);
	AUTO(pprof_read) struct pprof_read *r = NULL;
	struct fault fault = {0};
	ck_assert_int_eq(pprof_read_new(f.mem, bytes, len, &r, &fault), 0);
	const struct pprof_read_head *h = pprof_read_head(r);
	ck_assert_uint_eq(h->n_types, 2);
	ck_assert_uint_eq(h->samples, 1);
	ck_assert(is(r, h->types[1].type, "cpu") && is(r, h->period_type.unit, "nanoseconds"));
	ck_assert(is(r, h->default_type, "cpu") && h->period == 10000000 && h->time_ns == 12);
	ck_assert_uint_eq(h->comments, 1);
	ck_assert(is(r, pprof_read_comment(r, 1), "told"));
	struct pprof_read_sample s;
	ck_assert(pprof_read_next(r, &at, &s));
	ck_assert(s.values[0] == INT64_MIN && s.values[1] == INT64_MAX);
	ck_assert(is(r, s.labels[0].key, "trace_id") && is(r, s.labels[0].str, "00"));
	ck_assert(s.labels[1].num == -5 && is(r, s.labels[1].num_unit, "bytes"));
	ck_assert_uint_eq(s.n_locations, 2);
	struct pprof_read_location l;
	pprof_read_location(r, s.locations[0], &l);
	ck_assert(l.address == 0x1234 && l.n_lines == 2 && l.lines[0].line == 8);
	struct pprof_read_function fn;
	pprof_read_function(r, l.lines[0].function, &fn);
	ck_assert(is(r, fn.name, "inner") && is(r, fn.system_name, "_inner") && fn.start_line == 7);
	struct pprof_read_mapping m;
	pprof_read_mapping(r, l.mapping, &m);
	ck_assert(m.start == 0x1000 && is(r, m.build_id, "abcd") && m.has_inline);
	ck_assert(!pprof_read_next(r, &at, &s));
	r = pprof_read_free(r);
	p = pprof_free(p);
	fake_done(&f);
}
END_TEST

START_TEST(every_cut_is_judged)
{
	struct fake f = fake_make();
	const void *bytes;
	size_t len;
	AUTO(pprof) struct pprof *p = make(f.mem, &bytes, &len);
	for (size_t n = 0; n < len; n++) {
		AUTO(pprof_read) struct pprof_read *r = NULL;
		struct fault fault = {0};
		char *cut = mem_copy(f.mem, bytes, n ? n : 1);
		/* Between two strings of the end it may be whole; whatever it is, it is told. */
		int e = pprof_read_new(f.mem, cut, n, &r, &fault);
		ck_assert(e == 0 || (e == -EBADMSG && strncmp(fault.field, "byte ", 5) == 0));
		r = pprof_read_free(r);
		mem_free(f.mem, cut);
	}
	p = pprof_free(p);
	fake_done(&f);
}
END_TEST

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define NO_STRING 0x32, 0

static const struct {
	const char *name;
	const uint8_t *bytes;
	size_t len;
	const char *field;
} bad[] = {
	{"no strings", BYTES(0x48, 1), "byte 0"},
	{"first string not empty", BYTES(0x32, 1, 'x'), "byte 0"},
	{"a varint of 11 bytes",
		BYTES(NO_STRING, 0x48, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
		"byte 2"},
	{"a length beyond the end", BYTES(NO_STRING, 0x12, 9, 0), "byte 2"},
	{"a length of 2^63",
		BYTES(NO_STRING, 0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
		"byte 2"},
	{"field 0", BYTES(NO_STRING, 0x02, 0), "byte 2"},
	{"a group", BYTES(NO_STRING, 0x7b, 0x7c), "byte 2"},
	{"a sample as a number", BYTES(NO_STRING, 0x10, 1), "byte 2"},
	{"no such string", BYTES(NO_STRING, 0x70, 1), "byte 2"},
	{"a negative string",
		BYTES(NO_STRING, 0x70, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1), "byte 2"},
	{"an id of 0", BYTES(NO_STRING, 0x2a, 2, 0x08, 0), "byte 2"},
	{"an id twice", BYTES(NO_STRING, 0x2a, 2, 0x08, 7, 0x2a, 2, 0x08, 7), "byte 6"},
	{"no such location", BYTES(NO_STRING, 0x0a, 0, 0x12, 5, 0x08, 1, 0x12, 1, 5), "byte 6"},
	{"no such mapping", BYTES(NO_STRING, 0x22, 4, 0x08, 1, 0x10, 9), "byte 6"},
	{"no such function", BYTES(NO_STRING, 0x22, 6, 0x08, 1, 0x22, 2, 0x08, 3), "byte 8"},
	{"more values than types", BYTES(NO_STRING, 0x0a, 0, 0x12, 4, 0x12, 2, 1, 1), "byte 9"},
	{"fewer values than types", BYTES(NO_STRING, 0x0a, 0, 0x12, 0), "byte 6"},
};

START_TEST(malformed_is_told_with_its_byte)
{
	struct fake f = fake_make();
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(pprof_read) struct pprof_read *r = NULL;
		struct fault fault = {0};
		ck_assert_msg(
			pprof_read_new(f.mem, bad[i].bytes, bad[i].len, &r, &fault) == -EBADMSG,
			"%s", bad[i].name);
		ck_assert_msg(strcmp(fault.field, bad[i].field) == 0, "%s: %s %s", bad[i].name,
			fault.field, fault.text);
	}
	fake_done(&f);
}
END_TEST

/* Values and locations one a field, ids in any order, fields that nobody knows. */
START_TEST(unpacked_unordered_and_unknown_is_read)
{
	const uint8_t bytes[] = {0x0a, 0, NO_STRING, 0xf8, 0x3f, 1, 0xfd, 0x3f, 1, 2, 3, 4, 0x12, 8,
		0x08, 9, 0x08, 3, 0x10, 1, 0x48, 1, 0x22, 2, 0x08, 9, 0x22, 4, 0x08, 3, 0x18, 5};
	struct fake f = fake_make();
	AUTO(pprof_read) struct pprof_read *r = NULL;
	struct fault fault = {0};
	size_t at = 0;
	struct pprof_read_sample s;
	struct pprof_read_location l;
	ck_assert_int_eq(pprof_read_new(f.mem, bytes, sizeof(bytes), &r, &fault), 0);
	ck_assert(pprof_read_next(r, &at, &s));
	ck_assert_uint_eq(s.n_locations, 2);
	pprof_read_location(r, s.locations[1], &l);
	ck_assert_uint_eq(l.address, 5);
	r = pprof_read_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(other_formats_are_refused_by_name)
{
	struct fake f = fake_make();
	const uint64_t cpu[] = {0, 3, 0, 10000, 0};
	const struct {
		const void *bytes;
		size_t len;
		const char *name;
	} others[] = {{cpu, sizeof(cpu), "gperftools"},
		{"heap profile: 1: 2", 18, "gperftools' legacy text"}, {"<html>", 6, "HTML"},
		{"goroutine profile: total 3", 26, "debug=1"}};
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(pprof_read) struct pprof_read *r = NULL;
		struct fault fault = {0};
		ck_assert_int_eq(pprof_read_new(f.mem, others[i].bytes, others[i].len, &r, &fault),
			-EPROTONOSUPPORT);
		ck_assert_ptr_nonnull(strstr(fault.text, others[i].name));
	}
	fake_done(&f);
}
END_TEST

static int read_scenario(struct fake *f, void *arg)
{
	struct text *t = arg;
	struct fault fault = {0};
	AUTO(pprof_read) struct pprof_read *r = NULL;
	return pprof_read_new(f->mem, t->s, t->len, &r, &fault);
}

START_TEST(no_memory_leaves_nothing)
{
	struct fake f = fake_make();
	const void *bytes;
	size_t len;
	struct text t = TEXT(f.mem);
	struct pprof *p = make(f.mem, &bytes, &len);
	text_write(&t, bytes, len);
	p = pprof_free(p);
	fake_fail_each(&f, read_scenario, &t);
	text_done(&t);
	fake_done(&f);
}
END_TEST

START_TEST(gzip_is_bounded)
{
	struct fake f = fake_make();
	const size_t big = 4u << 20;
	char *zeros = mem_zalloc(f.mem, big);
	AUTO_TEXT struct text packed = TEXT(f.mem);
	AUTO_TEXT struct text out = TEXT(f.mem);
	struct fault fault = {0};
	ck_assert_int_eq(gzip_write(&packed, zeros, big), 0);
	ck_assert_int_eq(gunzip_read(packed.s, packed.len, big, &out, &fault), 0);
	ck_assert_uint_eq(out.len, big);
	text_clear(&out);
	ck_assert_int_eq(gunzip_read(packed.s, packed.len, big - 1, &out, &fault), -EFBIG);
	for (size_t n = 0; n < packed.len; n += 97) {
		text_clear(&out);
		ck_assert_int_eq(gunzip_read(packed.s, n, big, &out, &fault), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(fault.text, "cut off"));
	}
	/* A second member is read as well. */
	size_t one = packed.len;
	text_clear(&out);
	ck_assert_int_eq(gzip_write(&packed, "end", 3), 0);
	ck_assert_int_eq(gunzip_read(packed.s, packed.len, big + 3, &out, &fault), 0);
	ck_assert_uint_eq(out.len, big + 3);
	text_clear(&out);
	packed.s[one - 8] ^= 1; /* the check sum */
	ck_assert_int_eq(gunzip_read(packed.s, one, big, &out, &fault), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(fault.text, "broken"));
	mem_free(f.mem, zeros);
	text_done(&packed);
	text_done(&out);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(all_that_was_written_is_read, every_cut_is_judged, malformed_is_told_with_its_byte,
	unpacked_unordered_and_unknown_is_read, other_formats_are_refused_by_name,
	no_memory_leaves_nothing, gzip_is_bounded)
