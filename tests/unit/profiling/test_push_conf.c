#include "fake.h"
#include "profiling/push_conf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE "http://127.0.0.1:4040"

static int check(const struct push_conf *conf, struct fault *f)
{
	*f = (struct fault){0};
	return push_conf_check(conf, f);
}

START_TEST(credentials_need_the_flag_and_both_parts)
{
	static const struct {
		struct push_conf conf;
		const char *field, *words;
	} bad[] = {
		{{.basic_auth = "u:geheim"}, "-profiling-pyroscope-basic-auth", "requires"},
		{{.tenant = "geheim"}, "-profiling-pyroscope-tenant", "requires"},
		{{.cert = "/dev/null"}, "-profiling-pyroscope-cert", "requires"},
		{{.address = HERE, .key = "/dev/null"}, "-profiling-pyroscope-key", "without"},
		{{.address = HERE, .basic_auth = "geheim"}, "-profiling-pyroscope-basic-auth",
			"both parts"},
		{{.address = HERE, .basic_auth = "geheim:"}, "-profiling-pyroscope-basic-auth",
			"both parts"},
		{{.address = HERE, .basic_auth = ":geheim"}, "-profiling-pyroscope-basic-auth",
			"both parts"},
		{{.address = HERE, .basic_auth = ":"}, "-profiling-pyroscope-basic-auth",
			"both parts"},
		{{.address = HERE, .ca = "/nowhere/ca"}, "-profiling-pyroscope-ca",
			"cannot be read"},
		{{.address = HERE, .cert = "/nowhere/c"}, "-profiling-pyroscope-cert",
			"cannot be read"},
		{{.address = HERE, .cert = "/dev/null", .key = "/nowhere/k"},
			"-profiling-pyroscope-key", "cannot be read"},
		{{.address = "ftp://x"}, "-profiling-pyroscope", "http://"},
		{{.proxy = "socks5://x"}, "-profiling-pyroscope-proxy", "http://"},
		{{.proxy = "http://u:geheim@x"}, "-profiling-pyroscope-proxy", "credentials"},
	};
	struct fault f;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(check(&bad[i].conf, &f), -EINVAL);
		ck_assert_str_eq(f.field, bad[i].field);
		ck_assert_msg(strstr(f.text, bad[i].words) != NULL, "%s", f.text);
		ck_assert_ptr_null(strstr(f.text, "geheim"));
	}
	ck_assert_int_eq(check(&(struct push_conf){0}, &f), 0);
	ck_assert_int_eq(check(&(struct push_conf){.address = HERE, .tenant = "t"}, &f), 0);
}
END_TEST

static int check_tags(struct fault *f, uint32_t n, const char *const *items)
{
	return check(&(struct push_conf){.tags = {items, n}}, f);
}

START_TEST(tags_are_labels_that_can_be_sent)
{
	static const char *const bad[] = {"x", "=v", "a=", "a b=v", "a-b=v", "1a=v", "__name__=x",
		"a= v", "a=v ", "a=v,b", "a={v", "a=v}", "subsystem=x", "pyroscope_spy=x", "ä=v"};
	static const char *const good[] = {
		"a=v", "service_name=lab 2", "A_1.b=x=y", "_a=/-:", "version=1", "subsystems=x"};
	static const char *const twice[] = {"a=1", "b=1", "a=2"}, *const prefix[] = {"a=1", "aa=1"};
	struct fault f;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(check_tags(&f, 1, &bad[i]), -EINVAL);
		ck_assert_str_eq(f.field, "-profiling-tag");
	}
	ck_assert_int_eq(check_tags(&f, ARRAY_SIZE(good), good), 0);
	ck_assert_int_eq(check_tags(&f, ARRAY_SIZE(twice), twice), -EINVAL);
	ck_assert_int_eq(check_tags(&f, ARRAY_SIZE(prefix), prefix), 0);
	const char *many[PUSH_CONF_TAGS + 1];
	char text[PUSH_CONF_TAGS + 1][8], longer[600] = "a=";
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
		(void)snprintf(text[i], sizeof(text[i]), "t%u=v", i);
		many[i] = text[i];
	}
	ck_assert_int_eq(check_tags(&f, ARRAY_SIZE(many) - 1, many), 0);
	ck_assert_int_eq(check_tags(&f, ARRAY_SIZE(many), many), -EINVAL);
	memset(longer + 2, 'v', sizeof(longer) - 3);
	many[0] = longer;
	ck_assert_int_eq(check_tags(&f, 1, many), -EINVAL);
	longer[511] = '\0';
	ck_assert_int_eq(check_tags(&f, 1, many), 0);
}
END_TEST

