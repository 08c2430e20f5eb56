#include "sim/fleet/oidtab.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct draft_row {
	struct oid_row row; /* offsets into the builder's bytes */
	uint32_t origin;
	uint32_t number; /* order of adding; keeps the sort stable */
	const uint8_t *bytes;
};
struct oidtab_new {
	const struct mem *mem;
	struct draft_row *rows;
	uint32_t n, rows_room;
	uint8_t *bytes;
	size_t bytes_len, bytes_room;
	bool keep_last;
};

int oidtab_new(const struct mem *mem, struct oidtab_new **ret_b)
{
	struct oidtab_new *b = mem_zalloc(mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->mem = mem;
	*ret_b = b;
	return 0;
}

struct oidtab_new *oidtab_new_free(struct oidtab_new *b)
{
	if (!b)
		return NULL;
	mem_free(b->mem, b->rows);
	mem_free(b->mem, b->bytes);
	return mem_free(b->mem, b);
}

void oidtab_new_keep_last(struct oidtab_new *b)
{
	b->keep_last = true;
}

static int put_bytes(struct oidtab_new *b, const void *p, size_t n, uint32_t *ret_at)
{
	if (b->bytes_len + n > UINT32_MAX)
		return -ENOMEM;
	if (b->bytes_len + n > b->bytes_room) {
		size_t room = MAX(b->bytes_len + n, b->bytes_room * 2);
		room = MAX(room, (size_t)4096);
		uint8_t *bytes = mem_resize(b->mem, b->bytes, room, 1);
		if (!bytes)
			return -ENOMEM;
		b->bytes = bytes;
		b->bytes_room = room;
	}
	memcpy(b->bytes + b->bytes_len, p, n);
	*ret_at = (uint32_t)b->bytes_len;
	b->bytes_len += n;
	return 0;
}

static int put_value(struct oidtab_new *b, const struct ber_value *v, uint32_t *ret_at)
{
	uint8_t small[64], *buf = small;
	size_t n = ber_value_bytes(v);
	if (n > sizeof(small)) {
		buf = mem_alloc(b->mem, n);
		if (!buf)
			return -ENOMEM;
	}
	struct wr w = wr_make(buf, n);
	ber_put_value(&w, v);
	assert(w.err == 0 && wr_len(&w) == n);
	int r = put_bytes(b, buf, n, ret_at);
	if (buf != small)
		mem_free(b->mem, buf);
	return r;
}

static int room_for_row(struct oidtab_new *b)
{
	if (b->n < b->rows_room)
		return 0;
	uint32_t room = b->rows_room ? b->rows_room * 2 : 256;
	struct draft_row *rows = mem_resize(b->mem, b->rows, room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->rows = rows;
	b->rows_room = room;
	return 0;
}

/* Key bytes of the first arcs of an OID; a whole key when arcs is all of them. */
static uint16_t key_bytes(const struct oid *o, uint16_t arcs)
{
	struct oid head = {.n = arcs};
	struct oid_key key;
	memcpy(head.arcs, o->arcs, arcs * sizeof(head.arcs[0]));
	oid_to_key(&head, &key);
	return key.n;
}

int oidtab_new_add(struct oidtab_new *b, const struct oidtab_add *add)
{
	assert(add->object_arcs <= add->oid->n);
	uint8_t ber[OID_BER_BYTES];
	int ber_len = oid_to_ber(add->oid, ber, sizeof(ber));
	if (ber_len < 0)
		return -EINVAL;
	int r = room_for_row(b);
	if (r < 0)
		return r;
	struct oid_key key;
	oid_to_key(add->oid, &key);
	struct draft_row d = {.origin = add->origin, .number = b->n};
	struct oid_row *row = &d.row;
	*row = (struct oid_row){.key_len = key.n,
		.ber_len = (uint16_t)ber_len,
		.arg = add->arg,
		.slot = add->slot,
		.object = add->object,
		.object_len = key_bytes(add->oid, add->object_arcs),
		.tag = add->tag,
		.kind = add->kind};
	r = put_bytes(b, key.b, key.n, &row->key_at);
	if (r == 0)
		r = put_bytes(b, ber, (size_t)ber_len, &row->ber_at);
	if (r == 0 && add->value) {
		row->tag = add->value->tag;
		r = put_value(b, add->value, &row->arg);
	}
	if (r < 0)
		return r;
	b->rows[b->n++] = d;
	return 0;
}

static int cmp_rows(const void *a, const void *b)
{
	const struct draft_row *x = a, *y = b;
	int r = oid_key_cmp(
		x->bytes + x->row.key_at, x->row.key_len, y->bytes + y->row.key_at, y->row.key_len);
	return r ? r : (x->number > y->number) - (x->number < y->number);
}

/* Large recordings are mostly in order. */
static void sort_rows(struct oidtab_new *b)
{
	uint32_t i = 1;
	for (uint32_t k = 0; k < b->n; k++)
		b->rows[k].bytes = b->bytes;
	while (i < b->n && cmp_rows(&b->rows[i - 1], &b->rows[i]) < 0)
		i++;
	if (i < b->n)
		qsort(b->rows, b->n, sizeof(b->rows[0]), cmp_rows);
}

static bool same_oid(
	const struct oidtab_new *b, const struct draft_row *x, const struct draft_row *y)
{
	return x->row.key_len == y->row.key_len &&
	       memcmp(b->bytes + x->row.key_at, b->bytes + y->row.key_at, x->row.key_len) == 0;
}

static int make_unique(struct oidtab_new *b, uint32_t reterr_origins[2])
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		bool again = n > 0 && same_oid(b, &b->rows[n - 1], &b->rows[i]);
		if (again && !b->keep_last) {
			reterr_origins[0] = b->rows[n - 1].origin;
			reterr_origins[1] = b->rows[i].origin;
			return -EEXIST;
		}
		n += !again;
		b->rows[n - 1] = b->rows[i];
	}
	b->n = n;
	return 0;
}

