#include "base/crc32c.h"
#include "fake.h"
#include <string.h>

/* RFC 3720 B.4, and the check value of the catalogue of CRCs. */
START_TEST(known_vectors)
{
	static const uint8_t pdu[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14,
		0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0,
		0x02, 0, 0, 0, 0, 0, 0, 0};
	uint8_t b[32];
	uint32_t (*const each[])(uint32_t, const void *, size_t) = {crc32c, crc32c_plain};
	for (unsigned i = 0; i < 2; i++) {
		memset(b, 0, sizeof(b));
		ck_assert_uint_eq(each[i](0, b, sizeof(b)), 0x8a9136aa);
		memset(b, 0xff, sizeof(b));
		ck_assert_uint_eq(each[i](0, b, sizeof(b)), 0x62a8ab43);
		for (unsigned j = 0; j < sizeof(b); j++)
			b[j] = (uint8_t)j;
		ck_assert_uint_eq(each[i](0, b, sizeof(b)), 0x46dd794e);
		for (unsigned j = 0; j < sizeof(b); j++)
			b[j] = (uint8_t)(31 - j);
		ck_assert_uint_eq(each[i](0, b, sizeof(b)), 0x113fdb5c);
		ck_assert_uint_eq(each[i](0, pdu, sizeof(pdu)), 0xd9963a56);
		ck_assert_uint_eq(each[i](0, "123456789", 9), 0xe3069283);
		ck_assert_uint_eq(each[i](0, "", 0), 0);
	}
}
END_TEST

START_TEST(parts_make_the_whole)
{
	uint8_t b[301];
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 7 + 3);
	uint32_t whole = crc32c(0, b, sizeof(b));
	ck_assert_uint_eq(crc32c_plain(0, b, sizeof(b)), whole);
	for (unsigned cut = 0; cut <= sizeof(b); cut++)
		ck_assert_uint_eq(crc32c(crc32c(0, b, cut), b + cut, sizeof(b) - cut), whole);
}
END_TEST

UNIT_MAIN(known_vectors, parts_make_the_whole)
