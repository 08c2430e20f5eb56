#include "wire/otlp_json.h"
#include "wire/proto_rd.h"
#include <inttypes.h>
#include <math.h>

enum kind { END, MESSAGE, STRING, BYTES, HEX, BOOL, NUMBER, BIG, UBIG, DOUBLE };
struct json_field {
	uint8_t number, kind;
	bool is_repeated, is_oneof; /* a oneof's default is written, too */
	const char *name;
	const struct json_field *sub;
};
#define ONE(number_, kind_, name_) \
	{ \
		.number = (number_), .kind = (kind_), .name = (name_) \
	}
#define MANY(number_, kind_, name_) \
	{ \
		.number = (number_), .kind = (kind_), .name = (name_), .is_repeated = true \
	}
#define OF(number_, kind_, name_, sub_) \
	{ \
		.number = (number_), .kind = (kind_), .name = (name_), .is_oneof = true, \
		.sub = (sub_) \
	}
#define SUB(number_, name_, sub_) \
	{ \
		.number = (number_), .kind = MESSAGE, .name = (name_), .sub = (sub_) \
	}
#define SUBS(number_, name_, sub_) \
	{ \
		.number = (number_), .kind = MESSAGE, .name = (name_), .sub = (sub_), \
		.is_repeated = true \
	}

/* opentelemetry-proto 1.10 and later. AnyValue and what holds it are each other's. */
static const struct json_field any_value[], key_value[];
static const struct json_field array_value[] = {SUBS(1, "values", any_value), {0}};
static const struct json_field key_value_list[] = {SUBS(1, "values", key_value), {0}};
static const struct json_field any_value[] = {OF(1, STRING, "stringValue", NULL),
	OF(2, BOOL, "boolValue", NULL), OF(3, BIG, "intValue", NULL),
	OF(4, DOUBLE, "doubleValue", NULL), OF(5, MESSAGE, "arrayValue", array_value),
	OF(6, MESSAGE, "kvlistValue", key_value_list), OF(7, BYTES, "bytesValue", NULL),
	OF(8, NUMBER, "stringValueStrindex", NULL), {0}};
static const struct json_field key_value[] = {
	ONE(1, STRING, "key"), SUB(2, "value", any_value), ONE(3, NUMBER, "keyStrindex"), {0}};
static const struct json_field entity_ref[] = {ONE(1, STRING, "schemaUrl"), ONE(2, STRING, "type"),
	MANY(3, STRING, "idKeys"), MANY(4, STRING, "descriptionKeys"), {0}};
static const struct json_field resource[] = {SUBS(1, "attributes", key_value),
	ONE(2, NUMBER, "droppedAttributesCount"), SUBS(3, "entityRefs", entity_ref), {0}};
static const struct json_field scope[] = {ONE(1, STRING, "name"), ONE(2, STRING, "version"),
	SUBS(3, "attributes", key_value), ONE(4, NUMBER, "droppedAttributesCount"), {0}};
static const struct json_field value_type[] = {
	ONE(1, NUMBER, "typeStrindex"), ONE(2, NUMBER, "unitStrindex"), {0}};
static const struct json_field sample[] = {ONE(1, NUMBER, "stackIndex"),
	MANY(2, NUMBER, "attributeIndices"), ONE(3, NUMBER, "linkIndex"), MANY(4, BIG, "values"),
	MANY(5, UBIG, "timestampsUnixNano"), {0}};
static const struct json_field profile[] = {SUB(1, "sampleType", value_type),
	SUBS(2, "samples", sample), ONE(3, UBIG, "timeUnixNano"), ONE(4, UBIG, "durationNano"),
	SUB(5, "periodType", value_type), ONE(6, BIG, "period"), ONE(7, BYTES, "profileId"),
	ONE(8, NUMBER, "droppedAttributesCount"), ONE(9, STRING, "originalPayloadFormat"),
	ONE(10, BYTES, "originalPayload"), MANY(11, NUMBER, "attributeIndices"), {0}};
static const struct json_field scope_profiles[] = {
	SUB(1, "scope", scope), SUBS(2, "profiles", profile), ONE(3, STRING, "schemaUrl"), {0}};
