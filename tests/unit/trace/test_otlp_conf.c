#include "fake.h"
#include "otlp_resource.pb-c.h"
#include "trace/otlp_setup.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HERE "http://127.0.0.1:4318"

static const char *const variables[] = {"OTEL_EXPORTER_OTLP_HEADERS",
	"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
	"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_TIMEOUT",
	"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_COMPRESSION",
	"OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION", "OTEL_EXPORTER_OTLP_PROTOCOL",
	"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME",
	"OTEL_RESOURCE_ATTRIBUTES"};

static void forget_all(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(variables); i++)
		(void)unsetenv(variables[i]);
}

/* "NAME=value", ends with NULL; short names stand for OTEL_EXPORTER_OTLP_NAME. */
static void set_env(const char *const *entries)
{
	forget_all();
	for (; *entries; entries++) {
		char name[96];
		const char *equals = strchr(*entries, '=');
		bool whole = strncmp(*entries, "OTEL_", 5) == 0;
		(void)snprintf(name, sizeof(name), "%s%.*s", whole ? "" : "OTEL_EXPORTER_OTLP_",
			(int)(equals - *entries), *entries);
		ck_assert_int_eq(setenv(name, equals + 1, 1), 0);
	}
}

static void ck_refused(const struct otlp_conf *conf, const char *field, const char *words)
{
	struct fault f = {0};
	ck_assert_int_eq(otlp_conf_check(conf, &f), -EINVAL);
	ck_assert_str_eq(f.field, field);
	ck_assert_msg(strstr(f.text, words) != NULL, "%s", f.text);
	ck_assert_ptr_null(strstr(f.text, "geheim"));
}

static struct otlp_setup *make(const struct otlp_conf *conf)
{
	struct otlp_setup *s = NULL;
	struct fault f = {0};
	int r = otlp_setup_new(&mem_libc, conf, "v1.2.3", &s, &f);
	ck_assert_msg(r == 0, "%s: %s", f.field, f.text);
	return s;
}

#define LIST(...) \
	{ \
		(const char *const[]){__VA_ARGS__}, \
			sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) \
	}

START_TEST(what_is_wrong_is_named)
{
	const struct {
		struct otlp_conf conf;
		const char *field, *words;
	} bad[] = {
		{{.protocol = OTLP_GRPC}, "-otlp-protocol", "requires -otlp-endpoint"},
		{{.tenant = "geheim"}, "-otlp-tenant", "requires"},
		{{.resource = LIST("a=b")}, "-otlp-resource", "requires"},
		{{.endpoint = "ftp://x"}, "-otlp-endpoint", "http://"},
		{{.profiles = "x:4318"}, "-otlp-profiles", "http://"},
		{{.endpoint = "http://u:geheim@x"}, "-otlp-endpoint", "-otlp-basic-auth"},
		{{.endpoint = HERE "/v1?x=geheim"}, "-otlp-endpoint", "query"},
		{{.endpoint = HERE "/v1/traces", .protocol = OTLP_GRPC}, "-otlp-endpoint", "path"},
		{{.endpoint = HERE, .proxy = "socks5://x"}, "-otlp-proxy", "http://"},
		{{.endpoint = HERE, .proxy = "http://u:geheim@x"}, "-otlp-proxy", "credentials"},
		{{.endpoint = HERE, .basic_auth = "geheim"}, "-otlp-basic-auth", "both"},
		{{.endpoint = HERE, .basic_auth = ":geheim"}, "-otlp-basic-auth", "both"},
		{{.endpoint = HERE, .basic_auth = "geheim:"}, "-otlp-basic-auth", "both"},
		{{.endpoint = HERE, .headers = LIST("geheim")}, "-otlp-header", "not a header"},
		{{.endpoint = HERE, .headers = LIST(": geheim")}, "-otlp-header", "not a header"},
		{{.endpoint = HERE, .headers = LIST("a b: geheim")}, "-otlp-header", "not a"},
		{{.endpoint = HERE, .headers = LIST("a:")}, "-otlp-header", "of a is empty"},
		{{.endpoint = HERE, .headers = LIST("a: geheim\xc3\xa4")}, "-otlp-header", "of a"},
		{{.endpoint = HERE, .headers = LIST("A: geheim", "a: x")}, "-otlp-header", "twice"},
		{{.endpoint = HERE, .headers = LIST("content-type: geheim")}, "-otlp-header",
			"requests themselves"},
		{{.endpoint = HERE, .headers = LIST("Grpc-Timeout: 1")}, "-otlp-header",
			"requests themselves"},
		{{.endpoint = HERE,
			 .headers = LIST("authorization: Bearer geheim"),
			 .basic_auth = "u:geheim"},
			"-otlp-basic-auth", "already"},
		{{.endpoint = HERE, .headers = LIST("x-scope-orgid: t"), .tenant = "geheim"},
			"-otlp-tenant", "already"},
		{{.endpoint = HERE, .ca = "/nowhere/ca"}, "-otlp-ca", "cannot be read"},
		{{.endpoint = HERE, .cert = "/nowhere/c"}, "-otlp-cert", "cannot be read"},
		{{.endpoint = HERE, .key = "/dev/null"}, "-otlp-key", "without"},
		{{.endpoint = HERE, .resource = LIST("a")}, "-otlp-resource", "not an attribute"},
		{{.endpoint = HERE, .resource = LIST("=v")}, "-otlp-resource", "not a key"},
		{{.endpoint = HERE, .resource = LIST("a b=v")}, "-otlp-resource", "not a key"},
		{{.endpoint = HERE, .resource = LIST("a=")}, "-otlp-resource", "empty"},
		{{.endpoint = HERE, .resource = LIST("a=\xff")}, "-otlp-resource", "UTF-8"},
		{{.endpoint = HERE, .resource = LIST("a=1", "a=2")}, "-otlp-resource", "twice"},
		{{.endpoint = HERE,
			 .resource = LIST("a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1", "h=1",
				 "i=1", "j=1", "k=1", "l=1", "m=1", "n=1", "o=1")},
			"-otlp-resource", "too many"},
	};
	forget_all();
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_refused(&bad[i].conf, bad[i].field, bad[i].words);
	struct fault f = {0};
	ck_assert_int_eq(otlp_conf_check(&(struct otlp_conf){0}, &f), 0);
	ck_assert(!otlp_conf_is_on(&(struct otlp_conf){0}));
}
END_TEST