static const char *tag(const struct push_target *t, const char *name)
{
	for (uint32_t i = 0; i < t->upload.n_tags; i++)
		if (strcmp(t->upload.tags[i].name, name) == 0)
			return t->upload.tags[i].value;
	return NULL;
}

START_TEST(only_the_address_of_the_flag_is_given_credentials)
{
	static const char *const tags[] = {"service_name=lab", "version=mine"};
	struct push_conf conf = {.address = HERE "/",
		.basic_auth = "alice:hun:ter2",
		.tenant = "t1",
		.cert = "/c",
		.ca = "/ca",
		.proxy = "http://p",
		.tags = {tags, 2}};
	struct push_target t;
	ck_assert(!push_conf_withholds(&conf, "HTTP://127.0.0.1:4040"));
	push_target_make(&conf, "HTTP://127.0.0.1:4040", "v9", &t);
	ck_assert_str_eq(t.upload.user, "alice");
	ck_assert_str_eq(t.upload.password, "hun:ter2");
	ck_assert_str_eq(t.upload.tenant, "t1");
	ck_assert_str_eq(t.upload.cert_file, "/c");
	ck_assert_str_eq(t.upload.key_file, "/c");
	ck_assert_str_eq(t.upload.ca_file, "/ca");
	ck_assert_str_eq(t.upload.proxy, "http://p");
	ck_assert_uint_eq(t.upload.n_tags, 3);
	ck_assert_str_eq(tag(&t, "service_name"), "lab");
	ck_assert_str_eq(tag(&t, "version"), "mine");
	ck_assert(tag(&t, "hostname") && tag(&t, "hostname")[0]);
	push_target_done(&t);
	ck_assert_ptr_null(t.upload.password);

	static const char *const others[] = {"https://127.0.0.1:4040", "http://127.0.0.1:4041",
		"http://127.0.0.1", HERE "/x", "http://127.0.0.1:4040.example"};
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		ck_assert(push_conf_withholds(&conf, others[i]));
		push_target_make(&conf, others[i], "v9", &t);
		ck_assert(!t.upload.user && !t.upload.password && !t.upload.tenant);
		ck_assert(!t.upload.cert_file && !t.upload.key_file);
		ck_assert_str_eq(t.upload.ca_file, "/ca");
	}
	struct push_conf none = {.address = HERE};
	ck_assert(!push_conf_withholds(&none, others[0]));
	push_target_make(&none, others[0], "v9", &t);
	ck_assert_str_eq(tag(&t, "version"), "v9");
}
END_TEST

START_TEST(a_foreign_variable_is_no_way_to_divert_it)
{
	struct fault f;
	struct push_conf conf = {.address = HERE};
	ck_assert_int_eq(setenv(PUSH_CONF_FOREIGN, "", 1), 0);
	ck_assert(push_conf_is_diverted());
	ck_assert_int_eq(check(&conf, &f), -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.text, PUSH_CONF_FOREIGN));
	ck_assert_int_eq(check(&(struct push_conf){0}, &f), 0);
	ck_assert_int_eq(unsetenv(PUSH_CONF_FOREIGN), 0);
	ck_assert_int_eq(check(&conf, &f), 0);
}
END_TEST

UNIT_MAIN(credentials_need_the_flag_and_both_parts, tags_are_labels_that_can_be_sent,
	only_the_address_of_the_flag_is_given_credentials,
	a_foreign_variable_is_no_way_to_divert_it)