static const struct json_field resource_profiles[] = {SUB(1, "resource", resource),
	SUBS(2, "scopeProfiles", scope_profiles), ONE(3, STRING, "schemaUrl"), {0}};
static const struct json_field mapping[] = {ONE(1, UBIG, "memoryStart"),
	ONE(2, UBIG, "memoryLimit"), ONE(3, UBIG, "fileOffset"), ONE(4, NUMBER, "filenameStrindex"),
	MANY(5, NUMBER, "attributeIndices"), {0}};
static const struct json_field line[] = {
	ONE(1, NUMBER, "functionIndex"), ONE(2, BIG, "line"), ONE(3, BIG, "column"), {0}};
static const struct json_field location[] = {ONE(1, NUMBER, "mappingIndex"),
	ONE(2, UBIG, "address"), SUBS(3, "lines", line), MANY(4, NUMBER, "attributeIndices"), {0}};
static const struct json_field function[] = {ONE(1, NUMBER, "nameStrindex"),
	ONE(2, NUMBER, "systemNameStrindex"), ONE(3, NUMBER, "filenameStrindex"),
	ONE(4, BIG, "startLine"), {0}};
static const struct json_field span_link[] = {ONE(1, HEX, "traceId"), ONE(2, HEX, "spanId"), {0}};
static const struct json_field attribute[] = {ONE(1, NUMBER, "keyStrindex"),
	SUB(2, "value", any_value), ONE(3, NUMBER, "unitStrindex"), {0}};
static const struct json_field stack[] = {MANY(1, NUMBER, "locationIndices"), {0}};
static const struct json_field dictionary[] = {SUBS(1, "mappingTable", mapping),
	SUBS(2, "locationTable", location), SUBS(3, "functionTable", function),
	SUBS(4, "linkTable", span_link), MANY(5, STRING, "stringTable"),
	SUBS(6, "attributeTable", attribute), SUBS(7, "stackTable", stack), {0}};
static const struct json_field request[] = {
	SUBS(1, "resourceProfiles", resource_profiles), SUB(2, "dictionary", dictionary), {0}};

static int put_message(
	struct rd message, const struct json_field *fields, unsigned depth, struct text *to);

static void put_string(struct text *to, struct rd bytes)
{
	AUTO_TEXT struct text s = TEXT(to->mem);
	text_write(&s, bytes.p, rd_left(&bytes));
	if (s.err < 0) {
		to->err = -ENOMEM;
		return;
	}
	/* text_json stops at a NUL. */
	text_put(to, "\"");
	for (const char *at = s.s, *end = s.s + s.len; at < end;) {
		char c[TEXT_JSON_CHAR_BYTES];
		if (*at) {
			size_t n = text_json_char(&at, c);
			text_write(to, c, n);
		} else {
			text_put(to, "\\u0000");
			at++;
		}
	}
	text_put(to, "\"");
}

static void put_hex(struct text *to, struct rd bytes)
{
	text_put(to, "\"");
	while (rd_left(&bytes))
		text_printf(to, "%02x", rd_u8(&bytes));
	text_put(to, "\"");
}

/* RFC 4648 4 */
static void put_base64(struct text *to, struct rd bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	text_put(to, "\"");
	for (size_t left; (left = rd_left(&bytes)) > 0;) {
		uint32_t v = (uint32_t)rd_u8(&bytes) << 16;
		v |= left > 1 ? (uint32_t)rd_u8(&bytes) << 8 : 0;
		v |= left > 2 ? rd_u8(&bytes) : 0u;
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
			left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '='};
		text_write(to, four, sizeof(four));
	}
	text_put(to, "\"");
}

