#include "wire/gunzip.h"
#include "base/num.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define GZIP_MEMBER (15 + 16) /* the largest window; a header of gzip */
#define STEP_BYTES (32u << 10)

bool gunzip_is_gzip(const void *bytes, size_t len)
{
	return len >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

static int bad(struct fault *f, int code, size_t at, const char *what)
{
	char field[32];
	(void)snprintf(field, sizeof(field), "byte %zu", at);
	return fault_set(f, code, field, NULL, "%s", what);
}

/* One member; *at moves past it. */
static int read_member(z_stream *z, const uint8_t *bytes, size_t len, size_t *at, size_t end,
	struct text *out, struct fault *f)
{
	uint8_t buf[STEP_BYTES];
	int r;
	z->next_in = (Bytef *)(uintptr_t)(bytes + *at);
	z->avail_in = 0;
	do {
		size_t done = (size_t)(z->next_in - bytes);
		z->avail_in = (uInt)MIN(len - done, (size_t)1 << 30);
		z->next_out = buf;
		z->avail_out = sizeof(buf);
		r = inflate(z, Z_NO_FLUSH);
		size_t n = sizeof(buf) - z->avail_out;
		*at = (size_t)(z->next_in - bytes);
		if (n > end - out->len)
			return bad(f, -EFBIG, *at, "unpacks to more than the allowed size");
		text_write(out, buf, n);
		if (out->err < 0 || r == Z_MEM_ERROR)
			return -ENOMEM;
	} while (r == Z_OK);
	if (r == Z_STREAM_END)
		return 0;
	return bad(f, -EBADMSG, *at, r == Z_BUF_ERROR ? "the gzip is cut off" : "broken gzip");
}

int gunzip_read(
	const void *bytes, size_t len, size_t max, struct text *out, struct fault *reterr_fault)
{
	z_stream z = {0};
	size_t at = 0, end = out->len + max;
	if (inflateInit2(&z, GZIP_MEMBER) != Z_OK)
		return -ENOMEM;
	int r;
	do
		r = read_member(&z, bytes, len, &at, end, out, reterr_fault);
	while (r == 0 && at < len && inflateReset(&z) == Z_OK);
	(void)inflateEnd(&z);
	return r;
}
