/* Values and object identifiers: what reads well is written back and reads the same. */
#include "fuzz.h"
#include "wire/ber.h"
#include "wire/oid.h"
#include <assert.h>

static void check_oid(const uint8_t *p, size_t bytes)
{
	struct oid o, again;
	struct oid_key direct, key;
	int r = oid_from_ber(p, bytes, &o);
	assert(r == oid_key_from_ber(p, bytes, &direct));
	assert((r == 0) == oid_ber_is_valid(p, bytes));
	if (r < 0)
		return;
	oid_to_key(&o, &key);
	assert(key.n == bytes && oid_key_cmp(key.b, key.n, direct.b, direct.n) == 0);
	uint8_t ber[OID_BER_BYTES];
	assert(oid_to_ber(&o, ber, sizeof(ber)) == (int)bytes && memcmp(ber, p, bytes) == 0);
	char text[OID_TEXT_BYTES];
	assert(oid_parse(oid_text(&o, text, sizeof(text)), &again) == 0);
	assert(oid_cmp(&o, &again) == 0);
}

static void check_value(const struct ber_value *v)
{
	static uint8_t buf[UINT16_MAX + 8];
	struct wr w = wr_make(buf, sizeof(buf));
	ber_put_value(&w, v);
	assert(w.err == 0 && wr_len(&w) == ber_value_bytes(v));
	struct rd r = rd_make(buf, wr_len(&w));
	struct ber_value again = ber_get_value(&r);
	assert(r.err == 0 && rd_left(&r) == 0 && again.tag == v->tag);
	assert(ber_value_bytes(&again) == wr_len(&w));
	w = wr_make(buf, wr_len(&w) - 1);
	ber_put_value(&w, v);
	assert(w.err == -EMSGSIZE);
}

/* Every TLV, and what lies in those that are constructed. */
static void walk(struct rd r, unsigned depth)
{
	while (rd_left(&r) > 0) {
		struct rd as_int = r, as_value = r, as_tlv = r;
		int64_t i = ber_int(&as_int, INT32_MIN, INT32_MAX);
		assert(as_int.err ? i == 0 : i >= INT32_MIN && i <= INT32_MAX);
		struct ber_value v = ber_get_value(&as_value);
		if (!as_value.err)
			check_value(&v);
		uint8_t tag;
		struct rd content = ber_any(&as_tlv, &tag);
		assert(content.err == as_tlv.err);
		if (as_tlv.err)
			return;
		assert(as_value.err || as_value.p == as_tlv.p);
		if (tag == BER_OID)
			check_oid(content.p, rd_left(&content));
		if (tag & 0x20 && depth < 16)
			walk(content, depth + 1);
		r = as_tlv;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	check_oid(p, bytes);
	walk(rd_make(p, bytes), 0);
	return 0;
}
