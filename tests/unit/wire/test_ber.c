#include "fake.h"
#include "wire/ber.h"

START_TEST(headers)
{
	static const struct {
		uint8_t p[8];
		size_t n;
		uint8_t tag;
		size_t content; /* SIZE_MAX: refused */
	} cases[] = {
		{{0x30, 0}, 2, 0x30, 0}, {{0x30, 2, 5, 0}, 4, 0x30, 2},
		{{0x30, 2, 5, 0, 9}, 5, 0x30, 2},
		{{0x30, 0x81, 2, 5, 0}, 5, 0x30, 2},		  /* not minimal */
		{{0x30, 0x84, 0, 0, 0, 1, 7}, 7, 0x30, 1},	  /* four octets */
		{{0x30, 0x85, 0, 0, 0, 0, 1, 7}, 8, 0, SIZE_MAX}, /* five */
		{{0x30, 0x80, 5, 0}, 4, 0, SIZE_MAX},		  /* indefinite */
		{{0x30, 3, 5, 0}, 4, 0, SIZE_MAX},		  /* overruns */
		{{0x30, 0x84, 0xff, 0xff, 0xff, 0xff}, 6, 0, SIZE_MAX},
		{{0x30, 0x82, 1}, 3, 0, SIZE_MAX},    /* cut length */
		{{0x30}, 1, 0, SIZE_MAX},	      /* no length */
		{{0}, 0, 0, SIZE_MAX},		      /* nothing */
		{{0x3f, 0x21, 1, 5}, 4, 0, SIZE_MAX}, /* tag of two octets */
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rd r = rd_make(cases[i].p, cases[i].n);
		uint8_t tag = 0xee;
		struct rd content = ber_any(&r, &tag);
		bool refused = cases[i].content == SIZE_MAX;
		ck_assert_int_eq(r.err, refused ? -EBADMSG : 0);
		ck_assert_int_eq(content.err, refused ? -EBADMSG : 0);
		ck_assert_uint_eq(tag, cases[i].tag);
		ck_assert_uint_eq(rd_left(&content), refused ? 0 : cases[i].content);
		r = rd_make(cases[i].p, cases[i].n);
		(void)ber_expect(&r, 0x30);
		ck_assert_int_eq(r.err, refused ? -EBADMSG : 0);
		r = rd_make(cases[i].p, cases[i].n);
		content = ber_expect(&r, 0x31);
		ck_assert_int_eq(r.err, -EBADMSG);
		ck_assert_int_eq(content.err, -EBADMSG);
	}
}
END_TEST

