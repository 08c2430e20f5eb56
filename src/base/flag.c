#include "base/flag.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int judge_text(
	const struct flag *f, const char *text, const char *field, struct fault *reterr_fault)
{
	if (!text[0] && (f->kind != FLAG_KIND_STR || f->text_default))
		return fault_set(reterr_fault, -EINVAL, field, NULL, "the value is empty");
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return fault_set(reterr_fault, -EINVAL, field, NULL,
				"the value has a control character");
	return 0;
}

/* As Go's strconv.ParseBool. */
static int judge_bool(const char *text, uint64_t *ret_num)
{
	static const char *const words[2][6] = {{"0", "f", "F", "false", "FALSE", "False"},
		{"1", "t", "T", "true", "TRUE", "True"}};
	for (unsigned v = 0; v < 2; v++)
		for (unsigned i = 0; i < ARRAY_SIZE(words[v]); i++)
			if (strcmp(text, words[v][i]) == 0) {
				*ret_num = v;
				return 0;
			}
	return -EINVAL;
}

static int judge_enum(const struct flag *f, const char *text, uint64_t *ret_num)
{
	for (const struct flag_choice *c = f->choices; c->name; c++)
		if (strcmp(c->name, text) == 0) {
			*ret_num = c->value;
			return 0;
		}
	return -EINVAL;
}

static int judge_duration(const struct flag *f, const char *text, uint64_t *ret_num)
{
	uint64_t ns;
	int r = num_duration(text, &ns);
	if (r == 0 && (ns < f->min || ns > f->max))
		r = -ERANGE;
	if (r == 0)
		*ret_num = ns;
	return r;
}

int flag_judge(const struct flag *f, const char *text, const char *field,
	union flag_value *ret_value, struct fault *reterr_fault)
{
	union flag_value v = {0};
	int r = -EINVAL;
	switch (f->kind) {
	case FLAG_KIND_STR:
	case FLAG_KIND_PATH:
	case FLAG_KIND_LIST:
	case FLAG_KIND_SECRET:
	case FLAG_KIND_SECRETS:
		return judge_text(f, text, field, reterr_fault);
	case FLAG_KIND_BOOL:
		r = judge_bool(text, &v.num);
		break;
	case FLAG_KIND_NUM:
		r = num_u64(text, f->min, f->max, &v.num);
		break;
	case FLAG_KIND_DURATION:
		r = judge_duration(f, text, &v.num);
		break;
	case FLAG_KIND_RATIO:
		r = num_ratio(text, &v.num);
		break;
	case FLAG_KIND_ENUM:
		r = judge_enum(f, text, &v.num);
		break;
	case FLAG_KIND_ADDR:
		r = addr_parse(text, &v.addr);
		break;
	case FLAG_KIND_PREFIX:
		r = prefix_parse(text, &v.prefix);
		break;
	}
	if (r == 0) {
		*ret_value = v;
		return 0;
	}
	char allowed[FLAG_ALLOWED_BYTES];
	return fault_set(reterr_fault, r, field, flag_allowed(f, allowed),
		r == -ERANGE ? "\"%.80s\" is out of range" : "\"%.80s\" is not a valid value",
		text);
}

void flag_store(const struct flag *f, const union flag_value *value, void *conf)
{
	char *at = (char *)conf + f->offset;
	switch (f->kind) {
	case FLAG_KIND_ADDR:
		memcpy(at, &value->addr, sizeof(value->addr));
		return;
	case FLAG_KIND_PREFIX:
		memcpy(at, &value->prefix, sizeof(value->prefix));
		return;
	default:
		break;
	}
	uint8_t n8 = (uint8_t)value->num;
	uint16_t n16 = (uint16_t)value->num;
	uint32_t n32 = (uint32_t)value->num;
	switch (f->bytes) {
	case 1:
		memcpy(at, &n8, 1);
		break;
	case 2:
		memcpy(at, &n16, 2);
		break;
	case 4:
		memcpy(at, &n32, 4);
		break;
	default:
		memcpy(at, &value->num, 8);
	}
}

