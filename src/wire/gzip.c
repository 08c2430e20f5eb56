#include "wire/gzip.h"
#include <errno.h>
#include <zlib.h>

#define GZIP_MEMBER (15 + 16) /* the largest window; a header of gzip */

int gzip_write(struct text *out, const void *bytes, size_t len)
{
	z_stream z = {0};
	if (deflateInit2(&z, 1, Z_DEFLATED, GZIP_MEMBER, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	uint8_t buf[16384];
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	int r;
	do {
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		r = deflate(&z, Z_FINISH);
		text_write(out, buf, sizeof(buf) - z.avail_out);
	} while (r == Z_OK);
	(void)deflateEnd(&z);
	return r != Z_STREAM_END || out->err < 0 ? -ENOMEM : 0;
}
