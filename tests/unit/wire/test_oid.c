#include "base/rnd.h"
#include "fake.h"
#include "wire/oid.h"
#include <errno.h>
#include <string.h>

START_TEST(text_round_trip)
{
	static const char *const good[] = {"0.0", "0.39", "1.0", "1.39", "2.0", "2.999",
		"2.4294967215", "1.3.6.1.4.1.4294967295"};
	char buf[OID_TEXT_BYTES];
	struct oid o;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_int_eq(oid_parse(good[i], &o), 0);
		ck_assert_str_eq(oid_text(&o, buf, sizeof(buf)), good[i]);
	}
	ck_assert_int_eq(oid_parse(".1.3.6", &o), 0);
	ck_assert_str_eq(oid_text(&o, buf, sizeof(buf)), "1.3.6");
	ck_assert_str_eq(oid_text(&o, buf, 4), "1.3");
	static const char *const bad[] = {"", ".", "1", "1.", "1..3", "..1.3", "3.1", "1.40",
		"0.40", "2.4294967216", "1.3.4294967296", "1.3.99999999999999999999", "1.3 ",
		"1.-3", "1.3.x"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(oid_parse(bad[i], &o) == -EINVAL, "%s", bad[i]);
}
END_TEST

START_TEST(at_most_128_arcs)
{
	char text[600] = "1.3";
	for (unsigned i = 2; i < OID_MAX_ARCS; i++)
		strcat(text, ".7");
	struct oid o;
	uint8_t ber[OID_BER_BYTES];
	struct oid_key key;
	ck_assert_int_eq(oid_parse(text, &o), 0);
	ck_assert_uint_eq(o.n, OID_MAX_ARCS);
	ck_assert_int_eq(oid_to_ber(&o, ber, sizeof(ber)), OID_MAX_ARCS - 1);
	ck_assert_int_eq(oid_key_from_ber(ber, OID_MAX_ARCS - 1, &key), 0);
	ber[OID_MAX_ARCS - 1] = 7;
	ck_assert_int_eq(oid_key_from_ber(ber, OID_MAX_ARCS, &key), -EBADMSG);
	ck_assert_int_eq(oid_from_ber(ber, OID_MAX_ARCS, &o), -EBADMSG);
	ck_assert(!oid_ber_is_valid(ber, OID_MAX_ARCS));
	strcat(text, ".7");
	ck_assert_int_eq(oid_parse(text, &o), -EINVAL);
	for (unsigned i = 2; i < OID_MAX_ARCS; i++)
		o.arcs[i] = UINT32_MAX;
	int n = oid_to_ber(&o, ber, sizeof(ber));
	ck_assert_int_eq(n, 1 + 126 * 5);
	ck_assert_int_eq(oid_key_from_ber(ber, (size_t)n, &key), 0);
	ck_assert_int_eq(oid_to_ber(&o, ber, (size_t)n - 1), -EMSGSIZE);
}
END_TEST

static const struct {
	const char *text;
	uint8_t ber[16];
	int n;
} pairs[] = {
	{"1.3.6.1.2.1", {0x2b, 6, 1, 2, 1}, 5},
	{"0.0", {0}, 1},
	{"2.999.3", {0x88, 0x37, 3}, 3},
	{"1.3.127.128.16383.16384", {0x2b, 0x7f, 0x81, 0, 0xff, 0x7f, 0x81, 0x80, 0}, 9},
	{"1.3.4294967295", {0x2b, 0x8f, 0xff, 0xff, 0xff, 0x7f}, 6},
	{"2.4294967215", {0x8f, 0xff, 0xff, 0xff, 0x7f}, 5},
};

START_TEST(ber_round_trip)
{
	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct oid o, back;
		uint8_t buf[16];
		size_t n = (size_t)pairs[i].n;
		ck_assert_int_eq(oid_parse(pairs[i].text, &o), 0);
		ck_assert_int_eq(oid_to_ber(&o, buf, sizeof(buf)), pairs[i].n);
		ck_assert_mem_eq(buf, pairs[i].ber, n);
		ck_assert_int_eq(oid_from_ber(pairs[i].ber, n, &back), 0);
		ck_assert_int_eq(oid_cmp(&o, &back), 0);
		ck_assert(oid_ber_is_valid(pairs[i].ber, n));
		for (size_t room = 0; room < n; room++)
			ck_assert_int_eq(oid_to_ber(&o, buf, room), -EMSGSIZE);
		struct oid_key a, b;
		oid_to_key(&o, &a);
		ck_assert_int_eq(oid_key_from_ber(pairs[i].ber, n, &b), 0);
		ck_assert_uint_eq(a.n, n);
		ck_assert_uint_eq(b.n, n);
		ck_assert_mem_eq(a.b, b.b, n);
	}
	static const struct oid bad[] = {
		{1, {1}}, {2, {3, 1}}, {2, {0, 40}}, {2, {2, UINT32_MAX - 79}}};
	uint8_t buf[16];
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(oid_to_ber(&bad[i], buf, sizeof(buf)), -EINVAL);
}
END_TEST