static const char *kind_meta(enum flag_kind kind)
{
	switch (kind) {
	case FLAG_KIND_BOOL:
		break;
	case FLAG_KIND_NUM:
		return "N";
	case FLAG_KIND_STR:
		return "TEXT";
	case FLAG_KIND_PATH:
		return "FILE";
	case FLAG_KIND_DURATION:
		return "DURATION";
	case FLAG_KIND_RATIO:
		return "RATIO";
	case FLAG_KIND_ENUM:
		return "WORD";
	case FLAG_KIND_LIST:
		return "LIST";
	case FLAG_KIND_SECRET:
	case FLAG_KIND_SECRETS:
		return "SECRET";
	case FLAG_KIND_ADDR:
		return "ADDR";
	case FLAG_KIND_PREFIX:
		return "PREFIX";
	}
	return "";
}

const char *flag_meta(const struct flag *f, char buf[static FLAG_META_BYTES])
{
	const char *open = strchr(f->help, '`'), *end = open ? strchr(open + 1, '`') : NULL;
	if (!end)
		return kind_meta(f->kind);
	(void)snprintf(buf, FLAG_META_BYTES, "%.*s", (int)(end - open - 1), open + 1);
	return buf;
}

static void enum_words(const struct flag_choice *choices, char *buf, size_t bytes)
{
	size_t len = 0;
	buf[0] = 0;
	for (const struct flag_choice *c = choices; c->name && len < bytes; c++)
		len += (size_t)snprintf(
			buf + len, bytes - len, "%s%s", c == choices ? "" : ", ", c->name);
}

const char *flag_allowed(const struct flag *f, char buf[static FLAG_ALLOWED_BYTES])
{
	char lo[DURATION_TEXT_BYTES], hi[DURATION_TEXT_BYTES];
	switch (f->kind) {
	case FLAG_KIND_BOOL:
		return "true or false";
	case FLAG_KIND_NUM:
		(void)snprintf(buf, FLAG_ALLOWED_BYTES, "%llu..%llu", (unsigned long long)f->min,
			(unsigned long long)f->max);
		return buf;
	case FLAG_KIND_STR:
	case FLAG_KIND_SECRET:
	case FLAG_KIND_SECRETS:
		return "text without control characters";
	case FLAG_KIND_PATH:
		return "a path";
	case FLAG_KIND_DURATION:
		(void)snprintf(buf, FLAG_ALLOWED_BYTES,
			"seconds or a duration such as 1m30s, %s..%s",
			num_duration_text(f->min, lo), num_duration_text(f->max, hi));
		return buf;
	case FLAG_KIND_RATIO:
		return "0..1, such as 0.25";
	case FLAG_KIND_ENUM:
		enum_words(f->choices, buf, FLAG_ALLOWED_BYTES);
		return buf;
	case FLAG_KIND_LIST:
		return "items separated by commas";
	case FLAG_KIND_ADDR:
		return "an IPv4 or IPv6 address";
	case FLAG_KIND_PREFIX:
		return "a prefix such as 10.254.0.0/30, without host bits";
	}
	return "";
}

const char *flag_default(const struct flag *f, char buf[static FLAG_DEFAULT_BYTES])
{
	if (f->kind == FLAG_KIND_BOOL)
		return f->num_default ? "true" : NULL;
	if (f->kind != FLAG_KIND_NUM)
		return f->text_default;
	(void)snprintf(buf, FLAG_DEFAULT_BYTES, "%llu", (unsigned long long)f->num_default);
	return buf;
}

void flag_help_text(const struct flag *f, struct text *t)
{
	for (const char *s = f->help; *s;) {
		size_t n = strcspn(s, "`");
		text_write(t, s, n);
		s += n + (s[n] == '`');
	}
}

const char *flag_env_name(const char *name, char buf[static FLAG_ENV_BYTES])
{
	size_t n = (size_t)snprintf(buf, FLAG_ENV_BYTES, "NL6_%s", name);
	n = MIN(n, (size_t)FLAG_ENV_BYTES - 1);
	for (size_t i = 4; i < n; i++) {
		if (buf[i] == '-')
			buf[i] = '_';
		else if (buf[i] >= 'a' && buf[i] <= 'z')
			buf[i] = (char)(buf[i] - 'a' + 'A');
	}
	return buf;
}