START_TEST(variables_that_are_wrong_are_named)
{
	static const struct {
		const char *entry, *field, *words;
	} bad[] = {
		{"TIMEOUT=soon", "OTEL_EXPORTER_OTLP_TIMEOUT", "soon"},
		{"TRACES_TIMEOUT=0", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0"},
		{"COMPRESSION=zstd", "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
		{"HEADERS=geheim", "OTEL_EXPORTER_OTLP_HEADERS", "key=value"},
		{"HEADERS=a=%zz", "OTEL_EXPORTER_OTLP_HEADERS", "key=value"},
		{"TRACES_HEADERS=a=geheim%0d%0ab", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
			"key=value"},
		{"HEADERS=te=geheim", "OTEL_EXPORTER_OTLP_HEADERS", "te is a header"},
		{"CERTIFICATE=/nowhere/ca", "OTEL_EXPORTER_OTLP_CERTIFICATE", "cannot be read"},
		{"CLIENT_CERTIFICATE=/nowhere/c", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
			"cannot be read"},
		{"PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json is not spoken"},
		{"TRACES_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"},
		{"OTEL_SERVICE_NAME=\xff", "OTEL_SERVICE_NAME", "UTF-8"},
		{"OTEL_RESOURCE_ATTRIBUTES=a", "OTEL_RESOURCE_ATTRIBUTES", "key=value"},
		{"OTEL_RESOURCE_ATTRIBUTES=a%20b=1", "OTEL_RESOURCE_ATTRIBUTES", "not a key"},
	};
	static const struct otlp_conf on = {.endpoint = HERE};
	struct fault f = {0};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		set_env((const char *const[]){bad[i].entry, NULL});
		ck_refused(&on, bad[i].field, bad[i].words);
		/* Nobody asked for an export. */
		ck_assert_int_eq(otlp_conf_check(&(struct otlp_conf){0}, &f), 0);
	}
	/* A flag that was given leaves nothing open. */
	set_env((const char *const[]){"PROTOCOL=http/json", "TIMEOUT=x", "COMPRESSION=x", NULL});
	struct otlp_conf full = {.endpoint = HERE,
		.protocol = OTLP_HTTP_PROTOBUF,
		.timeout_ns = NS_PER_SEC,
		.compression = OTLP_GZIP};
	ck_assert_int_eq(otlp_conf_check(&full, &f), 0);
	forget_all();
}
END_TEST

START_TEST(urls_are_completed)
{
	static const struct {
		const char *given, *traces, *profiles;
	} http[] = {
		{HERE, HERE "/v1/traces", HERE "/v1development/profiles"},
		{HERE "/", HERE "/v1/traces", HERE "/v1development/profiles"},
		{"https://[::1]:1/a", "https://[::1]:1/a", "https://[::1]:1/a"},
	};
	set_env((const char *const[]){"ENDPOINT=http://elsewhere", "PROTOCOL=grpc", NULL});
	for (unsigned i = 0; i < ARRAY_SIZE(http); i++) {
		struct otlp_conf conf = {.endpoint = http[i].given, .profiles = http[i].given};
		AUTO(otlp_setup) struct otlp_setup *s = make(&conf);
		const struct export_conf *t = otlp_setup_export(s, EXPORT_TRACES);
		const struct export_conf *p = otlp_setup_export(s, EXPORT_PROFILES);
		ck_assert_str_eq(t->url, http[i].traces);
		ck_assert_str_eq(p->url, http[i].profiles);
		ck_assert_int_eq(t->signal, EXPORT_TRACES);
		ck_assert_int_eq(p->signal, EXPORT_PROFILES);
		ck_assert(!t->grpc && t->gzip);
		ck_assert_uint_eq(t->timeout_ms, 10000);
		ck_assert_ptr_null(t->headers[0]);
		ck_assert_ptr_null(t->user);
		ck_assert_str_eq(t->user_agent, "OTel-OTLP-Exporter-c/v1.2.3");
	}
	AUTO(otlp_setup)
	struct otlp_setup *s =
		make(&(struct otlp_conf){.endpoint = HERE "/", .protocol = OTLP_GRPC});
	ck_assert_str_eq(otlp_setup_export(s, EXPORT_TRACES)->url, HERE);
	ck_assert(otlp_setup_export(s, EXPORT_TRACES)->grpc);
	ck_assert_ptr_null(otlp_setup_export(s, EXPORT_PROFILES));
	forget_all();
}
END_TEST

static void ck_headers(const struct export_conf *c, const char *const *want)
{
	uint32_t n = 0;
	for (; want[n]; n++)
		ck_assert_str_eq(c->headers[n], want[n]);
	ck_assert_ptr_null(c->headers[n]);
}

START_TEST(the_environment_completes_what_flags_left_open)
{
	static const char *const env[] = {"HEADERS=X-A=from%20env, x-b = b%2C1,", "TIMEOUT=2500",
		"TRACES_TIMEOUT=1500", "PROFILES_COMPRESSION=none",
		"PROFILES_HEADERS=authorization=Bearer%20geheim,x-scope-orgid=env",
		"CERTIFICATE=/dev/null", "CLIENT_CERTIFICATE=/dev/zero", NULL};
	set_env(env);
	struct otlp_conf conf = {.endpoint = HERE,
		.profiles = HERE,
		.headers = LIST("x-a:  flag", "X-C: a,b"),
		.tenant = "t-7"};
	AUTO(otlp_setup) struct otlp_setup *s = make(&conf);
	const struct export_conf *t = otlp_setup_export(s, EXPORT_TRACES);
	const struct export_conf *p = otlp_setup_export(s, EXPORT_PROFILES);
	ck_headers(t, (const char *const[]){
			      "x-a: flag", "X-C: a,b", "X-Scope-OrgID: t-7", "x-b: b,1", NULL});
	ck_headers(p, (const char *const[]){"x-a: flag", "X-C: a,b", "X-Scope-OrgID: t-7",
			      "authorization: Bearer geheim", NULL});
	ck_assert_uint_eq(t->timeout_ms, 1500);
	ck_assert_uint_eq(p->timeout_ms, 2500);
	ck_assert(t->gzip && !p->gzip);
	ck_assert_str_eq(t->ca, "/dev/null");
	ck_assert_str_eq(t->cert, "/dev/zero");
	ck_assert_str_eq(t->key, "/dev/zero");
	/* A password of a flag is not undone by a variable. */
	struct otlp_conf basic = {.profiles = HERE, .basic_auth = "u:ge:heim"};
	set_env(env);
	AUTO(otlp_setup) struct otlp_setup *other = make(&basic);
	p = otlp_setup_export(other, EXPORT_PROFILES);
	ck_assert_str_eq(p->user, "u");
	ck_assert_str_eq(p->password, "ge:heim");
	ck_headers(p, (const char *const[]){"x-scope-orgid: env", NULL});
	const char *left = getenv("OTEL_EXPORTER_OTLP_HEADERS");
	ck_assert_uint_eq(strspn(left, "*"), strlen("X-A=from%20env, x-b = b%2C1,"));
	ck_assert_ptr_null(strstr(getenv("OTEL_EXPORTER_OTLP_PROFILES_HEADERS"), "geheim"));
	ck_assert_str_eq(getenv("OTEL_EXPORTER_OTLP_TIMEOUT"), "2500");
	forget_all();
}
END_TEST

static Otlp__Resource *resource(const struct otlp_setup *s)
{
	const struct text *t = otlp_setup_resource(s);
	Otlp__Resource *r = otlp__resource__unpack(NULL, t->len, (const uint8_t *)t->s);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_lt(r->n_attributes, 25);
	return r;
}

static const Otlp__AnyValue *attr(const Otlp__Resource *r, const char *key)
{
	const Otlp__AnyValue *found = NULL;
	for (size_t i = 0; i < r->n_attributes; i++)
		if (strcmp(r->attributes[i]->key, key) == 0) {
			ck_assert_ptr_null(found);
			found = r->attributes[i]->value;
		}
	ck_assert_msg(found != NULL, "%s", key);
	return found;
}

static void ck_attr(const Otlp__Resource *r, const char *key, const char *value)
{
	const Otlp__AnyValue *v = attr(r, key);
	ck_assert_int_eq(v->value_case, OTLP__ANY_VALUE__VALUE_STRING_VALUE);
	ck_assert_str_eq(v->string_value, value);
}

START_TEST(a_resource_tells_who)
{
	forget_all();
	AUTO(otlp_setup) struct otlp_setup *s = make(&(struct otlp_conf){.endpoint = HERE});
	Otlp__Resource *r = resource(s);
	ck_assert_uint_eq(r->n_attributes, 10);
	ck_attr(r, "service.name", "nl6");
	ck_attr(r, "service.version", "v1.2.3");
	ck_attr(r, "telemetry.sdk.name", "nl6");
	ck_attr(r, "telemetry.sdk.language", "c");
	ck_attr(r, "telemetry.sdk.version", "v1.2.3");
	ck_attr(r, "process.executable.name", "unit-trace-otlp_conf");
	ck_assert_int_eq(attr(r, "process.executable.path")->string_value[0], '/');
	ck_assert_int_eq(attr(r, "process.pid")->int_value, getpid());
	ck_assert_uint_eq(strlen(attr(r, "service.instance.id")->string_value), 36);
	ck_assert_str_ne(attr(r, "host.name")->string_value, "");
	otlp__resource__free_unpacked(r, NULL);
}
END_TEST

START_TEST(a_resource_is_the_users_first)
{
	set_env((const char *const[]){"OTEL_SERVICE_NAME=env",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=list,a=env,b=x%2Cy%3D1,host.name=h", NULL});
	struct otlp_conf conf = {.endpoint = HERE, .resource = LIST("a=flag=1", "team=\xc3\xa4")};
	AUTO(otlp_setup) struct otlp_setup *s = make(&conf);
	Otlp__Resource *r = resource(s);
	ck_attr(r, "service.name", "env");
	ck_attr(r, "a", "flag=1");
	ck_attr(r, "b", "x,y=1");
	ck_attr(r, "team", "\xc3\xa4");
	ck_attr(r, "host.name", "h");
	otlp__resource__free_unpacked(r, NULL);
	conf.resource = (struct flag_list)LIST("service.name=flag");
	AUTO(otlp_setup) struct otlp_setup *other = make(&conf);
	r = resource(other);
	ck_attr(r, "service.name", "flag");
	otlp__resource__free_unpacked(r, NULL);
	forget_all();
}
END_TEST

static int make_once(struct fake *f, void *arg)
{
	struct fault fault;
	AUTO(otlp_setup) struct otlp_setup *s = NULL;
	set_env((const char *const[]){"HEADERS=c=d", "OTEL_RESOURCE_ATTRIBUTES=e=f", NULL});
	return otlp_setup_new(f->mem, arg, "v1", &s, &fault);
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct otlp_conf conf = {.endpoint = HERE,
		.profiles = HERE,
		.headers = LIST("a: b"),
		.basic_auth = "u:p",
		.tenant = "t",
		.proxy = HERE,
		.ca = "/dev/null",
		.cert = "/dev/null",
		.resource = LIST("a=b")};
	fake_fail_each(&f, make_once, &conf);
	ck_assert_ptr_null(otlp_setup_free(NULL));
	forget_all();
	fake_done(&f);
}
END_TEST

UNIT_MAIN(what_is_wrong_is_named, variables_that_are_wrong_are_named, urls_are_completed,
	the_environment_completes_what_flags_left_open, a_resource_tells_who,
	a_resource_is_the_users_first, each_allocation_may_fail)