static bool has_value(const struct oid_row *row)
{
	return row->kind == OID_CONST || row->kind == OID_TEXT_TEMPLATE;
}

static size_t value_bytes(const struct oidtab_new *b, uint32_t at)
{
	uint8_t tag;
	struct rd r = rd_make(b->bytes + at, b->bytes_len - at);
	struct rd content = ber_any(&r, &tag);
	assert(content.err == 0);
	return (size_t)(content.end - (b->bytes + at));
}

/* Keys first, in order, since a search touches nothing else; then OIDs, then values. */
static void lay_bytes(const struct oidtab_new *b, struct oidtab *t)
{
	uint8_t *p = t->bytes;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct oid_row *row = &b->rows[i].row;
		t->rows[i] = *row;
		t->rows[i].key_at = (uint32_t)(p - t->bytes);
		p = mempcpy(p, b->bytes + row->key_at, row->key_len);
	}
	for (uint32_t i = 0; i < b->n; i++) {
		const struct oid_row *row = &b->rows[i].row;
		t->rows[i].ber_at = (uint32_t)(p - t->bytes);
		p = mempcpy(p, b->bytes + row->ber_at, row->ber_len);
	}
	for (uint32_t i = 0; i < b->n; i++) {
		const struct oid_row *row = &b->rows[i].row;
		if (!has_value(row))
			continue;
		t->rows[i].arg = (uint32_t)(p - t->bytes);
		p = mempcpy(p, b->bytes + row->arg, value_bytes(b, row->arg));
	}
	t->bytes_len = (size_t)(p - t->bytes);
}

static uint64_t head(const uint8_t *key, size_t key_len, size_t skip)
{
	uint8_t buf[8] = {0};
	if (key_len > skip)
		memcpy(buf, key + skip, MIN(key_len - skip, sizeof(buf)));
	uint64_t h;
	memcpy(&h, buf, sizeof(h));
	return __builtin_bswap64(h);
}

