#include "fake.h"
#include "wire/otlp_plain.h"
#include <errno.h>
#include <string.h>

#define RD(s) rd_make(s, sizeof(s) - 1)

static struct otlp_strings strings(struct rd entries[3])
{
	entries[0] = RD("");
	entries[1] = RD("key");
	entries[2] = RD("a");
	return (struct otlp_strings){entries, 3};
}

static int written(const struct mem *mem, struct rd from, const char *want, size_t bytes)
{
	struct rd entries[3];
	struct otlp_strings s = strings(entries);
	AUTO_TEXT struct text out = TEXT(mem);
	int r = otlp_plain_write(mem, from, &s, &out);
	if (r == 0) {
		ck_assert_uint_eq(out.len, bytes);
		ck_assert_int_eq(memcmp(out.s, want, bytes), 0);
	}
	return r;
}
#define WRITES(from, want) ck_assert_int_eq(written(f.mem, RD(from), want, sizeof(want) - 1), 0)

START_TEST(indices_become_strings)
{
	struct fake f = fake_make();
	WRITES("\x12\x02\x40\x02\x18\x01", "\x12\x03\x0a\x01\x61\x0a\x03key");
	/* Within an array, and a list within it. */
	WRITES("\x12\x0c\x2a\x0a\x0a\x08\x32\x06\x0a\x04\x18\x02\x12\x00",
		"\x12\x0d\x2a\x0b\x0a\x09\x32\x07\x0a\x05\x0a\x01\x61\x12\x00");
	fake_done(&f);
}
END_TEST

START_TEST(all_else_stays)
{
	struct fake f = fake_make();
	WRITES("\x0a\x01k\x12\x03\x0a\x01v", "\x0a\x01k\x12\x03\x0a\x01v");
	WRITES("\x0a\x01k\x12\x02\x18\x07\x50\x01", "\x0a\x01k\x12\x02\x18\x07\x50\x01");
	/* Indices that are not in the table. */
	WRITES("\x18\x03\x12\x02\x40\x7f", "\x18\x03\x12\x02\x40\x7f");
	fake_done(&f);
}
END_TEST

START_TEST(no_message_is_told)
{
	struct fake f = fake_make();
	ck_assert_int_eq(written(f.mem, RD("\x12\x05\x40"), "", 0), -EBADMSG);
	ck_assert_int_eq(written(f.mem, RD("\x12\x01\x40"), "", 0), -EBADMSG);
	fake_done(&f);
}
END_TEST

START_TEST(deep_ones_end)
{
	struct fake f = fake_make();
	uint8_t deep[400];
	size_t at = sizeof(deep);
	for (size_t len = 0; len < 120; len += 2) { /* arrays of one array */
		deep[--at] = (uint8_t)len;
		deep[--at] = len / 2 % 2 ? 0x2a : 0x0a;
	}
	deep[--at] = 120;
	deep[--at] = 0x12;
	struct rd from = rd_make(deep + at, sizeof(deep) - at);
	ck_assert_int_eq(written(f.mem, from, (const char *)deep + at, sizeof(deep) - at), 0);
	fake_done(&f);
}
END_TEST

START_TEST(keys_are_found)
{
	struct rd entries[3];
	struct otlp_strings s = strings(entries);
	struct rd key = otlp_plain_key(RD("\x18\x01"), &s);
	ck_assert_uint_eq(rd_left(&key), 3);
	ck_assert_int_eq(memcmp(key.p, "key", 3), 0);
	key = otlp_plain_key(RD("\x0a\x01k"), &s);
	ck_assert_uint_eq(rd_left(&key), 1);
	key = otlp_plain_key(RD("\x18\x09"), &s);
	ck_assert_uint_eq(rd_left(&key), 0);
}
END_TEST

static int nested(struct fake *f, void *arg)
{
	return written(
		f->mem, RD("\x12\x02\x40\x02\x18\x01"), "\x12\x03\x0a\x01\x61\x0a\x03key", 10);
}

START_TEST(want_of_memory_is_told)
{
	struct fake f = fake_make();
	fake_fail_each(&f, nested, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(indices_become_strings, all_else_stays, no_message_is_told, deep_ones_end, keys_are_found,
	want_of_memory_is_told)
