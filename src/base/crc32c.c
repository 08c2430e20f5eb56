#include "base/crc32c.h"
#include <string.h>

uint32_t crc32c_plain(uint32_t crc, const void *p, size_t n)
{
	/* Of each value of four bits: the polynomial is 0x11edc6f41, its bits reversed. */
	static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6,
		0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
	const uint8_t *at = p;
	for (crc = ~crc; n; n--) {
		crc ^= *at++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const void *p, size_t n)
{
	const uint8_t *at = p;
	uint64_t c = ~crc;
	for (uint64_t word; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; n; n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *at++);
	return ~(uint32_t)c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc_sse42(crc, p, n);
#endif
	return crc32c_plain(crc, p, n);
}