static void make_heads(struct oidtab *t)
{
	if (t->n == 0)
		return;
	const uint8_t *first = oidtab_key(t, 0), *last = oidtab_key(t, t->n - 1);
	uint32_t most = MIN(t->rows[0].key_len, t->rows[t->n - 1].key_len);
	while (t->skip < most && first[t->skip] == last[t->skip])
		t->skip++;
	for (uint32_t i = 0; i < t->n; i++)
		t->heads[i] = head(oidtab_key(t, i), t->rows[i].key_len, t->skip);
}

int oidtab_new_finish(struct oidtab_new *b, struct oidtab *ret_tab, uint32_t reterr_origins[2])
{
	sort_rows(b);
	int r = make_unique(b, reterr_origins);
	if (r < 0)
		return r;
	struct oidtab t = {.mem = b->mem, .n = b->n};
	t.rows = mem_array(b->mem, b->n, sizeof(t.rows[0]));
	t.heads = mem_array(b->mem, b->n, sizeof(t.heads[0]));
	t.bytes = mem_alloc(b->mem, b->bytes_len);
	if (!t.rows || !t.heads || !t.bytes) {
		oidtab_done(&t);
		return -ENOMEM;
	}
	lay_bytes(b, &t);
	make_heads(&t);
	*ret_tab = t;
	return 0;
}

void oidtab_done(struct oidtab *t)
{
	if (!t->mem)
		return;
	mem_free(t->mem, t->rows);
	mem_free(t->mem, t->heads);
	mem_free(t->mem, t->bytes);
	*t = (struct oidtab){0};
}

/* <0, 0, >0: row against key when their heads are equal. Heads that hold all that follows the
 * shared bytes leave only the lengths to compare (the padding is 0, as the least arc). */
static int cmp_tail(const struct oidtab *t, uint32_t i, const uint8_t *key, size_t key_len)
{
	size_t row_len = t->rows[i].key_len, whole = t->skip + sizeof(uint64_t);
	if (LIKELY(row_len <= whole && key_len <= whole))
		return (row_len > key_len) - (row_len < key_len);
	return oid_key_cmp(oidtab_key(t, i), row_len, key, key_len);
}

uint32_t oidtab_seek(const struct oidtab *t, const uint8_t *key, size_t key_len, bool *ret_exact)
{
	*ret_exact = false;
	if (t->n == 0)
		return 0;
	int r = memcmp(oidtab_key(t, 0), key, MIN(t->skip, key_len));
	if (r != 0 || key_len < t->skip)
		return r < 0 ? t->n : 0;
	uint64_t h = head(key, key_len, t->skip);
	/* First row whose head is >= h; a shorter key pads to the same head or a smaller one. */
	uint32_t lo = 0, n = t->n;
	while (n > 1) {
		uint32_t half = n / 2;
		lo = t->heads[lo + half - 1] < h ? lo + half : lo;
		n -= half;
	}
	lo += t->heads[lo] < h;
	/* Among equal heads the rest of the key decides: step on in growing strides, then halve. */
	uint32_t hi = lo, step = 1;
	while (hi < t->n && t->heads[hi] == h && cmp_tail(t, hi, key, key_len) < 0) {
		lo = hi + 1;
		hi += step;
		step *= 2;
	}
	hi = MIN(hi, t->n);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (t->heads[mid] == h && cmp_tail(t, mid, key, key_len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_exact = lo < t->n && t->heads[lo] == h && cmp_tail(t, lo, key, key_len) == 0;
	return lo;
}

static bool row_names(const struct oidtab *t, uint32_t i, const uint8_t *key, size_t key_len)
{
	const struct oid_row *row = &t->rows[i];
	return row->object_len <= key_len && memcmp(oidtab_key(t, i), key, row->object_len) == 0;
}

bool oidtab_has_object(const struct oidtab *t, uint32_t pos, const uint8_t *key, size_t key_len)
{
	/* An object's rows and every key under it form one run, so a neighbour tells. */
	return (pos < t->n && row_names(t, pos, key, key_len)) ||
	       (pos > 0 && row_names(t, pos - 1, key, key_len));
}
