#include "wire/otlp_plain.h"
#include "base/protobuf.h"
#include "wire/proto_rd.h"
#include <errno.h>

#define DEPTH_MAX 32 /* of arrays and lists within another; deeper is left as it came */

enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_STRINDEX = 3 };
enum { ANY_STRING = 1, ANY_ARRAY = 5, ANY_LIST = 6, ANY_STRINDEX = 8 };
enum { VALUES = 1 }; /* of an ArrayValue and of a KeyValueList */

enum kind { KEY_VALUE, ANY, ARRAY, LIST };
/* What kind of message a field of one is. */
static bool inner(enum kind kind, uint32_t field, enum kind *ret_kind)
{
	if (kind == KEY_VALUE && field == KEY_VALUE_VALUE)
		*ret_kind = ANY;
	else if (kind == ANY && (field == ANY_ARRAY || field == ANY_LIST))
		*ret_kind = field == ANY_ARRAY ? ARRAY : LIST;
	else if ((kind == ARRAY || kind == LIST) && field == VALUES)
		*ret_kind = kind == ARRAY ? ANY : KEY_VALUE;
	else
		return false;
	return true;
}

/* The field of the string that an index stands for; 0: it is no index. */
static unsigned string_field(enum kind kind, const struct proto_field *f)
{
	if (f->type != PROTO_VARINT)
		return 0;
	if (kind == KEY_VALUE && f->number == KEY_VALUE_KEY_STRINDEX)
		return KEY_VALUE_KEY;
	return kind == ANY && f->number == ANY_STRINDEX ? ANY_STRING : 0;
}

static int put(const struct mem *mem, struct rd rest, const struct otlp_strings *strings,
	enum kind kind, unsigned depth, struct text *to)
{
	for (struct proto_field f; proto_next(&rest, &f);) {
		enum kind of = kind;
		unsigned field = string_field(kind, &f);
		if (field && f.num < strings->n) {
			const struct rd *s = &strings->entries[f.num];
			protobuf_bytes(to, field, s->p, rd_left(s));
		} else if (depth && f.type == PROTO_LEN && inner(kind, f.number, &of)) {
			AUTO_TEXT struct text one = TEXT(mem);
			int r = put(mem, f.sub, strings, of, depth - 1, &one);
			if (r < 0)
				return r;
			protobuf_bytes(to, f.number, one.s ? one.s : "", one.len);
		} else {
			text_write(to, f.start, (size_t)(rest.p - f.start));
		}
	}
	return rest.err ? -EBADMSG : to->err;
}

struct rd otlp_plain_key(struct rd key_value, const struct otlp_strings *strings)
{
	struct rd key = {0};
	for (struct proto_field f; proto_next(&key_value, &f);) {
		if (f.number == KEY_VALUE_KEY && f.type == PROTO_LEN)
			key = f.sub;
		else if (string_field(KEY_VALUE, &f) && f.num < strings->n)
			key = strings->entries[f.num];
	}
	return key;
}

int otlp_plain_write(const struct mem *mem, struct rd key_value, const struct otlp_strings *strings,
	struct text *to)
{
	return put(mem, key_value, strings, KEY_VALUE, DEPTH_MAX, to);
}
