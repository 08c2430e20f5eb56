#include "base/flag.h"
#include "fake.h"
#include <errno.h>

enum colour { RED, GREEN };
struct conf {
	bool on;
	uint16_t port;
	uint32_t count;
	uint64_t seed, wait_ns;
	const char *name, *dir, *token;
	enum colour colour;
	bool json;
	struct flag_list hosts;
	struct addr listen;
	struct prefix net;
};
static const struct flag_choice colours[] = {{"red", RED}, {"green", GREEN}, {"lime", GREEN}, {0}};
static const struct flag_choice formats[] = {{"text", false}, {"json", true}, {0}};
static const struct flag table[] = {FLAG_BOOL(struct conf, on, "on", true, "Switch it"),
	FLAG_U16(struct conf, port, "port", 161, 1, 65535, "UDP `PORT` to use"),
	FLAG_DURATION(
		struct conf, wait_ns, "wait", "30s", 1000000000, 3600000000000, "Time to wait"),
	FLAG_ENUM(struct conf, colour, "colour", "red", colours, "The colour"),
	FLAG_ENUM(struct conf, json, "format", "text", formats, "The format"),
	FLAG_ADDR(struct conf, listen, "listen", "127.0.0.1", "Where to listen"),
	FLAG_PREFIX(struct conf, net, "net", NULL, "The network"),
	FLAG_PATH(struct conf, dir, "dir", NULL, "Reads `DIR`"),
	FLAG_SECRET(struct conf, token, "token", NULL, "The token"),
	FLAG_LIST(struct conf, hosts, "hosts", NULL, "Hosts"),
	FLAG_STR(struct conf, name, "name", NULL, "A name"),
	FLAG_U64(struct conf, seed, "seed", 1, 0, UINT64_MAX, "The seed"),
	FLAG_U32(struct conf, count, "count", 0, 0, 16000000, "How many"), {0}};

static const struct flag *flag(const char *name)
{
	for (const struct flag *f = table; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	ck_abort_msg("no flag %s", name);
}

/* Judges and stores; 0 or the error, whose fault is checked to name the field. */
static int set(const char *name, const char *text, struct conf *conf, struct fault *fault)
{
	union flag_value v;
	*fault = (struct fault){0};
	int r = flag_judge(flag(name), text, "-x", &v, fault);
	if (r < 0) {
		ck_assert_int_eq(fault->code, r);
		ck_assert_str_eq(fault->field, "-x");
		ck_assert_int_ne(fault->text[0], 0);
		return r;
	}
	flag_store(flag(name), &v, conf);
	return 0;
}

START_TEST(values_are_stored_in_their_width)
{
	struct conf c;
	struct fault fault;
	memset(&c, 0xff, sizeof(c));
	ck_assert_int_eq(set("port", "65535", &c, &fault), 0);
	ck_assert_uint_eq(c.port, 65535);
	ck_assert_int_eq(set("count", "16000000", &c, &fault), 0);
	ck_assert_uint_eq(c.count, 16000000);
	ck_assert_int_eq(set("seed", "18446744073709551615", &c, &fault), 0);
	ck_assert_uint_eq(c.seed, UINT64_MAX);
	ck_assert_int_eq(set("wait", "1m30s", &c, &fault), 0);
	ck_assert_uint_eq(c.wait_ns, 90000000000);
	ck_assert_int_eq(set("wait", "45", &c, &fault), 0);
	ck_assert_uint_eq(c.wait_ns, 45000000000);
	ck_assert_int_eq(set("colour", "lime", &c, &fault), 0);
	ck_assert_int_eq(c.colour, GREEN);
	c.json = false;
	ck_assert_int_eq(set("format", "json", &c, &fault), 0);
	ck_assert(c.json);
	ck_assert_int_eq(set("on", "F", &c, &fault), 0);
	ck_assert(!c.on);
	ck_assert_int_eq(set("on", "TRUE", &c, &fault), 0);
	ck_assert(c.on);
	char buf[PREFIX_TEXT_BYTES];
	ck_assert_int_eq(set("listen", "::1", &c, &fault), 0);
	ck_assert_str_eq(addr_text(&c.listen, buf), "::1");
	ck_assert_int_eq(set("net", "10.254.0.0/30", &c, &fault), 0);
	ck_assert_str_eq(prefix_text(&c.net, buf), "10.254.0.0/30");
}
END_TEST

START_TEST(bad_values_are_told_with_what_is_allowed)
{
	static const struct {
		const char *flag, *text;
		int r;
		const char *allowed;
	} bad[] = {
		{"port", "0", -ERANGE, "1..65535"},
		{"port", "65536", -ERANGE, "1..65535"},
		{"port", "http", -EINVAL, "1..65535"},
		{"port", "", -EINVAL, "1..65535"},
		{"port", "-1", -EINVAL, "1..65535"},
		{"port", "1 ", -EINVAL, "1..65535"},
		{"on", "yes", -EINVAL, "true or false"},
		{"on", "", -EINVAL, "true or false"},
		{"wait", "999ms", -ERANGE, "seconds or a duration such as 1m30s, 1s..1h"},
		{"wait", "2h", -ERANGE, "seconds or a duration such as 1m30s, 1s..1h"},
		{"wait", "soon", -EINVAL, "seconds or a duration such as 1m30s, 1s..1h"},
		{"colour", "blue", -EINVAL, "red, green, lime"},
		{"listen", "localhost", -EINVAL, "an IPv4 or IPv6 address"},
		{"net", "10.254.0.1/30", -EINVAL,
			"a prefix such as 10.254.0.0/30, without host bits"},
		{"dir", "", -EINVAL, ""},
		{"dir", "a\nb", -EINVAL, ""},
		{"token", "", -EINVAL, ""},
		{"name", "a\x1b[0m", -EINVAL, ""},
	};
	struct conf c;
	struct fault fault;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(set(bad[i].flag, bad[i].text, &c, &fault), bad[i].r);
		ck_assert_str_eq(fault.allowed, bad[i].allowed);
	}
	ck_assert_int_eq(set("token", "s3cr\x01t", &c, &fault), -EINVAL);
	ck_assert_ptr_null(strstr(fault.text, "s3cr"));
	ck_assert_int_eq(set("port", "seventy", &c, &fault), -EINVAL);
	ck_assert_str_eq(fault.text, "\"seventy\" is not a valid value");
}
END_TEST

START_TEST(words_for_documents)
{
	char buf[FLAG_ALLOWED_BYTES];
	ck_assert_str_eq(flag_meta(flag("port"), buf), "PORT");
	ck_assert_str_eq(flag_meta(flag("dir"), buf), "DIR");
	ck_assert_str_eq(flag_meta(flag("count"), buf), "N");
	ck_assert_str_eq(flag_meta(flag("on"), buf), "");
	ck_assert_str_eq(flag_default(flag("port"), buf), "161");
	ck_assert_str_eq(flag_default(flag("on"), buf), "true");
	ck_assert_str_eq(flag_default(flag("wait"), buf), "30s");
	ck_assert_ptr_null(flag_default(flag("net"), buf));
	ck_assert_str_eq(flag_env_name("auto-start-ip", buf), "NL6_AUTO_START_IP");
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	flag_help_text(flag("port"), &t);
	ck_assert_str_eq(t.s, "UDP PORT to use");
	text_done(&t);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(values_are_stored_in_their_width, bad_values_are_told_with_what_is_allowed,
	words_for_documents)
