/* CRC-32C (Castagnoli; RFC 3720 12.1, RFC 3385): finds every error of one bit and of bursts of up
 * to
 * 32. Thread-safe. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The checksum of what crc is the checksum of (0: nothing yet) with n bytes behind it. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
/* The same without the processor's instruction, for machines that have none. */
uint32_t crc32c_plain(uint32_t crc, const void *p, size_t n);
