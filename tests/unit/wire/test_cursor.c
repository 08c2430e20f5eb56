#include "fake.h"
#include "wire/cursor.h"

static const uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* Every read at every distance from the end: within it gives the bytes, beyond it fails for good.
 */
START_TEST(reads_at_every_offset)
{
	for (size_t room = 0; room <= sizeof(bytes); room++) {
		struct rd r = rd_make(bytes, room);
		ck_assert_uint_eq(rd_u8(&r), room >= 1 ? 1 : 0);
		r = rd_make(bytes, room);
		ck_assert_uint_eq(rd_be16(&r), room >= 2 ? 0x0102 : 0);
		r = rd_make(bytes, room);
		ck_assert_uint_eq(rd_be32(&r), room >= 4 ? 0x01020304 : 0);
		r = rd_make(bytes, room);
		ck_assert_uint_eq(rd_be64(&r), room >= 8 ? 0x0102030405060708 : 0);
		ck_assert_int_eq(r.err, room >= 8 ? 0 : -EBADMSG);
		ck_assert_uint_eq(rd_left(&r), room >= 8 ? room - 8 : 0);
		for (size_t n = 0; n <= sizeof(bytes); n++) {
			r = rd_make(bytes, room);
			const uint8_t *at = rd_bytes(&r, n);
			ck_assert_ptr_eq(at, n <= room ? bytes : NULL);
			ck_assert_uint_eq(rd_left(&r), n <= room ? room - n : 0);
		}
	}
}
END_TEST

START_TEST(the_error_sticks)
{
	struct rd r = rd_make(bytes, 3);
	ck_assert_uint_eq(rd_be32(&r), 0);
	ck_assert_int_eq(r.err, -EBADMSG);
	ck_assert_uint_eq(rd_u8(&r), 0);
	ck_assert_ptr_null(rd_bytes(&r, 0));
	ck_assert_uint_eq(rd_left(&r), 0);
	struct rd sub = rd_sub(&r, 0);
	ck_assert_int_eq(sub.err, -EBADMSG);
	ck_assert_uint_eq(rd_u8(&sub), 0);
}
END_TEST

START_TEST(a_sub_cursor_ends_where_it_should)
{
	struct rd r = rd_make(bytes, sizeof(bytes));
	struct rd sub = rd_sub(&r, 5);
	ck_assert_uint_eq(rd_left(&sub), 5);
	ck_assert_uint_eq(rd_be32(&sub), 0x01020304);
	ck_assert_uint_eq(rd_be16(&sub), 0);
	ck_assert_int_eq(sub.err, -EBADMSG);
	ck_assert_int_eq(r.err, 0);
	ck_assert_uint_eq(rd_u8(&r), 6);
	sub = rd_sub(&r, 11);
	ck_assert_int_eq(sub.err, -EBADMSG);
	ck_assert_int_eq(r.err, -EBADMSG);
}
END_TEST

START_TEST(forward_writes_at_every_offset)
{
	static const uint8_t want[15] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	for (size_t room = 0; room <= 16; room++) {
		uint8_t buf[17];
		memset(buf, 0xee, sizeof(buf));
		struct wr w = wr_make(buf, room);
		wr_u8(&w, 1);
		wr_be16(&w, 0x0203);
		wr_be32(&w, 0x04050607);
		wr_be64(&w, 0x08090a0b0c0d0e0f);
		size_t fits = room >= 15 ? 15 : room >= 7 ? 7 : room >= 3 ? 3 : room >= 1 ? 1 : 0;
		ck_assert_int_eq(w.err, room >= 15 ? 0 : -EMSGSIZE);
		ck_assert_uint_eq(wr_len(&w), fits);
		ck_assert_mem_eq(buf, want, fits);
		ck_assert_uint_eq(buf[fits], 0xee);
		wr_bytes(&w, bytes, room >= 15 ? room - 14 : 0);
		ck_assert_int_eq(w.err, -EMSGSIZE);
		ck_assert_uint_eq(wr_len(&w), fits);
	}
}
END_TEST

START_TEST(backward_writes_at_every_offset)
{
	for (size_t room = 0; room <= 8; room++) {
		uint8_t buf[9];
		memset(buf, 0xee, sizeof(buf));
		struct bw w = bw_make(buf + 1, room);
		bw_u8(&w, 6);
		bw_bytes(&w, bytes + 1, 4);
		bw_u8(&w, 1);
		size_t fits = room >= 6 ? 6 : room >= 5 ? 5 : room >= 1 ? 1 : 0;
		ck_assert_int_eq(w.err, room >= 6 ? 0 : -EMSGSIZE);
		ck_assert_uint_eq(bw_len(&w), fits);
		ck_assert_uint_eq(buf[0], 0xee);
		if (fits == 6)
			ck_assert_mem_eq(w.p, bytes, 6);
	}
}
END_TEST

UNIT_MAIN(reads_at_every_offset, the_error_sticks, a_sub_cursor_ends_where_it_should,
	forward_writes_at_every_offset, backward_writes_at_every_offset)