START_TEST(integers)
{
	static const struct {
		uint8_t p[14];
		size_t n;
		int64_t min, max, want;
		bool ok;
	} cases[] = {
		{{2, 1, 0}, 3, 0, 0, 0, true},
		{{2, 1, 0x7f}, 3, INT32_MIN, INT32_MAX, 127, true},
		{{2, 1, 0x80}, 3, INT32_MIN, INT32_MAX, -128, true},
		{{2, 1, 0xff}, 3, 0, INT32_MAX, 0, false},
		{{2, 2, 0, 0x80}, 4, 0, 255, 128, true},
		{{2, 2, 0, 1}, 4, 0, 255, 1, true}, /* padded */
		{{2, 4, 0x80, 0, 0, 0}, 6, INT32_MIN, INT32_MAX, INT32_MIN, true},
		{{2, 5, 0xff, 0x80, 0, 0, 0}, 7, INT32_MIN, INT32_MAX, INT32_MIN, true},
		{{2, 5, 0, 0x80, 0, 0, 0}, 7, INT32_MIN, INT32_MAX, 0, false},
		{{2, 5, 0, 0x80, 0, 0, 0}, 7, INT32_MIN, UINT32_MAX, 0x80000000, true},
		{{2, 8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 10, 0, INT64_MAX,
			INT64_MAX, true},
		{{2, 9, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 11, INT64_MIN,
			INT64_MAX, 0, false},
		{{2, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 12, INT64_MIN,
			INT64_MAX, -2, true},
		{{2, 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 12, INT64_MIN, INT64_MAX, 0, false},
		{{2, 0}, 2, INT64_MIN, INT64_MAX, 0, false}, /* empty */
		{{4, 1, 0}, 3, INT64_MIN, INT64_MAX, 0, false},
		{{2, 2, 0}, 3, INT64_MIN, INT64_MAX, 0, false},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rd r = rd_make(cases[i].p, cases[i].n);
		ck_assert_int_eq(ber_int(&r, cases[i].min, cases[i].max), cases[i].want);
		ck_assert_int_eq(r.err, cases[i].ok ? 0 : -EBADMSG);
	}
}
END_TEST

#define V_INT(x) \
	{ \
		.tag = BER_INTEGER, .i = (x) \
	}
#define V_U(t, x) \
	{ \
		.tag = (t), .u = (x) \
	}
static const struct {
	struct ber_value v;
	uint8_t p[12];
	size_t n;
} values[] = {
	{V_INT(0), {2, 1, 0}, 3},
	{V_INT(127), {2, 1, 0x7f}, 3},
	{V_INT(128), {2, 2, 0, 0x80}, 4},
	{V_INT(255), {2, 2, 0, 0xff}, 4},
	{V_INT(256), {2, 2, 1, 0}, 4},
	{V_INT(32767), {2, 2, 0x7f, 0xff}, 4},
	{V_INT(32768), {2, 3, 0, 0x80, 0}, 5},
	{V_INT(INT32_MAX), {2, 4, 0x7f, 0xff, 0xff, 0xff}, 6},
	{V_INT(-1), {2, 1, 0xff}, 3},
	{V_INT(-128), {2, 1, 0x80}, 3},
	{V_INT(-129), {2, 2, 0xff, 0x7f}, 4},
	{V_INT(INT32_MIN), {2, 4, 0x80, 0, 0, 0}, 6},
	{V_U(BER_COUNTER32, 0), {0x41, 1, 0}, 3},
	{V_U(BER_COUNTER32, UINT32_MAX), {0x41, 5, 0, 0xff, 0xff, 0xff, 0xff}, 7},
	{V_U(BER_GAUGE32, 0x7fffffff), {0x42, 4, 0x7f, 0xff, 0xff, 0xff}, 6},
	{V_U(BER_TIMETICKS, 0x80), {0x43, 2, 0, 0x80}, 4},
	{V_U(BER_COUNTER64, UINT64_MAX),
		{0x46, 9, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 11},
	{V_U(BER_COUNTER64, INT64_MAX), {0x46, 8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		10},
	{V_U(BER_COUNTER64, 1ull << 32), {0x46, 5, 1, 0, 0, 0, 0}, 7},
	{{.tag = BER_OCTET_STRING, .len = 0, .bytes = NULL}, {4, 0}, 2},
	{{.tag = BER_OCTET_STRING, .len = 2, .bytes = (const uint8_t *)"ab"}, {4, 2, 'a', 'b'}, 4},
	{{.tag = BER_IPADDRESS, .len = 4, .bytes = (const uint8_t *)"\x7f\0\0\1"},
		{0x40, 4, 0x7f, 0, 0, 1}, 6},
	{{.tag = BER_OID, .len = 2, .bytes = (const uint8_t *)"\x2b\6"}, {6, 2, 0x2b, 6}, 4},
	{{.tag = BER_OPAQUE, .len = 1, .bytes = (const uint8_t *)"x"}, {0x44, 1, 'x'}, 3},
	{{.tag = BER_NULL}, {5, 0}, 2},
	{{.tag = BER_NO_SUCH_OBJECT}, {0x80, 0}, 2},
	{{.tag = BER_NO_SUCH_INSTANCE}, {0x81, 0}, 2},
	{{.tag = BER_END_OF_MIB_VIEW}, {0x82, 0}, 2},
};

START_TEST(values_at_every_room)
{
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
		const struct ber_value *v = &values[i].v;
		size_t n = values[i].n;
		ck_assert_uint_eq(ber_value_bytes(v), n);
		for (size_t room = 0; room <= n + 1; room++) {
			uint8_t buf[16];
			memset(buf, 0xee, sizeof(buf));
			struct wr w = wr_make(buf, room);
			ber_put_value(&w, v);
			ck_assert_int_eq(w.err, room < n ? -EMSGSIZE : 0);
			ck_assert_uint_eq(wr_len(&w), room < n ? 0 : n);
			ck_assert_uint_eq(buf[n], 0xee);
			if (room >= n)
				ck_assert_mem_eq(buf, values[i].p, n);
		}
		struct rd r = rd_make(values[i].p, n);
		struct ber_value back = ber_get_value(&r);
		ck_assert_int_eq(r.err, 0);
		ck_assert_uint_eq(rd_left(&r), 0);
		ck_assert_uint_eq(back.tag, v->tag);
		uint8_t again[16];
		ck_assert_ptr_eq(ber_write_value(again, &back), again + n);
		ck_assert_mem_eq(again, values[i].p, n);
		for (size_t cut = 0; cut < n; cut++) {
			r = rd_make(values[i].p, cut);
			(void)ber_get_value(&r);
			ck_assert_int_eq(r.err, -EBADMSG);
		}
	}
}
END_TEST

START_TEST(values_that_cannot_be)
{
	static const struct {
		uint8_t p[13];
		size_t n;
	} bad[] = {
		{{2, 0}, 2},
		{{2, 5, 0, 0x80, 0, 0, 0}, 7},
		{{0x41, 0}, 2},
		{{0x41, 1, 0x80}, 3},
		{{0x42, 5, 1, 0, 0, 0, 0}, 7},
		{{0x46, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 11},
		{{0x40, 3, 1, 2, 3}, 5},
		{{5, 1, 0}, 3},
		{{0x80, 1, 0}, 3},
		{{0x47, 1, 0}, 3},
		{{0x30, 0}, 2},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rd r = rd_make(bad[i].p, bad[i].n);
		ck_assert_uint_eq(ber_get_value(&r).tag, BER_NULL);
		ck_assert_int_eq(r.err, -EBADMSG);
	}
}
END_TEST

START_TEST(lengths)
{
	static const struct {
		size_t n;
		uint8_t p[5];
		size_t bytes;
	} cases[] = {{0, {0}, 1}, {127, {127}, 1}, {128, {0x81, 128}, 2}, {255, {0x81, 255}, 2},
		{256, {0x82, 1, 0}, 3}, {65535, {0x82, 255, 255}, 3}, {65536, {0x83, 1, 0, 0}, 4},
		{0xffffff, {0x83, 255, 255, 255}, 4}, {0x1000000, {0x84, 1, 0, 0, 0}, 5}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t bytes = cases[i].bytes;
		ck_assert_uint_eq(ber_len_bytes(cases[i].n), bytes);
		for (size_t room = 0; room <= 5; room++) {
			uint8_t buf[6];
			struct wr w = wr_make(buf, room);
			ber_put_len(&w, cases[i].n);
			ck_assert_uint_eq(wr_len(&w), room < bytes ? 0 : bytes);
			if (room >= bytes)
				ck_assert_mem_eq(buf, cases[i].p, bytes);
			struct bw b = bw_make(buf, room);
			ber_back_header(&b, 0x30, cases[i].n);
			ck_assert_uint_eq(bw_len(&b), room < bytes + 1 ? 0 : bytes + 1);
			if (room > bytes) {
				ck_assert_uint_eq(b.p[0], 0x30);
				ck_assert_mem_eq(b.p + 1, cases[i].p, bytes);
			}
		}
	}
}
END_TEST

START_TEST(backward)
{
	static const uint8_t want[] = {0x30, 10, 4, 3, 'a', 'b', 'c', 2, 3, 0, 0x80, 0};
	for (size_t room = 0; room <= sizeof(want); room++) {
		uint8_t buf[sizeof(want)];
		struct bw w = bw_make(buf, room);
		ber_back_int(&w, 32768);
		ber_back_bytes(&w, 4, "abc", 3);
		ber_back_header(&w, 0x30, bw_len(&w));
		ck_assert_int_eq(w.err, room < sizeof(want) ? -EMSGSIZE : 0);
		if (room == sizeof(want))
			ck_assert_mem_eq(w.p, want, sizeof(want));
	}
	uint8_t buf[16];
	struct bw w = bw_make(buf, sizeof(buf));
	ber_back_int(&w, INT64_MIN);
	ck_assert_uint_eq(bw_len(&w), 10);
	ck_assert_uint_eq(ber_int_bytes(INT64_MIN), 10);
	struct rd r = rd_make(w.p, bw_len(&w));
	ck_assert_int_eq(ber_int(&r, INT64_MIN, INT64_MAX), INT64_MIN);
}
END_TEST

UNIT_MAIN(headers, integers, values_at_every_room, values_that_cannot_be, lengths, backward)
