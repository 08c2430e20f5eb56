/* A record of a recording, in each form: what is read is a value that a response can hold, and an
 * OID that BER can say. */
#include "fuzz.h"
#include "wire/record.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct record *rec, const char *text, size_t n)
{
	uint8_t ber[OID_BER_BYTES];
	assert(oid_to_ber(&rec->oid, ber, sizeof(ber)) > 0);
	if (rec->module) {
		assert(rec->module >= text && rec->options + strlen(rec->options) <= text + n);
		return;
	}
	size_t bytes = ber_value_bytes(&rec->value);
	uint8_t *tlv = malloc(bytes);
	assert(tlv);
	struct wr w = wr_make(tlv, bytes);
	ber_put_value(&w, &rec->value); /* reads all of a string */
	assert(w.err == 0 && wr_len(&w) == bytes);
	struct rd r = rd_make(tlv, bytes);
	struct ber_value back = ber_get_value(&r);
	assert(r.err == 0 && rd_left(&r) == 0 && back.tag == rec->value.tag);
	free(tlv);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	for (int form = 0; form < 2; form++) {
		char *text = malloc(bytes + 1); /* exact, so that a sanitizer sees its end */
		struct record rec;
		const char *what = NULL;
		assert(text);
		memcpy(text, p, bytes);
		(void)record_walk_begins(text, bytes);
		int r = form ? record_read_walk(text, bytes, &rec, &what)
			     : record_read_rec(text, bytes, &rec, &what);
		assert(r == 0 || r == -ENODATA || (r == -EINVAL && what));
		if (r == 0)
			check(&rec, text, bytes);
		free(text);
	}
	return 0;
}
