#include "sim/fleet/store_scan.h"
#include <errno.h>
#include <string.h>

/* Pages of a table without row ids (https://sqlite.org/fileformat2.html 1.6). */
#define TYPE_INNER 0x02
#define TYPE_LEAF 0x0a
#define USABLE (STORE_PAGE_BYTES - STORE_SUM_BYTES)
#define LOCAL_MAX ((USABLE - 12) * 64 / 255 - 23)
#define LOCAL_MIN ((USABLE - 12) * 32 / 255 - 23)
#define RECORD_BYTES_MAX (64u << 20)

struct bytes {
	const uint8_t *at, *end;
};

/* A number of 1 to 9 bytes (1.6). */
static bool get_varint(struct bytes *b, uint64_t *ret_n)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < 9; i++) {
		if (b->at == b->end)
			return false;
		uint8_t c = *b->at++;
		if (i == 8) {
			*ret_n = n << 8 | c;
			return true;
		}
		n = n << 7 | (c & 0x7f);
		if (!(c & 0x80)) {
			*ret_n = n;
			return true;
		}
	}
	return false;
}

static bool get_int(struct bytes *b, uint64_t type, int64_t *ret_n)
{
	static const uint8_t widths[] = {0, 1, 2, 3, 4, 6, 8};
	if (type == 8 || type == 9) {
		*ret_n = (int64_t)type - 8;
		return true;
	}
	if (type == 0 || type > 6 || b->end - b->at < widths[type])
		return false;
	uint64_t n = *b->at & 0x80 ? UINT64_MAX : 0;
	for (unsigned i = 0; i < widths[type]; i++)
		n = n << 8 | *b->at++;
	*ret_n = (int64_t)n;
	return true;
}

static bool get_blob(struct bytes *b, uint64_t type, const uint8_t **ret_p, uint32_t *ret_bytes)
{
	if (type < 12 || type % 2)
		return false;
	uint64_t n = (type - 12) / 2;
	if (n > (uint64_t)(b->end - b->at))
		return false;
	*ret_p = b->at;
	*ret_bytes = (uint32_t)n;
	b->at += n;
	return true;
}

/* The four columns (2.1). */
static bool decode(const uint8_t *p, size_t bytes, struct store_raw *ret_raw)
{
	struct bytes b = {p, p + bytes}, head;
	uint64_t head_bytes, type[4];
	if (!get_varint(&b, &head_bytes) || head_bytes > bytes || head_bytes < (uint64_t)(b.at - p))
		return false;
	head = (struct bytes){b.at, p + head_bytes};
	for (unsigned i = 0; i < 4; i++)
		if (!get_varint(&head, &type[i]))
			return false;
	b.at = p + head_bytes;
	return head.at == head.end && get_int(&b, type[0], &ret_raw->kind) &&
	       get_blob(&b, type[1], &ret_raw->key, &ret_raw->key_bytes) &&
	       get_blob(&b, type[2], &ret_raw->value, &ret_raw->value_bytes) &&
	       get_int(&b, type[3], &ret_raw->crc) && b.at == b.end;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* What follows the part of a record that is in its page. */
static bool read_rest(const struct store_pages *pages, uint32_t number, uint8_t *to, size_t bytes)
{
	uint8_t page[STORE_PAGE_BYTES];
	while (bytes > 0) {
		size_t n = MIN(bytes, (size_t)USABLE - 4);
		if (!pages->read(pages->arg, number, page))
			return false;
		memcpy(to, page + 4, n);
		number = be32(page);
		to += n;
		bytes -= n;
	}
	return true;
}

struct visit {
	const struct mem *mem;
	const struct store_pages *pages;
	int (*fn)(void *arg, const struct store_raw *r);
	void *arg;
};

static int visit_record(const struct visit *v, const uint8_t *p, size_t bytes)
{
	struct store_raw raw;
	return decode(p, bytes, &raw) ? v->fn(v->arg, &raw) : 0;
}

static int visit_cell(const struct visit *v, struct bytes b)
{
	uint64_t bytes;
	if (!get_varint(&b, &bytes) || bytes > RECORD_BYTES_MAX)
		return 0;
	size_t there = (size_t)(b.end - b.at);
	if (bytes <= LOCAL_MAX)
		return bytes <= there ? visit_record(v, b.at, bytes) : 0;
	size_t local = LOCAL_MIN + (bytes - LOCAL_MIN) % (USABLE - 4);
	if (local > LOCAL_MAX)
		local = LOCAL_MIN;
	if (local + 4 > there)
		return 0;
	uint8_t *whole = mem_alloc(v->mem, bytes);
	if (!whole)
		return -ENOMEM;
	memcpy(whole, b.at, local);
	int r = 0;
	if (read_rest(v->pages, be32(b.at + local), whole + local, bytes - local))
		r = visit_record(v, whole, bytes);
	(void)mem_free(v->mem, whole);
	return r;
}

int store_page_records(const struct mem *mem, const struct store_pages *pages,
	const uint8_t page[static STORE_PAGE_BYTES],
	int (*fn)(void *arg, const struct store_raw *r), void *arg)
{
	struct visit v = {mem, pages, fn, arg};
	bool inner = page[0] == TYPE_INNER;
	unsigned head = inner ? 12 : 8, n = (unsigned)page[3] << 8 | page[4];
	if (!inner && page[0] != TYPE_LEAF)
		return 0;
	for (unsigned i = 0; i < n && head + 2 * i + 2 <= USABLE; i++) {
		const uint8_t *p = page + head + 2 * i;
		unsigned at = ((unsigned)p[0] << 8 | p[1]) + (inner ? 4 : 0);
		if (at >= USABLE)
			continue;
		int r = visit_cell(&v, (struct bytes){page + at, page + USABLE});
		if (r != 0)
			return r;
	}
	return 0;
}