START_TEST(bad_ber_is_refused)
{
	static const struct {
		uint8_t p[12];
		size_t n;
	} bad[] = {
		{{0}, 0},				      /* empty */
		{{0x2b, 0x86}, 2},			      /* cut */
		{{0x86}, 1},				      /* cut at once */
		{{0x2b, 0x80, 0x01}, 3},		      /* not minimal */
		{{0x80, 0x2b}, 2},			      /* the same at the start */
		{{0x2b, 0x90, 0x80, 0x80, 0x80, 0}, 6},	      /* 2^32 */
		{{0x2b, 0x81, 0x80, 0x80, 0x80, 0x80, 0}, 7}, /* six octets */
		{{0x2b, 1, 2, 3, 4, 5, 6, 7, 8, 0x81}, 10},   /* cut behind whole words */
	};
	struct oid o;
	struct oid_key key;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(oid_from_ber(bad[i].p, bad[i].n, &o), -EBADMSG);
		ck_assert_int_eq(oid_key_from_ber(bad[i].p, bad[i].n, &key), -EBADMSG);
		ck_assert(!oid_ber_is_valid(bad[i].p, bad[i].n));
	}
	static const uint8_t far_too_long[OID_KEY_BYTES + 8] = {1};
	ck_assert_int_eq(oid_key_from_ber(far_too_long, sizeof(far_too_long), &key), -EBADMSG);
	ck_assert(!oid_ber_is_valid(far_too_long, sizeof(far_too_long)));
}
END_TEST

/* Arcs at the borders of the key's lengths, and anything between. */
static uint32_t some_arc(uint64_t i)
{
	static const uint32_t edges[] = {0, 1, 127, 128, 255, 256, 16383, 16384, 2097151, 2097152,
		268435455, 268435456, UINT32_MAX - 1, UINT32_MAX};
	uint32_t pick = rnd_below(7, 1, i, ARRAY_SIZE(edges) + 3);
	return pick < ARRAY_SIZE(edges) ? edges[pick] : (uint32_t)rnd_u64(7, 2, i) >> pick;
}

START_TEST(key_order_is_arc_order)
{
	uint64_t draw = 0;
	for (unsigned round = 0; round < 20000; round++) {
		struct oid o[2];
		struct oid_key key[2], direct;
		for (unsigned k = 0; k < 2; k++) {
			o[k].n = (uint16_t)(2 + rnd_below(7, 3, draw++, 6));
			o[k].arcs[0] = rnd_below(7, 4, draw++, 3);
			o[k].arcs[1] = o[k].arcs[0] < 2 ? rnd_below(7, 5, draw++, 40)
							: MIN(some_arc(draw++), UINT32_MAX - 80);
			for (unsigned i = 2; i < o[k].n; i++)
				o[k].arcs[i] = k && i < o[0].n && rnd_below(7, 6, draw++, 3)
						       ? o[0].arcs[i]
						       : some_arc(draw++);
			if (k && rnd_below(7, 8, draw++, 4))
				memcpy(o[1].arcs, o[0].arcs, 2 * sizeof(o[0].arcs[0]));
			oid_to_key(&o[k], &key[k]);
			uint8_t ber[OID_BER_BYTES];
			int n = oid_to_ber(&o[k], ber, sizeof(ber));
			ck_assert_int_gt(n, 0);
			ck_assert_int_eq(oid_key_from_ber(ber, (size_t)n, &direct), 0);
			ck_assert_uint_eq(direct.n, key[k].n);
			ck_assert_mem_eq(direct.b, key[k].b, direct.n);
		}
		int by_arc = oid_cmp(&o[0], &o[1]);
		int by_key = oid_key_cmp(key[0].b, key[0].n, key[1].b, key[1].n);
		ck_assert_int_eq((by_arc > 0) - (by_arc < 0), (by_key > 0) - (by_key < 0));
		bool under = o[1].n >= o[0].n && memcmp(o[0].arcs, o[1].arcs, 4u * o[0].n) == 0;
		ck_assert(oid_key_is_under(key[1].b, key[1].n, key[0].b, key[0].n) == under);
	}
}
END_TEST

UNIT_MAIN(text_round_trip, at_most_128_arcs, ber_round_trip, bad_ber_is_refused,
	key_order_is_arc_order)