static void put_double(struct text *to, uint64_t bits)
{
	double d;
	memcpy(&d, &bits, sizeof(d));
	if (isnan(d))
		text_put(to, "\"NaN\"");
	else if (isinf(d))
		text_put(to, d < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		text_printf(to, "%.17g", d);
}

static void put_number(struct text *to, enum kind kind, uint64_t v)
{
	if (kind == BOOL)
		text_put(to, v ? "true" : "false");
	else if (kind == NUMBER)
		text_printf(to, "%" PRId64, (int64_t)v);
	else if (kind == BIG)
		text_printf(to, "\"%" PRId64 "\"", (int64_t)v);
	else if (kind == UBIG)
		text_printf(to, "\"%" PRIu64 "\"", v);
	else
		put_double(to, v);
}

static bool is_of_bytes(unsigned kind)
{
	return kind == MESSAGE || kind == STRING || kind == BYTES || kind == HEX;
}

static int put_bytes(const struct json_field *f, struct rd bytes, unsigned depth, struct text *to)
{
	if (f->kind == MESSAGE)
		return put_message(bytes, f->sub, depth + 1, to);
	if (f->kind == STRING)
		put_string(to, bytes);
	else if (f->kind == HEX)
		put_hex(to, bytes);
	else
		put_base64(to, bytes);
	return 0;
}

static void put_comma(struct text *to)
{
	char last = to->len ? to->s[to->len - 1] : '[';
	if (last != '[' && last != '{')
		text_put(to, ",");
}

/* A packed field of varints, or of fixed64 where timestamps are. */
static int put_packed(const struct json_field *f, struct rd bytes, struct text *to)
{
	bool is_fixed = f->kind == UBIG;
	while (rd_left(&bytes)) {
		uint64_t v = is_fixed ? __builtin_bswap64(rd_be64(&bytes)) : proto_varint(&bytes);
		if (bytes.err)
			return bytes.err;
		put_comma(to);
		put_number(to, f->kind, v);
	}
	return bytes.err;
}

static int put_one(const struct json_field *f, const struct proto_field *field, unsigned depth,
	struct text *to)
{
	if (is_of_bytes(f->kind)) {
		if (field->type != PROTO_LEN)
			return -EBADMSG;
		put_comma(to);
		return put_bytes(f, field->sub, depth, to);
	}
	if (field->type == PROTO_LEN)
		return f->is_repeated ? put_packed(f, field->sub, to) : -EBADMSG;
	put_comma(to);
	put_number(to, f->kind, field->num);
	return 0;
}

/* All that the message has of one field; of a single one the last counts. */
static int put_field(
	const struct rd *message, const struct json_field *f, unsigned depth, struct text *to)
{
	struct rd rest = *message;
	struct proto_field field, last = {0};
	bool any = false;
	int r = 0;
	while (r == 0 && proto_next(&rest, &field)) {
		if (field.number != f->number)
			continue;
		last = field;
		if (f->is_repeated && !any) {
			text_key(to, f->name);
			text_put(to, "[");
		}
		any = true;
		if (f->is_repeated)
			r = put_one(f, &field, depth, to);
	}
	if (r < 0 || rest.err || !any)
		return r < 0 ? r : rest.err;
	if (f->is_repeated) {
		text_put(to, "]");
		return 0;
	}
	if (!f->is_oneof && last.type != PROTO_LEN && last.num == 0)
		return 0;
	if (!f->is_oneof && f->kind == STRING && rd_left(&last.sub) == 0)
		return 0;
	AUTO_TEXT struct text value = TEXT(to->mem);
	r = put_one(f, &last, depth, &value);
	text_key(to, f->name);
	text_write(to, value.s ? value.s : "", value.len);
	return r < 0 ? r : value.err;
}

static int put_message(
	struct rd message, const struct json_field *fields, unsigned depth, struct text *to)
{
	int r = depth > OTLP_JSON_DEPTH ? -EBADMSG : 0;
	text_put(to, "{");
	for (const struct json_field *f = fields; r == 0 && f->number; f++)
		r = put_field(&message, f, depth, to);
	text_put(to, "}");
	return r < 0 ? r : to->err;
}

int otlp_json_write(const void *bytes, size_t len, struct text *out)
{
	AUTO_TEXT struct text json = TEXT(out->mem);
	int r = put_message(rd_make(bytes, len), request, 0, &json);
	if (r == 0)
		text_write(out, json.s, json.len);
	return r < 0 ? r : out->err;
}
